//! A pool brought into a given state by nothing but reading, evicting and dropping.
//!
//! Pages come into chosen buffers by way of the free list, whose order is known. Usage counts are
//! raised by reading again, and lowered by one sweep of the hand that takes no victim before the
//! last buffer: everything it comes by has a point to give for each time, or is pinned meanwhile.

use holdup_engine::{BufferPool, BufferTag, Fork, Pin, RelationId, Session};

use crate::data::{Frame, Step};

/// A relation that no recording has.
const FILLER: RelationId = RelationId { tablespace: 1, database: 1, number: 1 };

/// Pages of the filler that a pool of `n_buffers` needs.
pub(crate) fn filler(n_buffers: u32) -> (RelationId, u32) {
    (FILLER, 3 * n_buffers)
}

fn filler_page(block: u32) -> BufferTag {
    BufferTag::new(FILLER, Fork::Main, block)
}

/// Brings a new pool to where `start` says.
pub(crate) fn warm(session: &Session<'_>, start: &Step) {
    if start.passes == 0 {
        assert_eq!(start.hand, 0, "a hand that never moved is at the beginning");
        place(session, start, None);
        let raise = |frame: &Frame| drop(raise_to(session, frame, frame.usage));
        start.pool.iter().filter(|frame| frame.tag.is_some()).for_each(raise);
        return;
    }
    assert!(start.hand > 0, "a recording begins with the hand inside the pool");
    burn_laps(session, start.passes - 1);
    let last = start.hand - 1;
    place(session, start, Some(last));
    let pinned = prepare_for_sweep(session, start);
    read_into(session, &start.pool[last as usize], last);
    drop(raise_to(session, &start.pool[last as usize], start.pool[last as usize].usage));
    drop(pinned);
}

/// Lets the hand go round `laps` times, then frees every buffer.
fn burn_laps(session: &Session<'_>, laps: u32) {
    if laps == 0 {
        return;
    }
    let n_buffers = session.pool().options().n_buffers;
    (0..n_buffers).for_each(|block| drop(session.read(filler_page(block)).unwrap()));
    for lap in 1..=laps {
        for buf_id in 0..n_buffers {
            assert!(session.evict(buf_id).unwrap(), "an unpinned page can be evicted");
        }
        for n in 0..n_buffers {
            // An empty buffer has no point of usage, so each is taken as the hand comes by.
            let pin = session.read(filler_page(lap % 2 * n_buffers + n)).unwrap();
            assert_eq!(pin.buf_id(), n);
        }
    }
    session.drop_buffers(FILLER).unwrap();
}

/// Brings every page into its buffer, by way of the free list; a filler into buffer `last`.
fn place(session: &Session<'_>, start: &Step, last: Option<u32>) {
    for buf_id in session.pool().free_list() {
        let frame = &start.pool[buf_id as usize];
        if Some(buf_id) == last {
            let n_buffers = session.pool().options().n_buffers;
            assert_eq!(session.read(filler_page(2 * n_buffers)).unwrap().buf_id(), buf_id);
        } else if frame.tag.is_some() {
            read_into(session, frame, buf_id);
        }
    }
}

/// Reads a page for the first time.
fn read_into(session: &Session<'_>, frame: &Frame, buf_id: u32) {
    let pin = session.read(frame.tag.expect("there is a page to read")).unwrap();
    assert_eq!(pin.buf_id(), buf_id, "the page comes into the buffer it should be in");
    if frame.is_dirty {
        pin.lock_exclusive().mark_dirty();
    }
}

/// Gives every page a point more for each time the hand will come by, or pins it if those would be
/// too many. Returns the pins.
fn prepare_for_sweep<'s, 'p>(session: &'s Session<'p>, start: &Step) -> Vec<Pin<'s, 'p>> {
    let mut pinned = Vec::new();
    for (buf_id, frame) in start.pool.iter().enumerate() {
        let buf_id = buf_id as u32;
        // The hand begins at buffer 0, goes round once, and stops behind the last one.
        let visits = if buf_id < start.hand { 2 } else { 1 };
        if buf_id == start.hand - 1 {
            continue;
        }
        if frame.usage + visits > 5 {
            pinned.extend(raise_to(session, frame, frame.usage));
        } else {
            drop(raise_to(session, frame, frame.usage + visits));
        }
    }
    pinned
}

/// Reads a page that is there until it has `usage` points. The last pin, if it was read at all or
/// one can be had without a point.
fn raise_to<'s, 'p>(session: &'s Session<'p>, frame: &Frame, usage: u32) -> Option<Pin<'s, 'p>> {
    let tag = frame.tag.expect("there is a page to read");
    let buf_id = session.pool().find(tag).expect("the page is there");
    let mut pin = None;
    while session.pool().state(buf_id).usage() < usage {
        drop(pin.take());
        pin = Some(session.read(tag).unwrap());
    }
    pin
}

/// The pool as it is, buffer by buffer.
pub(crate) fn observe(pool: &BufferPool) -> Vec<Frame> {
    let frame = |buf_id| {
        let state = pool.state(buf_id);
        Frame {
            tag: pool.tag(buf_id),
            usage: state.usage(),
            pins: state.refcount(),
            is_dirty: state.is_dirty(),
        }
    };
    (0..pool.options().n_buffers).map(frame).collect()
}
