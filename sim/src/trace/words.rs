//! Names and values in words.

use super::event::{OpKind, Trace};
use super::text::clean;

/// The largest value shown of a word that the program gave no `show` for. Larger ones may be
/// addresses, which differ from run to run.
const MAX_PLAIN: u64 = u32::MAX as u64;

/// The name of a task.
pub(super) fn task_name(trace: &Trace, task: u32) -> String {
    match trace.tasks.get(task as usize) {
        Some(info) => clean(&info.name),
        None => format!("task {task}"),
    }
}

/// The name of an object.
pub(super) fn object_name(trace: &Trace, object: u32) -> String {
    match trace.objects.get(object as usize) {
        Some(info) => clean(&info.name),
        None => format!("object {object}"),
    }
}

/// The value of a word as the program shows it, or as a number where it cannot be an address.
pub(super) fn value(trace: &Trace, object: u32, value: u64) -> Option<String> {
    if let Some(show) = trace.objects.get(object as usize).and_then(|info| info.show) {
        return Some(clean(&show(value)));
    }
    match value {
        0..=9999 => Some(value.to_string()),
        10_000..=MAX_PLAIN => Some(format!("{value:#x}")),
        u64::MAX => Some("-1".to_owned()),
        _ => None,
    }
}

/// An operation as a phrase: `swaps buffer 0 state: 0 -> 1`.
pub(super) fn operation(
    trace: &Trace,
    kind: OpKind,
    object: u32,
    before: Option<u64>,
    after: Option<u64>,
) -> String {
    let name = object_name(trace, object);
    let shown = |word: Option<u64>| word.and_then(|word| value(trace, object, word));
    let failed = kind == OpKind::CompareExchange && before == after;
    let verb = if failed { "fails to swap" } else { verb(kind) };
    match (shown(before), shown(after)) {
        (Some(is), _) if failed => format!("{verb} {name}: is {is}"),
        (Some(is), _) if kind == OpKind::Load => format!("{verb} {name}: {is}"),
        (None, Some(is)) if kind == OpKind::Load => format!("{verb} {name}: {is}"),
        (Some(was), Some(is)) => format!("{verb} {name}: {was} -> {is}"),
        (None, Some(is)) => format!("{verb} {name}: {is}"),
        _ => format!("{verb} {name}"),
    }
}

fn verb(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Load | OpKind::CellRead | OpKind::FileRead => "reads",
        OpKind::Store | OpKind::CellWrite | OpKind::FileWrite => "writes",
        OpKind::ReadModifyWrite => "updates",
        OpKind::CompareExchange => "swaps",
        OpKind::Fence => "fences",
        OpKind::Lock => "locks",
        OpKind::LockShared => "locks, shared,",
        OpKind::TryLock => "tries to lock",
        OpKind::Unlock => "unlocks",
        OpKind::Wait => "waits on",
        OpKind::Notify => "notifies",
        OpKind::Send => "sends to",
        OpKind::Receive => "receives from",
        OpKind::Spawn => "spawns",
        OpKind::Join => "joins",
        OpKind::Park => "parks on",
        OpKind::Unpark => "unparks",
        OpKind::Sleep => "sleeps on",
        OpKind::Yield => "yields on",
        OpKind::Spin => "spins on",
        OpKind::FileSync => "syncs",
        OpKind::FileOther => "opens or changes",
    }
}

/// Name of an operation's kind in exports: stable.
pub(crate) fn kind_name(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Load => "load",
        OpKind::Store => "store",
        OpKind::ReadModifyWrite => "read_modify_write",
        OpKind::CompareExchange => "compare_exchange",
        OpKind::Fence => "fence",
        OpKind::CellRead => "cell_read",
        OpKind::CellWrite => "cell_write",
        OpKind::Lock => "lock",
        OpKind::LockShared => "lock_shared",
        OpKind::TryLock => "try_lock",
        OpKind::Unlock => "unlock",
        OpKind::Wait => "wait",
        OpKind::Notify => "notify",
        OpKind::Send => "send",
        OpKind::Receive => "receive",
        OpKind::Spawn => "spawn",
        OpKind::Join => "join",
        OpKind::Park => "park",
        OpKind::Unpark => "unpark",
        OpKind::Sleep => "sleep",
        OpKind::Yield => "yield",
        OpKind::Spin => "spin",
        OpKind::FileRead => "file_read",
        OpKind::FileWrite => "file_write",
        OpKind::FileSync => "file_sync",
        OpKind::FileOther => "file_other",
    }
}
