//! What a search reads off the tasks that it is shown: who must wait, and for whom.

use super::event::Label;
use crate::core::Task;
use crate::scheduler::Turn;
use crate::trace::OpKind;

/// Whether the task's next operation must wait, so that it is disabled: a lock that somebody has,
/// the end of a task that has not ended.
pub(super) fn waits(turn: &Turn<'_>, task: u32) -> bool {
    let pending = turn.tasks[task as usize].pending;
    match pending.kind {
        OpKind::Lock => {
            let holds = |task: &Task| task.holds.iter().any(|hold| hold.object == pending.object);
            turn.tasks.iter().any(|task| !task.finished && holds(task))
        }
        OpKind::Join => {
            let ends = |task: &u32| end_of(turn, *task) == pending.object;
            let joined = (0..turn.tasks.len() as u32).find(ends);
            joined.is_some_and(|joined| !turn.tasks[joined as usize].finished)
        }
        _ => false,
    }
}

/// The address by which joins know the end of a task; that of its token is the next.
pub(super) fn end_of(turn: &Turn<'_>, task: u32) -> usize {
    std::ptr::from_ref(&*turn.tasks[task as usize]).addr()
}

/// Whether an operation that had to wait, or failed, has changed nothing.
pub(super) fn only_looks(label: &Label) -> bool {
    matches!(
        label.kind,
        Some(
            OpKind::Load
                | OpKind::CellRead
                | OpKind::ReadModifyWrite
                | OpKind::CompareExchange
                | OpKind::Lock
                | OpKind::LockShared
                | OpKind::Park
                | OpKind::Wait
        )
    )
}

/// The running task as long as it can go on.
pub(super) fn free_choice(turn: &Turn<'_>) -> Option<u32> {
    if turn.runnable.contains(&turn.current) {
        return Some(turn.current);
    }
    turn.runnable.iter().copied().min()
}
