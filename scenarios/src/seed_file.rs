//! Seed files: `seeds/<area>/<scenario>.toml`, a list of `[[seed]]` tables. The format is a
//! contract.
//!
//! Reading is strict: a key nobody knows is an error that names file and entry. Writing leaves what
//! it is not about as it stands, comments and order included.

mod write;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holdup::Scheduler;
use holdup::script::Script;
use serde::Deserialize;

use crate::registry::{self, UnknownName};
use crate::scenario::Scenario;

pub use write::{Renewal, Written, append, complete, renewed, replace};

/// One committed seed.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct SeedEntry {
    /// Which scheduler the seed was for.
    pub scheduler: String,
    /// The seed.
    pub seed: u64,
    /// The bug that was switched on, if any.
    pub mutant: Option<String>,
    /// The rule that broke. Without one the seed is expected to pass.
    pub rule: Option<String>,
    /// The interleaving as turns. Unlike a seed it survives edits of the code.
    pub script: Option<String>,
    /// Where the seed comes from, for the reader.
    #[serde(default)]
    pub note: String,
}

/// A seed file, read and checked against the registry.
#[derive(Clone, Debug)]
pub struct SeedFile {
    /// Where it was read.
    pub path: PathBuf,
    /// As it was written.
    pub text: String,
    /// The scenario its entries are of.
    pub scenario: &'static Scenario,
    /// Its entries, in the order of the file.
    pub entries: Vec<CheckedEntry>,
}

/// An entry of which every name is known and every text parsed.
#[derive(Clone, Debug)]
pub struct CheckedEntry {
    /// As it was written.
    pub entry: SeedEntry,
    /// The scheduler it names.
    pub scheduler: Scheduler,
    /// The mutant it names.
    pub mutant: Option<&'static str>,
    /// Its script.
    pub script: Option<Script>,
}

/// Why a seed file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeedFileError {
    /// The file cannot be read.
    #[error("cannot read seed file {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write seed file {}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The text is no list of `[[seed]]` tables.
    #[error("seed file {}, {place}: {message}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// `entry 2` or `line 7`.
        place: String,
        /// What is wrong, and what is allowed.
        message: String,
    },
    /// The file's name is no scenario's.
    #[error("seed file {} is not named after a scenario", path.display())]
    Scenario {
        /// Which file.
        path: PathBuf,
        /// The name that is unknown.
        source: UnknownName,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    #[serde(default)]
    seed: Vec<toml::Spanned<toml::Value>>,
}

impl SeedEntry {
    /// Whether it and `other` are the same find: one scheduler, seed and mutant.
    pub(crate) fn is_find_of(&self, other: &Self) -> bool {
        (&self.scheduler, self.seed, &self.mutant) == (&other.scheduler, other.seed, &other.mutant)
    }
}

impl SeedFile {
    /// Reads `path`; the scenario is `scenario`, or else the one the file is named after.
    ///
    /// # Errors
    ///
    /// [`SeedFileError`], which names the file and the entry.
    pub fn read(path: &Path, scenario: Option<&'static Scenario>) -> Result<Self, SeedFileError> {
        let text = fs::read_to_string(path)
            .map_err(|source| SeedFileError::Read { path: path.into(), source })?;
        let scenario = match scenario {
            Some(scenario) => scenario,
            None => registry::find(&stem(path))
                .map_err(|source| SeedFileError::Scenario { path: path.into(), source })?,
        };
        let entries = parse(path, &text)?;
        let checked = entries.into_iter().enumerate().map(|(index, entry)| {
            check(scenario, entry).map_err(|message| SeedFileError::Malformed {
                path: path.into(),
                place: format!("entry {index}"),
                message,
            })
        });
        let entries = checked.collect::<Result<_, _>>()?;
        Ok(Self { path: path.into(), text, scenario, entries })
    }

    /// Every seed file below `folder`, sorted: `<area>/<scenario>.toml`.
    ///
    /// # Errors
    ///
    /// [`SeedFileError::Read`], if a folder cannot be listed.
    pub fn paths(folder: &Path) -> Result<Vec<PathBuf>, SeedFileError> {
        let mut found = Vec::new();
        for area in list(folder)? {
            if area.is_dir() {
                found.extend(list(&area)?.into_iter().filter(|path| is_toml(path)));
            }
        }
        found.sort();
        Ok(found)
    }
}

fn parse(path: &Path, text: &str) -> Result<Vec<SeedEntry>, SeedFileError> {
    let malformed = |place: String, error: &toml::de::Error| SeedFileError::Malformed {
        path: path.into(),
        place,
        message: error.message().replace('\n', ", "),
    };
    let line_of = |offset: usize| 1 + text[..offset].matches('\n').count();
    let tables: Tables = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(span.start));
        malformed(format!("line {line}"), &error)
    })?;
    let entries = tables.seed.into_iter().enumerate().map(|(index, table)| {
        let line = line_of(table.span().start);
        table
            .into_inner()
            .try_into()
            .map_err(|error| malformed(format!("entry {index} (line {line})"), &error))
    });
    entries.collect()
}

/// Resolves the names of an entry, or says what is wrong with them.
fn check(scenario: &'static Scenario, entry: SeedEntry) -> Result<CheckedEntry, String> {
    let scheduler = entry.scheduler.parse::<Scheduler>().map_err(|error| error.to_string())?;
    let mutant = match &entry.mutant {
        None => None,
        Some(name) => {
            Some(registry::find_mutant(scenario, name).map_err(|error| error.to_string())?.name)
        }
    };
    let script = match &entry.script {
        None => None,
        Some(text) => Some(text.parse::<Script>().map_err(|error| error.to_string())?),
    };
    Ok(CheckedEntry { entry, scheduler, mutant, script })
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, SeedFileError> {
    let read = |source| SeedFileError::Read { path: folder.into(), source };
    let entries = fs::read_dir(folder).map_err(read)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(read)).collect()
}

fn is_toml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// The file's name without its extension.
#[must_use]
pub fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn parse_error(text: &str) -> String {
        parse(Path::new("x.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_named_with_its_entry() {
        let good = "[[seed]]\nscheduler = \"pct\"\nseed = 1\n";
        let error =
            parse_error(&format!("{good}[[seed]]\nseed = 2\nscheduler = \"pct\"\nsede = 3\n"));

        assert!(error.starts_with("seed file x.toml, entry 1 (line 4): "), "{error}");
        assert!(error.contains("`sede`") && error.contains("`mutant`"), "{error}");
    }

    #[test]
    fn missing_and_mistyped_values_are_refused() {
        assert!(parse_error("[[seed]]\nseed = 1\n").contains("missing field `scheduler`"));
        assert!(parse_error("[[seed]]\nscheduler = \"pct\"\nseed = -1\n").contains("entry 0"));
        assert!(parse_error("x = 1\n").contains("line 1"));
    }

    #[test]
    fn names_nobody_knows_are_refused() {
        let scenario = registry::find("tag-check-then-pin").unwrap();
        let wrong = [
            SeedEntry { scheduler: "luck".into(), ..entry(1) },
            SeedEntry { mutant: Some("demo.no_rechekc".into()), ..entry(1) },
            SeedEntry { script: Some("whatever comes".into()), ..entry(1) },
        ];
        for (entry, says) in
            wrong.into_iter().zip(["luck", "did you mean `demo.no_recheck`", "found `comes`"])
        {
            let message = check(scenario, entry).unwrap_err();
            assert!(message.contains(says), "{message}");
        }
    }
}
