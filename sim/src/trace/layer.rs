//! Events of the `tracing` crate in the timeline.
//!
//! Inside an execution that records, an event goes to the recorder, which stamps it with step,
//! virtual time and task. Everywhere else it is ignored.
//!
//! Spans are ignored for good: an entered span belongs to an OS thread, and the tasks of an
//! execution share one, so a span would leak from task to task. The task is the context.

use std::fmt::{self, Write as _};
use std::sync::OnceLock;

use tracing::field::{Field, Visit};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

/// Carries `tracing` events into the timeline of the execution that records.
///
/// It decides for the whole subscriber: outside such an execution events are off, spans always.
/// So it does not go together with a layer that prints logs of the program around it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceLayer(());

/// The layer, for a subscriber of your own. Mostly [`install`] is simpler.
#[must_use]
pub fn layer() -> TraceLayer {
    TraceLayer(())
}

/// Makes the layer the process's subscriber, once; says whether it is.
///
/// `false` means that the program had set a global subscriber before: add [`layer`] to that one.
/// It must be global, since with scoped subscribers `tracing` turns a call site off for good when
/// it is first reached on another thread.
pub fn install() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        let subscriber = tracing_subscriber::registry().with(layer());
        tracing::subscriber::set_global_default(subscriber).is_ok()
    })
}

impl<S: Subscriber> Layer<S> for TraceLayer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // Not by `enabled`, whose answer would be kept: whether we record changes all the time.
        if metadata.is_event() { Interest::sometimes() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.is_event() && crate::core::recording()
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !crate::core::recording() {
            return;
        }
        let mut text = Text::default();
        event.record(&mut text);
        let metadata = event.metadata();
        let level = metadata.level().as_str();
        crate::core::log_event(level, metadata.target(), format_args!("{text}"));
    }
}

/// An event as `message key=value key=value`.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing into a `String` cannot fail.
        if field.name() == "message" {
            let _ = write!(self.message, "{value:?}");
        } else {
            let _ = write!(self.fields, " {}={value:?}", field.name());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if value.contains(char::is_whitespace) && field.name() != "message" {
            self.record_debug(field, &value);
        } else {
            self.record_debug(field, &format_args!("{value}"));
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = if self.message.is_empty() { self.fields.trim_start() } else { &self.fields };
        write!(f, "{}{fields}", self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Checker;
    use crate::trace::What;

    fn log(page: u32) {
        tracing::info!(page, relation = "my table", fork = "main", "flushes");
    }

    #[test]
    fn events_reach_the_recorder_only_while_it_records() {
        assert!(install());
        assert!(install(), "a second call changes nothing");

        // First hit outside of any execution, then unrecorded, then recorded: no verdict sticks.
        log(1);
        Checker::new("log").seeds(0..1).run(&|| log(2));
        let trace = Checker::new("log").trace(0, &|| {
            log(3);
            tracing::warn!(pages = 3);
        });

        let logged = trace.events.iter().filter_map(|event| match &event.what {
            What::Log { level, target, message } => Some(format!("{level} {target} {message}")),
            _ => None,
        });
        let expected = [
            "INFO holdup::trace::layer::tests flushes page=3 relation=\"my table\" fork=main",
            "WARN holdup::trace::layer::tests pages=3",
        ];
        assert_eq!(logged.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn spans_are_off() {
        install();
        Checker::new("span").trace(0, &|| {
            assert!(tracing::info_span!("outer").is_disabled());
        });
    }
}
