//! Scripts survive edits of the engine's own source.
//!
//! A copy of the workspace gets the edits of `harmless_edits.toml`, and there every script of the
//! corpus is run again: by itself, without the help of its seed or of neighbours, it must meet its
//! bug. One more edit does harm, and is switched on by a variable: with it the scripts must fail, or
//! nothing would have been shown.
//!
//! Keeps: the copy is below the target folder and shares it, so that nothing foreign is built twice;
//! its packages have a version of their own, or cargo would take what was built of them for what is
//! built of the workspace. A file of the copy is written only where it changes, so that a second run
//! builds nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{fs, io};

use serde::Deserialize;

/// An edit that takes a note away which scripts name, while this variable is set.
const HARMFUL: &str = "HOLDUP_HARMFUL_EDIT";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// What kind of edit it is.
    why: String,
    /// Which file of the workspace.
    file: PathBuf,
    /// What it takes out; occurs once.
    find: String,
    /// What it puts there.
    replace: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edits {
    edit: Vec<Edit>,
}

/// This package's folder, at run time where the tests were moved to another machine.
fn seeds() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), Into::into)
}

fn harmless() -> Vec<Edit> {
    let text = fs::read_to_string(seeds().join("harmless_edits.toml")).unwrap();
    toml::from_str::<Edits>(&text).unwrap().edit
}

fn harmful() -> Edit {
    let note = r#"note!("finds page {} in buffer {buf_id}", tag.block);"#;
    let next = "\n        self.pin(buf_id, true).is_some()\n            && self.keep";
    Edit {
        why: "a note that scripts name is taken away".into(),
        file: "engine/src/buffer/recent.rs".into(),
        find: format!("{note}{next}"),
        replace: format!("if std::env::var_os(\"{HARMFUL}\").is_none() {{ {note} }}{next}"),
    }
}

/// The version of the workspace's packages, and more: cargo tells builds apart by it, not by where
/// a workspace is.
fn own_version(workspace: &Path) -> Edit {
    let manifest = fs::read_to_string(workspace.join("Cargo.toml")).unwrap();
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    let find = format!("\nversion = \"{}", version.expect("the workspace has a version"));
    let replace = format!("{}-edited\"", find.trim_end_matches('"'));
    Edit { why: "a version of its own".into(), file: "Cargo.toml".into(), find, replace }
}

/// `text` with the edits of `file`.
fn edited(file: &Path, text: &str, edits: &[Edit]) -> Result<String, String> {
    let mut text = text.to_owned();
    for edit in edits.iter().filter(|edit| edit.file == file) {
        let times = text.matches(&edit.find).count();
        if times != 1 {
            return Err(format!(
                "the harmless edit \"{}\" went stale: what it looks for occurs {times} times in {}, \
                 not once; make it fit in seeds/harmless_edits.toml:\n{}",
                edit.why,
                file.display(),
                edit.find
            ));
        }
        text = text.replacen(&edit.find, &edit.replace, 1);
    }
    Ok(text)
}

/// Files below `root`, by their paths from there: sources, and what they include.
fn files(root: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('.') && name != ".cargo" {
                continue;
            }
            if !path.is_dir() {
                found.insert(path.strip_prefix(root).unwrap_or(&path).to_path_buf());
            } else if name != "target" && !path.join("CACHEDIR.TAG").exists() {
                folders.push(path);
            }
        }
    }
    Ok(found)
}

/// Makes `copy` what `workspace` is with `edits`.
fn copy_with(edits: &[Edit], workspace: &Path, copy: &Path) -> Result<(), String> {
    let said = |error: io::Error| format!("cannot copy the workspace: {error}");
    fs::create_dir_all(copy).map_err(said)?;
    let wanted = files(workspace).map_err(said)?;
    if let Some(edit) = edits.iter().find(|edit| !wanted.contains(&edit.file)) {
        return Err(format!(
            "the harmless edit \"{}\" went stale: there is no file {}",
            edit.why,
            edit.file.display()
        ));
    }
    for gone in files(copy).map_err(said)?.difference(&wanted) {
        fs::remove_file(copy.join(gone)).map_err(said)?;
    }
    for file in &wanted {
        let mut bytes = fs::read(workspace.join(file)).map_err(said)?;
        if edits.iter().any(|edit| edit.file == *file) {
            bytes = edited(file, &String::from_utf8_lossy(&bytes), edits)?.into_bytes();
        }
        let to = copy.join(file);
        if fs::read(&to).is_ok_and(|there| there == bytes) {
            continue;
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(said)?;
        }
        fs::write(&to, bytes).map_err(said)?;
    }
    Ok(())
}

/// Runs all scripts of the workspace at `copy`.
fn run_scripts(copy: &Path, target: &Path, harm: bool) -> Output {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(copy)
        .args(["test", "--offline", "--quiet", "-p", "holdup-seeds", "--test", "replay"])
        .env("CARGO_TARGET_DIR", target)
        .env("HOLDUP_SEEDS_BY_SCRIPT", "1")
        .env_remove(HARMFUL);
    if harm {
        command.env(HARMFUL, "1");
    }
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned()
}

#[test]
fn every_script_meets_its_bug_after_harmless_edits_of_the_engine() {
    let folder = seeds();
    let workspace = folder.parent().unwrap();
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (copy, target) = (tmp.join("harmless-edits"), tmp.parent().unwrap());
    let mut edits = harmless();
    assert!(edits.len() >= 8, "several kinds of edits");
    edits.push(harmful());
    edits.push(own_version(workspace));
    copy_with(&edits, workspace, &copy).unwrap_or_else(|stale| panic!("{stale}"));

    let (edited, harmed) = (run_scripts(&copy, target, false), run_scripts(&copy, target, true));

    let text = said(&edited);
    assert!(
        edited.status.success(),
        "after edits that do no harm scripts lose their bugs:\n{text}"
    );
    let text = said(&harmed);
    assert!(text.contains("pinned-buffer-changes-identity-modern#0"), "{text}");
    assert!(!harmed.status.success(), "an edit that does harm goes unnoticed:\n{text}");
}

#[test]
fn an_edit_that_fits_nowhere_or_twice_is_named() {
    let edit = |find: &str| Edit {
        why: "a word more".into(),
        file: "a.rs".into(),
        find: find.into(),
        replace: "x".into(),
    };
    let file = Path::new("a.rs");
    let stale = |find: &str| edited(file, "one two two", &[edit(find)]).unwrap_err();

    assert!(stale("three").contains("\"a word more\" went stale"), "{}", stale("three"));
    assert!(stale("two").contains("occurs 2 times in a.rs"), "{}", stale("two"));
    assert_eq!(edited(file, "one two two", &[edit("one")]).unwrap(), "x two two");
    assert_eq!(edited(Path::new("b.rs"), "one", &[edit("two")]).unwrap(), "one");
}
