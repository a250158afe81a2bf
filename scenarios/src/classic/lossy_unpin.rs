//! An owner gives its pin back just as a reader takes one, then tries to evict the page. The
//! reader's pin must survive: while it is held, the page may not change.
//!
//! The bug needs two narrow windows in a row: the reader pins between the owner's load and store,
//! and the eviction falls between the reader's two looks. Uniform random choice meets both often.

use crate::classic::headers::{FIRST_PAGE, Header, Headers, OTHER_PAGE, headers, pins, traffic};
use crate::door::sync::atomic::Ordering;
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

register!(Scenario {
    name: "lossy-unpin",
    area: "classic",
    summary: "a reader pins a buffer while its owner unpins it and then evicts the page",
    rules: &["I-ID1", "I-REF2"],
    mutants: &[MutantCase {
        name: "demo.lossy_unpin",
        budget: 20_000,
        note: "the unpin loads and stores, so that a pin taken in between is lost",
        critical_pair: Some([("reader", "buffer 0 page"), ("owner", "buffer 0 page")]),
        preemptions: Some(2),
        ..MutantCase::BASE
    }],
    body: lossy_unpin,
    script: Some(
        "owner until \"counts 1 on buffer 0\"\n\
         reader until \"pins buffer 0\"\n\
         owner until \"gives buffer 0 to page 777\"\n\
         reader to the end\n",
    ),
    script_mutant: Some("demo.lossy_unpin"),
    ..Scenario::BASE
});

fn lossy_unpin() {
    // Given page 100 in buffer 0, unpinned, and two bystanders busy elsewhere,
    let pool = headers();
    // when an owner pins it, gives the pin back and evicts the page
    let owner = {
        let pool = pool.clone();
        actor("owner", move || {
            traffic(&pool, 6, 0);
            pool[0].pin();
            unpin_as_owner(&pool[0]);
            if pool[0].evict(OTHER_PAGE) {
                note!("gives buffer 0 to page {OTHER_PAGE}");
            }
            traffic(&pool, 6, 1);
        })
    };
    // while a reader comes for page 100,
    let reader = {
        let pool = pool.clone();
        actor("reader", move || {
            traffic(&pool, 6, 1);
            read_first_page(&pool);
            traffic(&pool, 6, 2);
        })
    };
    let bystanders = [0, 1].map(|first| {
        let pool = pool.clone();
        actor("bystander", move || traffic(&pool, 12, first))
    });
    // then the page stays as long as the reader's pin does.
    finish(owner);
    finish(reader);
    bystanders.into_iter().for_each(finish);
}

/// Gives back the pin that the owner has, and only that one.
fn unpin_as_owner(buffer: &Header) {
    loop {
        let state = buffer.state.load(Ordering::Acquire);
        note!("counts {} on buffer 0", pins(state));
        if mutant::is("demo.lossy_unpin") {
            buffer.state.store(state - 1, Ordering::Release);
            note!("unpins buffer 0");
            return;
        }
        assert!(pins(state) > 0, "I-REF2: pins are never below 0, but the owner's pin is gone");
        if buffer.replace(state, state - 1) {
            note!("unpins buffer 0");
            return;
        }
    }
}

/// Reads page 100 through buffer 0, or finds that it has left.
fn read_first_page(pool: &Headers) {
    let buffer = &pool[0];
    if buffer.page() != FIRST_PAGE {
        return;
    }
    buffer.pin();
    if buffer.page() != FIRST_PAGE {
        buffer.unpin();
        return;
    }
    note!("pins buffer 0, which holds page {FIRST_PAGE}");
    let page = buffer.page();
    assert!(
        page == FIRST_PAGE,
        "I-ID1: a pinned page stays, but buffer 0 now holds page {page} instead of {FIRST_PAGE}"
    );
    buffer.unpin();
    note!("unpins buffer 0");
}
