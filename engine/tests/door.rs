//! One source for two worlds: locks, atomics, threads, time and files come through `src/sync.rs`.
//!
//! Clippy cannot hold this. Natively the door re-exports `std`, and the lint looks at what a name
//! stands for, not at how it was reached.

use std::fs;
use std::path::{Path, PathBuf};

const FORBIDDEN: [&str; 9] = [
    "holdup::",
    "std::sync",
    "core::sync",
    "std::thread",
    "std::time",
    "std::fs",
    "std::hint",
    "thread_local!",
    "RandomState",
];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn only_the_door_names_what_a_simulation_replaces() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&source, &mut files);
    assert!(files.len() > 20, "the engine is here");

    let door = source.join("sync.rs");
    for path in files.iter().filter(|path| **path != door && !path.ends_with("tests.rs")) {
        let text = fs::read_to_string(path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for (number, line) in code.enumerate() {
            for name in FORBIDDEN {
                assert!(!line.contains(name), "{} names {name}: {number}: {line}", path.display());
            }
        }
    }
}
