//! Fibers: the stacks of tasks, and the switch from one to another.
//!
//! Two ways to switch, chosen at compile time, with the same executions and hashes. `direct`, on
//! x86-64 Unix, goes from task to task in eight instructions of our own. `hosted`, everywhere else
//! and with the feature `hosted-fibers`, uses corosensei: a task suspends to the host loop, which
//! resumes the next one, so that a switch is two.
//!
//! Both give an [`Execution`](super::Execution) three verbs: `run_tasks`, called by the host,
//! runs whoever is current until the execution stops; `transfer` suspends a task in favour of
//! whoever is current, or of the host if the execution is to stop; `depart` ends a task.

mod stacks;

#[cfg(all(target_arch = "x86_64", unix, not(feature = "hosted-fibers")))]
mod direct;
#[cfg(all(target_arch = "x86_64", unix, not(feature = "hosted-fibers")))]
pub(crate) use direct::{Fiber, Host};

#[cfg(not(all(target_arch = "x86_64", unix, not(feature = "hosted-fibers"))))]
mod hosted;
#[cfg(not(all(target_arch = "x86_64", unix, not(feature = "hosted-fibers"))))]
pub(crate) use hosted::{Fiber, Host};

pub(crate) use stacks::Stacks;
