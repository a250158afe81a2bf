//! Random walk: every task that can run is as likely as any other, at every scheduling point.
//!
//! Best where tasks only have to come close to each other; hopeless where one of them must be held
//! back for long.

use super::Turn;

pub(crate) struct Random;

impl Random {
    #[inline(always)]
    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        turn.next_event = if turn.runnable.len() == 1 { Turn::NEVER } else { Turn::ALWAYS };
        turn.pick()
    }

    #[inline(always)]
    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.at_point(turn)
    }
}
