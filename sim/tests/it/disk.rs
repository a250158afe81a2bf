//! What goes wrong with a disk: each fault strikes as often as asked, is seen and counted, is the
//! same again for the same seed, and never comes unasked.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use holdup::crash::{self, Ended};
use holdup::fs::{self, File, FileExt, OpenOptions};
use holdup::time::{Duration, Instant};
use holdup::{Checker, CrashKind, CrashPoint, Faults, thread};

use crate::passes;

const SECTOR: usize = 512;
/// One in four.
const QUARTER: u32 = 1 << 14;
/// Always.
const ALL: u32 = 1 << 16;
/// Occasions in an execution.
const OCCASIONS: u64 = 50;
const SEEDS: u64 = 40;

/// `body` meets 50 occasions for the fault called `name` and returns how often it saw it strike.
#[track_caller]
fn strikes(name: &str, faults: Faults, body: impl Fn() -> u64 + Sync) {
    let seen = AtomicU64::new(0);
    let observed = || seen.store(body(), Relaxed);
    let checker = Checker::new("disk").faults(faults);
    let mut struck = 0;
    for seed in 0..SEEDS {
        let trace = checker.trace(seed, &observed);
        assert_eq!(trace.failure, None);
        assert_eq!(trace.faults.of(name), seen.load(Relaxed), "seen and counted, seed {seed}");
        assert!(trace.faults.iter().all(|(other, _)| other == name), "{}", trace.faults);
        struck += trace.faults.of(name);

        let again = checker.trace(seed, &observed);
        assert_eq!((again.hash, again.faults), (trace.hash, trace.faults));
    }
    let mean = SEEDS * OCCASIONS / 4;
    assert!((mean * 4 / 5..mean * 6 / 5).contains(&struck), "{struck} where {mean} were asked for");

    let trace = Checker::new("disk").trace(0, &observed);
    assert_eq!(trace.failure, None);
    assert!(trace.faults.is_empty(), "unasked: {}", trace.faults);
    assert_eq!(seen.load(Relaxed), 0);
}

/// A file of as many sectors, each filled with its number from 1 on, all durable.
fn numbered(sectors: u8) -> File {
    let mut open = OpenOptions::new();
    let file = open.read(true).write(true).create(true).open("/tmp/file").unwrap();
    let bytes: Vec<u8> = (1..=sectors).flat_map(|number| [number; SECTOR]).collect();
    file.write_all_at(&bytes, 0).unwrap();
    file.sync_all().unwrap();
    file
}

fn read_sector(file: &File, at: usize) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    assert_eq!(file.read_at(&mut bytes, (at * SECTOR) as u64).unwrap(), SECTOR);
    bytes
}

/// How many of the occasions struck.
fn count(mut occasion: impl FnMut(u8) -> bool) -> u64 {
    (0..OCCASIONS as u8).filter(|&nth| occasion(nth)).count() as u64
}

#[track_caller]
fn is_error<T>(result: &io::Result<T>, code: i32) -> bool {
    match result {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.raw_os_error(), Some(code), "{error}");
            true
        }
    }
}

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

#[test]
fn a_write_that_fails_changes_nothing() {
    let faults = Faults { write_error: QUARTER, ..Faults::NONE };
    strikes("write-error", faults, || {
        let file = File::create_new("/tmp/file").unwrap();
        let mut before = 0;
        count(|nth| {
            let fails = is_error(&file.write_at(&[nth + 1], 0), EIO);
            before = if fails { before } else { nth + 1 };
            let mut now = [0];
            _ = file.read_at(&mut now, 0).unwrap();
            assert_eq!(now, [before]);
            fails
        })
    });
}

#[test]
fn a_short_read_returns_the_first_bytes() {
    let faults = Faults { short_read: QUARTER, ..Faults::NONE };
    strikes("short-read", faults, || {
        let file = numbered(1);
        count(|_| {
            let mut bytes = [0; 10];
            let n = file.read_at(&mut bytes, 0).unwrap();
            assert!(n > 0 && bytes[..n].iter().all(|&byte| byte == 1));
            assert!(bytes[n..].iter().all(|&byte| byte == 0));
            n < 10
        })
    });
}

#[test]
fn a_short_write_writes_the_first_bytes() {
    let faults = Faults { short_write: QUARTER, ..Faults::NONE };
    strikes("short-write", faults, || {
        let file = File::create_new("/tmp/file").unwrap();
        file.set_len(10).unwrap();
        let mut expected = [0; 10];
        count(|nth| {
            let n = file.write_at(&[nth + 1; 10], 0).unwrap();
            expected[..n].fill(nth + 1);
            let mut bytes = [0; 10];
            file.read_exact_at(&mut bytes, 0).unwrap();
            assert_eq!(bytes, expected);
            n < 10
        })
    });
}

#[test]
fn who_reads_and_writes_all_does_so_in_spite_of_short_ones() {
    let faults = Faults { short_read: 1 << 15, short_write: 1 << 15, ..Faults::NONE };
    let body = || {
        fs::write("/tmp/file", [7; 1_000]).unwrap();
        assert_eq!(fs::read("/tmp/file").unwrap(), [7; 1_000]);
    };
    let report = Checker::new("disk").faults(faults).seeds(0..200).run(&body);
    assert_eq!(report.first_failure, None);
    assert!(report.faults.of("short-read") > 0 && report.faults.of("short-write") > 0);
}

#[test]
fn a_full_disk_takes_no_more() {
    let faults = Faults { disk_full: QUARTER, ..Faults::NONE };
    strikes("disk-full", faults, || {
        let file = File::create_new("/tmp/file").unwrap();
        let mut len_bytes = 0;
        count(|_| {
            let fails = is_error(&file.write_at(b"x", len_bytes), ENOSPC);
            len_bytes += u64::from(!fails);
            assert_eq!(file.metadata().unwrap().len(), len_bytes);
            // What makes no file longer needs no room.
            assert!(len_bytes == 0 || file.write_at(b"y", 0).is_ok());
            fails
        })
    });
}

#[test]
fn files_share_the_room_there_is_and_give_it_back() {
    let body = || {
        fs::write("/tmp/first", [1; 60]).unwrap();
        let second = File::create_new("/tmp/second").unwrap();
        assert_eq!(second.write_at(&[2; 60], 0).unwrap(), 40, "as much as there is room for");
        assert!(is_error(&second.write_at(&[2; 20], 40), ENOSPC));
        assert!(is_error(&second.set_len(41), ENOSPC));
        assert_eq!(second.write_at(&[3; 40], 0).unwrap(), 40, "it is there already");
        fs::remove_file("/tmp/first").unwrap();
        assert!(is_error(&second.set_len(41), ENOSPC), "a crash could bring it back");
        File::open("/tmp").unwrap().sync_all().unwrap();
        assert_eq!(second.write_at(&[2; 60], 40).unwrap(), 60);
        second.set_len(0).unwrap();
        fs::write("/tmp/third", [4; 100]).unwrap();
    };
    let checker = Checker::new("disk").faults(Faults { disk_bytes: 100, ..Faults::NONE });
    let trace = checker.trace(0, &body);
    assert_eq!(trace.failure, None);
    assert_eq!(trace.faults.to_string(), "disk-full 3");
}

#[test]
fn a_misdirected_read_returns_another_sector() {
    let faults = Faults { misdirected_read: QUARTER, ..Faults::NONE };
    strikes("misdirected-read", faults, || {
        let file = numbered(4);
        count(|_| {
            let bytes = read_sector(&file, 1);
            assert!((1..=4).contains(&bytes[0]));
            assert_eq!(bytes, [bytes[0]; SECTOR]);
            bytes[0] != 2
        })
    });
    // There is nowhere else to go.
    let one = || assert_eq!(read_sector(&numbered(1), 0), [1; SECTOR]);
    let always = Faults { misdirected_read: ALL, misdirected_write: ALL, ..Faults::NONE };
    let report = Checker::new("disk").faults(always).seeds(0..20).run(&one);
    assert_eq!(report.first_failure, None);
    assert!(report.faults.is_empty(), "{}", report.faults);
}

#[test]
fn a_misdirected_write_changes_another_sector_and_not_its_own() {
    let faults = Faults { misdirected_write: QUARTER, ..Faults::NONE };
    strikes("misdirected-write", faults, || {
        let file = numbered(4);
        let mut own = 2;
        count(|nth| {
            let written = 100 + nth;
            assert_eq!(file.write_at(&[written; SECTOR], SECTOR as u64).unwrap(), SECTOR);
            let sectors = [0, 1, 2, 3].map(|at| read_sector(&file, at)[0]);
            let struck = sectors[1] != written;
            assert_eq!(sectors.iter().filter(|&&byte| byte == written).count(), 1);
            assert!(!struck || sectors[1] == own);
            own = sectors[1];
            struck
        })
    });
}

#[test]
fn a_stale_read_returns_what_was_durable() {
    let faults = Faults { stale_read: QUARTER, ..Faults::NONE };
    strikes("stale-read", faults, || {
        let file = numbered(1);
        file.write_all_at(&[9; SECTOR], 0).unwrap();
        let struck = count(|_| {
            let bytes = read_sector(&file, 0);
            assert!(bytes == [1; SECTOR] || bytes == [9; SECTOR]);
            bytes[0] == 1
        });
        file.sync_all().unwrap();
        assert_eq!(count(|_| read_sector(&file, 0) != [9; SECTOR]), 0, "it is all durable");
        struck
    });
}

#[test]
fn a_bit_that_rots_stays_as_it_is() {
    let faults = Faults { bit_rot: QUARTER, ..Faults::NONE };
    strikes("bit-rot", faults, || {
        let file = numbered(1);
        let mut before = [1; SECTOR];
        let struck = count(|_| {
            let bytes = read_sector(&file, 0);
            let flipped = bytes.iter().zip(before).map(|(now, then)| (now ^ then).count_ones());
            let flipped: u32 = flipped.sum();
            assert!(flipped <= 1);
            before = bytes;
            flipped == 1
        });
        file.write_all_at(&[9; SECTOR], 0).unwrap();
        let rots = count(|_| read_sector(&file, 0) != [9; SECTOR]);
        assert_eq!(rots, 0, "what is not on the platter does not rot");
        struck
    });
}

#[test]
fn a_sync_that_fails_says_so() {
    let faults = Faults { sync_error: QUARTER, ..Faults::NONE };
    strikes("sync-error", faults, || {
        let file = File::create_new("/tmp/file").unwrap();
        count(|_| {
            file.write_all_at(b"x", 0).unwrap();
            is_error(&file.sync_all(), EIO)
        })
    });
    strikes("sync-error", faults, || {
        let directory = File::open("/tmp").unwrap();
        count(|_| is_error(&directory.sync_all(), EIO))
    });
}

/// Syncs fail for a while, then they do not.
const SYNC_STORM: Faults = Faults { sync_error: ALL, storm_steps: 20, ..Faults::NONE };

#[test]
fn each_handle_is_told_of_a_failed_sync_once() {
    let told = AtomicU32::new(0);
    let body = || {
        let file = File::create_new("/tmp/file").unwrap();
        let other = File::open("/tmp/file").unwrap();
        let clone = other.try_clone().unwrap();
        file.write_all_at(b"x", 0).unwrap();
        let mut failed = false;
        while is_error(&file.sync_all(), EIO) {
            failed = true;
        }
        let late = File::open("/tmp/file").unwrap();
        assert_eq!(is_error(&other.sync_all(), EIO), failed, "the other is told, too");
        assert!(other.sync_all().is_ok() && clone.sync_all().is_ok(), "but once");
        assert!(late.sync_all().is_ok(), "it was opened afterwards");
        told.fetch_add(u32::from(failed), Relaxed);
    };
    let report = Checker::new("disk").faults(SYNC_STORM).seeds(0..200).run(&body);
    assert_eq!(report.first_failure, None);
    assert!((20..200).contains(&told.into_inner()));
}

#[test]
fn what_a_failed_sync_dropped_no_later_sync_brings_back() {
    let (lost, failures) = (AtomicU32::new(0), AtomicU32::new(0));
    for writes_again in [true, false] {
        let body = || {
            while numbered_or_error().is_err() {}
            let file = OpenOptions::new().read(true).write(true).open("/tmp/file").unwrap();
            file.write_all_at(&[9; SECTOR], 0).unwrap();
            let mut failed = false;
            while is_error(&file.sync_all(), EIO) {
                failed = true;
                assert_eq!(read_sector(&file, 0), [9; SECTOR], "reads still find it");
                if writes_again {
                    file.write_all_at(&[9; SECTOR], 0).unwrap();
                }
            }
            while File::open("/tmp").unwrap().sync_all().is_err() {}
            crash::power_failure();
            let found = fs::read("/tmp/file").unwrap()[0];
            assert!(found == 9 || (failed && !writes_again), "found {found}");
            failures.fetch_add(u32::from(failed), Relaxed);
            lost.fetch_add(u32::from(found != 9), Relaxed);
        };
        let faults = Faults { sync_error: 1 << 15, storm_steps: 60, ..Faults::NONE };
        let report = Checker::new("disk").faults(faults).seeds(0..500).run(&body);
        assert_eq!(report.first_failure, None);
        let (failed, lost) = (failures.swap(0, Relaxed), lost.swap(0, Relaxed));
        assert!(failed > 50, "{failed} syncs fail");
        assert_eq!(lost > 0, !writes_again, "{lost} are lost");
    }
}

/// A durable file of one sector, or the error of the sync.
fn numbered_or_error() -> io::Result<()> {
    fs::write("/tmp/file", [1; SECTOR])?;
    OpenOptions::new().write(true).open("/tmp/file")?.sync_all()
}

#[test]
fn operations_take_time_in_which_others_run() {
    let ms = Duration::from_millis;
    let times = AtomicU64::new(0);
    let body = || {
        let start = Instant::now();
        thread::scope(|scope| {
            for path in ["/tmp/a", "/tmp/b"] {
                scope.spawn(move || (0..20).for_each(|_| _ = fs::exists(path).unwrap()));
            }
        });
        let time = start.elapsed();
        times.fetch_add(1, Relaxed);
        // One after the other they would take 20 on average.
        assert!(time < ms(16), "{time:?}");
        assert!(time > ms(5), "{time:?}");
    };
    let faults = Faults { latency_ns: 1_000_000, ..Faults::NONE };
    let report = Checker::new("disk").faults(faults).seeds(0..50).run(&body);
    assert_eq!(report.first_failure, None);
    let delays = report.faults.of("delay");
    assert!((1_990..=2_000).contains(&delays), "{delays} of 2,000 operations take time");

    passes(|| {
        let start = Instant::now();
        (0..20).for_each(|_| _ = fs::exists("/tmp").unwrap());
        assert!(start.elapsed() < Duration::from_micros(1), "unasked they take none");
    });
}

#[test]
fn a_process_that_crashes_in_a_write_leaves_part_of_it() {
    let mut lengths = std::collections::BTreeSet::new();
    let len_bytes = AtomicU64::new(0);
    let body = || {
        let ended = crash::life(|| fs::write("/tmp/file", [1; 2 * SECTOR]).unwrap());
        let file = fs::metadata("/tmp/file");
        let len = file.map_or(0, |file| file.len());
        assert!(ended == Ended::Crashed(CrashKind::Process) || len == 2 * SECTOR as u64);
        len_bytes.store(len, Relaxed);
    };
    let checker = Checker::new("disk").faults(Faults { process_crash: QUARTER, ..Faults::NONE });
    let mut crashes = 0;
    for seed in 0..200 {
        let trace = checker.trace(seed, &body);
        assert_eq!(trace.failure, None);
        crashes += trace.faults.of("process-crash");
        lengths.insert(len_bytes.load(Relaxed));
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [0, 512, 1024]);
    // Of two operations.
    assert!((60..120).contains(&crashes), "{crashes}");
}

#[test]
fn what_was_synced_survives_ten_thousand_crashes_and_what_was_not_does_not_always() {
    let lost = AtomicU32::new(0);
    let body = || {
        let (written, synced) = (AtomicU64::new(0), AtomicU64::new(0));
        let ended = crash::life(|| {
            let file = File::create_new("/tmp/file").unwrap();
            File::open("/tmp").unwrap().sync_all().unwrap();
            for version in 1..=4 {
                file.write_all_at(&[version; 2 * SECTOR], 0).unwrap();
                written.store(version.into(), Relaxed);
                file.sync_all().unwrap();
                synced.store(version.into(), Relaxed);
            }
        });
        if let Ended::Returned(()) = ended {
            crash::power_failure();
        }
        let (written, synced) = (written.into_inner() as u8, synced.into_inner() as u8);
        let found = fs::read("/tmp/file").unwrap_or_default();
        assert!(synced == 0 || found.len() == 2 * SECTOR);
        assert!(found.iter().all(|byte| (synced..=written).contains(byte)), "synced {synced}");
        let whole = found.len() == 2 * SECTOR && found.iter().all(|&byte| byte == written);
        lost.fetch_add(u32::from(written > 0 && !whole), Relaxed);
        assert!(written > synced || whole || written == 0, "nothing was under way");
    };
    let crash_point = CrashPoint::Drawn(CrashKind::Power);
    let checker = Checker::new("disk").faults(Faults { crash_point, ..Faults::NONE });
    let report = checker.seeds(0..10_000).run(&body);
    assert_eq!(report.first_failure, None);
    assert_eq!(report.faults.of("power-failure"), 10_000);
    assert!(lost.into_inner() > 1_000);
    for name in ["unsynced-lost", "unsynced-kept", "torn-write", "size-lost", "name-lost"] {
        assert!(report.faults.of(name) > 100, "{name} in {}", report.faults);
    }
}
