//! Judging committed seeds: does a seed still fail as recorded, and is what it found still mended?

use holdup::explore::{Neighbour, SUFFIXES};
use holdup::script::Script;
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
    /// Where the script left its path, if it did: `diverged at turn 3 of 5`.
    pub divergence: Option<String>,
}

/// What an entry does today.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Whether that is what it records, if only nearly.
    pub as_recorded: bool,
    /// One sentence on it.
    pub says: String,
    /// Whether it is under the entry's script, where it has one.
    pub by_script: Option<bool>,
    /// Whether it is under the entry's seed.
    pub by_seed: bool,
    /// Where its script left its path, if it did.
    pub divergence: Option<String>,
    /// The neighbour of its script that had to be looked for, if it does not itself.
    pub neighbour: Option<Neighbour>,
}

/// How an entry stands towards today's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its script, or its seed where it has no script, does what it records.
    Holds,
    /// What it records is still met, but not on the path that its script names.
    Diverges,
    /// Neither script nor seed nor a neighbour meets the bug: the code has moved under it.
    Dead,
    /// It fails without its mutant: a bug in the code.
    Fails,
}

impl Standing {
    /// In a word: `holds`, `diverges`, `dead`, `fails`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Diverges => "diverges",
            Self::Dead => "dead",
            Self::Fails => "fails",
        }
    }
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
    let script = checked.script.as_ref().map(|script| {
        let checker = scenario.checker(&Scheduler::Script(script.clone()), mutant);
        checker.trace(seed, &scenario.body)
    });
    Replayed {
        divergence: script.as_ref().and_then(|trace| trace.divergence.clone()),
        by_script: script.map(|trace| trace.failure.map_or(Ok(()), Err)),
        by_seed: one(scenario, &checked.scheduler, seed, mutant),
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

/// Whether an entry does today what it records: fail with its rule, or pass where it has none. Where
/// neither its seed nor its script do, their neighbours are tried.
#[must_use]
pub fn as_recorded(scenario: &Scenario, checked: &CheckedEntry) -> Verdict {
    let entry = &checked.entry;
    let replayed = replay(scenario, checked, checked.mutant);
    let passing = entry.mutant.is_none() && entry.rule.is_none();
    let expected = |outcome: &Result<(), Failure>| match outcome {
        Err(_) if passing => false,
        Err(failure) => entry.rule.as_ref().is_none_or(|rule| *rule == failure.rule),
        Ok(()) => passing,
    };
    let verdict = |as_recorded: bool, says: String| Verdict {
        as_recorded,
        says,
        by_script: replayed.by_script.as_ref().map(expected),
        by_seed: expected(&replayed.by_seed),
        divergence: replayed.divergence.clone(),
        neighbour: None,
    };
    if passing {
        return match replayed.failure() {
            None => verdict(true, "passes, as recorded".into()),
            Some(failure) => {
                verdict(false, format!("was recorded as passing, but {}", says(failure)))
            }
        };
    }
    let rule = entry.rule.as_deref().unwrap_or("any rule");
    match (&replayed.by_script, &replayed.by_seed) {
        (None, by_seed) if expected(by_seed) => {
            verdict(true, format!("fails with {rule}, as recorded"))
        }
        (Some(by_script), by_seed) if expected(by_seed) => {
            let how = match (&replayed.divergence, expected(by_script)) {
                (None, true) => String::new(),
                (None, false) => "; its script misses the bug: give it a new one".into(),
                (Some(how), _) => format!("; its script {how}: give it a new one"),
            };
            verdict(true, format!("fails with {rule}, as recorded{how}"))
        }
        (Some(by_script), _) if expected(by_script) => {
            let left = replayed.divergence.as_ref().map(|how| format!(", though it {how}"));
            let left = left.unwrap_or_default();
            verdict(
                true,
                format!(
                    "fails with {rule} under its script, as recorded{left}; the seed alone no \
                     longer reaches it"
                ),
            )
        }
        _ => nearly(scenario, checked, &replayed).unwrap_or_else(|| {
            let says = match replayed.failure() {
                Some(failure) => {
                    format!("was recorded as failing with {rule}, but {}", says(failure))
                }
                None => no_longer(scenario, checked, &replayed),
            };
            verdict(false, says)
        }),
    }
}

/// The neighbour that does what the entry records.
fn nearly(scenario: &Scenario, checked: &CheckedEntry, replayed: &Replayed) -> Option<Verdict> {
    let (entry, script) = (&checked.entry, checked.script.clone().unwrap_or_default());
    let checker = scenario.checker(&checked.scheduler, checked.mutant);
    let found = checker.neighbour(entry.seed, &script, entry.rule.as_deref(), &scenario.body)?;
    let how = replayed.divergence.as_deref();
    let says = by_neighbour(entry.rule.as_deref().unwrap_or("any rule"), how, &script, &found);
    Some(Verdict {
        as_recorded: true,
        says,
        by_script: checked.script.as_ref().map(|_| false),
        by_seed: false,
        divergence: replayed.divergence.clone(),
        neighbour: Some(found),
    })
}

/// Says that a script is to be renewed, and which neighbour of it still breaks `rule`.
#[must_use]
pub fn by_neighbour(
    rule: &str,
    divergence: Option<&str>,
    script: &Script,
    found: &Neighbour,
) -> String {
    let how = match divergence {
        Some(how) => format!("its script {how}"),
        None if script.turns.is_empty() => "it has no script".into(),
        None => "its script misses the bug".into(),
    };
    format!(
        "fails with {rule} nearby: {how}, but {} of its {} turns and then random suffix {} meet it \
         (neighbour {} of {}); give it a new script",
        found.turns,
        script.turns.len(),
        found.suffix,
        found.tried,
        (script.turns.len() as u64 + 1) * SUFFIXES
    )
}

/// How an entry stands: with its mutant it is to fail as recorded, and without it to pass.
#[must_use]
pub fn standing(scenario: &Scenario, checked: &CheckedEntry) -> (Standing, Verdict) {
    // Found in real code, or by a mutant: in either case today's code must pass.
    let today = replay(scenario, checked, None);
    let passes = today.failure().is_none();
    if !passes || checked.mutant.is_none() {
        let verdict = Verdict {
            as_recorded: passes,
            says: match today.failure() {
                None => "passes, as today's code must".into(),
                Some(failure) => format!("must pass without a mutant, but {}", says(failure)),
            },
            by_script: today.by_script.as_ref().map(Result::is_ok),
            by_seed: today.by_seed.is_ok(),
            divergence: today.divergence.clone(),
            neighbour: None,
        };
        return (if passes { Standing::Holds } else { Standing::Fails }, verdict);
    }
    let verdict = as_recorded(scenario, checked);
    let by_words = verdict.by_script.unwrap_or(verdict.by_seed);
    let standing = match (verdict.as_recorded, &verdict.divergence) {
        (false, _) => Standing::Dead,
        (true, None) if by_words => Standing::Holds,
        (true, _) => Standing::Diverges,
    };
    (standing, verdict)
}

/// Whether an entry holds what it was committed for, if only nearly.
///
/// # Errors
///
/// One sentence that says what is wrong and what to do.
pub fn holds(scenario: &Scenario, checked: &CheckedEntry) -> Result<(), String> {
    match standing(scenario, checked) {
        (Standing::Holds | Standing::Diverges, _) => Ok(()),
        (Standing::Dead | Standing::Fails, verdict) => Err(verdict.says),
    }
}

/// Whether the script of an entry, if it has one, meets the bug of its mutant: by itself, whatever
/// its seed does.
///
/// # Errors
///
/// One sentence that says what came instead.
pub fn holds_by_script(scenario: &Scenario, checked: &CheckedEntry) -> Result<(), String> {
    if checked.mutant.is_none() {
        return Ok(());
    }
    let replayed = replay(scenario, checked, checked.mutant);
    let rule = checked.entry.rule.as_deref().unwrap_or("any rule");
    let how = replayed.divergence.map(|how| format!(" ({how})")).unwrap_or_default();
    match replayed.by_script {
        None => Ok(()),
        Some(Err(failure)) if checked.entry.rule.is_none() || failure.rule == rule => Ok(()),
        Some(Err(failure)) => {
            Err(format!("its script is to fail with {rule}{how}, but {}", says(&failure)))
        }
        Some(Ok(())) => Err(format!("its script is to fail with {rule}{how}, but passes")),
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

fn no_longer(scenario: &Scenario, checked: &CheckedEntry, replayed: &Replayed) -> String {
    let entry = &checked.entry;
    let Some(mutant) = checked.mutant else {
        return "was recorded as failing, but passes".into();
    };
    let seed = entry.seed;
    let what = match (&checked.script, &replayed.divergence) {
        (None, _) => format!("seed {seed} no longer reaches"),
        (Some(_), None) => format!("neither seed {seed} nor its script reaches"),
        (Some(_), Some(how)) => format!("its script {how}, and seed {seed} no longer reaches"),
    };
    format!(
        "{what} the bug {mutant}, nor does a neighbour: the code has moved under it; find a new one \
         with `holdup seeds refresh {}`",
        scenario.name
    )
}

fn says(failure: &Failure) -> String {
    format!("fails with {}: {}", failure.rule, failure.message)
}
