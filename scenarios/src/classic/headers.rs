//! Four buffer headers, reduced to two words each: a state word and the page's number.
//!
//! | bits of the state word | meaning | changed by |
//! | --- | --- | --- |
//! | 0–17 | pins | anybody, by compare-and-swap, while bit 22 is clear |
//! | 22 | header lock | the evictor |
//!
//! Keeps: the page changes only under the header lock, which is taken only where nobody has a pin.

use crate::door::hint::spin_until;
use crate::door::sync::Arc;
use crate::door::sync::atomic::{AtomicU64, Ordering};
use crate::door::{name, name_word};

const PINS: u64 = (1 << 18) - 1;
const LOCKED: u64 = 1 << 22;

/// Page that buffer 0 holds at first; the other buffers hold the pages after it.
pub(super) const FIRST_PAGE: u64 = 100;
/// Page that wants to move into buffer 0.
pub(super) const OTHER_PAGE: u64 = 777;

/// One buffer's header.
pub(super) struct Header {
    pub(super) state: AtomicU64,
    page: AtomicU64,
}

/// The pool: buffer 0 is what the stories are about, the others are there for the traffic.
pub(super) type Headers = Arc<[Header; 4]>;

/// A pool of which every buffer holds a page, unpinned.
pub(super) fn headers() -> Headers {
    let headers: Headers = Arc::new(std::array::from_fn(|buf_id| Header {
        state: AtomicU64::new(0),
        page: AtomicU64::new(FIRST_PAGE + buf_id as u64),
    }));
    name_word!(&headers[0].state, show_state, "buffer 0 state");
    name!(&headers[0].page, "buffer 0 page");
    headers
}

impl Header {
    /// The page the buffer holds right now; without a pin, it may be another one a step later.
    pub(super) fn page(&self) -> u64 {
        self.page.load(Ordering::Acquire)
    }

    /// Adds a pin, once the header is not locked.
    pub(super) fn pin(&self) {
        loop {
            let state = spin_until(&self.state, |state| state & LOCKED == 0);
            if self.replace(state, state + 1) {
                return;
            }
        }
    }

    /// Takes a pin away.
    pub(super) fn unpin(&self) {
        loop {
            let state = self.state.load(Ordering::Acquire);
            // Without pins where a bug has lost ours; that is for the story to notice.
            if pins(state) == 0 || self.replace(state, state - 1) {
                return;
            }
        }
    }

    /// Gives the buffer to `page`, unless somebody has a pin. Says whether it did.
    pub(super) fn evict(&self, page: u64) -> bool {
        loop {
            let state = spin_until(&self.state, |state| state & LOCKED == 0);
            if pins(state) != 0 {
                return false;
            }
            if self.replace(state, state | LOCKED) {
                break;
            }
        }
        self.page.store(page, Ordering::Release);
        self.state.fetch_and(!LOCKED, Ordering::AcqRel);
        true
    }

    /// Whether the state word was `old` and now is `new`.
    pub(super) fn replace(&self, old: u64, new: u64) -> bool {
        self.state.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// How many pins a state word counts.
pub(super) fn pins(state: u64) -> u64 {
    state & PINS
}

/// Pins and unpins buffers 1 to 3 in turn: work that has nothing to do with the race, so that its
/// moments lie far apart and not in step.
pub(super) fn traffic(headers: &Headers, rounds: usize, first: usize) {
    for round in first..first + rounds {
        let buf_id = 1 + round % 3;
        let (header, page) = (&headers[buf_id], FIRST_PAGE + buf_id as u64);
        if header.page() != page {
            continue;
        }
        header.pin();
        // Nobody evicts these buffers; the second look is what a lookup costs.
        let still_there = header.page() == page;
        header.unpin();
        assert!(still_there, "I-ID1: a pinned page stays, but buffer {buf_id} lost page {page}");
    }
}

fn show_state(state: u64) -> String {
    let lock = if state & LOCKED != 0 { ", locked" } else { "" };
    match pins(state) {
        1 => format!("1 pin{lock}"),
        n => format!("{n} pins{lock}"),
    }
}
