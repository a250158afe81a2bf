//! Which execution a command is about: a scenario and a seed, or an entry of a seed file.
//!
//! An entry is written `FILE.toml#2`, counted from 0; without a number it is the only one of its
//! file. In one word, as `diff` wants it, an execution is `SCENARIO:SEED[:SCHEDULER[:MUTANT]]`.

use std::path::Path;

use anyhow::{Context, bail};
use holdup::trace::Trace;
use holdup::{Checker, Scheduler};
use holdup_scenarios::numbers::parse_seed;
use holdup_scenarios::seed_file::SeedFile;
use holdup_scenarios::{Scenario, registry};

use super::scheduler;

/// The execution that `shrink` and `explain` are about.
#[derive(Debug, clap::Args)]
pub(super) struct Which {
    /// A scenario, or an entry of a seed file: FILE.toml, or FILE.toml#INDEX counted from 0.
    #[arg(value_name = "SCENARIO|FILE")]
    name: String,
    /// Which seed, if a scenario is named.
    #[arg(long, value_name = "N", value_parser = parse_seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Who decides: portfolio, random, sticky, pct, pct2, pct3, lens, pos, urw, surw, starve
    /// or delay
    /// [default: portfolio].
    #[arg(long, value_name = "S", value_parser = scheduler)]
    scheduler: Option<Scheduler>,
    /// Switches this bug on.
    #[arg(long, value_name = "M")]
    mutant: Option<String>,
}

/// An execution that can be run again.
pub(super) struct Selection {
    pub(super) scenario: &'static Scenario,
    pub(super) seed: u64,
    pub(super) scheduler: Scheduler,
    pub(super) mutant: Option<&'static str>,
    /// The script of its seed-file entry.
    script: Option<holdup::script::Script>,
}

impl Which {
    pub(super) fn selection(&self) -> anyhow::Result<Selection> {
        if is_entry(&self.name) {
            if self.seed.is_some() || self.scheduler.is_some() || self.mutant.is_some() {
                bail!("--seed, --scheduler and --mutant are for scenarios: an entry says its own");
            }
            return entry(&self.name);
        }
        let scenario = registry::find(&self.name)?;
        let Some(seed) = self.seed else {
            bail!(
                "which seed of {0}? give --seed N; `holdup sweep {0}` finds failing ones",
                self.name
            );
        };
        let scheduler = self.scheduler.clone().unwrap_or_default();
        select(scenario, seed, scheduler, self.mutant.as_deref())
    }
}

fn select(
    scenario: &'static Scenario,
    seed: u64,
    scheduler: Scheduler,
    mutant: Option<&str>,
) -> anyhow::Result<Selection> {
    let mutant = match mutant {
        Some(name) => Some(registry::find_mutant(scenario, name)?.name),
        None => None,
    };
    Ok(Selection { scenario, seed, scheduler, mutant, script: None })
}

/// The execution that `word` names.
pub(super) fn in_a_word(word: &str) -> anyhow::Result<Selection> {
    if is_entry(word) {
        return entry(word);
    }
    let parts: Vec<&str> = word.split(':').collect();
    let (name, seed, rest) = match parts[..] {
        [name, seed, ref rest @ ..] if rest.len() <= 2 => (name, seed, rest),
        _ => bail!(
            "`{word}` names no execution: write SCENARIO:SEED[:SCHEDULER[:MUTANT]], as in \
             lossy-unpin:7:random:demo.lossy_unpin, or FILE.toml#INDEX"
        ),
    };
    let scenario = registry::find(name)?;
    let seed = parse_seed(seed)?;
    let by = rest.first().filter(|name| !name.is_empty());
    let by = by.map_or(Ok(Scheduler::Portfolio), |name| scheduler(name));
    let by = by.map_err(anyhow::Error::msg)?;
    select(scenario, seed, by, rest.get(1).copied())
}

fn is_entry(word: &str) -> bool {
    let path = word.rsplit_once('#').map_or(word, |(path, _)| path);
    Path::new(path).extension().is_some_and(|extension| extension == "toml")
}

fn entry(word: &str) -> anyhow::Result<Selection> {
    let (path, index) = match word.rsplit_once('#') {
        Some((path, index)) => {
            let index = index.parse::<usize>();
            (path, Some(index.with_context(|| format!("`{word}`: what follows # is no number"))?))
        }
        None => (word, None),
    };
    let file = SeedFile::read(Path::new(path), None)?;
    let n = file.entries.len();
    let index = match index {
        Some(index) => index,
        None if n == 1 => 0,
        None => bail!("{path} has {n} entries: say which, {path}#0 for the first"),
    };
    let Some(checked) = file.entries.get(index) else {
        bail!("{path} has no entry {index}; it has {n}, counted from 0");
    };
    Ok(Selection {
        scenario: file.scenario,
        seed: checked.entry.seed,
        scheduler: checked.scheduler.clone(),
        mutant: checked.mutant,
        script: checked.script.clone(),
    })
}

impl Selection {
    /// The checker of the execution, and the execution. Of an entry whose seed passes, it is the
    /// one under its script.
    pub(super) fn trace(&self) -> (Checker, Trace) {
        let checker = self.scenario.checker(&self.scheduler, self.mutant);
        let trace = checker.trace(self.seed, &self.scenario.body);
        if trace.failure.is_none()
            && let Some(script) = &self.script
        {
            let by_script = checker.clone().scheduler(Scheduler::Script(script.clone()));
            let scripted = by_script.trace(self.seed, &self.scenario.body);
            if scripted.failure.is_some() {
                return (by_script, scripted);
            }
        }
        (checker, trace)
    }

    /// `lossy-unpin, seed 7, scheduler random, mutant demo.lossy_unpin`.
    pub(super) fn title(&self) -> String {
        let mutant = self.mutant.map(|mutant| format!(", mutant {mutant}")).unwrap_or_default();
        let name = self.scenario.name;
        format!("{name}, seed {}, scheduler {}{mutant}", self.seed, self.scheduler)
    }
}
