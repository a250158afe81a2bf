//! Strategies against what theory says of them, exactly where that is possible: how often each
//! order of a small program's operations comes, by chi-square over fixed seeds.

use std::collections::BTreeMap;
use std::sync::Mutex as StdMutex;

use holdup::sync::atomic::{AtomicU32, Ordering::SeqCst};
use holdup::sync::{Mutex, SpinLock};
use holdup::{Checker, thread};

/// Orders of operations, as tasks in turn, and how often each came.
type Orders = BTreeMap<Vec<usize>, f64>;

/// Runs `body`, which writes down who does what, and counts what it wrote.
fn orders(scheduler: &str, seeds: u64, body: impl Fn(&StdMutex<Vec<usize>>) + Sync) -> Orders {
    let counts = StdMutex::new(Orders::new());
    let scheduler = scheduler.parse().unwrap();
    let report = Checker::new("orders").scheduler(scheduler).seeds(0..seeds).jobs(2).run(&|| {
        // Locks of `std` are no part of the execution; nobody is preempted inside.
        let order = StdMutex::new(Vec::new());
        body(&order);
        *counts.lock().unwrap().entry(order.into_inner().unwrap()).or_default() += 1.0;
    });
    assert_eq!(report.first_failure, None);
    let mut counts = counts.into_inner().unwrap();
    // The pilots are not among the seeds.
    let beyond = counts.values().sum::<f64>() - seeds as f64;
    assert!((0.0..=8.0).contains(&beyond));
    counts.retain(|order, _| !order.is_empty());
    counts
}

/// Chi-square of `counts` against `expected` probabilities. Orders that cannot come do not.
#[track_caller]
fn chi_square(counts: &Orders, expected: &Orders) -> f64 {
    let strays: Vec<_> = counts.keys().filter(|order| !expected.contains_key(*order)).collect();
    assert!(strays.is_empty(), "impossible: {strays:?}");
    let n: f64 = counts.values().sum();
    let terms = expected.iter().map(|(order, probability)| {
        let wanted = n * probability;
        (counts.get(order).copied().unwrap_or(0.0) - wanted).powi(2) / wanted
    });
    terms.sum()
}

/// What chi-square stays below with a probability of more than 0.999, if counts are as expected.
fn limit(expected: &Orders) -> f64 {
    let degrees = expected.len() as f64 - 1.0;
    degrees + 4.0 * (2.0 * degrees).sqrt() + 4.0
}

/// All orders of tasks with so many operations each, equally likely.
fn uniform(operations: &[usize]) -> Orders {
    fn extend(left: &mut [usize], order: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        if left.iter().all(|&n| n == 0) {
            all.push(order.clone());
        }
        for task in 0..left.len() {
            if left[task] > 0 {
                left[task] -= 1;
                order.push(task);
                extend(left, order, all);
                order.pop();
                left[task] += 1;
            }
        }
    }
    let mut all = Vec::new();
    extend(&mut operations.to_vec(), &mut Vec::new(), &mut all);
    let probability = 1.0 / all.len() as f64;
    all.into_iter().map(|order| (order, probability)).collect()
}

#[track_caller]
fn is_as_expected(counts: &Orders, expected: &Orders) {
    let (found, limit) = (chi_square(counts, expected), limit(expected));
    assert!(found < limit, "chi-square {found:.1}, limit {limit:.1}: {counts:?}");
}

#[track_caller]
fn is_not_as_expected(counts: &Orders, expected: &Orders) {
    let (found, limit) = (chi_square(counts, expected), limit(expected));
    assert!(found > limit, "chi-square {found:.1}, limit {limit:.1}: {counts:?}");
}

/// Tasks with so many operations each, all on one word.
fn additions(operations: &'static [usize]) -> impl Fn(&StdMutex<Vec<usize>>) + Sync {
    move |order| {
        let word = AtomicU32::new(0);
        thread::scope(|scope| {
            for (task, &n) in operations.iter().enumerate() {
                let word = &word;
                scope.spawn(move || {
                    for _ in 0..n {
                        word.fetch_add(1, SeqCst);
                        order.lock().unwrap().push(task);
                    }
                });
            }
        });
    }
}

#[test]
fn urw_gives_every_interleaving_with_the_same_probability() {
    for (operations, n) in [(&[3, 3][..], 20), (&[2, 2, 2], 90), (&[1, 4], 5), (&[5, 1, 1], 42)] {
        let expected = uniform(operations);
        assert_eq!(expected.len(), n);

        is_as_expected(&orders("urw", 500 * n as u64, additions(operations)), &expected);
    }
}

#[test]
fn a_random_walk_gives_some_interleavings_more_often_than_others() {
    for operations in [&[3, 3][..], &[2, 2, 2], &[1, 4]] {
        let expected = uniform(operations);
        let seeds = 500 * expected.len() as u64;

        is_not_as_expected(&orders("random", seeds, additions(operations)), &expected);
    }
}

/// Task 0 has an operation, spawns task 2, which has one, and has another; task 1 has two.
fn family(order: &StdMutex<Vec<usize>>) {
    let word = AtomicU32::new(0);
    let step = |task| {
        word.fetch_add(1, SeqCst);
        order.lock().unwrap().push(task);
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            step(0);
            scope.spawn(|| step(2));
            step(0);
        });
        scope.spawn(|| {
            step(1);
            step(1);
        });
    });
}

#[test]
fn urw_counts_the_operations_of_tasks_that_are_yet_to_be_spawned() {
    let mut expected = uniform(&[2, 2, 1]);
    let born = |order: &[usize]| {
        let at = |task| order.iter().position(|&other| other == task);
        at(0) < at(2)
    };
    expected.retain(|order, _| born(order));
    let n = expected.len() as f64;
    expected.values_mut().for_each(|probability| *probability = 1.0 / n);
    assert_eq!(n, 20.0);

    is_as_expected(&orders("urw", 10_000, family), &expected);
}

/// Tasks that meet at a word twice each, with other work before, between and after: of the first
/// much before, of the second much between.
fn meetings(order: &StdMutex<Vec<usize>>) {
    let word = AtomicU32::new(0);
    thread::scope(|scope| {
        for (task, work) in [[30, 0, 2], [0, 20, 0], [1, 1, 10]].into_iter().enumerate() {
            let word = &word;
            scope.spawn(move || {
                let own = AtomicU32::new(0);
                for (part, n) in work.into_iter().enumerate() {
                    (0..n).for_each(|_| _ = own.fetch_add(1, SeqCst));
                    if part < 2 {
                        word.fetch_add(1, SeqCst);
                        order.lock().unwrap().push(task);
                    }
                }
            });
        }
    });
}

#[test]
fn surw_gives_every_order_of_the_operations_on_one_object_with_the_same_probability() {
    let expected = uniform(&[2, 2, 2]);

    is_as_expected(&orders("surw", 45_000, meetings), &expected);
    for other in ["random", "urw", "pos", "pct"] {
        is_not_as_expected(&orders(other, 45_000, meetings), &expected);
    }
}

#[test]
fn surw_gives_every_order_in_which_a_lock_is_taken_with_the_same_probability() {
    let expected = uniform(&[1, 2, 1]);
    let locks = |order: &StdMutex<Vec<usize>>| {
        let (lock, guarded) = (Mutex::new(()), AtomicU32::new(0));
        let (lock, guarded) = (&lock, &guarded);
        thread::scope(|scope| {
            for (task, times) in [(0, 1), (1, 2), (2, 1)] {
                scope.spawn(move || {
                    let own = AtomicU32::new(0);
                    (0..task * 10).for_each(|_| _ = own.load(SeqCst));
                    for _ in 0..times {
                        let _held = lock.lock().unwrap();
                        order.lock().unwrap().push(task);
                        // Every one of them under the lock, so no order of its own.
                        (0..3).for_each(|_| _ = guarded.fetch_add(1, SeqCst));
                    }
                });
            }
        });
    };

    is_as_expected(&orders("surw", 6_000, locks), &expected);
    is_not_as_expected(&orders("random", 6_000, locks), &expected);
}

#[test]
fn surw_lets_tasks_meet_at_each_object_they_race_for() {
    let body = |order: &StdMutex<Vec<usize>>| {
        let words = [AtomicU32::new(0), AtomicU32::new(0)];
        thread::scope(|scope| {
            for task in 0..2 {
                let words = &words;
                scope.spawn(move || {
                    for (at, word) in words.iter().enumerate() {
                        word.fetch_add(1, SeqCst);
                        order.lock().unwrap().push(2 * at + task);
                        (0..50).for_each(|_| _ = AtomicU32::new(0).load(SeqCst));
                    }
                });
            }
        });
    };

    let counts = orders("surw", 4_000, body);

    // A task overtakes the other once, which takes a meeting at the second word to be likely.
    let overtaken = |order: &[usize]| {
        let at = |event| order.iter().position(|&other| other == event);
        (at(0) < at(1)) != (at(2) < at(3))
    };
    let n: f64 = counts.iter().filter(|(order, _)| overtaken(order)).map(|(_, n)| n).sum();
    assert!((1_000.0..3_000.0).contains(&n), "{n} of 4,000: {counts:?}");
}

/// An operation of the programs below: on which word, and whether it changes it.
type Operation = (usize, bool);

/// Probabilities of all orders under partial order sampling, from its definition: only how draws
/// compare matters, and a new draw comes with equal probability to each place among the earlier.
fn sampled(program: &[Vec<Operation>]) -> Orders {
    struct State<'a> {
        program: &'a [Vec<Operation>],
        done: Vec<usize>,
        /// The place of each task's draw in `ranks`.
        draws: Vec<usize>,
        /// All draws made, by number, from the lowest to the highest.
        ranks: Vec<usize>,
        order: Vec<usize>,
    }
    /// Makes the draws of `tasks` in every way, then runs the highest.
    fn go(state: &mut State<'_>, tasks: &[usize], probability: f64, all: &mut Orders) {
        let Some((&task, tasks)) = tasks.split_first() else {
            return run(state, probability, all);
        };
        let number = state.ranks.len();
        let before = std::mem::replace(&mut state.draws[task], number);
        for place in 0..=number {
            state.ranks.insert(place, number);
            go(state, tasks, probability / (number + 1) as f64, all);
            state.ranks.remove(place);
        }
        state.draws[task] = before;
    }
    fn run(state: &mut State<'_>, probability: f64, all: &mut Orders) {
        let pending =
            |state: &State<'_>, task: usize| state.program[task].get(state.done[task]).copied();
        let tasks = 0..state.program.len();
        let alive = tasks.filter(|&task| pending(state, task).is_some());
        let rank = |task: &usize| state.ranks.iter().position(|&draw| draw == state.draws[*task]);
        let alive: Vec<_> = alive.collect();
        let Some(&chosen) = alive.iter().max_by_key(|task| rank(task)) else {
            *all.entry(state.order.clone()).or_default() += probability;
            return;
        };
        let (word, changes) = pending(state, chosen).unwrap();
        state.done[chosen] += 1;
        state.order.push(chosen);
        let drawn_anew: Vec<_> = alive
            .into_iter()
            .filter(|&task| match pending(state, task) {
                None => false,
                Some(_) if task == chosen => true,
                Some((other, also)) => other == word && (changes || also),
            })
            .collect();
        go(state, &drawn_anew, probability, all);
        state.order.pop();
        state.done[chosen] -= 1;
    }
    let n = program.len();
    let (done, draws) = (vec![0; n], vec![0; n]);
    let mut state = State { program, done, draws, ranks: Vec::new(), order: Vec::new() };
    let mut all = Orders::new();
    go(&mut state, &(0..n).collect::<Vec<_>>(), 1.0, &mut all);
    all
}

#[test]
fn pos_gives_orders_with_the_probabilities_that_its_definition_gives() {
    const READ: bool = false;
    const WRITE: bool = true;
    let programs = [
        vec![vec![(0, WRITE), (1, WRITE)], vec![(0, WRITE), (1, WRITE)]],
        vec![vec![(0, WRITE), (1, WRITE)], vec![(1, WRITE), (0, WRITE)]],
        vec![vec![(0, READ), (0, WRITE)], vec![(0, READ), (0, READ)]],
        vec![vec![(0, READ), (1, READ)], vec![(0, READ), (1, WRITE)]],
        vec![vec![(0, WRITE)], vec![(0, WRITE)], vec![(1, READ), (0, READ)]],
    ];
    for program in programs {
        let expected = sampled(&program);
        assert!((expected.values().sum::<f64>() - 1.0).abs() < 1e-9);

        let counts = orders("pos", 20_000, |order| {
            let words = [AtomicU32::new(0), AtomicU32::new(0)];
            thread::scope(|scope| {
                for (task, operations) in program.iter().enumerate() {
                    let words = &words;
                    scope.spawn(move || {
                        for &(word, changes) in operations {
                            match changes {
                                READ => _ = words[word].load(SeqCst),
                                WRITE => words[word].store(1, SeqCst),
                            }
                            order.lock().unwrap().push(task);
                        }
                    });
                }
            });
        });

        is_as_expected(&counts, &expected);
    }
}

#[test]
fn starving_finds_what_lies_far_apart() {
    let body = || {
        let (open, work) = (SpinLock::new(false), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                (0..100).for_each(|_| _ = work.load(SeqCst));
                *open.lock() = true;
            });
            scope.spawn(|| assert!(!*open.lock(), "open when it came"));
        });
    };
    let failures = |scheduler: &str| {
        let scheduler = scheduler.parse().unwrap();
        Checker::new("far apart").scheduler(scheduler).seeds(0..2_000).run(&body).failures
    };

    assert!(failures("starve") > 100);
    assert_eq!(failures("random"), 0);
}

/// One writer after another changes two words; a reader must not come between all their changes.
fn pair_written_by(writers: usize) -> impl Fn() + Sync {
    move || {
        let (a, b) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..writers {
                let writer = thread::Builder::new().name("writer".into());
                let write = || {
                    a.store(1, SeqCst);
                    b.store(1, SeqCst);
                };
                writer.spawn_scoped(scope, write).unwrap();
            }
            scope.spawn(|| assert_eq!(a.load(SeqCst), b.load(SeqCst), "half a pair"));
        });
    }
}

/// Executions to the first failure, mean of 20 trials of at most 1,000.
fn mean_executions(scheduler: &str, body: &(dyn Fn() + Sync)) -> f64 {
    let trial = |trial: u64| {
        let seeds = trial * 1_000..(trial + 1) * 1_000;
        let checker = Checker::new("trial").scheduler(scheduler.parse().unwrap());
        let report = checker.seeds(seeds).stop_at_first(true).run(body);
        report.first_failure.map_or(1_000, |first| first.execution) as f64
    };
    (0..20).map(trial).sum::<f64>() / 20.0
}

#[test]
fn delay_holds_many_tasks_back_as_easily_as_few() {
    let few = mean_executions("delay", &pair_written_by(2));
    let many = mean_executions("delay", &pair_written_by(40));

    assert!(few < 10.0 && many < 10.0, "{few} and {many}");
    assert!(mean_executions("random", &pair_written_by(40)) > 100.0 * many);
}

#[test]
fn delay_lets_go_of_whom_others_poll_for() {
    let report = Checker::new("poll")
        .scheduler("delay".parse().unwrap())
        .seeds(0..500)
        .max_steps(20_000)
        .run(&|| {
            let (ready, polls) = (AtomicU32::new(0), AtomicU32::new(0));
            thread::scope(|scope| {
                scope.spawn(|| ready.store(1, SeqCst));
                // A loop that shows no sign of waiting: it has something to do.
                scope.spawn(|| {
                    while ready.load(SeqCst) == 0 {
                        polls.fetch_add(1, SeqCst);
                    }
                });
            });
        });

    assert_eq!(report.first_failure, None);
}
