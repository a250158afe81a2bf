//! Mutants: every known bug that can be switched back on, by name.
//!
//! Each is one named line beside the right one and a constant `false` in native builds. A scenario
//! that catches no mutant has not shown that it can fail.

/// A known bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// Name to switch it on with.
    pub name: &'static str,
    /// What the engine then does wrong.
    pub what: &'static str,
    /// Entry in the catalogue of bugs, or empty.
    pub catalogue: &'static str,
}

const fn mutant(name: &'static str, catalogue: &'static str, what: &'static str) -> Mutant {
    Mutant { name, what, catalogue }
}

/// Every mutant of the engine, in the order of the modules that hold them.
pub const ALL: &[Mutant] = &[
    mutant(
        "recent.pin_any",
        "B01",
        "skip-invalid pin without the validity test: pins nameless buffers",
    ),
    mutant("recent.no_restart", "B02", "tests validity before it waits for a locked header only"),
    mutant("recent.no_recheck", "", "trusts the tag it compared before the pin"),
    mutant("hit.pin_after_unlock", "B90", "drops the partition lock before it pins what it found"),
    mutant("lookup.pin_any", "", "a lock-free look-up pins without the validity test"),
    mutant("lookup.reserve_once", "", "looks again with a lock, but has no room left for the pin"),
    mutant(
        "lookup.no_recheck",
        "",
        "a lock-free look-up trusts the tag it compared before the pin",
    ),
    mutant("cleanup.check_then_publish", "B04", "decides to sleep before it publishes the waiter"),
    mutant("cleanup.keep_flag", "B08", "who wakes for no reason leaves its own flag up"),
    mutant("cleanup.cancel_keeps_flag", "", "a cleaner that gives up leaves its flag up"),
    mutant("priv.insert_under_hdr", "B23", "makes room for a pin under the header lock"),
    mutant("spin.assume_first_try", "B75", "takes a test-and-set that failed for a lock it has"),
    mutant("spin.count_interrupted_sleeps", "B74", "counts a sleep cut short as a whole one"),
    mutant("cleanup.ignore_pins", "", "a conditional cleanup lock does not count pins"),
    mutant("read.error_is_final", "", "a page whose read failed once is not read again"),
    mutant("flush.ignore_error", "", "a write that failed leaves the page clean"),
    mutant("content.relaxed_acquire", "", "takes the content lock without the order to acquire"),
    mutant("hdr.relaxed_release", "", "a header release that changes the word has no order"),
    mutant("hdr.set_then_clear", "B05", "header release sets bits, then clears them"),
    mutant("invalidate.part_inside_hdr", "B07", "takes the partition lock under the header lock"),
    mutant("invalidate.part_after_hdr", "B07", "unmaps a buffer after its tag is gone"),
    mutant("victim.lock_blocking", "B10", "waits for the content lock of a dirty victim"),
    mutant("invalidate.no_own_pin_check", "B12", "a drop waits for a pin of its own session"),
    mutant("invalidate.no_waitio", "B13", "a drop takes a pinned buffer in I/O for gone"),
    mutant("hdr.unlock_plain_store", "B22", "modern header release stores the word it read"),
    mutant(
        "atomics.plain_store_not_rmw_safe",
        "B22",
        "the pin's compare-and-swap is a load, a compare and a store",
    ),
    mutant("freelist.aba", "B82", "takes a free buffer by compare-and-swap of the head alone"),
    mutant("freelist.no_recheck", "", "trusts that a buffer on the free list is free"),
    mutant("pin.ring_bumps", "B21", "a pin through a ring counts like any other"),
    mutant("sweep.wrap_without_lock", "", "the hand is brought back before the lap is counted"),
    mutant("sweep.wrap_takes_remainder", "", "a lap counted late takes two laps off the hand"),
    mutant("sweep.count_visits", "", "a lap's worth of visits to pinned buffers is a whole lap"),
    mutant(
        "victim.unmap_late",
        "B82",
        "unmaps an evicted page late, whatever buffer it is in by then",
    ),
    mutant("flush.no_lock", "B14", "writes a page out without its content lock"),
    mutant("sync.pin_after_unlock", "", "unlocks the header before it pins what it will write"),
    mutant("checkpoint.skip_locked", "", "a checkpoint passes over a page that somebody changes"),
    mutant(
        "checkpoint.syncs_own_only",
        "",
        "a checkpoint syncs files of pages that it found dirty only",
    ),
    mutant("sync.request_late", "", "a page is clean before anybody is told to sync its file"),
    mutant("sync.forgets_failure", "", "a sync after one that failed makes everything durable"),
    mutant("alloc.init_not_permanent", "B29", "takes pages of init forks for unlogged ones"),
    mutant("flush.keeps_mark", "", "who writes a page out leaves the checkpoint's mark on it"),
    mutant("bgwriter.not_woken", "", "an allocation does not wake the background writer"),
    mutant("dirty.ignore_locked", "", "marks a page dirty under somebody else's header lock"),
    mutant("invalidate.ignore_stray_pin", "", "a drop clears a buffer that is still pinned"),
    mutant("victim.ignore_refcount", "", "takes a victim that somebody else has pinned"),
    mutant(
        "recent.expect_from_frame",
        "B87",
        "compares the tag with the buffer's own, not with the caller's",
    ),
    mutant(
        "alloc.reset_refcount_on_retag",
        "B80",
        "a new tag resets the reference count, strangers' pins included",
    ),
    mutant(
        "lwlock.no_recheck_after_queue",
        "B71",
        "sleeps for the content lock without a second try once it stands in the queue",
    ),
    mutant("lwlock.no_release_ok", "B71", "who was woken does not let others be woken again"),
    mutant("cv.reset_after_enqueue", "B73", "forgets a wake-up that came after it published"),
    mutant("cv.test_then_prepare", "B73", "looks first and then stands on the list to be woken"),
    mutant("abort.keeps_io", "", "who fails in the middle of an I/O leaves it in progress"),
    mutant("abort.wakes_nobody", "", "the end of an I/O that failed wakes nobody"),
    mutant("abort.pins_first", "", "who gives everything back unpins what it has locked"),
    mutant("abort.wakes_no_cleaner", "", "who gives everything back wakes nobody who waits for it"),
    mutant("unpin.wake_under_hdr", "B77", "wakes the pin waiter under the header lock"),
    mutant(
        "drop.trust_unlocked_match",
        "B90",
        "a drop takes the page it finds where an unlocked look had found one of its own",
    ),
    mutant(
        "zero.always",
        "B17",
        "zeroes a page that is to be written anew even if a buffer has it",
    ),
    mutant("zero.valid_before_lock", "B16", "shows a zeroed page before its writer has locked it"),
    mutant(
        "zero.plain_lock_for_cleanup",
        "",
        "locks a valid page to change, whoever else has it pinned",
    ),
    mutant("extend.size_before_lock", "", "measures the file before it takes the extension lock"),
    mutant(
        "extend.skip_if_valid",
        "B18",
        "does not grow the file if a buffer has the new page already",
    ),
    mutant("extend.grow_before_claim", "", "grows the file before its new pages have buffers"),
    mutant("extend.valid_before_lock", "B16", "shows a new page before its creator has locked it"),
    mutant("extend.keep_garbage", "", "takes the buffer of a failed read for a new page as it is"),
    mutant("extend.ignore_error", "", "a file that could not grow counts as grown"),
    mutant("extend.keep_io", "", "a failed extension leaves its input in progress"),
    mutant("pinlimit.off_by_one", "B20", "a session that has its share of pins may take none more"),
    mutant("pinlimit.forgets_own", "", "the share of pins does not count those that a session has"),
    mutant("checksum.no_block", "", "a checksum does not say which block it is of"),
    mutant("read.no_verify", "", "takes what the storage read without a look at its checksum"),
    mutant("storage.no_sync", "", "takes what was written for durable without a sync of its file"),
    mutant("storage.no_dir_sync", "", "syncs a file, but not the directory it was created in"),
    mutant("sync.ignore_error", "", "a sync that failed counts as done"),
    mutant("alloc.no_collision_check", "B84", "maps a page although another buffer has it already"),
];
