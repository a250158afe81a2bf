//! Reruns: one seed again and again, each time under another list of turns or another script.
//!
//! A rerun costs microseconds, so whoever looks for a simpler failure may try thousands. They run
//! on an OS thread of their own, one after the other, and another takes its place when a failure
//! has left it unusable.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope};

use super::shrink::slices;
use super::{Checker, pilot};
use crate::core::{Draws, Execution};
use crate::scheduler::{Choice, Depth, Pilot, Scheduler, Scripted, Strategy, Stretch, Turns};
use crate::script::Script;
use crate::trace::Trace;

/// How much longer than the execution at hand another may get before it counts as endless.
const MUCH_LONGER: u64 = 4;
/// Steps that any execution may take.
const SHORT: u64 = 10_000;

/// Steps of all reruns of one seed, beyond which nothing more is tried.
const MOST_STEPS: u64 = 40_000_000;

/// Mean lengths of the runs of a random suffix, in turn.
const RUNS: [u32; 4] = [1, 8, 32, 128];

/// An execution under a list of turns.
pub(super) struct Run {
    /// The rule that broke.
    pub(super) rule: Option<String>,
    /// What was really done: the list that gives this execution again.
    pub(super) taken: Vec<Stretch>,
    /// Where somebody could not go on, and several others could.
    pub(super) choices: Vec<Choice>,
    /// The own steps at which the stretches ended.
    pub(super) ends: Vec<u64>,
}

impl Run {
    /// What makes a failure simple: few preemptions, then few switches.
    pub(super) fn cost(&self) -> (usize, usize) {
        (self.preemptions(), self.taken.len())
    }

    pub(super) fn preemptions(&self) -> usize {
        self.taken.iter().filter(|stretch| stretch.cut.is_some()).count()
    }
}

enum Job {
    Turns(Vec<Stretch>),
    /// PCT of a depth, and the seed of its draws.
    Pct(u32, u64, Pilot),
    RecordPct(u32, u64, Pilot),
    Record(Box<Strategy>),
    /// A script, and the seed of the random walk where it ends.
    Script(Box<Scripted>, u64),
}

enum Answer {
    Run(Run),
    Failed(Option<String>),
    Trace(Box<Trace>),
}

/// An answer, the steps it took, and whether its thread must run no other execution.
type Answered = (Answer, u64, bool);

/// One seed of one program, to be run again.
pub(super) struct Reruns<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    checker: &'env Checker,
    seed: u64,
    body: &'env (dyn Fn() + Sync),
    worker: Option<(Sender<Job>, Receiver<Answered>)>,
    pilot: Option<Pilot>,
    /// Executions so far, and their steps.
    pub(super) count: u64,
    steps: u64,
}

/// Calls `with` with reruns of `seed`, which took `steps` steps and broke `rule`.
pub(super) fn with<R>(
    checker: &Checker,
    seed: u64,
    steps: u64,
    rule: &str,
    body: &(dyn Fn() + Sync),
    with: impl FnOnce(&mut Reruns<'_, '_>) -> R,
) -> R {
    let mut checker = checker.knowing_lives(body).into_owned();
    checker.setup = checker.looking_for_races();
    if rule != "step-limit" {
        let limit = steps.saturating_mul(MUCH_LONGER).saturating_add(SHORT);
        checker.setup.max_steps = checker.setup.max_steps.min(limit);
    }
    let checker = &checker;
    std::thread::scope(|scope| {
        with(&mut Reruns {
            scope,
            checker,
            seed,
            body,
            worker: None,
            pilot: None,
            count: 0,
            steps: 0,
        })
    })
}

impl Reruns<'_, '_> {
    /// Whether so much was run that it is time to be content.
    pub(super) fn is_enough(&self) -> bool {
        self.steps > MOST_STEPS
    }

    /// Runs `plan`.
    pub(super) fn turns(&mut self, plan: Vec<Stretch>) -> Run {
        match self.ask(Job::Turns(plan)) {
            Answer::Run(run) => run,
            _ => unreachable!("a list of turns is not recorded"),
        }
    }

    /// Runs PCT of this depth with the draws of another seed; the turns it took, if it broke
    /// `rule`.
    pub(super) fn pct(&mut self, depth: u32, draws: u64, rule: &str) -> Option<Vec<Stretch>> {
        let pct = || self.checker.clone().scheduler(Scheduler::Pct(Depth::Fixed(depth)));
        let pilot = self.pilot.get_or_insert_with(|| pilot::measure(&pct(), self.body)).clone();
        match self.ask(Job::Pct(depth, draws, pilot.clone())) {
            Answer::Failed(None) => None,
            Answer::Failed(Some(broken)) if broken != rule => None,
            _ => {
                let strategy = Job::RecordPct(depth, draws, pilot);
                let Answer::Trace(trace) = self.ask(strategy) else { return None };
                Some(slices::stretches(&trace))
            }
        }
    }

    /// Runs `plan` and writes down everything.
    pub(super) fn record_turns(&mut self, plan: Vec<Stretch>) -> Trace {
        self.record(Strategy::Turns(Box::new(Turns::new(plan))))
    }

    /// Runs `script` and writes down everything.
    pub(super) fn record_script(&mut self, script: Script) -> Trace {
        self.record(Strategy::Script(Scripted::new(script)))
    }

    /// Runs the first `turns` turns of `script`, and from there at random under `suffix`, every
    /// other in longer runs: some bugs want tasks close together, some far apart.
    pub(super) fn neighbour(&mut self, script: Script, turns: usize, suffix: u64) -> Trace {
        match self.ask(Job::Script(
            Box::new(Scripted::prefix(script, turns, RUNS[suffix as usize % 4])),
            suffix,
        )) {
            Answer::Trace(trace) => *trace,
            _ => unreachable!("a script is recorded"),
        }
    }

    fn record(&mut self, strategy: Strategy) -> Trace {
        match self.ask(Job::Record(Box::new(strategy))) {
            Answer::Trace(trace) => *trace,
            _ => unreachable!("it was to be recorded"),
        }
    }

    fn ask(&mut self, job: Job) -> Answer {
        self.count += 1;
        let (jobs, answers) = self.worker.take().unwrap_or_else(|| self.start());
        let answer = jobs.send(job).ok().and_then(|()| answers.recv().ok());
        let Some((answer, steps, retire)) = answer else { panic!("the thread of a rerun died") };
        self.steps += steps;
        if !retire {
            self.worker = Some((jobs, answers));
        }
        answer
    }

    fn start(&self) -> (Sender<Job>, Receiver<Answered>) {
        let (jobs, todo) = channel::<Job>();
        let (done, answers) = channel();
        let (checker, seed, body) = (self.checker, self.seed, self.body);
        let work = move || {
            let execution = Execution::new(checker.stack_bytes);
            while let Ok(job) = todo.recv() {
                let answer = carry_out(checker, &execution, seed, body, job);
                let retire = answer.2;
                if done.send(answer).is_err() || retire {
                    break;
                }
            }
        };
        let builder = Builder::new().name(format!("{} reruns", checker.name));
        if let Err(error) = builder.spawn_scoped(self.scope, work) {
            panic!("no thread for reruns: {error}");
        }
        (jobs, answers)
    }
}

fn carry_out(
    checker: &Checker,
    execution: &Execution,
    seed: u64,
    body: &(dyn Fn() + Sync),
    job: Job,
) -> Answered {
    let (trace, retire) = match job {
        Job::Turns(plan) => {
            let strategy = Strategy::Turns(Box::new(Turns::new(plan)));
            let outcome = execution.run(seed, &checker.setup, |_| strategy, body, None);
            let rule = outcome.failure.map(|failure| failure.rule);
            let Strategy::Turns(turns) = execution.take_results().0 else {
                unreachable!("an execution keeps its strategy");
            };
            let (taken, choices, ends) = turns.into_taken(outcome.steps);
            return (
                Answer::Run(Run { rule, taken, choices, ends }),
                outcome.steps,
                outcome.retire,
            );
        }
        Job::Pct(depth, seed_of_draws, pilot) => {
            let strategy = |draws: &mut Draws| pct(depth, seed_of_draws, &pilot, draws);
            let outcome = execution.run(seed, &checker.setup, strategy, body, None);
            let rule = outcome.failure.map(|failure| failure.rule);
            return (Answer::Failed(rule), outcome.steps, outcome.retire);
        }
        Job::RecordPct(depth, seed_of_draws, pilot) => {
            let strategy = |draws: &mut Draws| pct(depth, seed_of_draws, &pilot, draws);
            let recorded = checker.record_under(execution, strategy, seed, body);
            (recorded.trace, recorded.retire)
        }
        Job::Record(strategy) => {
            let recorded = checker.record_under(execution, |_| *strategy, seed, body);
            (recorded.trace, recorded.retire)
        }
        Job::Script(script, suffix) => {
            let strategy = |draws: &mut Draws| {
                draws.start(suffix);
                Strategy::Script(*script)
            };
            let recorded = checker.record_under(execution, strategy, seed, body);
            (recorded.trace, recorded.retire)
        }
    };
    let steps = trace.steps;
    (Answer::Trace(Box::new(trace)), steps, retire)
}

fn pct(depth: u32, seed: u64, pilot: &Pilot, draws: &mut Draws) -> Strategy {
    draws.start(seed);
    Scheduler::Pct(Depth::Fixed(depth)).strategy(pilot, draws)
}
