//! A string is appended to another while somebody cuts the first one short.
//!
//! To append is to ask for the length and then to copy so many characters. Each is atomic; both
//! together are only where one lock spans them, which the bug leaves out.
//! Source: `StringBuffer` of JDK 1.4 (Flanagan and Qadeer, PLDI 2003); `stringbuffer-jdk1.4` of
//! SCTBench.

use crate::classic::lock;
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

register!(Scenario {
    name: "stringbuffer",
    area: "classic",
    summary: "a string is appended to another just as it is cut short",
    rules: &["I-LENGTH"],
    mutants: &[MutantCase {
        name: "classic.stringbuffer",
        budget: 1_000,
        note: "the length is asked for under another hold of the lock than the copy",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: stringbuffer,
    script: Some(
        "appender until \"finds 3 characters\"\n\
         cutter to the end\n\
         appender to the end\n",
    ),
    script_mutant: Some("classic.stringbuffer"),
    ..Scenario::BASE
});

fn stringbuffer() {
    // Given two strings,
    let source = Arc::new(Mutex::new("abc".to_owned()));
    let target = Mutex::new("x".to_owned());
    // when one is appended to the other
    let appender = {
        let source = source.clone();
        actor("appender", move || {
            let mut target = lock(&target);
            let mut from = lock(&source);
            let length = from.len();
            note!("finds {length} characters");
            if mutant::is("classic.stringbuffer") {
                drop(from);
                from = lock(&source);
            }
            let there = from.len();
            // then as many characters are there as were found,
            assert!(there >= length, "I-LENGTH: {length} are to be copied, {there} are there");
            target.push_str(&from[..length]);
        })
    };
    // while somebody cuts it short.
    let cutter = actor("cutter", move || {
        lock(&source).clear();
        note!("cuts the string");
    });
    finish(appender);
    finish(cutter);
}
