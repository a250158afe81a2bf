//! Faults that struck, in text, JSON and stores.

use super::{json, stdout};

#[test]
fn the_faults_that_struck_are_told_counted_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("s.db");
    let scenario = "crash-loses-nothing-synced-modern";
    let sweep = ["sweep", scenario, "--seeds", "300", "--store", store.to_str().unwrap()];
    let text = stdout(&sweep);
    let faults = json(&[&sweep[..], &["--resume", "--json"]].concat())["scenarios"][0]["faults"]
        .as_object()
        .unwrap()
        .clone();

    assert_eq!(faults["power-failure"], 300, "every execution crashes once");
    assert!(faults["torn-write"].as_u64().unwrap() > 0, "{faults:?}");
    let line = text.lines().find(|line| line.starts_with("faults in ")).unwrap();
    for (name, count) in faults {
        assert!(line.contains(&format!("{name} {count}")), "{name} {count} is not in {line}");
    }
    let run = stdout(&["run", scenario, "--seed", "7"]);
    assert!(run.contains("\nfaults: power-failure 1"), "{run}");

    let without = ["sweep", "lossy-unpin", "--seeds", "10"];
    assert!(!stdout(&without).contains("faults"));
    let none = json(&[&without[..], &["--json"]].concat())["scenarios"][0]["faults"].clone();
    assert_eq!(none, serde_json::json!({}));
}
