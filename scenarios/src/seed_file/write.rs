//! Writing seed files: entries appended, given a script, renewed.
//!
//! Whoever writes here changes the keys it is about and nothing else: the rest of a file is what a
//! person wrote. What is written was read back first, and says what it was meant to.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use toml_edit::{DocumentMut, Item, Table, Value};

use super::{SeedEntry, SeedFileError, parse};
use crate::scenario::Scenario;

/// Appends `entry` to the file of `scenario` below `folder`, unless the same scheduler, seed and
/// mutant stand there already. Returns the path, and whether the entry was new.
///
/// # Errors
///
/// [`SeedFileError`]; a file that is malformed is left alone.
pub fn append(
    folder: &Path,
    scenario: &Scenario,
    entry: &SeedEntry,
) -> Result<(PathBuf, bool), SeedFileError> {
    let path = folder.join(scenario.area).join(format!("{}.toml", scenario.name));
    let write = |source| SeedFileError::Write { path: path.clone(), source };
    let existing = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(SeedFileError::Read { path, source }),
    };
    if parse(&path, &existing)?.iter().any(|known| known.is_find_of(entry)) {
        return Ok((path, false));
    }
    let gap = match existing.as_str() {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(write)?;
    }
    let mut file = fs::OpenOptions::new().create(true).append(true).open(&path).map_err(write)?;
    file.write_all(format!("{gap}{}", to_toml(entry)).as_bytes()).map_err(write)?;
    Ok((path, true))
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It was not there, and is now.
    Appended,
    /// It was there without a script, and has one now.
    Completed,
    /// It was there, and is as it was.
    Unchanged,
}

/// Appends `entry` as [`append`] does; where it stands already without a script, it is given that of
/// `entry`. All else in the file stays as it is.
///
/// # Errors
///
/// [`SeedFileError`]; a file that is malformed is left alone.
pub fn complete(
    folder: &Path,
    scenario: &Scenario,
    entry: &SeedEntry,
) -> Result<(PathBuf, Written), SeedFileError> {
    let (path, new) = append(folder, scenario, entry)?;
    if new || entry.script.is_none() {
        return Ok((path, if new { Written::Appended } else { Written::Unchanged }));
    }
    let text = fs::read_to_string(&path)
        .map_err(|source| SeedFileError::Read { path: path.clone(), source })?;
    let known = parse(&path, &text)?;
    let known = known.iter().enumerate().find(|(_, known)| known.is_find_of(entry));
    let Some((index, _)) = known.filter(|(_, known)| known.script.is_none()) else {
        return Ok((path, Written::Unchanged));
    };
    let renewal = Renewal { index, seed: entry.seed, script: entry.script.clone() };
    let text = renewed(&path, &text, &[renewal])?;
    replace(&[(path.clone(), text)])?;
    Ok((path, Written::Completed))
}

/// A seed and a script that take the place of an entry's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// Which entry of the file, from 0.
    pub index: usize,
    /// Its seed.
    pub seed: u64,
    /// Its script; the entry has none if this is `None`.
    pub script: Option<String>,
}

/// The `text` of the seed file `path` with some entries renewed, and all else as it is.
///
/// # Errors
///
/// [`SeedFileError::Malformed`], if an entry is not written as a table of its own.
pub fn renewed(path: &Path, text: &str, renewals: &[Renewal]) -> Result<String, SeedFileError> {
    let mut meant = parse(path, text)?;
    let malformed = |index: usize, message: &str| SeedFileError::Malformed {
        path: path.into(),
        place: format!("entry {index}"),
        message: message.into(),
    };
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| malformed(0, error.message()))?;
    let mut tables = document.get_mut("seed").and_then(Item::as_array_of_tables_mut);
    for renewal in renewals {
        let table = tables.as_mut().and_then(|tables| tables.get_mut(renewal.index));
        let (Some(table), Some(entry)) = (table, meant.get_mut(renewal.index)) else {
            return Err(malformed(renewal.index, "is not written as a `[[seed]]` table"));
        };
        entry.seed = renewal.seed;
        entry.script.clone_from(&renewal.script);
        set(table, "seed", Some(&renewal.seed.to_string()));
        set(table, "script", renewal.script.as_deref().map(quoted).as_deref());
    }
    let after = document.to_string();
    // What is written must read back as meant.
    if parse(path, &after)? != meant {
        let index = renewals.first().map_or(0, |renewal| renewal.index);
        return Err(malformed(index, "cannot be renewed in place; change it by hand"));
    }
    Ok(after)
}

/// Gives files new texts: all of them, or, where one cannot be written, none.
///
/// # Errors
///
/// [`SeedFileError::Write`]. Only a rename that fails after another was made leaves files changed;
/// each is whole even then.
pub fn replace(files: &[(PathBuf, String)]) -> Result<(), SeedFileError> {
    let mut written = Vec::new();
    for (path, text) in files {
        let error = |source| SeedFileError::Write { path: path.clone(), source };
        let folder = path.parent().unwrap_or(Path::new(""));
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let mut file = NamedTempFile::new_in(folder).map_err(error)?;
        file.write_all(text.as_bytes()).map_err(error)?;
        if let Ok(metadata) = fs::metadata(path) {
            file.as_file().set_permissions(metadata.permissions()).map_err(error)?;
        }
        written.push((path, file));
    }
    for (path, file) in written {
        file.persist(path)
            .map_err(|error| SeedFileError::Write { path: path.clone(), source: error.error })?;
    }
    Ok(())
}

/// Gives `key` the value written `toml`, in its old place or before the note; without one, the key
/// goes.
fn set(table: &mut Table, key: &str, toml: Option<&str>) {
    let Some(toml) = toml else {
        table.remove(key);
        return;
    };
    let Ok(mut value) = toml.parse::<Value>() else {
        unreachable!("numbers and quoted texts are values")
    };
    if let Some(old) = table.get_mut(key).and_then(Item::as_value_mut) {
        *value.decor_mut() = old.decor().clone();
        *old = value;
        return;
    }
    let note = table.remove_entry("note");
    table.insert(key, Item::Value(value));
    if let Some((name, note)) = note {
        table.insert_formatted(&name, note);
    }
}

/// One `[[seed]]` table.
fn to_toml(entry: &SeedEntry) -> String {
    let mut text =
        format!("[[seed]]\nscheduler = {}\nseed = {}\n", quoted(&entry.scheduler), entry.seed);
    let optional = [("mutant", &entry.mutant), ("rule", &entry.rule), ("script", &entry.script)];
    for (key, value) in optional {
        if let Some(value) = value {
            let _ = writeln!(text, "{key} = {}", quoted(value));
        }
    }
    let _ = writeln!(text, "note = {}", quoted(&entry.note));
    text
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::seed_file::SeedFile;

    fn entry(seed: u64) -> SeedEntry {
        SeedEntry {
            scheduler: "pct".into(),
            seed,
            mutant: Some("demo.no_recheck".into()),
            rule: Some("I-ID3".into()),
            script: Some("reader until \"finds page 100 in buffer 0\"\nreader to the end\n".into()),
            note: "it's \"new\"".into(),
        }
    }

    #[test]
    fn what_is_appended_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = registry::find("tag-check-then-pin").unwrap();

        let (path, first) = append(folder.path(), scenario, &entry(1)).unwrap();
        let (_, second) = append(folder.path(), scenario, &entry(2)).unwrap();

        assert!(first && second && path.ends_with("classic/tag-check-then-pin.toml"));
        let file = SeedFile::read(&path, None).unwrap();
        let entries: Vec<_> = file.entries.into_iter().map(|checked| checked.entry).collect();
        assert_eq!(entries, [entry(1), entry(2)]);
        assert_eq!(SeedFile::paths(folder.path()).unwrap(), [path]);
    }

    #[test]
    fn what_stands_in_a_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = registry::find("tag-check-then-pin").unwrap();
        let (path, _) = append(folder.path(), scenario, &entry(1)).unwrap();
        let before = format!("# by hand\n{}", fs::read_to_string(&path).unwrap().trim_end());
        fs::write(&path, &before).unwrap();

        let (_, new) = append(folder.path(), scenario, &entry(1)).unwrap();
        assert!(!new && fs::read_to_string(&path).unwrap() == before);

        append(folder.path(), scenario, &entry(2)).unwrap();
        assert!(fs::read_to_string(&path).unwrap().starts_with(&before));
        assert_eq!(SeedFile::read(&path, None).unwrap().entries.len(), 2);
    }

    #[test]
    fn a_malformed_file_is_not_appended_to() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = registry::find("tag-check-then-pin").unwrap();
        let path = folder.path().join("classic/tag-check-then-pin.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "[[seed]\n").unwrap();

        assert!(append(folder.path(), scenario, &entry(1)).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "[[seed]\n");
    }

    const BY_HAND: &str = "\
# All of one sweep.
[[seed]] # the first
scheduler = \"pct\"
seed = 1 # the lowest
mutant = \"demo.no_recheck\"
rule = \"I-ID3\"
script = \"reader to the end\" # whole
note = \"one\"

[[seed]]
scheduler   = \"pct\"
seed        = 2
# why it is here
note        = \"two\"
";

    #[test]
    fn a_renewed_entry_changes_in_its_place_and_nothing_else_does() {
        let script = |text: &str| Some(text.to_owned());
        let first = Renewal { index: 0, seed: 30, script: script("reader until blocked\n") };
        let second = Renewal { index: 1, seed: 2, script: script("reader to the end\n") };

        let text = renewed(Path::new("x.toml"), BY_HAND, &[first, second]).unwrap();

        let expected = BY_HAND
            .replace("seed = 1 #", "seed = 30 #")
            .replace("\"reader to the end\" #", "\"\"\"\nreader until blocked\n\"\"\" #")
            .replace("# why", "script = \"\"\"\nreader to the end\n\"\"\"\n# why");
        assert_eq!(text, expected);
    }

    #[test]
    fn an_entry_without_a_script_to_renew_loses_its_old_one() {
        let renewal = Renewal { index: 0, seed: 1, script: None };

        let text = renewed(Path::new("x.toml"), BY_HAND, &[renewal]).unwrap();

        assert_eq!(text, BY_HAND.replace("script = \"reader to the end\" # whole\n", ""));
    }

    #[test]
    fn entries_that_are_no_tables_are_left_alone() {
        let text = "seed = [{ scheduler = \"pct\", seed = 1 }]\n";
        let renewal = Renewal { index: 0, seed: 2, script: None };

        let error = renewed(Path::new("x.toml"), text, &[renewal]).unwrap_err().to_string();

        assert_eq!(error, "seed file x.toml, entry 0: is not written as a `[[seed]]` table");
    }

    #[test]
    fn either_all_files_are_replaced_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let (there, nowhere) = (folder.path().join("a.toml"), folder.path().join("b/b.toml"));
        fs::write(&there, "old").unwrap();

        let both = [(there.clone(), "new".to_owned()), (nowhere, "new".to_owned())];
        assert!(replace(&both).is_err());
        assert_eq!(fs::read_to_string(&there).unwrap(), "old");
        replace(&both[..1]).unwrap();
        assert_eq!(fs::read_to_string(&there).unwrap(), "new");
    }
}
