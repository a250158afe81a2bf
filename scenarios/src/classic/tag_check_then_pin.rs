//! A reader sees page 100 in buffer 0 and pins the buffer; between the look and the pin an evictor
//! may give the buffer to page 777. Having to look again is fine, reading page 777 as page 100 is
//! not.
//!
//! The evictor has a long way to go inside that window, and starts it only once the reader is
//! near. Under uniform random choice the reader has pinned long before the evictor is through.

use crate::classic::headers::{FIRST_PAGE, Headers, OTHER_PAGE, headers, traffic};
use crate::door::sync::Arc;
use crate::door::sync::atomic::{AtomicU64, Ordering};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

register!(Scenario {
    name: "tag-check-then-pin",
    area: "classic",
    summary: "an evictor takes a buffer between a reader's look at the page and its pin",
    rules: &["I-ID1", "I-ID3"],
    mutants: &[MutantCase {
        name: "demo.no_recheck",
        budget: 20_000,
        note: "the page is not looked at again once the pin is held",
        critical_pair: Some([("evictor", "buffer 0 state"), ("reader", "buffer 0 state")]),
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: tag_check_then_pin,
    script: Some(
        "reader until \"finds page 100 in buffer 0\"\n\
         evictor until \"gives buffer 0 to page 777\"\n\
         reader to the end\n",
    ),
    script_mutant: Some("demo.no_recheck"),
    ..Scenario::BASE
});

fn tag_check_then_pin() {
    // Given page 100 in buffer 0, unpinned, and two bystanders busy elsewhere,
    let pool = headers();
    let reader_is_near = Arc::new(AtomicU64::new(0));
    // when a reader comes back for page 100
    let reader = {
        let (pool, reader_is_near) = (pool.clone(), reader_is_near.clone());
        actor("reader", move || {
            traffic(&pool, 6, 0);
            reader_is_near.store(1, Ordering::Release);
            read_first_page(&pool);
            traffic(&pool, 6, 1);
        })
    };
    // while an evictor, a long way off, sets out for its buffer,
    let evictor = {
        let pool = pool.clone();
        actor("evictor", move || {
            traffic(&pool, 6, 1);
            if reader_is_near.load(Ordering::Acquire) == 1 {
                traffic(&pool, 8, 2);
                if pool[0].evict(OTHER_PAGE) {
                    note!("gives buffer 0 to page {OTHER_PAGE}");
                }
            }
            traffic(&pool, 6, 2);
        })
    };
    let bystanders = [0, 1].map(|first| {
        let pool = pool.clone();
        actor("bystander", move || traffic(&pool, 12, first))
    });
    // then whoever pinned page 100 finds page 100.
    finish(reader);
    finish(evictor);
    bystanders.into_iter().for_each(finish);
}

/// Reads page 100 through buffer 0, or finds that it has left.
fn read_first_page(pool: &Headers) {
    let buffer = &pool[0];
    if buffer.page() != FIRST_PAGE {
        return;
    }
    note!("finds page {FIRST_PAGE} in buffer 0");
    buffer.pin();
    note!("pins buffer 0");
    if !mutant::is("demo.no_recheck") && buffer.page() != FIRST_PAGE {
        buffer.unpin();
        note!("finds another page there, unpins buffer 0");
        return;
    }
    let page = buffer.page();
    assert!(
        page == FIRST_PAGE,
        "I-ID3: a pin is on the page that was asked for, but page {FIRST_PAGE} turned out to be {page}"
    );
    buffer.unpin();
    note!("unpins buffer 0");
}
