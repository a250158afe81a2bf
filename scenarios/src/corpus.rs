//! Judging committed seeds: does a seed still fail as recorded, and is what it found still mended?

use holdup::{Failure, Scheduler};

use crate::scenario::Scenario;
use crate::seed_file::{CheckedEntry, SeedFile};

/// What came of one entry when it was run again.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What failed under the entry's script, where it has one.
    pub by_script: Option<Result<(), Failure>>,
    /// What failed under the entry's scheduler and seed.
    pub by_seed: Result<(), Failure>,
}

/// Runs an entry again: its script, if it has one, and its seed, under its mutant or under `mutant`
/// where that says otherwise.
#[must_use]
pub fn replay(
    scenario: &Scenario,
    checked: &CheckedEntry,
    mutant: Option<&'static str>,
) -> Replayed {
    let seed = checked.entry.seed;
    let run = |scheduler: &Scheduler| one(scenario, scheduler, seed, mutant);
    Replayed {
        by_script: checked.script.as_ref().map(|script| run(&Scheduler::Script(script.clone()))),
        by_seed: run(&checked.scheduler),
    }
}

/// Runs one seed; the failure it meets, if any.
///
/// # Errors
///
/// The failure.
pub fn one(
    scenario: &Scenario,
    scheduler: &Scheduler,
    seed: u64,
    mutant: Option<&'static str>,
) -> Result<(), Failure> {
    let trace = scenario.checker(scheduler, mutant).trace(seed, &scenario.body);
    trace.failure.map_or(Ok(()), Err)
}

/// Whether an entry does today what it records: fail with its rule, or pass where it has none.
///
/// # Errors
///
/// One sentence that says what happened instead.
pub fn as_recorded(scenario: &Scenario, checked: &CheckedEntry) -> Result<String, String> {
    let entry = &checked.entry;
    let replayed = replay(scenario, checked, checked.mutant);
    if entry.mutant.is_none() && entry.rule.is_none() {
        return match replayed.failure() {
            None => Ok("passes, as recorded".into()),
            Some(failure) => Err(format!("was recorded as passing, but {}", says(failure))),
        };
    }
    let expected = |outcome: &Result<(), Failure>| match outcome {
        Err(failure) => entry.rule.as_ref().is_none_or(|rule| *rule == failure.rule),
        Ok(()) => false,
    };
    let rule = entry.rule.as_deref().unwrap_or("any rule");
    match (&replayed.by_script, &replayed.by_seed) {
        (_, by_seed) if expected(by_seed) => Ok(format!("fails with {rule}, as recorded")),
        (Some(by_script), _) if expected(by_script) => Ok(format!(
            "fails with {rule} under its script, as recorded; the seed alone no longer reaches it"
        )),
        _ => Err(match replayed.failure() {
            Some(failure) => format!("was recorded as failing with {rule}, but {}", says(failure)),
            None => no_longer(scenario, checked),
        }),
    }
}

/// Whether an entry holds what it was committed for: with its mutant it fails as recorded, and
/// without it passes.
///
/// # Errors
///
/// One sentence that says what is wrong and what to do.
pub fn holds(scenario: &Scenario, checked: &CheckedEntry) -> Result<(), String> {
    if checked.mutant.is_some() {
        as_recorded(scenario, checked)?;
    }
    // Found in real code, or by a mutant: in either case today's code must pass.
    match replay(scenario, checked, None).failure() {
        None => Ok(()),
        Some(failure) => Err(format!("must pass without a mutant, but {}", says(failure))),
    }
}

/// The name of entry `index` among the tests of the corpus: `<area>/<scenario>#<index>`.
#[must_use]
pub fn entry_name(file: &SeedFile, index: usize) -> String {
    format!("{}/{}#{index}", file.scenario.area, file.scenario.name)
}

/// The command that runs `seed` of a scenario again and draws it.
#[must_use]
pub fn replay_line(
    scenario: &Scenario,
    scheduler: &str,
    seed: u64,
    mutant: Option<&str>,
) -> String {
    let mutant = mutant.map(|mutant| format!(" --mutant {mutant}")).unwrap_or_default();
    let name = scenario.name;
    format!(
        "cargo run --release -- run {name} --seed {seed} --scheduler {scheduler}{mutant} --trace"
    )
}

impl Replayed {
    /// What failed, the script's failure first.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        let by_script = self.by_script.as_ref().and_then(|outcome| outcome.as_ref().err());
        by_script.or(self.by_seed.as_ref().err())
    }
}

fn no_longer(scenario: &Scenario, checked: &CheckedEntry) -> String {
    let entry = &checked.entry;
    let Some(mutant) = checked.mutant else {
        return "was recorded as failing, but passes".into();
    };
    format!(
        "seed {} no longer reaches the bug {mutant}: the code has moved under it; find a new one with \
         `holdup sweep {} --mutant {mutant} --scheduler {} --seed-files seeds`, and give the entry a \
         script, which survives edits",
        entry.seed, scenario.name, entry.scheduler
    )
}

fn says(failure: &Failure) -> String {
    format!("fails with {}: {}", failure.rule, failure.message)
}
