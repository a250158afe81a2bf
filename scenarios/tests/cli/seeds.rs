//! The corpus of seeds from outside: listed, checked, found again.

use std::fs;

use super::{assert_keys, json, refusal, status, stdout};

/// Dead, diverging, holding by its script only, and mended, in this order.
const CORPUS: &str = r#"# By hand.
[[seed]]
scheduler = "random"
seed = 1
mutant = "demo.lossy_unpin"
rule = "I-ID1"
note = "one"

[[seed]]
scheduler = "random"
seed = 475
mutant = "demo.lossy_unpin"
rule = "I-ID1"
script = """
owner until "counts 1 on buffer 0"
reader until "pins no buffer"
"""
note = "two"

[[seed]]
scheduler = "random"
seed = 3
mutant = "demo.lossy_unpin"
rule = "I-ID1"
script = """
owner until "counts 1 on buffer 0"
reader until "pins buffer 0"
owner until "gives buffer 0 to page 777"
reader to the end
"""
note = "three"

[[seed]]
scheduler = "random"
seed = 7
rule = "I-ID1"
note = "four"
"#;

/// A corpus of one file, and what is behind a command to say so.
struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn with(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("classic")).unwrap();
        let made = Self { folder };
        fs::write(made.file(), text).unwrap();
        made
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("classic/lossy-unpin.toml")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    fn seeds<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let folder = ["--folder", self.folder.path().to_str().unwrap()];
        [&["seeds"], arguments, &folder].concat()
    }
}

fn column(document: &serde_json::Value, key: &str) -> Vec<serde_json::Value> {
    document["seeds"].as_array().unwrap().iter().map(|row| row[key].clone()).collect()
}

#[test]
fn the_committed_corpus_is_listed_and_holds() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../seeds");
    let listed = json(&["seeds", "--folder", seeds, "--json"]);

    for row in listed["seeds"].as_array().unwrap() {
        assert_keys(row, &["name", "file", "entry", "area", "scenario", "scheduler", "seed"]);
        assert_keys(row, &["mutant", "rule", "preemptions", "script", "note"]);
    }
    let text = stdout(&["seeds", "list", "classic", "--folder", seeds]);
    assert!(text.contains("  #0 demo.lossy_unpin") && !text.contains("buffer/"), "{text}");
    assert_eq!(status(&["seeds", "check", "--folder", seeds]), 0);
}

#[test]
fn a_check_tells_what_holds_from_what_diverges_and_what_is_dead() {
    let folder = Folder::with(CORPUS);
    let check = folder.seeds(&["check"]);

    assert_eq!(status(&check), 1);
    let text = stdout(&check);
    assert!(text.contains("2 hold, 1 diverge, 1 are dead, 0 fail in today's code"), "{text}");
    let document = json(&[&check[..], &["--json"]].concat());
    assert_eq!(column(&document, "standing"), ["dead", "diverges", "holds", "holds"]);
    assert_eq!([&document["holds"], &document["dead"]], [2, 1]);
    for row in document["seeds"].as_array().unwrap() {
        assert_keys(row, &["says", "by_script", "by_seed", "divergence"]);
    }
    // What diverges still meets its bug.
    let diverging = CORPUS.replacen("seed = 1\n", "seed = 475\n", 1);
    assert_eq!(status(&Folder::with(&diverging).seeds(&["check"])), 0);
}

#[test]
fn a_refresh_finds_again_what_does_not_hold_and_leaves_the_rest() {
    let folder = Folder::with(CORPUS);

    let dry = json(&folder.seeds(&["refresh", "--dry-run", "--json"]));
    assert_eq!(column(&dry, "came"), ["renewed", "renewed", "holds", "holds"]);
    assert_eq!(column(&dry, "new_seed")[..2], [475, 475]);
    assert_eq!((folder.text(), &dry["written"]), (CORPUS.into(), &serde_json::json!([])));

    assert_eq!(status(&folder.seeds(&["refresh"])), 0);
    let text = folder.text();
    let third = CORPUS.split("\n\n").nth(2).unwrap();
    assert!(text.starts_with("# By hand.\n[[seed]]\nscheduler = \"random\"\nseed = 475\n"));
    assert!(text.contains(third) && !text.contains("pins no buffer"), "{text}");
    let listed = json(&folder.seeds(&["--json"]));
    assert_eq!(column(&listed, "note"), ["one", "two", "three", "four"]);
    assert_eq!(column(&listed, "preemptions")[..2], [2, 2]);
    assert_eq!(json(&folder.seeds(&["check", "--json"]))["holds"], 4);

    assert_eq!(status(&folder.seeds(&["refresh"])), 0);
    assert_eq!(folder.text(), text, "twice is once");
    assert_eq!(status(&folder.seeds(&["refresh", "--all"])), 0);
    assert_eq!(folder.text(), text.replace("seed = 3\n", "seed = 475\n"), "its script stays");
}

#[test]
fn a_refresh_that_does_not_find_all_writes_nothing() {
    let lost = CORPUS.replacen("I-ID1", "I-SP1", 1);
    let folder = Folder::with(&lost);

    let refresh = folder.seeds(&["refresh", "--seeds", "1"]);
    let document = json(&[&refresh[..], &["--json"]].concat());

    assert_eq!(status(&refresh), 1);
    assert_eq!(column(&document, "came")[..2], ["not found", "renewed"]);
    assert_eq!(folder.text(), lost);
    let text = stdout(&refresh);
    assert!(text.contains("none of seeds 0 to 19999 fails with I-SP1"), "{text}");
    assert!(text.contains("1 were not found: nothing was written"), "{text}");
}

#[test]
fn a_corpus_that_is_not_there_is_refused() {
    let folder = Folder::with(CORPUS);

    assert!(refusal(&folder.seeds(&["check", "lossy-unpim"])).contains("did you mean"));
    assert!(refusal(&folder.seeds(&["check", "buffer"])).contains("no seed of buffer below"));
    assert!(refusal(&["seeds", "--folder", "/nowhere"]).contains("no folder /nowhere"));
    let broken = Folder::with("[[seed]]\n");
    assert!(refusal(&broken.seeds(&["refresh"])).contains("entry 0 (line 1)"));
}
