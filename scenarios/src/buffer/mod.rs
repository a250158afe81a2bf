//! Races about one or two buffers: their names, their pins, their words, their I/O.
//!
//! Each story runs in both profiles of the engine, as `<name>-modern` and `<name>-classic`.

pub(crate) mod stage;

mod abort_lets_others_go_on;
mod after_the_storm;
mod background_write_vs_eviction;
mod background_writer_hibernates;
mod bytes_follow_the_lock;
mod cancelled_in_mid_io;
mod checkpoint_syncs_what_others_wrote;
mod checkpoint_vs_dirtying;
mod cleanup_lock_vs_unpin;
mod cleanup_lock_wakes_for_nothing;
mod clock_hand_wraps;
mod content_lock_queue;
mod crash_loses_nothing_synced;
mod disk_errors_lose_nothing;
mod evicted_page_is_read_again;
mod extension_fails_halfway;
mod failed_io_keeps_its_error;
mod free_buffer_is_in_use;
mod free_list_pop_vs_push;
mod header_release_vs_unpin;
mod holder_off_the_processor;
mod invalidation_meets_stray_pin;
mod lockfree_lookup_vs_load;
mod lockfree_lookup_vs_return;
mod lookup_vs_reuse;
mod mapping_lock_vs_header_lock;
mod memory_runs_short;
mod misdirected_io_is_found;
mod new_page_seen_too_early;
mod pinned_buffer_changes_identity;
mod relation_grows_twice;
mod same_page_read_twice;
mod scan_vs_hot_set;
mod small_pool_is_shared;
mod test_and_set_fails_for_nothing;
mod two_sweepers_one_hand;
mod valid_page_is_not_zeroed;
mod victim_write_vs_content_lock;
mod write_out_vs_change;
mod zeroed_page_vs_pin;
