//! Running a program under many schedules: sweeps, failures, replays.

mod checker;
mod cover;
mod environment;
mod explain;
mod failure;
mod faults;
mod guided;
mod neighbours;
mod pilot;
mod prove;
mod replay_line;
mod report;
mod rerun;
mod shrink;
mod sweep;

pub use checker::{Checker, check};
pub use environment::{BadVariable, Environment, parse_seed, parse_seeds, parse_shard};
pub use explain::{CriticalPair, Explanation, Moment};
pub use failure::Failure;
pub use faults::{CrashKind, CrashPoint, FaultCounts, Faults};
pub(crate) use faults::{FaultKind, LifeSteps};
pub use guided::{Finding, Guided};
pub use neighbours::{Neighbour, SUFFIXES};
pub use prove::{Proof, ProofFailure, ProofOptions, Remaining};
pub use report::{ArmCount, FirstFailure, Report};
pub use shrink::Shrunk;

pub(crate) use prove::{Probe, Search};
pub(crate) use replay_line::for_test as replay_of_test;
