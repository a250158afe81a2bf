//! Proofs of random small programs: the search of traces beside that of all schedules.

use std::collections::BTreeSet;
use std::sync::Mutex as Seen;

use holdup::explore::{Proof, ProofOptions};
use holdup::hint::spin_until;
use holdup::sync::atomic::{AtomicU32, Ordering::SeqCst};
use holdup::sync::{Mutex, SpinLock};
use holdup::{Checker, thread};

/// A small program: per task a few operations, each on one of three objects.
#[derive(Clone, Debug)]
struct Program(Vec<Vec<(u32, usize)>>);

/// Draws for programs, from a number: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// Operations that never wait; those after them may.
const PLAIN: u64 = 5;
const ALL: u64 = 9;
/// A load whose value nobody keeps.
const FORGOTTEN_LOAD: u32 = 9;

impl Program {
    fn random(seed: u64, kinds: u64, longest: u64) -> Self {
        let mut numbers = Numbers(seed);
        let n_tasks = 2 + numbers.below(2);
        let n_objects = 1 + numbers.below(3);
        let longest = if n_tasks == 2 { longest + 1 } else { longest };
        let task = |_| {
            let length = 1 + numbers.below(longest);
            let operation = |_| (numbers.below(kinds) as u32, numbers.below(n_objects) as usize);
            (0..length).map(operation).collect()
        };
        Self((0..n_tasks).map(task).collect())
    }

    /// Runs it; returns what every task saw, and what is left in the words.
    fn run(&self) -> Vec<u32> {
        let words = [const { AtomicU32::new(0) }; 3];
        let values = [const { Mutex::new(0) }; 3];
        let spins = [const { SpinLock::new(0) }; 3];
        let held = [const { AtomicU32::new(0) }; 3];
        let run = |id: usize, operations: &[(u32, usize)]| {
            let mut seen = Vec::new();
            let mut value = 10 * id as u32;
            for &(kind, object) in operations {
                value += u32::from(kind != FORGOTTEN_LOAD);
                let word = &words[object];
                match kind {
                    0 => seen.push(word.load(SeqCst)),
                    1 => word.store(value, SeqCst),
                    2 => seen.push(word.fetch_add(value, SeqCst)),
                    3 => {
                        let found = word.compare_exchange(0, value, SeqCst, SeqCst);
                        seen.push(found.unwrap_or_else(|found| 1_000 + found));
                    }
                    4 => seen.push(word.fetch_or(1, SeqCst)),
                    5 => {
                        let mut guard = values[object].lock().unwrap();
                        *guard = *guard * 7 + value;
                        seen.push(*guard);
                    }
                    6 => {
                        let mut guard = spins[object].lock();
                        *guard = *guard * 7 + value;
                        seen.push(*guard);
                    }
                    7 => {
                        let held = &held[object];
                        while held.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
                            spin_until(held, |value| value == 0);
                        }
                        seen.push(word.load(SeqCst));
                        held.store(0, SeqCst);
                    }
                    FORGOTTEN_LOAD => _ = word.load(SeqCst),
                    _ => {
                        let guard = values[object].try_lock();
                        seen.push(u32::from(guard.is_ok()));
                    }
                }
            }
            seen
        };
        let run = &run;
        let mut seen = thread::scope(|scope| {
            let tasks: Vec<_> = self
                .0
                .iter()
                .enumerate()
                .map(|(id, task)| scope.spawn(move || run(id, task)))
                .collect();
            tasks.into_iter().flat_map(|task| task.join().unwrap()).collect::<Vec<_>>()
        });
        seen.extend(words.map(AtomicU32::into_inner));
        seen
    }

    /// All outcomes, and the proof that found them.
    fn outcomes(&self, options: ProofOptions) -> (BTreeSet<Vec<u32>>, Proof) {
        let seen = Seen::new(BTreeSet::new());
        let body = || {
            let outcome = self.run();
            seen.lock().unwrap().insert(outcome);
        };
        let proof = Checker::new("a random program").prove(options, &body);
        assert!(proof.complete && proof.failures == 0, "{self:?}: {proof:#?}");
        (seen.into_inner().unwrap(), proof)
    }

    /// Compares the search of traces with the search of all schedules.
    fn compare(&self) -> (Proof, Proof) {
        let (reduced, traces) = self.outcomes(ProofOptions::new());
        let (all, schedules) = self.outcomes(ProofOptions::new().preemptions(u32::MAX));
        assert_eq!(reduced, all, "{self:?}");
        assert_eq!(traces.executions, traces.distinct_traces, "{self:?}: a trace twice");
        (traces, schedules)
    }
}

#[test]
fn every_trace_of_a_program_that_never_waits_is_run_once() {
    let (mut traces, mut schedules) = (0, 0);
    for seed in 0..300 {
        let program = Program::random(seed, PLAIN, 2);
        let (reduced, all) = program.compare();
        assert_eq!(reduced.distinct_traces, all.distinct_traces, "{program:?}");
        traces += reduced.executions;
        schedules += all.executions;
    }
    assert!(traces * 5 < schedules, "{traces} traces in {schedules} schedules");
}

#[test]
fn every_outcome_of_a_program_that_waits_is_found() {
    for seed in 0..150 {
        Program::random(seed, ALL, 1).compare();
    }
}

#[test]
fn another_load_loses_no_outcome() {
    for seed in 0..100 {
        let program = Program::random(seed, ALL, 2);
        let mut longer = program.clone();
        let mut numbers = Numbers(seed);
        let task = numbers.below(longer.0.len() as u64) as usize;
        let at = numbers.below(longer.0[task].len() as u64 + 1) as usize;
        longer.0[task].insert(at, (FORGOTTEN_LOAD, numbers.below(3) as usize));

        let (without, _) = program.outcomes(ProofOptions::new());
        let (with, _) = longer.outcomes(ProofOptions::new());
        assert_eq!(with, without, "{program:?} {longer:?}");
    }
}
