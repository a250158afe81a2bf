//! `std::thread`: inside an execution a thread is a task of the simulation.
//!
//! Mirrored: `spawn`, `Builder`, `scope`, `current`, `park`, `sleep`, `yield_now` and what they
//! return. Where it differs from `std`, inside executions:
//!
//! - a panic in any task fails the execution, whether or not somebody joins it;
//! - the execution ends when all tasks have ended, not when `main` has;
//! - `sleep` and `park_timeout` use virtual time, which leaps when everybody waits;
//! - `available_parallelism` is 4 on every machine.

#[cfg(not(feature = "sim"))]
pub use std::thread::*;

#[cfg(feature = "sim")]
mod join;
#[cfg(feature = "sim")]
mod local;
#[cfg(feature = "sim")]
mod park;
#[cfg(feature = "sim")]
mod scope;
#[cfg(feature = "sim")]
mod spawn;

#[cfg(feature = "sim")]
pub use join::{JoinHandle, Thread, ThreadId};
#[cfg(feature = "sim")]
pub use local::{AccessError, LocalKey};
#[cfg(feature = "sim")]
pub use park::{available_parallelism, current, park, park_timeout, sleep, yield_now};
#[cfg(feature = "sim")]
pub use scope::{Scope, ScopedJoinHandle, scope};
#[cfg(feature = "sim")]
pub(crate) use spawn::start;
#[cfg(feature = "sim")]
pub use spawn::{Builder, spawn};
#[cfg(feature = "sim")]
pub use std::thread::{Result, panicking};
