//! What the classic programs are written on: the simulator's names, and how a story is told.
//!
//! They name nothing else, so that a bench can compile the same files on the names of a peer.

pub(crate) use crate::actor::{actor, finish};
pub(crate) use crate::register;
pub(crate) use crate::scenario::{MutantCase, Scenario};
pub(crate) use holdup::{hint, mutant, name, name_word, note, sync};
