//! A stranger follows two stale hints into buffers that have other pages by now: it pins each for a
//! moment, sees the mistake and unpins. Meanwhile an owner cleans the one page and drops its
//! relation, and empties the buffer of the other.
//!
//! The owner may be told no, or go round once more: a conditional cleanup lock fails, a victim is
//! given up, a drop takes another lap. Not allowed: that a page is taken from under the stranger's
//! pin, that a cleanup lock is granted beside it, that its unpin wakes nobody who waits for it.
//!
//! The stranger pins before it looks, the naive way, so that its pin is stray whenever it comes;
//! the way of PostgreSQL 19 does so if the page changes between its two looks. Nobody allocates
//! here, which is what the naive way is wrong about (B01).

use crate::actor::finish;
use crate::buffer::stage::{
    OTHER_RELATION, actor, check_nothing_is_left, options, other_page, page, pool_with, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, PoolOptions, Profile, RecentVariant};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a cleanup lock, a drop and an eviction meet the pin of a stale hint",
    rules: &["deadlock", "I-ID1", "I-CL1", "I-LK4", "I-DROP1", "I-MAP4", "I-REF1", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "invalidate.ignore_stray_pin",
            budget: 20_000,
            note: "a drop clears a buffer that somebody has pinned",
            ..MutantCase::BASE
        },
        MutantCase {
            name: "victim.ignore_refcount",
            budget: 20_000,
            note: "an evictor takes a buffer that somebody else has pinned",
            critical_pair: Some([("stranger", "buffer 1 state"), ("owner", "buffer 1 state")]),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "cleanup.ignore_pins",
            budget: 20_000,
            note: "a conditional cleanup lock does not count pins",
            critical_pair: Some([("stranger", "buffer 0 state"), ("owner", "buffer 0 state")]),
            ..MutantCase::BASE
        },
    ],
    script: Some(
        "owner until \"unpins buffer 0\"\n\
         stranger until \"pins buffer 0\"\n\
         owner until holding \"partition lock\"\n\
         owner until holding \"header lock\"\n\
         owner for 6 steps\n",
    ),
    script_mutant: Some("invalidate.ignore_stray_pin"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "invalidation-meets-stray-pin-modern",
    body: || invalidation_meets_stray_pin(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "invalidation-meets-stray-pin-classic",
    body: || invalidation_meets_stray_pin(Profile::Classic),
    ..STORY
});

fn invalidation_meets_stray_pin(profile: Profile) {
    // Given a page of another relation in buffer 0 and page 1 in buffer 1,
    let options = PoolOptions { recent: RecentVariant::PinFirst, ..options(profile, 2) };
    let pool = pool_with(options, storage(), &[other_page(2), page(1)]);
    // when a stranger looks for page 3 where it once was
    let stranger = actor("stranger", &pool, |session| {
        let found = [session.read_recent(page(3), 0), session.read_recent(page(3), 1)];
        found.iter().flatten().count()
    });
    // while an owner cleans the other relation's page, drops it, and empties buffer 1,
    let owner = actor("owner", &pool, |session| {
        let pin = session.read(other_page(2))?;
        if pin.try_lock_for_cleanup().is_none() {
            drop(pin.lock_for_cleanup()?);
        }
        drop(pin);
        session.drop_buffers(OTHER_RELATION)?;
        session.evict(1)
    });
    // then the stranger found nothing,
    let found = finish(stranger);
    assert!(found == 0, "I-ID3: page 3 is in no buffer, but was found in {found}");
    // the owner was done, except where it was told no,
    let evicted = finish(owner).unwrap_or_else(|error: BufferError| panic!("{error}"));
    assert!(
        evicted != pool.state(1).is_valid(),
        "I-MAP4: a buffer has its page unless it was evicted, but that was {evicted}"
    );
    // the dropped page is nowhere,
    let left = pool.find(other_page(2));
    assert!(left.is_none(), "I-DROP1: a dropped page is in no buffer, but was in {left:?}");
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
