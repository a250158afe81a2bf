//! Deterministic simulation testing for spinlocks, packed atomic words and the code around them.
//!
//! Threads of the program under test become *tasks* of one OS thread. At every operation that other
//! tasks can see, a *scheduler* decides from a *seed* who goes on. A schedule that breaks an
//! assertion is drawn, and its seed gives the same execution again, on any machine.
//!
//! # A lost update, found and replayed
//!
//! ```
//! # #[cfg(feature = "sim")] {
//! use holdup::sync::atomic::{AtomicU32, Ordering::SeqCst};
//! use holdup::{Checker, note, thread};
//!
//! let lost_update = || {
//!     let count = AtomicU32::new(0);
//!     let add_one = || {
//!         let old = count.load(SeqCst);
//!         note!("finds {old}");
//!         count.store(old + 1, SeqCst); // should have been fetch_add
//!     };
//!     thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(add_one)));
//!     assert_eq!(count.into_inner(), 2);
//! };
//!
//! let checker = Checker::new("lost update");
//! let found = checker.run(&lost_update).first_failure.expect("one of 1,000 schedules loses one");
//!
//! let again = checker.trace(found.seed, &lost_update); // everything written down this time
//! assert_eq!(again.failure.as_ref(), Some(&found.failure));
//! println!("{}", again.timeline());
//! # }
//! ```
//!
//! [`Checker::shrink`](explore::Checker::shrink) leaves of a failing schedule the few preemptions that
//! matter, [`Checker::explain`](explore::Checker::explain) names the two operations whose order does.
//!
//! In a test the attribute does all that, and prints the command that replays the failure:
//!
//! ```
//! #[holdup::test(seeds = 10_000)]
//! fn a_pinned_buffer_keeps_its_page() {
//!     // threads, locks and atomics from `holdup`, and assertions
//! }
//! ```
//!
//! `sim/examples` has three programs to read and run: `lost_update`, `spinlock_queue`, `deadlock`.
//!
//! # Two worlds
//!
//! Without features this crate is a thin door to `std`, with `inline` wrappers at most. With the
//! feature `sim` the same names are instrumented: inside an execution they are scheduling points,
//! outside of one they pass through. The feature is additive. [`INSTRUMENTED`] tells which world a
//! build is.
//!
//! To switch a crate over:
//!
//! 1. Change imports: `std::sync`, `std::thread`, `std::time`, `std::fs`, `std::cell` and
//!    `std::hint` become `holdup::sync` and so on. Gather them in one module of yours, so that
//!    there is one place to look at.
//! 2. Depend on `holdup` plainly, and once more with `features = ["sim"]` under
//!    `[dev-dependencies]`.
//! 3. Write a test that spawns two or three threads, and give it `#[holdup::test]`.
//! 4. Where threads wait in a loop, call [`hint::spin_loop`] or [`hint::spin_until`] in it; a
//!    spinlock of your own also calls [`hold::begin`] and [`hold::end`].
//! 5. Tell what happens with [`note!`], and what things are called with [`name!`].
//!
//! # Modules
//!
//! | module | what it is |
//! | --- | --- |
//! | [`sync`] | `std::sync`, its atomics, and spinlocks: [`sync::SpinLock`], [`sync::LockBit`] |
//! | [`thread`], [`time`], [`hint`] | `std`'s; time is virtual inside an execution |
//! | [`hold`] | which stretches of code own a lock, and what they must not do meanwhile |
//! | [`mutant`] | known bugs, switched back on to show that a test can fail |
//! | [`cell`], [`fs`] | `std`'s; inside an execution, accesses that others can see, and a disk of its own |
//! | [`memory`] | which bytes behind a pointer are read and written, for the race check |
#![cfg_attr(
    feature = "sim",
    doc = "| [`explore`] | [`Checker`]: sweeps and proofs; [`check`], [`Report`], [`Failure`], the environment |"
)]
#![cfg_attr(
    feature = "sim",
    doc = "| [`scheduler`] | who decides: walks, PCT, POS, lens, a portfolio; a replay, a script |"
)]
#![cfg_attr(feature = "sim", doc = "| [`script`] | schedules in words, which survive edits |")]
#![cfg_attr(
    feature = "sim",
    doc = "| [`coverage`] | what tasks did to each other, and how much is still unseen |"
)]
#![cfg_attr(
    feature = "sim",
    doc = "| [`trace`] | an execution as a timeline, a report, JSON, Perfetto, a page |"
)]
//!
//! # What is simulated, and what is not
//!
//! - Interleavings: all of atomics, locks, condition variables, `Once` and its kin, barriers,
//!   channels, threads, sleeping and files. A task that waits is not run until it can go on, spin
//!   loops included, so a deadlock is reported when it closes, with owners and places, and a spin
//!   loop that nobody will end is a livelock.
//! - Values are sequentially consistent for now, whatever `Ordering` says. A weaker order is found
//!   where plain memory depends on it, and not where only values do.
//! - Plain memory is watched where the program says what it touches, through [`cell`] and
//!   [`memory`]: two accesses that race end the execution. What orders accesses is what is written,
//!   acquire and release, fences, locks, messages, joins; never the order in which things happened.
//! - Files live on a disk that begins empty in every execution. What was not synced may be
//!   lost when the power fails ([`crash`]), and the disk errs where the seed says so (`Faults`).
//! - Sleeps end and test-and-sets fail for no reason, holders of locks are off the processor for long,
//!   and what the program asks for in [`fault`] strikes, all of it where the seed says so.
//! - A `static` of an instrumented type starts in every execution as it is outside of executions,
//!   and what one execution does to it no other one sees (on Linux).
//! - Time is virtual. It passes with the steps, and leaps when everybody waits.
//! - What is not here stops the whole execution when it waits: locks of other crates, sockets,
//!   child processes. `std::thread_local!` is shared by all tasks; [`macro@thread_local`] is not.
//! - The program must not depend on anything but the seed: no wall clock, no address, no hash map
//!   with random keys. `HOLDUP_CHECK_DETERMINISM=1` runs seeds twice and compares.
//!
//! # Environment
//!
//! Read by [`macro@test`] and by `check`. Without these, tests run fixed seeds. A malformed value
//! is an error.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `HOLDUP_SEED` | run this one seed, decimal or `0x` |
//! | `HOLDUP_SEEDS` | run this many seeds, or the seeds `A..B` |
//! | `HOLDUP_SHARD` | `I/N`: only the seeds that leave I when divided by N, counted from 0 |
//! | `HOLDUP_SCHEDULER` | `portfolio`, `random`, `sticky`, `pct`, `pct1` to `pct9`, `lens`, `pos`, `urw`, `surw`, `starve`, `delay` |
//! | `HOLDUP_JOBS` | use this many OS threads |
//! | `HOLDUP_TRACE` | `1`: show whole timelines |
//! | `HOLDUP_CHECK_DETERMINISM` | `1`: run a sample of the seeds twice and compare |

#[cfg(feature = "sim")]
mod core;
#[cfg(feature = "sim")]
pub mod coverage;
#[cfg(feature = "sim")]
pub mod crash;
#[cfg(feature = "sim")]
pub mod explore;
#[cfg(feature = "sim")]
pub mod scheduler;
#[cfg(feature = "sim")]
pub mod script;
#[cfg(feature = "sim")]
pub mod trace;

pub mod fault;
pub mod hold;
pub mod mutant;
mod note;
#[cfg(feature = "sim")]
pub mod random;
pub mod sync;

pub mod cell;
pub mod fs;
pub mod hint;
pub mod memory;
pub mod thread;
pub mod time;

mod test_support;

pub use holdup_macros::test;

#[cfg(feature = "sim")]
pub use explore::{Checker, CrashKind, CrashPoint, Failure, Faults, Report, check};
#[cfg(feature = "sim")]
pub use scheduler::Scheduler;

#[cfg(not(feature = "sim"))]
pub use std::thread_local;

/// Whether this build is instrumented: `true` with the feature `sim`.
pub const INSTRUMENTED: bool = cfg!(feature = "sim");

#[doc(hidden)]
pub mod private {
    //! What macros of this crate expand to.
    #[cfg(feature = "sim")]
    pub use crate::note::{listening, name, note};
    pub use crate::test_support::{TestOptions, run_test};
}
