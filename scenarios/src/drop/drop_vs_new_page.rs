//! A relation is dropped just as an allocator takes the buffer of its page for a page of another
//! relation. The drop looks at the tag without a lock first, and there the page was its own.
//!
//! Not allowed: that the drop takes the other relation's page, which is in the buffer when it has
//! the header locked. What was seen without the lock has to be looked at again (B90).

use crate::actor::finish;
use crate::buffer::stage::{
    RELATION, actor, check_nothing_is_left, options, other_page, page, pool_with, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{DropStrategy, PoolOptions, Profile};

const STORY: Scenario = Scenario {
    area: "drop",
    summary: "a relation is dropped while its page's buffer goes to another relation",
    rules: &["I-DROP1", "I-DROP2", "I-ID1", "I-MAP3", "I-MAP4", "I-REF3"],
    mutants: &[MutantCase {
        name: "drop.trust_unlocked_match",
        budget: 20_000,
        note: "a drop takes what it finds where its page was",
        critical_pair: Some([
            ("dropper", "in the tag of buffer 0"),
            ("allocator", "in the tag of buffer 0"),
        ]),
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    catalogue: &["B90"],
    script: Some(
        "dropper until \"finds a page of its relation in buffer 0\"\n\
         allocator to the end\n\
         dropper to the end\n",
    ),
    script_mutant: Some("drop.trust_unlocked_match"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "drop-vs-new-page-modern",
    body: || drop_vs_new_page(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "drop-vs-new-page-classic",
    body: || drop_vs_new_page(Profile::Classic),
    ..STORY
});

fn drop_vs_new_page(profile: Profile) {
    // Given page 1 in the only buffer,
    let options = PoolOptions { drop: DropStrategy::Precheck, ..options(profile, 1) };
    let pool = pool_with(options, storage(), &[page(1)]);
    // when an allocator brings in a page of another relation
    let allocator = actor("allocator", &pool, |session| session.read(other_page(2)).map(drop));
    // while the first relation is dropped,
    let dropper = actor("dropper", &pool, |session| session.drop_buffers(RELATION));
    // then the one had its page, and it is still there,
    finish(allocator).unwrap_or_else(|error| panic!("nobody pins for long: {error}"));
    finish(dropper).unwrap_or_else(|error| panic!("nobody reads the page: {error}"));
    let kept = pool.find(other_page(2));
    assert!(
        kept == Some(0),
        "I-DROP2: a drop takes no other relation's page, but that was in {kept:?}"
    );
    // the other page is nowhere,
    let dropped = pool.find(page(1));
    assert!(dropped.is_none(), "I-DROP1: a dropped page is in no buffer, but was in {dropped:?}");
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
