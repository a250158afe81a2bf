//! Signals: the first asks a long command to stop, the second kills it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether the user wants the command to stop.
#[derive(Clone, Debug)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From here on `SIGINT` and `SIGTERM` no longer kill at once.
    pub(crate) fn on_signal() -> anyhow::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, asked.clone())
                .and_then(|_| flag::register(signal, asked.clone()))
                .context("cannot listen for signals")?;
        }
        Ok(Self(asked))
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for those who watch it from other threads.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }
}
