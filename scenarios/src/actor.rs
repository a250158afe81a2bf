//! Actors: the tasks of a story, each with a role.

use holdup::thread::{Builder, JoinHandle};

/// Starts a task that plays `role`; scripts and timelines call it so.
///
/// # Panics
///
/// If the task cannot be started, which fails the execution.
pub fn actor<T: Send + 'static>(
    role: &str,
    part: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    match Builder::new().name(role.to_owned()).spawn(part) {
        Ok(handle) => handle,
        Err(error) => panic!("cannot start {role}: {error}"),
    }
}

/// Waits for an actor and takes what it found. Where the actor failed, this task fails too.
pub fn finish<T>(handle: JoinHandle<T>) -> T {
    match handle.join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
