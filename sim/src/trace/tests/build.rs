//! Builds traces by hand: each call is one event, and operations count steps.

use crate::explore::Failure;
use crate::trace::{Event, ObjectInfo, OpKind, Site, SwitchReason, TaskInfo, Trace, What};

/// A trace under construction.
pub(super) struct Build {
    pub(super) trace: Trace,
    running: u32,
}

impl Build {
    pub(super) fn new(tasks: &[&str], objects: &[&str]) -> Self {
        let tasks = tasks.iter().map(|name| TaskInfo { name: (*name).to_owned() });
        let objects = objects.iter().map(|name| ObjectInfo {
            name: (*name).to_owned(),
            named: true,
            show: None,
        });
        let trace = Trace {
            name: "pin_vs_evict".to_owned(),
            seed: 20937,
            scheduler: "portfolio".to_owned(),
            arm: "pct3".to_owned(),
            mutant: None,
            tasks: tasks.collect(),
            objects: objects.collect(),
            events: Vec::new(),
            divergence: None,
            failure: None,
            steps: 0,
            hash: 0x9f02,
            faults: crate::explore::FaultCounts::default(),
        };
        Self { trace, running: 0 }
    }

    /// The object's value is shown like this.
    pub(super) fn show(mut self, object: u32, show: fn(u64) -> String) -> Self {
        self.trace.objects[object as usize].show = Some(show);
        self
    }

    pub(super) fn what(mut self, what: What) -> Self {
        let line = self.trace.events.len() as u32 + 1;
        let site = Some(Site { file: "engine/src/buffer/pin.rs", line, column: 9 });
        let (step, task) = (self.trace.steps.max(1), self.running);
        self.trace.events.push(Event { step, now_ns: 0, task, site, what });
        self
    }

    pub(super) fn note(self, text: &str) -> Self {
        self.what(What::Note(text.to_owned()))
    }

    pub(super) fn op(mut self, kind: OpKind, object: u32, before: u64, after: u64) -> Self {
        self.trace.steps += 1;
        let (before, after) = (Some(before), Some(after));
        self.what(What::Operation { kind, object: Some(object), before, after })
    }

    pub(super) fn loads(self, object: u32) -> Self {
        self.op(OpKind::Load, object, 0, 0)
    }

    pub(super) fn locks(mut self, kind: &'static str, object: u32) -> Self {
        self.trace.steps += 1;
        let operation =
            What::Operation { kind: OpKind::Lock, object: Some(object), before: None, after: None };
        self.what(operation).what(What::HoldBegin { kind, object })
    }

    pub(super) fn unlocks(mut self, kind: &'static str, object: u32) -> Self {
        self.trace.steps += 1;
        let operation = What::Operation {
            kind: OpKind::Unlock,
            object: Some(object),
            before: None,
            after: None,
        };
        self.what(operation).what(What::HoldEnd { kind, object })
    }

    pub(super) fn switch(mut self, to: u32, reason: SwitchReason) -> Self {
        self = self.what(What::Switch { to, reason });
        self.running = to;
        self
    }

    pub(super) fn preempted(self, to: u32) -> Self {
        self.switch(to, SwitchReason::Preempted)
    }

    pub(super) fn waits(self, object: u32, owner: u32, to: u32) -> Self {
        self.switch(to, SwitchReason::Blocked { object: Some(object), owner: Some(owner) })
    }

    pub(super) fn joins(self, to: u32) -> Self {
        self.switch(to, SwitchReason::Blocked { object: None, owner: Some(to) })
    }

    pub(super) fn ends(self, to: u32) -> Self {
        self.what(What::Finished).switch(to, SwitchReason::Finished)
    }

    pub(super) fn fails(mut self, rule: &str, message: &str, detail: &[&str]) -> Self {
        self.trace.failure = Some(Failure {
            rule: rule.to_owned(),
            message: message.to_owned(),
            task: self.trace.tasks[self.running as usize].name.clone(),
            site: Some(Site { file: "engine/src/buffer/pin.rs", line: 218, column: 5 }),
            detail: detail.iter().map(|line| (*line).to_owned()).collect(),
        });
        self
    }

    pub(super) fn panics(self, rule: &str, message: &str) -> Self {
        self.what(What::Panicked { message: message.to_owned() }).fails(rule, message, &[])
    }

    pub(super) fn repeat(self, times: usize, body: impl Fn(Self) -> Self) -> Self {
        (0..times).fold(self, |build, _| body(build))
    }
}

/// Fails if `picture` is not `expected`, line feeds around it not counted, or is too wide.
#[track_caller]
pub(super) fn assert_picture(picture: &str, expected: &str) {
    assert_lines(picture);
    assert!(picture == expected.trim_matches('\n'), "it came out as\n\n{picture}\n");
}

/// Fails if a line is wider than 120 or ends in a space.
#[track_caller]
pub(super) fn assert_lines(picture: &str) {
    for line in picture.lines() {
        assert!(line.chars().count() <= 120, "too wide: {line}\n\n{picture}");
        assert_eq!(line, line.trim_end(), "ends in a space");
    }
}
