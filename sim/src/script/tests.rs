use super::*;

fn parse(text: &str) -> Script {
    text.parse().unwrap()
}

fn error(text: &str) -> String {
    text.parse::<Script>().unwrap_err().to_string()
}

#[test]
fn every_kind_of_turn_is_read() {
    let script = parse(
        r#"
        seed 7   # what the script leaves open

        reader until "finds page 1 in buffer 0"
        evictor until blocked   # a comment
        evictor until holding "header lock"
        evictor until holding "header lock" of "buffer 0 state"
        reader 2 for 3 steps
        "the end" for 1 step
        reader to the end
        "#,
    );

    let turn = |role: &str, until| Turn { role: role.to_owned(), until };
    let holding = |object: Option<&str>| Until::Holding {
        kind: "header lock".to_owned(),
        object: object.map(str::to_owned),
    };
    assert_eq!(script.seed, 7);
    assert_eq!(
        script.turns,
        [
            turn("reader", Until::Note("finds page 1 in buffer 0".to_owned())),
            turn("evictor", Until::Blocked),
            turn("evictor", holding(None)),
            turn("evictor", holding(Some("buffer 0 state"))),
            turn("reader 2", Until::Steps(3)),
            turn("the end", Until::Steps(1)),
            turn("reader", Until::End),
        ]
    );
}

#[test]
fn what_is_printed_reads_back() {
    let roles = ["reader", "reader 2", "seed", "for", "a  b", "", "a \"b\" # c", "back\\slash"];
    let texts =
        ["", "pins \"it\"", "tab\t, line\n, return\r, back\\slash", "# no comment", "größer"];
    let mut script = Script { turns: Vec::new(), seed: u64::MAX };
    for (role, text) in roles.iter().flat_map(|role| texts.map(|text| (*role, text.to_owned()))) {
        let object = Some(text.clone());
        let untils = [
            Until::Note(text.clone()),
            Until::Holding { kind: text.clone(), object: None },
            Until::Holding { kind: text, object },
            Until::Blocked,
            Until::Steps(1),
            Until::Steps(12),
            Until::End,
        ];
        script.turns.extend(untils.map(|until| Turn { role: role.to_owned(), until }));
    }

    assert_eq!(parse(&script.to_string()), script);
    for turn in &script.turns {
        assert_eq!(&turn.to_string().parse::<Turn>().unwrap(), turn);
    }
}

#[test]
fn a_script_prints_as_one_writes_it() {
    let text = "seed 7\nreader until \"finds page 1\"\nevictor 2 until holding \"header lock\" of \
                \"buffer 0 state\"\nreader for 3 steps\nreader to the end\n";

    assert_eq!(parse(text).to_string(), text);
    assert_eq!(parse("").to_string(), "");
}

#[test]
fn a_seed_may_be_hexadecimal() {
    assert_eq!(parse("seed 0x1f").seed, 31);
}

#[test]
fn a_misspelt_keyword_is_named_and_the_right_one_suggested() {
    assert_eq!(
        error("# one\nreader untill blocked"),
        "script line 2: found `untill`, but expected `until \"note\"`, `until blocked`, \
         `until holding \"kind\"`, `for N steps` or `to the end`; did you mean `until`?"
    );
    assert_eq!(
        error("reader until bloked"),
        "script line 1: found `bloked`, but expected a note in quotes, `blocked` or \
         `holding \"kind\"`; did you mean `blocked`?"
    );
    assert_eq!(
        error("reader for 3 stpes"),
        "script line 1: found `stpes`, but expected `steps`; did you mean `steps`?"
    );
    assert_eq!(
        error("reader to the ends"),
        "script line 1: found `ends`, but expected `end`; did you mean `end`?"
    );
}

#[test]
fn what_is_missing_or_too_much_is_named() {
    let cases = [
        ("until blocked", "found `until`, but expected the name of a task"),
        ("reader until", "found the end of the line, but expected a note in quotes"),
        ("reader until finds page 1", "found `finds`, but expected a note in quotes"),
        ("reader until \"finds", "found the end of the line, but expected a closing quote"),
        ("reader until \"a\\x\"", "found `\\x`, but expected `\\\"`, `\\\\`, `\\n`"),
        ("reader until blocked now", "found `now`, but expected the end of the line"),
        ("reader until holding lock", "found `lock`, but expected a kind of lock in quotes"),
        (
            "reader until holding \"a\" on \"b\"",
            "found `on`, but expected `of`; did you mean `of`?",
        ),
        ("reader until holding \"a\" of", "found the end of the line, but expected the name of an"),
        ("reader for 0 steps", "found `0`, but expected a number of steps, 1 or more"),
        ("reader for steps", "found `steps`, but expected a number of steps"),
        ("reader for -1 steps", "found `-1`, but expected a number of steps"),
        ("reader for", "found the end of the line, but expected a number of steps"),
        ("reader to", "found the end of the line, but expected `the`"),
        ("reader", "found the end of the line, but expected `until"),
        ("reader \"note\"", "found `\"note\"`, but expected `until"),
        ("seed", "found the end of the line, but expected one number after `seed`"),
        ("seed x", "found `x`, but expected one number after `seed`"),
        ("seed 1 2", "found `1` `2`, but expected one number after `seed`"),
        ("seed 1\nseed 2", "line 2: found another `seed`"),
        ("reader to the end\nseed 2", "line 2: found another `seed`, or one after a turn"),
    ];
    for (text, expected) in cases {
        let error = error(text);
        assert!(error.contains(expected), "{text:?} gave {error:?}");
    }
}

#[test]
fn a_task_may_be_called_seed() {
    assert_eq!(parse("seed until blocked").turns[0].role, "seed");
    assert_eq!(parse("seed 7 until blocked").turns[0].role, "seed 7");
}

#[test]
fn a_note_matches_if_it_contains_the_text() {
    let turn: Turn = "reader until \"page 1\"".parse().unwrap();

    assert!(turn.note_matches("page 1"));
    assert!(turn.note_matches("finds page 1 in buffer 0"));
    assert!(!turn.note_matches("finds page 2"));
    assert!(!"reader to the end".parse::<Turn>().unwrap().note_matches("page 1"));
}
