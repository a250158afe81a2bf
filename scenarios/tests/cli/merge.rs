//! `holdup merge`: shards joined, and what cannot be joined.

use crate::{BUG, json, refusal, status};

#[test]
fn merged_shards_report_what_one_sweep_reports() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let sweep = |store: &str, shard: &str| {
        let options = ["--seeds", "9000", "--coverage", "--json", "--store", store, "--shard"];
        json(&[&["sweep"], &BUG[..], &options, &[shard]].concat())
    };
    let (whole, a, b, c) = (path("whole.db"), path("a.db"), path("b.db"), path("c.db"));
    sweep(&whole, "0/1");
    for (store, shard) in [(&a, "0/3"), (&b, "1/3"), (&c, "2/3")] {
        sweep(store, shard);
    }
    let out = path("out.db");

    let said = json(&["merge", &c, &a, &b, "--store", &out, "--json"]);

    assert_eq!(said["stores"], 3);
    let report = |store: &str| {
        let mut report = json(&["report", store, "--json"]);
        report["scenarios"][0]["seconds"].take();
        report
    };
    assert_eq!(report(&out), report(&whole));
    assert!(refusal(&["merge", &a, &b, "--store", &out]).contains("exists already"));
    let other = path("other.db");
    assert!(refusal(&["merge", &a, &whole, "--store", &other]).contains("are in both"));
    assert!(refusal(&["merge", &a, &a, "--store", &other]).contains("are in both"));
    assert!(refusal(&["merge", "nowhere.db", "--store", &other]).contains("nowhere.db"));
    let connection = rusqlite::Connection::open(&b).unwrap();
    connection.execute("update runs set rev = 'older'", []).unwrap();
    assert!(refusal(&["merge", &a, &b, "--store", &other]).contains("`older`"));
    assert!(!std::path::Path::new(&other).exists());
    assert_eq!(status(&["merge", &a, "--store", &other]), 0);
}
