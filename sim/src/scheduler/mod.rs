//! Schedulers: who decides which task runs.
//!
//! A scheduler is asked at scheduling points, which lie *before* visible operations, and it says
//! when it wants to be asked next: a step number. Until then the running task goes on without a
//! call, so a scheduler that decides rarely (PCT, a sticky walk, a replay) costs almost nothing per
//! step. It is also asked whenever the running task cannot go on, and at the next scheduling point
//! after a task became able to run.
//!
//! A systematic search is asked at every point and draws nothing: [`Checker::prove`].
//!
//! [`Checker::prove`]: crate::Checker::prove
//!
//! Draws come from the seed and from nothing else. What a scheduler learns beforehand, a
//! `Pilot`, is a pure function of the program and of the machine's fixed pilot seeds.

mod delay;
mod keyed;
mod lens;
mod pct;
mod portfolio;
mod pos;
mod profile;
mod random;
mod replay;
mod script;
mod starve;
mod sticky;
mod survey;
mod surw;
mod systematic;
mod turns;
mod unraced;
mod urw;

pub use pct::Depth;
pub use replay::{ParseScheduleError, Schedule, Switch};

pub(crate) use delay::{Delay, Places};
pub(crate) use keyed::{Keyed, Keys};
pub(crate) use lens::Lens;
pub(crate) use pct::Pct;
pub(crate) use pos::Pos;
pub(crate) use profile::{Profile, Visits, settle};
pub(crate) use random::Random;
pub(crate) use replay::Replay;
pub(crate) use script::Scripted;
pub(crate) use starve::Starve;
pub(crate) use sticky::Sticky;
pub(crate) use survey::Survey;
pub(crate) use surw::Surw;
pub(crate) use turns::{Choice, Stretch, Turns};
pub(crate) use urw::Urw;

use std::sync::Arc;
pub(crate) use systematic::{NOBODY, Systematic, Told};

use crate::core::{Draws, Task};
use crate::script::Script;

/// What a scheduler sees when it is asked, and where it answers.
pub(crate) struct Turn<'a> {
    /// Scheduling points passed so far, the present one included.
    pub(crate) step: u64,
    /// The task that runs now.
    pub(crate) current: u32,
    /// The tasks that can run, in no meaningful but a deterministic order. Never empty.
    pub(crate) runnable: &'a [u32],
    /// All tasks, with their pending operations and holds.
    pub(crate) tasks: &'a [Box<Task>],
    /// The draws of this seed.
    pub(crate) draws: &'a mut Draws,
    /// Answer: the step at which to ask again at the latest.
    pub(crate) next_event: u64,
}

impl Turn<'_> {
    /// Ask again only when a task becomes able to run, or the running one cannot go on.
    pub(crate) const NEVER: u64 = u64::MAX;
    /// Ask again at the next scheduling point.
    pub(crate) const ALWAYS: u64 = 0;

    #[inline(always)]
    pub(crate) fn pick(&mut self) -> u32 {
        match self.runnable.len() {
            1 => self.runnable[0],
            n => self.runnable[self.draws.below(n as u32) as usize],
        }
    }
}

/// The scheduler at work in one execution.
pub(crate) enum Strategy {
    Random(Random),
    Sticky(Sticky),
    Pct(Pct),
    Lens(Lens),
    Pos(Pos),
    Urw(Box<Urw>),
    Surw(Box<Surw>),
    Starve(Starve),
    Delay(Box<Delay>),
    Replay(Replay),
    Script(Scripted),
    Survey(Box<Survey>),
    Turns(Box<Turns>),
    Keyed(Box<Keyed>),
    Systematic(Systematic),
}

macro_rules! each {
    ($self:expr, $strategy:ident => $e:expr) => {
        match $self {
            Strategy::Random($strategy) => $e,
            Strategy::Sticky($strategy) => $e,
            Strategy::Pct($strategy) => $e,
            Strategy::Lens($strategy) => $e,
            Strategy::Pos($strategy) => $e,
            Strategy::Urw($strategy) => $e,
            Strategy::Surw($strategy) => $e,
            Strategy::Starve($strategy) => $e,
            Strategy::Delay($strategy) => $e,
            Strategy::Replay($strategy) => $e,
            Strategy::Script($strategy) => $e,
            Strategy::Survey($strategy) => $e,
            Strategy::Turns($strategy) => $e,
            Strategy::Keyed($strategy) => $e,
            Strategy::Systematic($strategy) => $e,
        }
    };
}

impl Strategy {
    /// At a scheduling point of a task that can go on: who runs now?
    #[inline(always)]
    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        each!(self, strategy => strategy.at_point(turn))
    }

    /// The current task cannot go on: who runs now?
    #[inline]
    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        each!(self, strategy => strategy.at_block(turn))
    }

    /// A task was created, by the task `parent` unless it is the first.
    #[inline]
    pub(crate) fn spawned(
        &mut self,
        task: u32,
        parent: u32,
        name: Option<&str>,
        draws: &mut Draws,
    ) {
        match self {
            Self::Pct(pct) => pct.spawned(task, draws),
            Self::Lens(lens) => lens.spawned(task, draws),
            Self::Pos(pos) => pos.spawned(task),
            Self::Urw(urw) => urw.spawned(task, parent, name),
            Self::Surw(surw) => surw.spawned(task, parent, name, draws),
            Self::Survey(survey) => survey.spawned(task, parent, name, draws),
            Self::Keyed(keyed) => keyed.spawned(task, draws),
            Self::Delay(delay) => delay.spawned(task, parent, name, draws),
            _ => {}
        }
    }

    /// The running task offered the processor: it is to make way.
    #[inline]
    pub(crate) fn yielded(&mut self, task: u32) {
        match self {
            Self::Pct(pct) => pct.yielded(task),
            Self::Lens(lens) => lens.yielded(task),
            Self::Survey(survey) => survey.yielded(task),
            Self::Keyed(keyed) => keyed.yielded(task),
            Self::Delay(delay) => delay.yielded(task),
            Self::Script(script) => script.yielded(task),
            _ => {}
        }
    }

    /// The running task noted something. Only scripts listen.
    pub(crate) fn noted(&mut self, task: u32, text: &str) -> bool {
        match self {
            Self::Script(script) => script.noted(task, text),
            _ => false,
        }
    }

    /// The running task began a hold.
    #[inline]
    pub(crate) fn held(
        &mut self,
        task: u32,
        kind: &str,
        object: usize,
        name: &dyn Fn() -> String,
    ) -> bool {
        match self {
            Self::Lens(lens) => lens.held(task, object),
            Self::Survey(survey) => survey.held(object),
            Self::Script(script) => script.held(task, kind, name),
            _ => false,
        }
    }

    /// The machine tells something that only a systematic search listens to.
    #[inline]
    pub(crate) fn told(&mut self, task: u32, told: Told) {
        if let Self::Systematic(systematic) = self {
            systematic.told(task, told);
        }
    }

    /// Which of `n` outcomes; `None` where the seed is to say so.
    #[inline]
    pub(crate) fn pick(&mut self, n: u32) -> Option<u32> {
        match self {
            Self::Systematic(systematic) => systematic.pick(n),
            Self::Replay(replay) => replay.pick(n),
            _ => None,
        }
    }

    /// Whether a fault strikes where one can; `None` where the seed is to say so.
    #[inline]
    pub(crate) fn strikes(&mut self) -> Option<bool> {
        match self {
            Self::Systematic(systematic) => systematic.strikes(),
            Self::Replay(replay) if replay.picks() => Some(replay.pick(2) == Some(1)),
            _ => None,
        }
    }

    /// Whether notes must be formatted.
    pub(crate) fn listens(&self) -> bool {
        matches!(self, Self::Script(_))
    }

    /// Where a replay or a script left its path, if it did.
    pub(crate) fn divergence(&self) -> Option<String> {
        match self {
            Self::Replay(replay) => replay.divergence(),
            Self::Script(script) => script.divergence(),
            _ => None,
        }
    }
}

/// Which scheduler to use.
///
/// Parsed from and printed as `portfolio`, `random`, `sticky`, `pct`, `pct1` to `pct9`, `lens`,
/// `pos`, `urw`, `surw`, `starve`, `delay`; [`Schedule`]s are made from traces, they and [`Script`]s by their
/// own parsers.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Scheduler {
    /// The seed picks one of the others. The default: no single strategy finds everything.
    #[default]
    Portfolio,
    /// Uniform choice among the tasks that can run, at every scheduling point.
    Random,
    /// Runs of geometric length: stays with probability 7/8, else goes to another task.
    Sticky,
    /// Probabilistic concurrency testing (Burckhardt et al. 2010) with the paper's ranks.
    Pct(Depth),
    /// Aimed at spinlock holds, with plain schedulers mixed in.
    Lens,
    /// Partial order sampling (Yuan et al. 2018): random priorities, drawn anew at races.
    Pos,
    /// Uniform random walk (Zhao et al. 2025): every interleaving is as likely as any other.
    Urw,
    /// Selectively uniform random walk (Zhao et al. 2025): every order of the operations on one
    /// object, drawn per execution, is as likely as any other.
    Surw,
    /// A random walk that now and then lets one task have no processor for a while.
    Starve,
    /// Holds tasks back at a place, drawn per execution, until nobody else can go on.
    Delay,
    /// A recorded schedule, decision by decision.
    Replay(Schedule),
    /// Turns written by hand or made by shrinking.
    Script(Script),
}

impl Scheduler {
    /// The names that [`str::parse`] takes. `pct` also takes a depth: `pct3`.
    pub const NAMES: &[&str] = &[
        "portfolio",
        "random",
        "sticky",
        "pct",
        "pct2",
        "pct3",
        "lens",
        "pos",
        "urw",
        "surw",
        "starve",
        "delay",
    ];
}

impl std::fmt::Display for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Portfolio => f.write_str("portfolio"),
            Self::Random => f.write_str("random"),
            Self::Sticky => f.write_str("sticky"),
            Self::Pct(Depth::Drawn) => f.write_str("pct"),
            Self::Pct(Depth::Fixed(depth)) => write!(f, "pct{depth}"),
            Self::Lens => f.write_str("lens"),
            Self::Pos => f.write_str("pos"),
            Self::Urw => f.write_str("urw"),
            Self::Surw => f.write_str("surw"),
            Self::Starve => f.write_str("starve"),
            Self::Delay => f.write_str("delay"),
            Self::Replay(_) => f.write_str("replay"),
            Self::Script(_) => f.write_str("script"),
        }
    }
}

/// Why a text is not the name of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no scheduler is called {found:?}; there are {}", Scheduler::NAMES.join(", "))]
pub struct ParseSchedulerError {
    /// What was given.
    pub found: String,
}

impl std::str::FromStr for Scheduler {
    type Err = ParseSchedulerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "portfolio" => Self::Portfolio,
            "random" => Self::Random,
            "sticky" => Self::Sticky,
            "pct" => Self::Pct(Depth::Drawn),
            "lens" => Self::Lens,
            "pos" => Self::Pos,
            "urw" => Self::Urw,
            "surw" => Self::Surw,
            "starve" => Self::Starve,
            "delay" => Self::Delay,
            _ => match text.strip_prefix("pct").and_then(|depth| depth.parse::<u32>().ok()) {
                Some(depth @ 1..=9) if text.len() == 4 => Self::Pct(Depth::Fixed(depth)),
                _ => return Err(ParseSchedulerError { found: text.to_owned() }),
            },
        })
    }
}

/// What the pilot executions of a program have shown: a pure function of the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pilot {
    /// Steps at which two or more tasks could run.
    pub(crate) contended_steps: u64,
    /// Words and locks that tasks held, by order of first hold.
    pub(crate) held_objects: u32,
    /// Lens candidates, an average over the objects.
    pub(crate) candidates: u64,
    /// What each execution showed, task by task.
    pub(crate) profiles: Arc<[Arc<Profile>]>,
    /// Where tasks came to objects that they race for.
    pub(crate) places: Arc<Places>,
}

impl Pilot {
    /// The profile of one of the executions, drawn among those that are `fit`.
    fn profile(&self, draws: &mut Draws, fit: impl Fn(&Profile) -> bool) -> Arc<Profile> {
        let mut fitting = self.profiles.iter().filter(|profile| fit(profile));
        match fitting.clone().count() as u32 {
            0 => Arc::default(),
            n => fitting.nth(draws.below(n) as usize).cloned().unwrap_or_default(),
        }
    }
}

impl Scheduler {
    /// The strategy for one execution. Draws from `draws`, which is at the beginning of its seed.
    #[inline]
    pub(crate) fn strategy(&self, pilot: &Pilot, draws: &mut Draws) -> Strategy {
        match self {
            Self::Portfolio => portfolio::draw(pilot, draws),
            Self::Random => Strategy::Random(Random),
            Self::Sticky => Strategy::Sticky(Sticky),
            Self::Pct(depth) => Strategy::Pct(Pct::new(*depth, pilot, draws)),
            Self::Lens => Strategy::Lens(Lens::new(pilot, draws)),
            Self::Pos => Strategy::Pos(Pos::default()),
            Self::Urw => Strategy::Urw(Box::new(Urw::new(pilot, draws))),
            Self::Surw => Strategy::Surw(Box::new(Surw::new(pilot, draws))),
            Self::Starve => Strategy::Starve(Starve::default()),
            Self::Delay => Strategy::Delay(Box::new(Delay::new(pilot, draws.seed(), draws))),
            Self::Replay(schedule) => Strategy::Replay(Replay::new(schedule.clone())),
            Self::Script(script) => Strategy::Script(Scripted::new(script.clone())),
        }
    }
}

impl Strategy {
    /// Its name, as reports count arms.
    pub(crate) fn arm(&self) -> &'static str {
        match self {
            Self::Random(_) => "random",
            Self::Sticky(_) => "sticky",
            Self::Pct(pct) => pct.name(),
            Self::Lens(_) => "lens",
            Self::Pos(_) => "pos",
            Self::Urw(_) => "urw",
            Self::Surw(_) => "surw",
            Self::Starve(_) => "starve",
            Self::Delay(_) => "delay",
            Self::Replay(_) => "replay",
            Self::Script(_) => "script",
            Self::Survey(_) => "pilot",
            Self::Turns(_) => "turns",
            Self::Keyed(_) => "guided",
            Self::Systematic(_) => "systematic",
        }
    }
}
