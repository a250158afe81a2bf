//! What a scenario is: a story that runs, the rules it checks, the bugs it must catch.
//!
//! A story file registers itself, at link time:
//!
//! ```
//! use holdup_scenarios::{MutantCase, Scenario};
//!
//! fn pin_vs_evict() { /* given, when, then */ }
//!
//! holdup_scenarios::register!(Scenario {
//!     name: "pin-vs-evict",
//!     area: "buffer",
//!     summary: "a reader comes back for a page just as its buffer is taken",
//!     rules: &["I-ID2"],
//!     mutants: &[MutantCase { name: "pin.no_recheck", budget: 5_000, ..MutantCase::BASE }],
//!     body: pin_vs_evict,
//!     ..Scenario::BASE
//! });
//! # assert!(holdup_scenarios::registry::find("pin-vs-evict").is_ok());
//! ```

use holdup::script::Script;
use holdup::{Checker, Faults, Scheduler};

/// Areas whose programs judge schedulers. They are left out of sweeps, mutants and the tour
/// unless they are named.
pub const JUDGING_AREAS: &[&str] = &["classic", "counts"];

/// One race, told as a story.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// How it is called on the command line and in file names: words joined by hyphens.
    pub name: &'static str,
    /// The part of the engine it is about: buffer, btree, drop, recovery, world, memory, cpu,
    /// or an area of [`JUDGING_AREAS`].
    pub area: &'static str,
    /// One sentence in plain words: who meets whom.
    pub summary: &'static str,
    /// Ids of the invariants it checks, for example `I-ID2`.
    pub rules: &'static [&'static str],
    /// The bugs it must catch, each within its budget.
    pub mutants: &'static [MutantCase],
    /// Numbers in the catalogue of real bugs, for example `B01`.
    pub catalogue: &'static [&'static str],
    /// The story. It runs as task `main` of an execution and fails by panicking.
    pub body: fn(),
    /// The interleaving worth drawing, as the text of a script.
    pub script: Option<&'static str>,
    /// The bug that is switched on while the script is drawn.
    pub script_mutant: Option<&'static str>,
    /// The seed of that execution: a script does not say what the disk does.
    pub script_seed: u64,
    /// What the simulated world does wrong while the story runs.
    pub faults: Faults,
    /// Whether who waits for a spinlock spins and sleeps in virtual time, instead of being set
    /// aside until it can go on.
    pub spin_budget: bool,
    /// Seeds in a sweep that does not say how many.
    pub default_seeds: u64,
    /// Scheduling points after which an execution counts as endless.
    pub max_steps: u64,
}

/// A bug a scenario must catch.
#[derive(Clone, Copy, Debug)]
pub struct MutantCase {
    /// The name asked for with `holdup::mutant::is`, for example `recent.pin_any`.
    pub name: &'static str,
    /// Executions within which the portfolio must catch it.
    pub budget: u64,
    /// What is wrong, in one sentence.
    pub note: &'static str,
    /// Numbers of this bug in the catalogue; where empty, those of the scenario count.
    pub catalogue: &'static [&'static str],
    /// The two operations whose order decides, where that is known: who carries out the first, the
    /// object it is on, and the same of the second. What `holdup explain` has to find.
    pub critical_pair: Option<[(&'static str, &'static str); 2]>,
    /// Preemptions that the catalogue says it takes, corrected where a search of all schedules
    /// with fewer found nothing.
    pub preemptions: Option<u32>,
}

impl Scenario {
    /// What a story does not need to say.
    pub const BASE: Self = Self {
        name: "",
        area: "",
        summary: "",
        rules: &[],
        mutants: &[],
        catalogue: &[],
        body: || (),
        script: None,
        script_mutant: None,
        script_seed: 0,
        faults: Faults::NONE,
        spin_budget: false,
        default_seeds: 1_000,
        max_steps: 1_000_000,
    };

    /// A checker for this story under `scheduler`, with the bug `mutant` switched on.
    #[must_use]
    pub fn checker(&self, scheduler: &Scheduler, mutant: Option<&'static str>) -> Checker {
        Checker::new(self.name)
            .scheduler(scheduler.clone())
            .mutant(mutant)
            .faults(self.faults)
            .spin_budget(self.spin_budget)
            .max_steps(self.max_steps)
    }

    /// The script worth drawing, parsed.
    ///
    /// # Panics
    ///
    /// If the text is no script: a mistake in the story, which the tests find.
    #[must_use]
    pub fn parsed_script(&self) -> Option<Script> {
        let text = self.script?;
        match text.parse() {
            Ok(script) => Some(script),
            Err(error) => panic!("the script of scenario {} is malformed: {error}", self.name),
        }
    }

    /// Whether it only judges schedulers, and so takes part in nothing unless named.
    #[must_use]
    pub fn judges_schedulers(&self) -> bool {
        JUDGING_AREAS.contains(&self.area)
    }

    /// The mutant called `name`, if this scenario catches it.
    #[must_use]
    pub fn mutant(&self, name: &str) -> Option<&'static MutantCase> {
        self.mutants.iter().find(|case| case.name == name)
    }

    /// Numbers in the catalogue, its mutants' included, without repeats.
    #[must_use]
    pub fn all_catalogue(&self) -> Vec<&'static str> {
        let mut all = self.catalogue.to_vec();
        for number in self.mutants.iter().flat_map(|case| case.catalogue) {
            if !all.contains(number) {
                all.push(number);
            }
        }
        all
    }
}

impl MutantCase {
    /// What a case does not need to say.
    pub const BASE: Self = Self {
        name: "",
        budget: 10_000,
        note: "",
        catalogue: &[],
        critical_pair: None,
        preemptions: None,
    };

    /// Its numbers in the catalogue, or else those of the `scenario` that catches it.
    #[must_use]
    pub fn catalogue_in(&self, scenario: &Scenario) -> &'static [&'static str] {
        if self.catalogue.is_empty() { scenario.catalogue } else { self.catalogue }
    }
}
