//! Script: turns written by hand or made by shrinking.
//!
//! A turn runs one task until it notes a text, blocks, begins a hold, has taken some steps, or
//! ends. A turn that cannot be kept is reported, and the seeded random walk goes on from there.

use super::Turn;
use crate::core::{Task, task_role};
use crate::script::{Script, Until};

pub(crate) struct Scripted {
    script: Script,
    /// The turn under way.
    at: usize,
    steps: u64,
    diverged: Option<usize>,
    /// Tasks by the turn's role, found once.
    role: Option<u32>,
    /// The task that just offered the processor.
    yielded: Option<u32>,
    /// Mean length of the runs in which it goes on at random behind its last turn, if it does.
    random_end: Option<u32>,
}

impl Scripted {
    pub(crate) fn new(script: Script) -> Self {
        Self {
            script,
            at: 0,
            steps: 0,
            diverged: None,
            role: None,
            yielded: None,
            random_end: None,
        }
    }

    /// The first `turns` turns of `script`; behind them it goes on at random, and leaves a task on
    /// the processor for a run of `run` steps on average.
    pub(crate) fn prefix(mut script: Script, turns: usize, run: u32) -> Self {
        script.turns.truncate(turns);
        Self { random_end: Some(run), ..Self::new(script) }
    }

    fn advance(&mut self) {
        self.at += 1;
        self.steps = 0;
        self.role = None;
    }

    pub(crate) fn yielded(&mut self, task: u32) {
        self.yielded = Some(task);
    }

    pub(crate) fn noted(&mut self, task: u32, text: &str) -> bool {
        let hit = self.role == Some(task)
            && self.script.turns.get(self.at).is_some_and(|turn| turn.note_matches(text));
        if hit {
            self.advance();
        }
        hit
    }

    pub(crate) fn held(&mut self, task: u32, kind: &str, name: &dyn Fn() -> String) -> bool {
        let hit = self.role == Some(task)
            && match self.script.turns.get(self.at).map(|turn| &turn.until) {
                Some(Until::Holding { kind: wanted, object }) => {
                    wanted == kind && object.as_ref().is_none_or(|object| *object == name())
                }
                _ => false,
            };
        if hit {
            self.advance();
        }
        hit
    }

    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        turn.next_event = Turn::ALWAYS;
        if self.role == Some(turn.current)
            && let Some(Until::Steps(n)) = self.script.turns.get(self.at).map(|turn| &turn.until)
        {
            if self.steps >= *n {
                self.advance();
            }
            self.steps += 1;
        }
        self.choose(turn)
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        turn.next_event = Turn::ALWAYS;
        self.choose(turn)
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> u32 {
        let next = self.choose_next(turn);
        self.yielded = None;
        next
    }

    fn choose_next(&mut self, turn: &mut Turn<'_>) -> u32 {
        if self.diverged.is_some() {
            return turn.pick();
        }
        loop {
            // Who waits in a loop for another lets it have a step.
            let others = turn.runnable.iter().copied().filter(|&task| self.yielded != Some(task));
            let lowest = others.min().unwrap_or(turn.current);
            let Some(next) = self.script.turns.get(self.at) else {
                let Some(run) = self.random_end else { return lowest };
                // The first choice is a new one: the last turn has ended.
                let run = if std::mem::replace(&mut self.steps, 1) == 0 { 1 } else { run };
                return pick(turn, run);
            };
            if self.role.is_none() {
                self.role = find(turn.tasks, &next.role);
            }
            let Some(role) = self.role else { return lowest };
            let task = &turn.tasks[role as usize];
            let makes_way = self.yielded == Some(role) && next.until == Until::End;
            if task.is_runnable() && !(makes_way && turn.runnable.len() > 1) {
                // It carries out the operation it was about to.
                self.steps = self.steps.max(1);
                return role;
            }
            match next.until {
                Until::End if task.finished => self.advance(),
                Until::Blocked if !task.finished => self.advance(),
                // Whoever it waits for may run, so that it can come to its end.
                Until::End => return lowest,
                _ => {
                    self.diverged = Some(self.at);
                    return turn.pick();
                }
            }
        }
    }

    pub(crate) fn divergence(&self) -> Option<String> {
        let n = self.script.turns.len();
        match self.diverged {
            Some(at) => Some(format!("diverged at turn {} of {n}", at + 1)),
            // What is left may be a turn that ends with its task.
            None if self.at + 1 < n => Some(format!("ended in turn {} of {n}", self.at + 1)),
            None => None,
        }
    }
}

/// Stays with the running task, but for once in `run` steps.
fn pick(turn: &mut Turn<'_>, run: u32) -> u32 {
    let stays = turn.runnable.contains(&turn.current) && turn.draws.below(run) != 0;
    if stays { turn.current } else { turn.pick() }
}

fn find(tasks: &[Box<Task>], role: &str) -> Option<u32> {
    (0..tasks.len() as u32).find(|&id| task_role(tasks, id) == role)
}
