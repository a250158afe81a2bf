//! Races told as stories, and what runs them: the registry, the corpus of seeds, the sweeps.
//!
//! A story is a function that runs as task `main` of an execution, starts actors, and panics when
//! a rule breaks. [`Scenario`] says what it is about and which bugs it must catch; [`registry`]
//! lists all there are. The binary `holdup` is the way in.

pub mod registry;
pub mod scenario;

pub mod actor;
mod buffer;
mod classic;
mod counts;
mod door;
mod drop;

pub mod corpus;
pub mod meetings;
pub mod numbers;
pub mod page;
pub mod picture;
pub mod refresh;
pub mod seed_file;
pub mod store;
pub mod sweep;
pub mod trials;

pub use registry::SCENARIOS;
pub use scenario::{MutantCase, Scenario};
