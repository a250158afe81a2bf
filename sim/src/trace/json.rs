//! A trace as JSON: every event, with stable keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::event::{Event, Site, SwitchReason, Trace, What};
use super::words::{kind_name, value};

impl Trace {
    /// The trace as JSON, for programs.
    ///
    /// Tasks and objects are numbers, the indices of `tasks` and `objects`. A word's value is its
    /// number and, where the program says how to show it, a text; values that may be addresses are
    /// `null`, so that the same seed gives the same document.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let named = |(id, name): (usize, &str)| json!({ "id": id, "name": name });
        let tasks = self.tasks.iter().map(|task| task.name.as_str()).enumerate().map(named);
        let objects =
            self.objects.iter().enumerate().map(
                |(id, object)| json!({ "id": id, "name": object.name, "named": object.named }),
            );
        let failure = self.failure.as_ref().map(|failure| {
            json!({
                "rule": failure.rule,
                "message": failure.message,
                "task": failure.task,
                "site": site(failure.site),
                "detail": failure.detail,
            })
        });
        json!({
            "name": self.name,
            "seed": self.seed,
            "scheduler": self.scheduler,
            "arm": self.arm,
            "mutant": self.mutant,
            "steps": self.steps,
            "hash": format!("{:016x}", self.hash),
            "failure": failure,
            "faults": self.faults.iter().collect::<BTreeMap<_, _>>(),
            "tasks": tasks.collect::<Vec<_>>(),
            "objects": objects.collect::<Vec<_>>(),
            "events": self.events.iter().map(|event| self.event_json(event)).collect::<Vec<_>>(),
        })
    }

    fn event_json(&self, event: &Event) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("step", event.step.into());
        put("now_ns", event.now_ns.into());
        put("task", event.task.into());
        put("site", site(event.site));
        match &event.what {
            What::Operation { kind, object, before, after } => {
                put("what", "operation".into());
                put("kind", kind_name(*kind).into());
                put("object", (*object).into());
                put("before", self.word_json(*object, *before));
                put("after", self.word_json(*object, *after));
            }
            What::Note(text) => {
                put("what", "note".into());
                put("text", text.as_str().into());
            }
            What::Fault(text) => {
                put("what", "fault".into());
                put("text", text.as_str().into());
            }
            What::Log { level, target, message } => {
                put("what", "log".into());
                put("level", (*level).into());
                put("target", target.as_str().into());
                put("message", message.as_str().into());
            }
            What::Switch { to, reason } => {
                put("what", "switch".into());
                put("to", (*to).into());
                put("reason", reason_name(*reason).into());
                if let SwitchReason::Blocked { object, owner } = reason {
                    put("object", (*object).into());
                    put("owner", (*owner).into());
                }
            }
            What::HoldBegin { kind, object } | What::HoldEnd { kind, object } => {
                let begins = matches!(event.what, What::HoldBegin { .. });
                put("what", if begins { "hold_begin" } else { "hold_end" }.into());
                put("kind", (*kind).into());
                put("object", (*object).into());
            }
            What::Spawned { child } => {
                put("what", "spawned".into());
                put("child", (*child).into());
            }
            What::Finished => {
                put("what", "finished".into());
            }
            What::Panicked { message } => {
                put("what", "panicked".into());
                put("message", message.as_str().into());
            }
        }
        Value::Object(map)
    }

    fn word_json(&self, object: Option<u32>, word: Option<u64>) -> Value {
        let (Some(object), Some(word)) = (object, word) else { return Value::Null };
        let shows = self.objects.get(object as usize).is_some_and(|info| info.show.is_some());
        match value(self, object, word) {
            Some(shown) if shows => json!({ "value": word, "shown": shown }),
            Some(_) => json!({ "value": word }),
            None => Value::Null,
        }
    }
}

fn site(site: Option<Site>) -> Value {
    site.map_or(
        Value::Null,
        |site| json!({ "file": site.file, "line": site.line, "column": site.column }),
    )
}

fn reason_name(reason: SwitchReason) -> &'static str {
    match reason {
        SwitchReason::Preempted => "preempted",
        SwitchReason::Blocked { .. } => "blocked",
        SwitchReason::Sleeping => "sleeping",
        SwitchReason::Yielded => "yielded",
        SwitchReason::Finished => "finished",
    }
}
