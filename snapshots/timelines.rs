//! Draws every race that has a script and compares the picture with the one in this folder.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use holdup_scenarios::{Scenario, picture, registry};

/// This package's folder, at run time where the tests were moved to another machine.
fn folder() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), Into::into)
}

/// Pictures come from scripts, and where a script ends, from fixed seeds: not from these.
fn seeds_are_overridden() -> bool {
    ["HOLDUP_SEED", "HOLDUP_SEEDS", "HOLDUP_SCHEDULER"]
        .iter()
        .any(|name| std::env::var_os(name).is_some())
}

#[test]
fn every_race_is_drawn_as_before() {
    if seeds_are_overridden() {
        eprintln!("not compared: the environment asks for other seeds");
        return;
    }
    let differs = |scenario: &&Scenario| {
        let Some(picture) = picture::draw(scenario) else { return false };
        assert_is_fit_for_review(scenario, &picture);
        let mut settings = insta::Settings::new();
        settings.set_snapshot_path(folder().join(scenario.area));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let compare = || insta::assert_snapshot!(scenario.name, picture);
        settings.bind(|| catch_unwind(AssertUnwindSafe(compare))).is_err()
    };

    let all = registry::all();
    let differing: Vec<_> = all.iter().copied().filter(differs).map(|s| s.name).collect();

    assert!(
        differing.is_empty(),
        "these races look different now: {}; read the pictures above, then accept them with \
         `cargo insta review`, or with INSTA_UPDATE=always cargo test -p holdup-snapshots",
        differing.join(", ")
    );
}

/// A picture fits a page, and nothing in it moves from machine to machine.
fn assert_is_fit_for_review(scenario: &Scenario, picture: &str) {
    let name = scenario.name;
    let widest = picture.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(widest <= 120, "{name} is {widest} columns wide");
    assert!(!picture.contains(".rs:"), "{name} names a line of the source");
    assert!(!picture.contains("0x"), "{name} may name an address");
    assert!(!picture.contains("diverged"), "{name} leaves its script:\n{picture}");
}

#[test]
fn every_story_with_mutants_is_drawn() {
    let undrawn: Vec<_> = registry::all()
        .into_iter()
        .filter(|scenario| !scenario.mutants.is_empty() && scenario.script.is_none())
        .filter(|scenario| !scenario.judges_schedulers())
        .map(|scenario| scenario.name)
        .collect();

    assert!(undrawn.is_empty(), "no script in: {}", undrawn.join(", "));
}

#[test]
fn the_readme_shows_a_picture_of_this_folder() {
    let root = folder().join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let (_, marked) = readme.split_once("<!-- picture: ").unwrap();
    let (path, marked) = marked.split_once(" -->\n```text\n").unwrap();
    let (shown, _) = marked.split_once("\n```\n<!-- end of picture -->").unwrap();

    let snapshot = std::fs::read_to_string(root.join(path)).unwrap();
    let picture = snapshot.splitn(3, "---\n").nth(2).unwrap();

    assert_eq!(shown, picture.trim_end(), "the picture in README.md is not {path}");
}

#[test]
fn every_picture_belongs_to_a_race() {
    let drawn = registry::all().into_iter().filter(|scenario| scenario.script.is_some());
    let known: BTreeSet<_> = drawn
        .map(|scenario| Path::new(scenario.area).join(format!("{}.snap", scenario.name)))
        .collect();

    let strays: Vec<_> = pictures().into_iter().filter(|path| !known.contains(path)).collect();

    assert!(strays.is_empty(), "pictures of nothing, to be removed: {strays:?}");
}

/// All `<area>/<name>.snap` below this folder.
fn pictures() -> Vec<PathBuf> {
    let list = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_picture = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "snap");
    let files = list(&folder()).filter(|area| area.path().is_dir()).flat_map(|area| {
        list(&area.path()).map(move |file| Path::new(&area.file_name()).join(file.file_name()))
    });
    files.filter(is_picture).collect()
}
