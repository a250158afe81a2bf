//! The names that the classic programs are written on, as shuttle has them.
//!
//! `crate::classic` in this bench is the same text as in `holdup-scenarios`; only this file differs
//! from the door there.

use std::cell::Cell;

pub(crate) use holdup_scenarios::{MutantCase, Scenario};
pub(crate) use shuttle::sync;

use shuttle::thread::{Builder, JoinHandle};

/// The classic programs on shuttle; each registers itself.
#[linkme::distributed_slice]
pub(crate) static PROGRAMS: [Scenario];

macro_rules! register {
    ($scenario:expr) => {
        const _: () = {
            #[allow(
                unsafe_code,
                reason = "linkme names a link section, which rustc counts as unsafe"
            )]
            #[linkme::distributed_slice($crate::door::PROGRAMS)]
            static SCENARIO: $crate::door::Scenario = $scenario;
        };
    };
}
pub(crate) use register;

pub(crate) fn actor<T: Send + 'static>(
    role: &str,
    part: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    match Builder::new().name(role.to_owned()).spawn(part) {
        Ok(handle) => handle,
        Err(error) => panic!("cannot start {role}: {error}"),
    }
}

pub(crate) fn finish<T>(handle: JoinHandle<T>) -> T {
    match handle.join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

thread_local! {
    static MUTANT: Cell<Option<&'static str>> = const { Cell::new(None) };
}

pub(crate) mod mutant {
    use super::MUTANT;

    /// Whether the bug `name` is switched on.
    pub(crate) fn is(name: &str) -> bool {
        MUTANT.get() == Some(name)
    }

    /// Switches the bug `name` on in the programs that run on this thread from now on.
    pub(crate) fn switch_to(name: Option<&'static str>) {
        MUTANT.set(name);
    }
}

pub(crate) mod hint {
    use shuttle::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

    /// A word that one can wait for.
    pub(crate) trait Word {
        fn value(&self) -> u64;
    }

    macro_rules! word {
        ($($atomic:ty),*) => {$(
            impl Word for $atomic {
                fn value(&self) -> u64 {
                    self.load(Ordering::Acquire) as u64
                }
            }
        )*};
    }
    word!(AtomicBool, AtomicU32, AtomicU64, AtomicUsize);

    /// Spins until `done` holds; shuttle takes the hint as an offer of the processor.
    pub(crate) fn spin_until(word: &impl Word, done: impl Fn(u64) -> bool) -> u64 {
        loop {
            let value = word.value();
            if done(value) {
                return value;
            }
            shuttle::hint::spin_loop();
        }
    }
}

/// Notes are for timelines, which shuttle does not draw.
macro_rules! note {
    ($($arg:tt)+) => {{
        let _ = || ::std::format!($($arg)+);
    }};
}
pub(crate) use note;

macro_rules! name {
    ($object:expr, $($arg:tt)+) => {{
        let _ = || (&raw const *$object, ::std::format!($($arg)+));
    }};
}
pub(crate) use name;

macro_rules! name_word {
    ($word:expr, $show:expr, $($arg:tt)+) => {{
        let _show: fn(u64) -> String = $show;
        let _ = || ($word, ::std::format!($($arg)+));
    }};
}
pub(crate) use name_word;
