//! Programs that judge schedulers, each with a bug; correct until their mutant is switched on.
//!
//! Most are the programs on which the literature compares schedulers, written anew from what is said
//! of them: SCTBench (Thomson, Donaldson, Betts, PPoPP 2014), which took them from CHESS, Inspect,
//! RADBench, PARSEC and others, and the races of ConVul (Meng et al., ESEC/FSE 2019), each a
//! vulnerability of the kernel or of a browser reduced to what its threads do. Two are small buffer
//! headers: what finds one of their bugs soon is slow on the other.
//!
//! Memory that threads share without a lock is atomic and each access a scheduling point, as it is
//! for the tools that these programs come from. All names come through the door, so that
//! `benches/bug_finding` compiles the same files on another simulator.

use crate::door::sync::{Mutex, MutexGuard, PoisonError};

mod headers;
mod lossy_unpin;
mod tag_check_then_pin;

mod account;
mod arithmetic_progression;
mod bluetooth_driver;
mod bounded_buffer;
mod carter;
mod circular_buffer;
mod deadlock;
mod dining_philosophers;
mod file_system;
mod lazy;
mod phase;
mod queue;
mod reorder;
mod stack;
mod sync;
mod token_ring;
mod twostage;
mod wronglock;

mod aget;
mod pbzip2;
mod stringbuffer;

mod monitor_ownership;
mod once_by_hand;
mod turnstile_barrier;

mod safestack;
mod treiber_stack;
mod work_stealing;
mod work_stealing_state;

mod double_fetch;
mod fanout_added_twice;
mod keyring_half_installed;
mod list_head_as_element;
mod null_after_check;
mod port_freed_early;
mod refcount_without_lock;
mod skb_freed_twice;

/// The lock on a mutex; a task that panicked while it had it is for the execution to report.
#[track_caller]
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
