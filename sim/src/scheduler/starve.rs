//! Starving: a random walk in which, now and then, one task gets no processor for a while.
//!
//! The victim is drawn among the tasks that can run, and the length of the spell by powers of two,
//! so that short and long spells are equally likely. It runs all the same where nobody else can.
//! Good at lost wake-ups and slow partners; needs neither a pilot nor a bug depth.
//! Source: the chaos mode of rr, in steps instead of milliseconds.

use super::Turn;

/// The longest spell has two to the power of this many steps, less one.
const LONGEST: u32 = 11;

#[derive(Default)]
pub(crate) struct Starve {
    victim: Option<u32>,
    /// The step at which the present spell, or the present pause, ends.
    until: u64,
}

impl Starve {
    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        if turn.runnable.len() == 1 {
            turn.next_event = Turn::NEVER;
            return turn.runnable[0];
        }
        turn.next_event = Turn::ALWAYS;
        if turn.step >= self.until {
            self.until = turn.step + (1 << turn.draws.below(LONGEST));
            self.victim = match self.victim {
                None => Some(turn.pick()),
                Some(_) => None,
            };
        }
        self.pick(turn)
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.at_point(turn)
    }

    /// Anybody but the victim.
    fn pick(&self, turn: &mut Turn<'_>) -> u32 {
        let Some(victim) = self.victim.map(|victim| &turn.tasks[victim as usize]) else {
            return turn.pick();
        };
        if !victim.is_runnable() {
            return turn.pick();
        }
        let others = turn.runnable.len() as u32 - 1;
        let at = turn.draws.below(others);
        turn.runnable[(at + u32::from(at >= victim.runnable_at)) as usize]
    }
}
