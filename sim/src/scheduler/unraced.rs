//! What is run before any draw: events that race with nothing.
//!
//! A task that has not started yet, a spawn and a join are such events: whenever they run, nobody
//! sees a difference, but a draw spent on them takes probability away from orders that matter. So
//! they go first; then every task stands before its first visible operation, and draws are made
//! among those. Source: the shortcut of Fray (arXiv 2501.12618).

use smallvec::SmallVec;

use super::Turn;
use crate::trace::OpKind;

/// The tasks that have not started yet.
#[derive(Default)]
pub(crate) struct Unraced {
    /// Oldest first; `next` of them have started.
    tasks: SmallVec<[u32; 8]>,
    next: usize,
}

/// Whether an operation of this kind races with nothing.
#[inline]
pub(crate) fn races(kind: OpKind) -> bool {
    !matches!(kind, OpKind::Spawn | OpKind::Join)
}

/// Whether an operation of this kind changes nothing that others see.
#[inline]
pub(crate) fn reads(kind: OpKind) -> bool {
    matches!(kind, OpKind::Load | OpKind::CellRead | OpKind::FileRead | OpKind::LockShared)
}

impl Unraced {
    pub(crate) fn spawned(&mut self, task: u32) {
        // The first one runs already when it is first heard of.
        if task > 0 {
            self.tasks.push(task);
        }
    }

    /// At a scheduling point: who goes first, if anybody does.
    #[inline]
    pub(crate) fn at_point(&mut self, turn: &Turn<'_>) -> Option<u32> {
        if races(turn.tasks[turn.current as usize].pending.kind) {
            self.at_block(turn)
        } else {
            Some(turn.current)
        }
    }

    /// The running task cannot go on: who goes first, if anybody does.
    #[inline]
    pub(crate) fn at_block(&mut self, turn: &Turn<'_>) -> Option<u32> {
        loop {
            let task = *self.tasks.get(self.next)?;
            self.next += 1;
            // It may have died before it began.
            if turn.tasks[task as usize].is_runnable() {
                return Some(task);
            }
        }
    }
}
