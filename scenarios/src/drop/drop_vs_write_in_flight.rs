//! A checkpointer is writing page 1 out when its relation is dropped. The drop must wait until the
//! write is over: the file goes next, and its name may soon be another file's.
//!
//! Not allowed: a write to a file that is gone (B13), a page of the dropped relation that is still
//! in a buffer, the loss of another relation's page.
//!
//! Whoever drops a relation has it for itself: nobody reads its pages any more. Writers come even so.

use crate::actor::finish;
use crate::buffer::stage::{
    RELATION, actor, check_nothing_is_left, dirty, options, other_page, page, pool_with, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{DropStrategy, PoolOptions, Profile};

const STORY: Scenario = Scenario {
    area: "drop",
    summary: "a relation is dropped while a checkpointer writes one of its pages",
    rules: &["I-DISK1", "I-DROP1", "I-DROP2", "I-ID1", "I-IO1", "I-MAP4", "I-REF3"],
    mutants: &[MutantCase {
        name: "invalidate.no_waitio",
        budget: 20_000,
        note: "a drop takes a buffer that is being written for gone",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    catalogue: &["B13"],
    script: Some(
        "checkpointer until \"flushes buffer 0\"\n\
         dropper until \"removes relation\"\n\
         checkpointer to the end\n",
    ),
    script_mutant: Some("invalidate.no_waitio"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "drop-vs-write-in-flight-precheck-modern",
    body: || drop_vs_write_in_flight(Profile::Modern, DropStrategy::Precheck),
    ..STORY
});
crate::register!(Scenario {
    name: "drop-vs-write-in-flight-precheck-classic",
    body: || drop_vs_write_in_flight(Profile::Classic, DropStrategy::Precheck),
    ..STORY
});
crate::register!(Scenario {
    name: "drop-vs-write-in-flight-every-header-modern",
    body: || drop_vs_write_in_flight(Profile::Modern, DropStrategy::EveryHeader),
    ..STORY
});
crate::register!(Scenario {
    name: "drop-vs-write-in-flight-every-header-classic",
    body: || drop_vs_write_in_flight(Profile::Classic, DropStrategy::EveryHeader),
    ..STORY
});

fn drop_vs_write_in_flight(profile: Profile, drop: DropStrategy) {
    // Given page 1 in buffer 0, dirty, and a page of another relation in buffer 1,
    let options = PoolOptions { drop, ..options(profile, 2) };
    let pool = pool_with(options, storage(), &[page(1), other_page(2)]);
    dirty(&pool, page(1));
    // when a checkpointer writes buffer 0 out
    let checkpointer = actor("checkpointer", &pool, |session| session.flush(0));
    // while the relation is dropped,
    let dropper = actor("dropper", &pool, |session| session.drop_relation(RELATION));
    // then the write was in time, or had nothing to do,
    finish(checkpointer).unwrap_or_else(|error| panic!("I-DISK1: {error}"));
    // the relation's page is in no buffer and the other one is where it was,
    let counts = finish(dropper).unwrap_or_else(|error| panic!("nobody reads the page: {error}"));
    let (dropped, kept) = (pool.find(page(1)), pool.find(other_page(2)));
    assert!(dropped.is_none(), "I-DROP1: a dropped page is in no buffer, but was in {dropped:?}");
    assert!(kept == Some(1), "I-DROP2: a drop takes no other relation's page, but {kept:?} had it");
    assert!(counts.invalidations == 1, "I-DROP2: one buffer is emptied, but it was {counts:?}");
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
