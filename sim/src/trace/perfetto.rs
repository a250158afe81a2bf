//! A trace for <https://ui.perfetto.dev>: Chrome's JSON format.
//!
//! The process `tasks` has a thread a task, on which holds are nested slices and notes are
//! instants. The process `processor` has one thread, on which a slice says which task runs. One
//! step is one microsecond; virtual time, which mostly stands still, is an argument.

use serde_json::{Value, json};

use super::event::{Event, Trace, What};
use super::words::{object_name, task_name};

const TASKS: u32 = 1;
const PROCESSOR: u32 = 2;

impl Trace {
    /// The trace in Chrome's JSON format, which <https://ui.perfetto.dev> opens.
    #[must_use]
    pub fn to_perfetto(&self) -> Value {
        let mut writer = Writer { trace: self, out: Vec::new(), held: Vec::new(), last_ns: 0 };
        writer.metadata();
        let mut running: Option<(u32, u64)> = None;
        for event in &self.events {
            let at_ns = writer.stamp(event);
            match running {
                Some((task, _)) if task == event.task => {}
                Some((task, since_ns)) => {
                    writer.ran(task, since_ns, at_ns);
                    running = Some((event.task, at_ns));
                }
                None => running = Some((event.task, at_ns)),
            }
            writer.event(event, at_ns);
        }
        let end_ns = writer.last_ns + 1000;
        if let Some((task, since_ns)) = running {
            writer.ran(task, since_ns, end_ns);
        }
        for task in 0..writer.held.len() as u32 {
            while let Some((kind, object)) = writer.held[task as usize].pop() {
                writer.slice("E", task, kind, object, end_ns);
            }
        }
        json!({ "displayTimeUnit": "ns", "traceEvents": writer.out })
    }
}

struct Writer<'a> {
    trace: &'a Trace,
    out: Vec<Value>,
    /// By task: the slices that are open, the innermost last.
    held: Vec<Vec<(&'static str, u32)>>,
    /// The last time stamp given out.
    last_ns: u64,
}

impl Writer<'_> {
    fn metadata(&mut self) {
        let mut name = |what: &str, pid: u32, tid: u32, name: &str| {
            let args = json!({ "name": name });
            self.out.push(json!({ "name": what, "ph": "M", "pid": pid, "tid": tid, "args": args }));
        };
        name("process_name", TASKS, 0, "tasks");
        for id in 0..self.trace.tasks.len() as u32 {
            name("thread_name", TASKS, id, &task_name(self.trace, id));
        }
        name("process_name", PROCESSOR, 0, "processor");
        name("thread_name", PROCESSOR, 0, "runs");
    }

    /// A step is a microsecond, and what happens in it follows one nanosecond apart.
    fn stamp(&mut self, event: &Event) -> u64 {
        self.last_ns = (event.step * 1000).max(self.last_ns + 1);
        self.last_ns
    }

    fn event(&mut self, event: &Event, at_ns: u64) {
        let task = event.task;
        if self.held.len() <= task as usize {
            self.held.resize(task as usize + 1, Vec::new());
        }
        match &event.what {
            What::HoldBegin { kind, object } => {
                self.held[task as usize].push((kind, *object));
                self.slice("B", task, kind, *object, at_ns);
            }
            What::HoldEnd { kind, object } => self.end_hold(task, (kind, *object), at_ns),
            What::Note(text) => self.instant(event, at_ns, "note", text),
            What::Fault(text) => self.instant(event, at_ns, "fault", text),
            What::Log { level, message, .. } => {
                self.instant(event, at_ns, "log", &format!("{level} {message}"));
            }
            What::Panicked { message } => self.instant(event, at_ns, "panic", message),
            _ => {}
        }
    }

    /// Slices nest, locks need not: what began inside is closed and opened again.
    fn end_hold(&mut self, task: u32, hold: (&'static str, u32), at_ns: u64) {
        let held = &self.held[task as usize];
        let Some(at) = held.iter().rposition(|open| *open == hold) else { return };
        let inner = self.held[task as usize].split_off(at + 1);
        self.held[task as usize].pop();
        for (kind, object) in inner.iter().rev().chain([&hold]) {
            self.slice("E", task, kind, *object, at_ns);
        }
        for (kind, object) in inner {
            self.held[task as usize].push((kind, object));
            self.slice("B", task, kind, object, at_ns);
        }
    }

    fn slice(&mut self, phase: &str, task: u32, kind: &str, object: u32, at_ns: u64) {
        let name = format!("{kind} of {}", object_name(self.trace, object));
        self.out.push(json!({
            "name": name, "cat": "hold", "ph": phase, "pid": TASKS, "tid": task, "ts": us(at_ns),
        }));
    }

    fn ran(&mut self, task: u32, since_ns: u64, until_ns: u64) {
        self.out.push(json!({
            "name": task_name(self.trace, task), "cat": "run", "ph": "X", "pid": PROCESSOR,
            "tid": 0, "ts": us(since_ns), "dur": us(until_ns - since_ns),
        }));
    }

    fn instant(&mut self, event: &Event, at_ns: u64, category: &str, text: &str) {
        let site = event.site.map(|site| site.to_string());
        self.out.push(json!({
            "name": text, "cat": category, "ph": "i", "s": "t", "pid": TASKS, "tid": event.task,
            "ts": us(at_ns), "args": { "step": event.step, "now_ns": event.now_ns, "site": site },
        }));
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
