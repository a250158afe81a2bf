use serde_json::{Value, json};

use super::build::Build;
use crate::trace::{OpKind, Trace, What};

fn sample() -> Trace {
    let mut trace = Build::new(&["main", "<reader>"], &["buffer & state", "inner"])
        .show(0, |word| format!("refs {word}"))
        .op(OpKind::Store, 0, 0, 1)
        .joins(1)
        .op(OpKind::Store, 1, 3, 0x7f12_3456_7890)
        .what(What::HoldBegin { kind: "header lock", object: 0 })
        .what(What::HoldBegin { kind: "spinlock", object: 1 })
        .note("reads \"page\" <b>1</b>")
        .op(OpKind::Store, 0, 1, 2)
        .preempted(0)
        .note("starts")
        .preempted(1)
        .what(What::HoldEnd { kind: "header lock", object: 0 })
        .panics("I-X", "I-X: 1 < 2")
        .trace;
    trace.arm = "<arm>".to_owned();
    trace
}

#[test]
fn json_has_stable_keys_and_no_addresses() {
    let json = sample().to_json();

    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "name",
            "seed",
            "scheduler",
            "arm",
            "mutant",
            "steps",
            "hash",
            "failure",
            "faults",
            "tasks",
            "objects",
            "events"
        ]
    );
    assert_eq!(json["hash"], "0000000000009f02");
    assert_eq!(json["tasks"][1], json!({ "id": 1, "name": "<reader>" }));
    assert_eq!(
        json["events"][0],
        json!({
            "step": 1, "now_ns": 0, "task": 0,
            "site": { "file": "engine/src/buffer/pin.rs", "line": 1, "column": 9 },
            "what": "operation", "kind": "store", "object": 0,
            "before": { "value": 0, "shown": "refs 0" }, "after": { "value": 1, "shown": "refs 1" },
        })
    );
    assert_eq!(json["events"][2]["before"], json!({ "value": 3 }));
    assert_eq!(json["events"][2]["after"], Value::Null);
    assert_eq!(json["events"][1]["reason"], "blocked");
    assert_eq!(json["failure"]["rule"], "I-X");
}

#[test]
fn perfetto_slices_nest_and_time_moves_on() {
    let perfetto = sample().to_perfetto();
    let events = perfetto["traceEvents"].as_array().unwrap();

    let mut open: Vec<Vec<&Value>> = vec![Vec::new(); 2];
    for event in events {
        let task = event["tid"].as_u64().unwrap() as usize;
        match event["ph"].as_str().unwrap() {
            "B" => open[task].push(&event["name"]),
            "E" => assert_eq!(open[task].pop(), Some(&event["name"])),
            "X" => assert!(event["dur"].as_f64().unwrap() > 0.0),
            _ => {}
        }
    }
    assert!(open.iter().all(Vec::is_empty));
    let stamps: Vec<f64> =
        events.iter().filter(|e| e["cat"] != "run").filter_map(|e| e["ts"].as_f64()).collect();
    assert!(stamps.is_sorted(), "{stamps:?}");
    let note = events.iter().find(|event| event["cat"] == "note").unwrap();
    assert_eq!(note["name"], "reads \"page\" <b>1</b>");
    assert_eq!(note["args"]["step"], 2);
}

#[test]
fn a_page_is_self_contained_and_escaped() {
    let page = sample().to_html();

    assert!(page.starts_with("<!doctype html>"));
    assert!(page.contains("reads &quot;page&quot; &lt;b&gt;1&lt;/b&gt;"));
    assert!(page.contains("<th>&lt;reader&gt;"));
    assert!(page.contains("scheduler portfolio (&lt;arm&gt;)"));
    assert!(page.contains("buffer &amp; state"));
    assert!(page.contains("<td class=\"h0\">reads") || page.contains("<td class=\"h1\">reads"));
    for outside in ["<script", "http", "<link", "<img", "<b>1", "<reader>", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}
