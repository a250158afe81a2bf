//! Runs every committed seed again: one test an entry, found when the tests start.
//!
//! With its mutant an entry must fail as recorded, by its script or by its seed; without it, it
//! must pass. So `cargo test -p holdup-seeds buffer/pin-vs-evict` replays one file.
//!
//! With the variable `HOLDUP_SEEDS_BY_SCRIPT` only scripts count: each by itself must meet its bug.
//! `harmless.rs` asks for that, after edits of the engine.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holdup_scenarios::corpus;
use holdup_scenarios::seed_file::{SeedFile, SeedFileError, stem};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = match SeedFile::paths(&folder()) {
        Ok(paths) => paths.iter().flat_map(|path| trials(path)).collect(),
        Err(error) => vec![broken("seeds".into(), error)],
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// This package's folder, at run time where the tests were moved to another machine.
fn folder() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), Into::into)
}

/// A test for each entry of a file.
fn trials(path: &Path) -> Vec<Trial> {
    let area = path.parent().map(stem).unwrap_or_default();
    let file = match SeedFile::read(path, None) {
        Ok(file) => file,
        Err(error) => return vec![broken(format!("{area}/{}", stem(path)), error)],
    };
    let (scenario, path) = (file.scenario, path.display().to_string());
    let mut trials = Vec::new();
    if area != scenario.area {
        let message = format!("{path} belongs into the folder {}", scenario.area);
        let place = format!("{area}/{}", scenario.name);
        trials.push(Trial::test(place, move || Err(Failed::from(message))));
    }
    let by_script = std::env::var_os("HOLDUP_SEEDS_BY_SCRIPT").is_some();
    let judge = if by_script { corpus::holds_by_script } else { corpus::holds };
    for (index, checked) in file.entries.iter().cloned().enumerate() {
        let name = corpus::entry_name(&file, index);
        let path = path.clone();
        trials.push(Trial::test(name, move || {
            judge(scenario, &checked).map_err(|sentence| {
                let entry = &checked.entry;
                let replay =
                    corpus::replay_line(scenario, &entry.scheduler, entry.seed, checked.mutant);
                Failed::from(format!("{path}, entry {index}: {sentence}\nreplay  {replay}"))
            })
        }));
    }
    trials
}

/// A test that fails because its file cannot be used.
fn broken(name: String, error: SeedFileError) -> Trial {
    let mut sentence = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        sentence += &format!(": {cause}");
        source = cause.source();
    }
    Trial::test(name, move || Err(Failed::from(sentence)))
}
