//! Stand-in for the real module, until it is merged: only what compiles against it.

use std::panic::Location;

use crate::hold::HoldKind;

pub(crate) fn hold_begin(_: &'static HoldKind, _: usize, _: &'static Location<'static>) {}
pub(crate) fn hold_end(_: usize) {}

pub(crate) fn mutant_is(_: &str) -> bool {
    false
}
pub(crate) fn block_on_bits(_: usize, _: u64, _: &'static Location<'static>) -> bool {
    false
}

std::thread_local! {
    pub(crate) static RECORDING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    pub(crate) static LOGGED: std::cell::RefCell<Vec<String>> =
        const { std::cell::RefCell::new(Vec::new()) };
}

pub(crate) fn recording() -> bool {
    RECORDING.get()
}

pub(crate) fn log_event(level: &'static str, target: &str, message: std::fmt::Arguments<'_>) {
    LOGGED.with_borrow_mut(|logged| logged.push(format!("{level} {target} {message}")));
}
