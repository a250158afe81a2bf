use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use holdup::fs::{self, File, FileExt, OpenOptions};
use holdup::hold::{HoldKind, Rules};
use holdup::sync::SpinLock;
use holdup::{Checker, Faults, thread};

use crate::{fails, passes};

/// Runs the same program on the simulated disk and on the real one.
fn in_both_worlds(body: impl Fn(&Path) + Sync) {
    passes(|| {
        fs::create_dir("/data").unwrap();
        body(Path::new("/data"));
    });
    let place = std::thread::current().name().unwrap_or("fs").replace("::", "-");
    let directory = std::env::temp_dir().join(format!("holdup-{}-{place}", std::process::id()));
    std::fs::create_dir(&directory).unwrap();
    body(&directory);
    std::fs::remove_dir_all(directory).unwrap();
}

#[track_caller]
fn refused<T>(result: io::Result<T>, kind: io::ErrorKind) {
    match result {
        Ok(_) => panic!("not refused"),
        Err(error) => assert_eq!(error.kind(), kind, "{error}"),
    }
}

#[test]
fn what_was_written_is_read_again() {
    in_both_worlds(|directory| {
        let path = directory.join("file");
        fs::write(&path, "hello").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"hello");

        let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        file.write_all_at(b"!!", 7).unwrap();
        assert_eq!(file.write_at(b"J", 0).unwrap(), 1);
        assert_eq!(file.metadata().unwrap().len(), 9);
        let mut bytes = [0; 9];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"Jello\0\0!!");
        assert_eq!(file.read_at(&mut bytes, 8).unwrap(), 1);
        refused(file.read_exact_at(&mut bytes, 1), io::ErrorKind::UnexpectedEof);

        file.set_len(3).unwrap();
        assert_eq!(file.seek(SeekFrom::End(-1)).unwrap(), 2);
        let mut text = String::new();
        file.try_clone().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "l");
        file.write_all(b"p").unwrap();
        file.sync_all().unwrap();
        file.sync_data().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "Jelp");
        assert!(file.seek(SeekFrom::Current(-9)).is_err());
    });
}

#[test]
fn options_do_what_they_do_in_std() {
    use io::ErrorKind::{AlreadyExists, InvalidInput, NotFound};
    in_both_worlds(|directory| {
        let path = directory.join("file");
        refused(File::open(&path), NotFound);
        refused(OpenOptions::new().write(true).open(&path), NotFound);
        refused(OpenOptions::new().open(&path), InvalidInput);
        refused(OpenOptions::new().read(true).create(true).open(&path), InvalidInput);
        refused(OpenOptions::new().append(true).truncate(true).open(&path), InvalidInput);
        refused(File::create(directory.join("no/file")), NotFound);

        File::create_new(&path).unwrap().write_all(b"one").unwrap();
        refused(File::create_new(&path), AlreadyExists);
        let append = OpenOptions::new().append(true).open(&path).unwrap();
        (&append).write_all(b" two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one two");
        assert!(append.read_at(&mut [0], 0).is_err());
        assert!(File::open(&path).unwrap().write_at(b"x", 0).is_err());
        refused(File::open(&path).unwrap().set_len(0), InvalidInput);
        File::create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    });
}

#[test]
fn directories_do_what_they_do_in_std() {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory, NotFound};
    in_both_worlds(|directory| {
        let (deep, file) = (directory.join("a/b/c"), directory.join("a/file"));
        refused(fs::create_dir(&deep), NotFound);
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir_all(&deep).unwrap();
        refused(fs::create_dir(&deep), AlreadyExists);
        fs::write(&file, "x").unwrap();
        refused(fs::create_dir_all(&file), AlreadyExists);
        refused(fs::create_dir_all(file.join("b")), NotADirectory);
        refused(File::open(file.join("b")), NotADirectory);
        refused(File::create(&deep), IsADirectory);
        refused(fs::read(&deep), IsADirectory);
        File::open(&deep).unwrap().sync_all().unwrap();
        assert!(fs::metadata(&deep).unwrap().is_dir() && fs::metadata(&file).unwrap().is_file());

        let list = |path: &Path| {
            let names = fs::read_dir(path).unwrap();
            let mut names: Vec<_> = names.map(|entry| entry.unwrap().path()).collect();
            names.sort();
            names
        };
        assert_eq!(list(&directory.join("a")), [directory.join("a/b"), file.clone()]);
        refused(fs::remove_dir(directory.join("a")), DirectoryNotEmpty);
        refused(fs::remove_file(directory.join("nobody")), NotFound);

        fs::rename(directory.join("a/b"), directory.join("moved")).unwrap();
        assert!(fs::exists(directory.join("moved/c")).unwrap());
        assert!(!fs::exists(&deep).unwrap());
        fs::rename(&file, directory.join("moved/c/file")).unwrap();
        refused(fs::rename(directory.join("moved/c/file"), directory.join("a")), IsADirectory);
        fs::remove_dir(directory.join("a")).unwrap();
        fs::remove_dir_all(directory.join("moved")).unwrap();
        assert!(list(directory).is_empty());
    });
}

#[test]
fn a_file_that_was_removed_or_replaced_lives_on_in_its_handles() {
    in_both_worlds(|directory| {
        let (old, new) = (directory.join("old"), directory.join("new"));
        fs::write(&old, "old").unwrap();
        fs::write(&new, "new").unwrap();
        let (old_file, new_file) = (File::open(&old).unwrap(), File::open(&new).unwrap());
        fs::rename(&new, &old).unwrap();
        fs::remove_file(&old).unwrap();
        let mut bytes = [0; 3];
        old_file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"old");
        new_file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"new");
    });
}

#[test]
fn two_appends_through_a_length_read_before_lose_one() {
    let append = |file: &File| {
        let end = file.metadata().unwrap().len();
        file.write_all_at(b"x", end).unwrap();
    };
    let failure = fails(|| {
        let file = File::create("log").unwrap();
        thread::scope(|scope| {
            (0..2).for_each(|_| drop(scope.spawn(|| append(&file))));
        });
        assert_eq!(file.metadata().unwrap().len(), 2);
    });
    assert_eq!(failure.rule, "panic");
    passes(|| {
        let file = OpenOptions::new().append(true).create(true).open("log").unwrap();
        thread::scope(|scope| {
            (0..2).for_each(|_| drop(scope.spawn(|| (&file).write_all(b"x").unwrap())));
        });
        assert_eq!(file.metadata().unwrap().len(), 2);
    });
}

#[test]
fn every_execution_begins_with_an_empty_disk() {
    passes(|| {
        File::create_new("/tmp/once").unwrap();
        assert_eq!(fs::read_dir("/").unwrap().count(), 1);
        assert!(!fs::exists("/etc").unwrap());
    });
}

#[test]
fn faults_strike_as_often_as_asked_and_the_same_ones_again() {
    let quarter = Faults { read_error: 1 << 14, ..Faults::default() };
    let struck = std::sync::Mutex::new(vec![]);
    let body = || {
        fs::write("file", "x").unwrap();
        let file = File::open("file").unwrap();
        let failed = |_: &u32| match file.read_at(&mut [0], 0) {
            Ok(_) => false,
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(5), "EIO");
                true
            }
        };
        let failed: Vec<u32> = (0..100).filter(failed).collect();
        struck.lock().unwrap().push(failed);
    };
    let checker = Checker::new("faults").seeds(0..50).faults(quarter);
    assert_eq!(checker.run(&body).failures, 0);
    assert_eq!(checker.run(&body).failures, 0);

    let mut struck = struck.into_inner().unwrap();
    let total: usize = struck.iter().map(Vec::len).sum();
    let executions = struck.len();
    assert!((20..30).contains(&(total / executions)), "{total} of {executions} hundred");
    struck.sort();
    struck.dedup();
    // A few executions measure the program before each sweep.
    assert!(struck.len() <= 60, "two runs of 50 seeds gave {} patterns", struck.len());
}

#[test]
fn the_holder_of_a_spinlock_must_not_wait_for_the_disk() {
    static HEADER: HoldKind = HoldKind::new("header lock", Rules::SPINLOCK);
    let failure = fails(|| {
        let lock = SpinLock::with_kind((), &HEADER);
        let _held = lock.lock();
        let _ = File::create("file");
    });
    assert_eq!(failure.rule, "hold-no-sleep");
}

#[test]
fn a_loop_that_polls_for_a_file_ends() {
    passes(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                while !fs::exists("done").unwrap() {
                    holdup::hint::spin_loop();
                }
            });
            scope.spawn(|| fs::write("done", "").unwrap());
        });
    });
}
