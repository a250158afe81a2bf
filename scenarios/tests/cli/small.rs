//! Failures made small, explained, compared, and found again: `shrink`, `explain`, `diff`, `replay`.

use serde_json::Value;

use super::{BUG, assert_keys, failing_seed, holdup, json, status, stdout};

#[test]
fn a_shrunk_seed_is_a_script_that_replays() {
    let folder = tempfile::tempdir().unwrap();
    let seed = failing_seed();
    let arguments = [&["shrink"], &BUG[..], &["--seed", &seed]].concat();
    assert_eq!(status(&arguments), 0);
    let text = stdout(&arguments);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    assert!(text.contains(" preemptions to 2"), "{text}");

    let script = &text[text.find("# scenario: lossy-unpin\n").unwrap()..];
    assert!(script.contains("\n# rule: I-ID1\n"), "{script}");
    let path = folder.path().join("lost.script");
    std::fs::write(&path, script).unwrap();
    assert_eq!(status(&["replay", path.to_str().unwrap()]), 0);
}

#[test]
fn shrink_completes_the_entry_of_its_seed_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let seeds = folder.path().to_str().unwrap();
    let seed = failing_seed();
    let file = folder.path().join("classic/lossy-unpin.toml");
    let entry = |seed: &str, note: &str| {
        format!(
            "[[seed]] # by hand\nscheduler = \"portfolio\"\nseed = {seed}\n\
             mutant = \"demo.lossy_unpin\"\nrule = \"I-ID1\"\nnote = \"{note}\"\n\n"
        )
    };
    let before = entry("1", "first") + &entry(&seed, "second") + &entry("3", "third");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, &before).unwrap();

    let arguments = [&["shrink"], &BUG[..], &["--seed", &seed, "--write", seeds]].concat();
    assert_eq!(status(&arguments), 0);

    let after = std::fs::read_to_string(&file).unwrap();
    let script = after.split("\"\"\"").nth(1).unwrap();
    assert!(script.contains("owner until"), "{after}");
    let removed = after.replace(&format!("script = \"\"\"{script}\"\"\"\n"), "");
    assert_eq!(removed, before, "all else stays");
    assert!(after.find("script = ") < after.find("second"), "{after}");
    let entry = format!("{}#1", file.to_str().unwrap());
    assert_eq!(status(&["shrink", &entry, "--write", seeds]), 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), after, "twice is once");
}

#[test]
fn explain_names_two_operations_and_has_stable_keys() {
    let seed = failing_seed();
    let arguments = [&["explain"], &BUG[..], &["--seed", &seed]].concat();
    assert_eq!(status(&arguments), 0);
    let text = stdout(&arguments);
    assert!(text.contains("critical pair") && text.contains("headers.rs:"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");

    let document = json(&[&arguments[..], &["--json"]].concat());
    assert_keys(&document, &["name", "seed", "scheduler", "mutant", "failure", "script"]);
    assert_keys(&document, &["preemptions", "preemptions_before", "fewest", "schedule"]);
    assert_eq!(document["failure"]["rule"], "I-ID1");
    let pair = &document["critical_pair"];
    for moment in [&pair["first"], &pair["second"]] {
        assert_keys(moment, &["task", "what", "site", "note_before", "note_after"]);
    }
    assert_ne!(pair["first"]["task"], pair["second"]["task"]);
}

#[test]
fn a_seed_that_passes_is_nothing_to_shrink_or_to_explain() {
    for command in ["shrink", "explain"] {
        let output = holdup(&[command, "lossy-unpin", "--seed", "7"]);
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with("lossy-unpin, seed 7, scheduler portfolio passes: "), "{text}");
    }
    let document = json(&["explain", "lossy-unpin", "--seed", "7", "--json"]);
    assert!(document["failure"].is_null() && document["critical_pair"].is_null());
}

#[test]
fn diff_aligns_tasks_and_tells_the_same_from_different() {
    let seed = failing_seed();
    let good = format!("lossy-unpin:{seed}");
    let bad = format!("{good}::demo.lossy_unpin");
    assert_eq!(status(&["diff", &bad, &good]), 0);
    let text = stdout(&["diff", &bad, &good]);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    assert!(text.contains("the same"), "{text}");

    let document = json(&["diff", &bad, &good, "--json"]);
    assert_keys(&document, &["a", "b", "same", "tasks"]);
    assert_eq!(document["a"]["failure"]["rule"], "I-ID1");
    assert!(document["b"]["failure"].is_null() && document["same"] == false);
    let tasks = document["tasks"].as_array().unwrap();
    let names: Vec<_> = tasks.iter().map(|task| task["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["main", "owner", "reader", "bystander", "bystander 2"]);
    let alike = |task: &Value| task["lines"].as_array().unwrap().iter().all(|l| l["equal"] == true);
    assert!(!alike(&tasks[1]), "the owner loses the reader's pin in one of them only");

    let same = json(&["diff", &good, &good, "--json"]);
    assert!(same["same"] == true && same["tasks"].as_array().unwrap().iter().all(alike));
}

#[test]
fn what_no_longer_fits_is_looked_for_nearby_before_it_is_declared_dead() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // A note that nobody writes any more, behind one that is still there.
    let script = "reader until \"finds page 1 in buffer 0\"\nreader until \"waits no more\"\n";
    let mutant = "recent.no_recheck";
    let scenario = "pinned-buffer-changes-identity-modern";
    let entry = |rule: &str| {
        format!(
            "[[seed]]\nscheduler = \"portfolio\"\nseed = 0\nmutant = \"{mutant}\"\n\
             rule = \"{rule}\"\nscript = \"\"\"\n{script}\"\"\"\n"
        )
    };
    let headed = format!("# scenario: {scenario}\n# mutant: {mutant}\n# rule: I-ID1\n{script}");
    let nearby = write("pinned-buffer-changes-identity-modern.toml", &entry("I-ID1"));
    let scripted = write("nearby.script", &headed);
    let dead = write("dead.toml", &entry("I-SP1"));

    for file in [&nearby, &scripted] {
        assert_eq!(status(&["replay", file]), 0);
        let row = &json(&["replay", file, "--json"])["replays"][0];
        assert_eq!((&row["as_recorded"], &row["neighbour"]["turns"]), (&true.into(), &1.into()));
        assert_eq!(row["divergence"], "diverged at turn 2 of 2");
        let renewed = row["neighbour"]["script"].as_str().unwrap();
        let again = write("renewed.script", &headed.replace(script, renewed));
        let row = &json(&["replay", &again, "--json"])["replays"][0];
        assert_eq!((&row["as_recorded"], &row["neighbour"]), (&true.into(), &Value::Null));
    }
    assert_eq!(status(&["replay", &dead, "--scenario", scenario]), 1);
}

#[test]
fn shrunk_mutants_take_as_many_preemptions_as_the_catalogue_says() {
    let mutant = "invalidate.part_inside_hdr";
    let rows = json(&["mutants", mutant, "--trials", "2", "--shrink", "--json"]);

    for row in rows["mutants"].as_array().unwrap() {
        assert_eq!((&row["preemptions_median"], &row["preemptions_known"]), (&1.into(), &1.into()));
    }
    let table = stdout(&["mutants", mutant, "--trials", "1", "--shrink"]);
    assert!(table.contains("preemptions") && table.contains("known"), "{table}");
}
