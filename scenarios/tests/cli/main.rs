//! The command line, from outside: exit statuses, keys, sentences, widths.

mod faults;
mod merge;
mod seeds;
mod small;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A scenario and its bug, which the portfolio finds soon.
const BUG: [&str; 3] = ["lossy-unpin", "--mutant", "demo.lossy_unpin"];

fn holdup(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_holdup"))
        .args(arguments)
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn status(arguments: &[&str]) -> i32 {
    holdup(arguments).status.code().unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    String::from_utf8(holdup(arguments).stdout).unwrap()
}

/// The one document on standard output.
fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(arguments)).unwrap()
}

#[track_caller]
fn assert_keys(value: &Value, keys: &[&str]) {
    for key in keys {
        assert!(value.get(key).is_some(), "no key {key} in {value:#}");
    }
}

/// Runs a command that must be refused with one line, and returns that line.
#[track_caller]
fn refusal(arguments: &[&str]) -> String {
    let output = holdup(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed something");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{arguments:?}: {stderr}");
    stderr
}

/// An example of a seed that fails under `BUG`.
fn failing_seed() -> String {
    let arguments = [&["sweep"], &BUG[..], &["--seeds", "20000", "--json"]].concat();
    json(&arguments)["scenarios"][0]["first_failure"]["seed"].to_string()
}

#[test]
fn list_has_the_promised_keys() {
    let scenarios = &json(&["list", "--json"])["scenarios"];

    for scenario in scenarios.as_array().unwrap() {
        assert_keys(scenario, &["name", "area", "summary", "rules", "mutants", "catalogue"]);
    }
    let classic = json(&["list", "classic", "--json"]);
    let names: Vec<_> =
        classic["scenarios"].as_array().unwrap().iter().map(|s| s["name"].clone()).collect();
    assert!(names.len() > 40 && names.iter().any(|name| name == "lossy-unpin"), "{names:?}");
}

#[test]
fn sweep_has_the_promised_keys_and_fails_with_a_mutant() {
    let arguments = [&["sweep"], &BUG[..], &["--seeds", "20000", "--json"]].concat();
    assert_eq!(status(&arguments), 1);
    let row = &json(&arguments)["scenarios"][0];

    assert_keys(row, &["name", "scheduler", "mutant", "executions", "steps", "seconds"]);
    assert_keys(row, &["failures", "distinct_failures", "first_failure", "hash"]);
    assert_keys(&row["first_failure"], &["seed", "execution", "rule", "message"]);
    assert_eq!(row["hash"].as_str().unwrap().len(), 16);
    assert_eq!(row["executions"], 20_000);
}

#[test]
fn a_sweep_tells_which_schedulers_found_the_failures() {
    let arguments = [&["sweep"], &BUG[..], &["--seeds", "3000"]].concat();

    let arms = json(&[&arguments[..], &["--json"]].concat())["scenarios"][0]["arms"].clone();
    let text = String::from_utf8(holdup(&arguments).stdout).unwrap();

    let urw = arms.as_array().unwrap().iter().find(|arm| arm["name"] == "urw").unwrap();
    assert_keys(urw, &["name", "executions", "failures"]);
    let said = format!("urw {} of {}", urw["failures"], urw["executions"]);
    let line = text.lines().find(|line| line.starts_with("  found by  ")).unwrap();
    assert!(line.contains(&said), "{said} is not in {line}");
}

#[test]
fn programs_that_judge_schedulers_take_part_when_named() {
    let names = |arguments: &[&str]| -> Vec<String> {
        let rows = json(arguments)["scenarios"].as_array().unwrap().clone();
        rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };

    for (area, name) in [("classic", "reorder-100"), ("counts", "counts-4-tasks-1-lock")] {
        let listed = names(&["list", area, "--json"]);
        assert!(listed.iter().any(|listed| listed == name), "{listed:?}");
    }
    assert_eq!(names(&["sweep", "reorder-100", "--seeds", "20", "--json"]), ["reorder-100"]);
    let all = names(&["sweep", "--seeds", "1", "--json"]);
    let judges = |name: &String| name.ends_with("-100") || name.starts_with("counts-");
    assert!(!all.is_empty() && !all.iter().any(judges), "{all:?}");
}

#[test]
fn sweep_passes_without_a_mutant() {
    let output = holdup(&["sweep", "lossy-unpin", "tag-check-then-pin", "--seeds", "300"]);

    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "no progress where nobody watches");
}

#[test]
fn a_sweep_is_the_same_for_any_jobs_and_shards_add_up() {
    let arguments = [&["sweep"], &BUG[..], &["--seeds", "100..3000", "--json"]].concat();
    let row = |more: &[&str]| json(&[&arguments, more].concat())["scenarios"][0].clone();
    let (one, three) = (row(&["--jobs", "1"]), row(&["--jobs", "3"]));
    let shards = ["0/3", "1/3", "2/3"].map(|shard| row(&["--shard", shard]));

    for key in ["hash", "executions", "steps", "failures", "first_failure", "arms", "faults"] {
        assert_eq!(one[key], three[key]);
    }
    let sum = |key| {
        one["arms"].as_array().unwrap().iter().map(|arm| arm[key].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!([sum("executions"), sum("failures")], [2_900, one["failures"].as_u64().unwrap()]);
    let hash = |row: &Value| u64::from_str_radix(row["hash"].as_str().unwrap(), 16).unwrap();
    let folded = shards.iter().map(hash).fold(0, u64::wrapping_add);
    assert_eq!(folded, hash(&one));
    let executions = shards.iter().map(|shard| shard["executions"].as_u64().unwrap());
    assert_eq!(executions.sum::<u64>(), 2_900);
}

#[test]
fn a_store_resumes_to_the_same_result() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("s.db");
    let store = store.to_str().unwrap();
    let sweep = |seeds: &str, more: &[&str]| {
        let arguments = [&["sweep"], &BUG[..], &["--json", "--seeds", seeds], more].concat();
        json(&arguments)["scenarios"][0].clone()
    };

    let part = sweep("3000", &["--store", store]);
    let resumed = sweep("9000", &["--store", store, "--resume"]);
    let again = sweep("9000", &["--store", store]);
    let plain = sweep("9000", &[]);

    assert_eq!(part["executions"], 3_000);
    for key in ["hash", "executions", "steps", "failures", "first_failure", "distinct_failures"] {
        assert_eq!(resumed[key], plain[key], "{key}");
        assert_eq!(again[key], plain[key], "{key}");
    }
}

#[test]
fn coverage_is_the_same_for_any_jobs_and_in_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("s.db");
    let store = store.to_str().unwrap();
    let sweep = |more: &[&str]| {
        let arguments = ["sweep", "lossy-unpin", "--coverage", "--json", "--seeds"];
        json(&[&arguments, more].concat())["scenarios"][0]["coverage"].clone()
    };

    let (one, three) = (sweep(&["9000", "--jobs", "1"]), sweep(&["9000", "--jobs", "3"]));
    let _part = sweep(&["5000", "--store", store]);
    let resumed = sweep(&["9000", "--store", store, "--resume"]);

    assert_keys(&one, &["executions", "hand_offs", "holds", "saturated"]);
    assert!(one["hand_offs"]["seen"].as_u64() > Some(0));
    assert_eq!(one, three);
    // The chunk that was cut at 5,000 was looked at twice as often.
    assert!(resumed["executions"].as_u64() > one["executions"].as_u64());
    assert_eq!(resumed["hand_offs"]["seen"], one["hand_offs"]["seen"]);
}

#[test]
fn a_sweep_until_it_is_saturated_ends_by_itself() {
    let row = &json(&["sweep", "lossy-unpin", "--until-saturated", "--json"])["scenarios"][0];
    assert_eq!((&row["complete"], &row["coverage"]["saturated"]), (&true.into(), &true.into()));
    let cut = ["sweep", "lossy-unpin", "--until-saturated", "--seeds", "100", "--json"];
    assert_eq!(json(&cut)["scenarios"][0]["executions"], 100);
}

#[test]
fn a_guided_search_fails_with_a_mutant_and_says_how_to_run_it_again() {
    let search = ["--seeds", "1", "--guided", "3000", "--json"];
    let story = ["sweep", "tag-check-then-pin"];
    let bug = [&story[..], &["--mutant", "demo.no_recheck"], &search].concat();

    let guided = &json(&bug)["scenarios"][0]["guided"];
    let right = &json(&[&story[..], &search].concat())["scenarios"][0]["guided"];

    assert_eq!((status(&bug), &right["failures"]), (1, &0.into()));
    assert_keys(guided, &["executions", "steps", "failures", "corpus", "hand_offs", "holds"]);
    let finding = &guided["findings"][0];
    assert_keys(finding, &["rule", "execution", "seed", "message", "schedule", "replay"]);
    assert!(finding["schedule"].as_str().unwrap().starts_with("v1:"));
}

#[test]
fn a_report_says_what_the_sweep_said_and_draws_it() {
    let folder = tempfile::tempdir().unwrap();
    let (store, page) = (folder.path().join("s.db"), folder.path().join("page.html"));
    let (store, page) = (store.to_str().unwrap(), page.to_str().unwrap());
    let sweep = [&["sweep"], &BUG[..], &["--seeds", "9000", "--coverage", "--json"]].concat();

    let swept = json(&[&sweep[..], &["--store", store]].concat());
    let reported = json(&["report", store, "--out", page, "--json"]);
    let text = std::fs::read_to_string(page).unwrap();

    let (swept, reported) = (&swept["scenarios"][0], &reported["scenarios"][0]);
    for (key, value) in reported.as_object().unwrap().iter().filter(|(key, _)| *key != "seconds") {
        assert_eq!(value, &swept[key], "{key}");
    }
    assert_eq!(status(&["report", store]), 1);
    assert!(text.contains("<svg") && text.contains("demo.lossy_unpin"));
    assert!(refusal(&["report", "nowhere.db"]).contains("nowhere.db"));
    assert!(refusal(&["report", store, "--rev", "x"]).contains("has nothing of revision `x`"));
    assert!(refusal(&["report", store, "--out", "/nowhere/page.html"]).contains("/nowhere"));
}

#[test]
fn a_sweep_for_some_time_ends_by_itself() {
    let rows = json(&["sweep", "lossy-unpin", "tag-check-then-pin", "--for", "1s", "--json"]);
    assert!(rows["scenarios"].as_array().unwrap().iter().all(|row| row["complete"] == true));
}

#[test]
fn failing_seeds_become_seed_files_that_replay() {
    let folder = tempfile::tempdir().unwrap();
    let seeds = folder.path().to_str().unwrap();
    let arguments = [&["sweep"], &BUG[..], &["--seeds", "20000", "--seed-files", seeds]].concat();
    assert_eq!(status(&arguments), 1);
    let file = folder.path().join("classic/lossy-unpin.toml");
    let written = std::fs::read_to_string(&file).unwrap();

    assert_eq!(status(&arguments), 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), written, "twice is once");
    assert!(written.contains("script = \"\"\""), "{written}");
    let replays = json(&["replay", file.to_str().unwrap(), "--json"]);
    assert_eq!(replays["replays"][0]["as_recorded"], true);
    assert_eq!(status(&["replay", file.to_str().unwrap()]), 0);
}

#[test]
fn mutants_has_the_promised_keys() {
    let arguments = ["mutants", "lossy-unpin", "--trials", "2", "--json"];
    assert_eq!(status(&arguments), 0);
    let row = &json(&arguments)["mutants"][0];

    assert_keys(row, &["name", "catalogue", "scenario", "caught", "trials", "budget"]);
    assert_keys(row, &["executions_median", "executions_p95", "scheduler"]);
    assert!(row["preemptions_median"].is_null());
    assert_eq!((&row["caught"], &row["trials"]), (&2.into(), &2.into()));
    assert!(row["catalogue"].is_array());
}

#[test]
fn the_tour_shows_why_a_portfolio_and_one_caught_bug() {
    let tour = json(&["--json", "--for", "1s"]);

    assert_keys(&tour, &["scenarios", "portfolio", "report", "replay"]);
    let lossy = &tour["portfolio"][1];
    assert_eq!(lossy["name"], "lossy-unpin");
    assert!(lossy["executions_median"]["random"].is_u64());
    let replay = tour["replay"].as_str().unwrap();
    assert!(tour["report"].as_str().unwrap().ends_with(replay));
    let arguments = replay.strip_prefix("cargo run --release -- ").unwrap();
    assert_eq!(status(&arguments.split(' ').collect::<Vec<_>>()), 1, "the line replays the bug");
}

#[test]
fn run_ends_with_its_hash_and_nothing_else_says_hash() {
    let seed = failing_seed();
    let failing = [&["run"], &BUG[..], &["--seed", &seed, "--trace"]].concat();
    for (arguments, expected) in [(failing, 1), (vec!["run", "lossy-unpin", "--seed", "7"], 0)] {
        let text = stdout(&arguments);

        assert_eq!(status(&arguments), expected);
        let hash = text.lines().last().unwrap().strip_prefix("hash: ").unwrap();
        assert!(hash.len() == 16 && hash.chars().all(|c| c.is_ascii_hexdigit()), "{hash}");
        assert_eq!(text.matches("hash:").count(), 1);
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }
}

#[test]
fn run_prints_documents_that_parse() {
    for format in ["json", "perfetto"] {
        json(&["run", "lossy-unpin", "--seed", "7", "--format", format]);
    }
    let verdict = json(&["run", "lossy-unpin", "--seed", "7", "--json"]);
    assert_keys(&verdict, &["name", "seed", "scheduler", "mutant", "steps", "failure", "hash"]);
    assert!(verdict.get("events").is_none());
    let all = json(&["run", "lossy-unpin", "--seed", "7", "--json", "--trace"]);
    assert!(all["events"].is_array());
    assert!(stdout(&["run", "lossy-unpin", "--seed", "7", "--format", "html"]).contains("<html"));
}

#[test]
fn replay_tells_as_recorded_from_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let seed = failing_seed();
    let entry = |more: &str| format!("[[seed]]\nscheduler = \"portfolio\"\nseed = {seed}\n{more}");
    let mutant = "mutant = \"demo.lossy_unpin\"\n";
    let fails = write("lossy-unpin.toml", &entry(&format!("{mutant}rule = \"I-ID1\"\n")));
    let differs = write("b.toml", &entry(&format!("{mutant}rule = \"I-SP1\"\n")));
    let passes = write("c.toml", &entry(""));
    let no_longer = write("d.toml", &entry("rule = \"I-ID1\"\n"));
    let script = "# scenario: lossy-unpin\nowner until \"counts 1 on buffer 0\"\n\
                  reader until \"pins buffer 0\"\nowner until \"gives buffer 0 to page 777\"\n\
                  reader to the end\n";
    let script = write("lost.script", script);

    assert_eq!(status(&["replay", &fails]), 0);
    assert_eq!(status(&["replay", &differs, "--scenario", "lossy-unpin"]), 1);
    assert_eq!(status(&["replay", &passes, "--scenario", "lossy-unpin"]), 0);
    assert_eq!(status(&["replay", &no_longer, "--scenario", "lossy-unpin"]), 1);
    assert_eq!(status(&["replay", &script]), 1);
    assert_eq!(status(&["replay", &script, "--mutant", "demo.lossy_unpin"]), 0);
}

#[test]
fn bad_use_gets_one_sentence() {
    for (arguments, says) in [
        (vec!["run", "lossy-unpim", "--seed", "1"], "did you mean `lossy-unpin`?"),
        (vec!["run", "lossy-unpin", "--seed", "abc"], "`abc` is no seed"),
        (vec!["run", "lossy-unpin", "--seed", "-1"], "`-1` is no seed"),
        (vec!["run", "lossy-unpin", "--seed", "1", "--mutant", "demo.lossy"], "demo.lossy_unpin"),
        (vec!["run", "lossy-unpin", "--seed", "1", "--scheduler", "luck"], "portfolio, random"),
        (vec!["sweep", "--seeds", "5..2"], "`5..2` is no range of seeds"),
        (vec!["sweep", "--seeds", "abc"], "`abc` is no range of seeds"),
        (vec!["sweep", "--shard", "4/4"], "counted from 0"),
        (vec!["sweep", "--for", "soon"], "`soon` is no duration"),
        (vec!["sweep", "--jobs", "0"], "`0` is no count"),
        (vec!["sweep", "nothing-like-it"], "`nothing-like-it`"),
        (vec!["sweep", "--mutant", "no.such"], "`no.such`"),
        (vec!["mutants", "demo.lossy_umpin"], "did you mean `demo.lossy_unpin`?"),
        (vec!["list", "clasic"], "did you mean `classic`?"),
        (vec!["replay", "nowhere.toml"], "nowhere.toml"),
        (vec!["shrink", "lossy-unpin"], "give --seed N"),
        (vec!["shrink", "lossy-unpim", "--seed", "1"], "did you mean `lossy-unpin`?"),
        (vec!["explain", "nowhere.toml#0"], "nowhere.toml"),
        (vec!["explain", "nowhere.toml#0", "--seed", "1"], "an entry says its own"),
        (vec!["diff", "lossy-unpin", "lossy-unpin:1"], "`lossy-unpin` names no execution"),
        (vec!["diff", "lossy-unpin:1", "tag-check-then-pin:1"], "are two scenarios"),
        (vec!["diff", "lossy-unpin:1:luck", "lossy-unpin:1"], "portfolio, random"),
        (vec!["sweep", "--store", "no/such/folder/s.db"], "no/such/folder/s.db"),
    ] {
        let sentence = refusal(&arguments);
        assert!(sentence.contains(says), "{arguments:?}: {sentence}");
    }
}

#[test]
fn malformed_files_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let seeds = file("lossy-unpin.toml", "[[seed]]\nseed = 1\nsheduler = \"pct\"\n");
    let script = file("x.script", "# scenario: lossy-unpin\nwhatever comes\n");
    let nameless = file("y.script", "reader to the end\n");
    let store = file("s.db", "these are notes, and no database at all; nobody may write here");

    assert!(refusal(&["replay", &seeds]).contains("entry 0 (line 1)"));
    assert!(refusal(&["replay", &script]).contains("x.script: script line 2: found `comes`"));
    assert!(refusal(&["replay", &nameless]).contains("# scenario: NAME"));
    assert!(refusal(&["sweep", "--store", &store]).contains("not a SQLite file"));
    assert!(std::fs::read_to_string(Path::new(&store)).unwrap().starts_with("these are notes"));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_holdup"))
        .arg("list")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();

    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn tables_fit_the_page_and_the_terminal() {
    for (columns, most) in [(None, 120), (Some("80"), 80), (Some("50"), 50)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
        command.args(["list"]).env_remove("COLUMNS");
        if let Some(columns) = columns {
            command.env("COLUMNS", columns);
        }
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= most), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_stops_a_sweep_which_then_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("s.db");
    let sweep = |seeds: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
        command.args(["sweep", "lossy-unpin", "--json", "--seeds", seeds, "--store"]);
        command.arg(&store).args(more).stdout(Stdio::piped());
        command
    };
    let finished_chunks = || {
        let connection = rusqlite::Connection::open(&store)?;
        connection.query_row("select count(*) from runs", [], |row| row.get::<_, i64>(0))
    };
    let child = sweep("1000000000", &[]).spawn().unwrap();
    while finished_chunks().unwrap_or(0) == 0 {
        std::thread::yield_now();
    }
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();

    assert_eq!(output.status.code(), Some(75));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &rows["scenarios"][0];
    let executions = row["executions"].as_u64().unwrap();
    assert_eq!(row["complete"], false);
    assert!(executions > 0);

    let resumed = sweep(&executions.to_string(), &["--resume"]).output().unwrap();
    assert_eq!(resumed.status.code(), Some(0));
    let rows: Value = serde_json::from_slice(&resumed.stdout).unwrap();
    assert_eq!(rows["scenarios"][0]["hash"], row["hash"]);
}

#[test]
fn prove_has_the_promised_keys_and_proves_a_small_story() {
    let arguments = ["prove", "header-release-vs-unpin-classic", "--json"];
    let proof = json(&arguments);

    assert_keys(&proof, &["complete", "executions", "blocked", "distinct_traces", "failures"]);
    assert_keys(&proof, &["remaining_estimate"]);
    assert_eq!((&proof["complete"], &proof["failures"]), (&true.into(), &0.into()));
    assert_eq!(proof["executions"], proof["distinct_traces"]);
    assert_eq!(status(&arguments), 0);
}

#[test]
fn programs_that_count_have_as_many_executions_as_orders() {
    let counts = [
        ("counts-3-tasks-1-lock", 6),
        ("counts-4-tasks-1-lock", 24),
        ("counts-2-tasks-2-additions", 6),
        ("counts-3-tasks-2-additions", 90),
        ("counts-3-tasks-1-spinlock", 6),
    ];
    for (name, orders) in counts {
        let proof = json(&["prove", name, "--json"]);
        assert_eq!(proof["complete"], true, "{name}");
        assert_eq!(proof["executions"], orders, "{name}");
        assert_eq!(proof["distinct_traces"], orders, "{name}");
        assert_eq!(proof["failures"], 0, "{name}");
    }
}

#[test]
fn prove_says_what_is_left_where_it_is_cut_off() {
    let arguments = ["prove", "cleanup-lock-vs-unpin-classic", "--max-executions", "30"];
    let proof = json(&[&arguments[..], &["--json"]].concat());

    assert_eq!(proof["complete"], false);
    assert!(proof["remaining_estimate"].as_f64().unwrap() > 0.0);
    assert_eq!(status(&arguments), 0);
    let text = stdout(&[&arguments[..], &["--preemptions", "1"]].concat());
    assert!(text.contains("within 1 preemption"), "{text}");
}

#[test]
fn a_failure_that_prove_finds_replays() {
    let mutant = "atomics.plain_store_not_rmw_safe";
    let bug = ["header-release-vs-unpin-classic", "--mutant", mutant];
    let arguments = [&["prove"], &bug[..]].concat();
    assert_eq!(status(&arguments), 1);
    let first = &json(&[&arguments[..], &["--json"]].concat())["first_failure"];

    let schedule = first["schedule"].as_str().unwrap();
    let again = [&["run"], &bug[..], &["--seed", "0", "--scheduler", schedule, "--json"]].concat();
    assert_eq!(json(&again)["failure"]["rule"], first["rule"]);
    assert!(first["replay"].as_str().unwrap().contains(schedule));
}

#[test]
fn prove_refuses_what_it_cannot_search() {
    let sentence = refusal(&["prove", "after-the-storm-classic"]);
    assert!(sentence.contains("its faults end"), "{sentence}");
    refusal(&["prove", "lossy-unpin", "--preemptions", "-1"]);
    refusal(&["prove", "lossy-unpin", "--max-executions", "0"]);
    refusal(&["prove", "lossy-unpim"]);
    refusal(&["run", "lossy-unpin", "--seed", "0", "--scheduler", "v1:1"]);
}
