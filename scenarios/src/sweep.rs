//! Sweeps: many seeds of a scenario, chunk by chunk, so that a sweep can be stopped and resumed.
//!
//! A chunk is the unit that is stored and that a signal waits for. What comes out does not depend
//! on where the chunks are cut, nor on how many jobs run them: counts add up, hashes fold
//! commutatively, and the first failure is the lowest failing seed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use holdup::explore::{ArmCount, FaultCounts, Guided};
use holdup::{Report, Scheduler};

use crate::meetings::Meetings;
use crate::numbers::Shard;
use crate::scenario::Scenario;

/// Executions in a chunk: large beside what a run costs to start, small beside a user's patience.
const CHUNK: u64 = 2_048;

/// Executions of a chunk whose doings are looked at: each costs about ten times its share.
const SAMPLE: u64 = 64;

/// What to run of one scenario.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The story.
    pub scenario: &'static Scenario,
    /// Who decides.
    pub scheduler: Scheduler,
    /// The bug that is switched on, if any.
    pub mutant: Option<&'static str>,
    /// The seeds.
    pub seeds: Range<u64>,
    /// Which of them.
    pub shard: Shard,
    /// Threads that run executions.
    pub jobs: usize,
    /// Whether to look at what a sample of the executions shows.
    pub coverage: bool,
}

/// A seed that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedSeed {
    /// The seed.
    pub seed: u64,
    /// The rule that broke.
    pub rule: String,
    /// What the failing task said.
    pub message: String,
}

/// What came of some executions. Tallies of disjoint seeds add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Executions that ran to their end.
    pub executions: u64,
    /// Scheduling points passed.
    pub steps: u64,
    /// Executions that failed.
    pub failures: u64,
    /// Failed executions by rule.
    pub rules: BTreeMap<String, u64>,
    /// Executions and failures by the scheduler that decided.
    pub arms: BTreeMap<String, ArmCount>,
    /// The lowest failing seed of each rule.
    pub examples: BTreeMap<String, FailedSeed>,
    /// How often each fault struck.
    pub faults: FaultCounts,
    /// All schedule hashes, folded.
    pub hash: u64,
    /// What a sample of the executions showed of each other's doings.
    pub meetings: Meetings,
}

impl Tally {
    /// Adds what came of other seeds.
    pub fn absorb(&mut self, other: Self) {
        self.executions += other.executions;
        self.steps += other.steps;
        self.failures += other.failures;
        self.hash = self.hash.wrapping_add(other.hash);
        self.meetings.absorb(other.meetings);
        self.faults.add(&other.faults);
        for (rule, failures) in other.rules {
            *self.rules.entry(rule).or_default() += failures;
        }
        for (arm, count) in other.arms {
            self.arms.entry(arm).or_default().add(count);
        }
        for (rule, example) in other.examples {
            let known = self.examples.entry(rule).or_insert_with(|| example.clone());
            if example.seed < known.seed {
                *known = example;
            }
        }
    }

    /// The lowest failing seed.
    #[must_use]
    pub fn first_failure(&self) -> Option<&FailedSeed> {
        self.examples.values().min_by_key(|example| example.seed)
    }
}

impl Plan {
    /// The position of `seed` among the executions of this plan, from 1.
    #[must_use]
    pub fn execution(&self, seed: u64) -> u64 {
        self.shard.count(&(self.seeds.start..seed)) + 1
    }

    /// Runs all of `chunk`; `done(n)` is called as executions end.
    #[must_use]
    pub fn run(&self, chunk: Range<u64>, done: &(dyn Fn(u64) + Sync)) -> Tally {
        let never = AtomicBool::new(false);
        let checker = self.checker(chunk.clone());
        let report = checker.run_observed(&self.scenario.body, &never, done);
        let meetings = if self.coverage { self.meetings(&chunk) } else { Meetings::default() };
        let examples = self.examples(chunk, &report);
        Tally {
            executions: report.executions,
            steps: report.steps,
            failures: report.failures,
            rules: report.rules,
            arms: report.arms,
            faults: report.faults,
            examples,
            hash: report.hash,
            meetings,
        }
    }

    /// Searches with `executions` executions, guided by what they show, from the first seed on.
    #[must_use]
    pub fn guided(&self, executions: u64) -> Guided {
        let from = self.seeds.start;
        let seeds = from..from.saturating_add(executions);
        let checker = self.scenario.checker(&self.scheduler, self.mutant).seeds(seeds);
        checker.guided(&self.scenario.body)
    }

    /// What a sample of the executions of a chunk shows. A seed says itself whether it is looked at,
    /// so that shards together look at what the whole looks at.
    fn meetings(&self, chunk: &Range<u64>) -> Meetings {
        let mut meetings = Meetings::default();
        for block in chunks(chunk.clone(), Shard::WHOLE) {
            let sample = block.start..block.start.saturating_add(SAMPLE).min(block.end);
            if self.shard.count(&sample) > 0 {
                let coverage = self.checker(sample).coverage(&self.scenario.body);
                meetings.absorb(Meetings::from(&coverage));
            }
        }
        meetings
    }

    fn checker(&self, seeds: Range<u64>) -> holdup::Checker {
        self.scenario
            .checker(&self.scheduler, self.mutant)
            .seeds(seeds)
            .shard(self.shard.index, self.shard.of)
            .jobs(self.jobs)
    }

    /// The lowest failing seed of each rule that the chunk broke. A report names the lowest of
    /// all; where there are more rules, the rest of the chunk is run again, failure by failure.
    fn examples(&self, chunk: Range<u64>, report: &Report) -> BTreeMap<String, FailedSeed> {
        let mut examples = BTreeMap::new();
        let mut next = report.first_failure.clone();
        while let Some(found) = next {
            examples.entry(found.failure.rule.clone()).or_insert(FailedSeed {
                seed: found.seed,
                rule: found.failure.rule,
                message: found.failure.message,
            });
            if examples.len() >= report.rules.len() {
                break;
            }
            let rest = self.checker(found.seed + 1..chunk.end).stop_at_first(true);
            next = rest.run(&self.scenario.body).first_failure;
        }
        examples
    }
}

/// Cuts `seeds` into chunks, at the same places wherever the range begins.
pub fn chunks(seeds: Range<u64>, shard: Shard) -> impl Iterator<Item = Range<u64>> {
    let size = CHUNK.saturating_mul(shard.of);
    let mut from = seeds.start;
    std::iter::from_fn(move || {
        let to = (from - from % size).saturating_add(size).min(seeds.end);
        let chunk = from..to;
        from = to;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// What is left of `seeds` without the `done` ranges, which are sorted and disjoint.
#[must_use]
pub fn without(seeds: Range<u64>, done: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut from = seeds.start;
    for range in done {
        left.push(from..range.start.min(seeds.end));
        from = from.max(range.end);
    }
    left.push(from..seeds.end);
    left.retain(|range| !range.is_empty());
    left
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges are what is tested")]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_every_seed_once() {
        for (from, to) in [(0, 1), (0, 5_000), (1_000, 3_000), (2_048, 4_096), (7, 7)] {
            let shard = Shard { index: 1, of: 2 };
            let chunks: Vec<_> = chunks(from..to, shard).collect();

            assert_eq!(
                chunks.iter().map(|chunk| shard.count(chunk)).sum::<u64>(),
                shard.count(&(from..to))
            );
            assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(chunks.iter().skip(1).all(|chunk| chunk.start % (2 * CHUNK) == 0));
        }
    }

    #[test]
    fn chunks_reach_the_last_seed() {
        let last = u64::MAX - 1..u64::MAX;
        assert_eq!(chunks(last.clone(), Shard::WHOLE).collect::<Vec<_>>(), [last]);
    }

    #[test]
    fn what_is_done_is_left_out() {
        assert_eq!(without(0..10, &[]), [0..10]);
        assert_eq!(without(0..10, &[0..4, 6..8]), [4..6, 8..10]);
        assert_eq!(without(5..10, &[0..7, 9..20]), [7..9]);
        assert_eq!(without(0..10, &[0..10]), []);
    }

    #[test]
    fn tallies_add_up_in_any_order() {
        let tally = |seed: u64, rule: &str| {
            let example = FailedSeed { seed, rule: rule.into(), message: String::new() };
            Tally {
                executions: 10,
                failures: 1,
                rules: [(rule.to_owned(), 1)].into(),
                arms: [("pos".to_owned(), ArmCount { executions: 10, failures: 1 })].into(),
                examples: [(rule.to_owned(), example)].into(),
                faults: [("torn-write", seed)].into_iter().collect(),
                hash: seed.wrapping_mul(u64::MAX / 3),
                ..Tally::default()
            }
        };
        let parts = [tally(30, "deadlock"), tally(10, "I-ID2"), tally(20, "deadlock")];

        let mut forth = Tally::default();
        parts.iter().for_each(|part| forth.absorb(part.clone()));
        let mut back = Tally::default();
        parts.iter().rev().for_each(|part| back.absorb(part.clone()));

        assert_eq!(forth, back);
        assert_eq!((forth.executions, forth.rules["deadlock"]), (30, 2));
        assert_eq!(forth.arms["pos"], ArmCount { executions: 30, failures: 3 });
        assert_eq!(forth.faults.of("torn-write"), 60);
        assert_eq!(forth.examples["deadlock"].seed, 20);
        assert_eq!(forth.first_failure().map(|first| first.seed), Some(10));
    }
}
