//! What things are called in traces and reports.

use holdup::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use holdup::sync::{Condvar, Mutex, RwLock, SpinLock};
use holdup::trace::{Trace, What};
use holdup::{Checker, name, name_word, note, thread};

/// The names of the objects on which operations were carried out, in order of their first.
fn objects(trace: &Trace) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for event in &trace.events {
        let (What::Operation { object: Some(object), .. } | What::HoldBegin { object, .. }) =
            event.what
        else {
            continue;
        };
        let name = &*trace.objects[object as usize].name;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[test]
fn whatever_is_named_is_called_so_wherever_it_lies() {
    static WORD: AtomicU32 = AtomicU32::new(0);
    static LOCK: SpinLock<u8> = SpinLock::new(0);
    static USED_BEFORE: AtomicU32 = AtomicU32::new(0);
    let body = || {
        USED_BEFORE.load(SeqCst);
        name!(&USED_BEFORE, "a static that was used before");
        name!(&WORD, "a static word");
        name!(&LOCK, "a static spinlock");
        let (word, lock) = (AtomicU64::new(0), Box::new(SpinLock::new([0_u64; 4])));
        let (mutex, rwlock) = (Mutex::new(0_u128), Box::new(RwLock::new(String::new())));
        let condition = Condvar::new();
        name!(&word, "a word");
        name!(&*lock, "a spinlock");
        name!(&mutex, "a mutex");
        name!(&*rwlock, "a rwlock");
        name!(&condition, "a condition");

        USED_BEFORE.load(SeqCst);
        WORD.load(SeqCst);
        drop(LOCK.lock());
        word.load(SeqCst);
        drop(lock.lock());
        drop(mutex.lock().unwrap());
        drop(rwlock.read().unwrap());
        condition.notify_one();
    };

    let trace = Checker::new("names").trace(0, &body);

    let expected = [
        "atomic 1",
        "a static that was used before",
        "a static word",
        "a static spinlock",
        "a word",
        "a spinlock",
        "a mutex",
        "a rwlock",
        "a condition",
    ];
    assert_eq!((trace.failure.as_ref(), objects(&trace)), (None, expected.to_vec()));
}

#[test]
fn a_name_ends_with_its_execution() {
    static WORD: AtomicU32 = AtomicU32::new(0);
    let body = |named: bool| {
        move || {
            if named {
                name!(&WORD, "named");
            }
            WORD.load(SeqCst);
        }
    };

    assert_eq!(objects(&Checker::new("named").trace(0, &body(true))), ["named"]);
    assert_eq!(objects(&Checker::new("nameless").trace(0, &body(false))), ["atomic 1"]);
}

#[test]
fn a_named_word_is_shown_as_its_program_wants() {
    let body = || {
        let state = AtomicU32::new(0);
        name_word!(&state, |value| format!("refcount {value}"), "buffer {} state", 3);
        state.store(7, SeqCst);
        note!("pins buffer {}", 3);
    };

    let timeline = Checker::new("shown").trace(0, &body).timeline().to_string();

    assert!(timeline.contains("pins buffer 3"), "{timeline}");
    let trace = Checker::new("shown").trace(0, &body);
    let state = &trace.objects[0];
    assert_eq!((&*state.name, state.named), ("buffer 3 state", true));
    assert_eq!(state.show.unwrap()(7), "refcount 7");
}

#[test]
fn what_has_no_name_is_called_by_its_kind_and_number() {
    let body = || {
        let (words, lock) = ([const { AtomicBool::new(false) }; 2], Mutex::new(()));
        words[1].load(SeqCst);
        words[0].load(SeqCst);
        drop(lock.lock());
        thread::spawn(|| ()).join().unwrap();
    };

    let trace = Checker::new("nameless").trace(0, &body);

    assert_eq!(objects(&trace)[..3], ["atomic 1", "atomic 2", "mutex 1"]);
    assert_eq!(trace.tasks[1].name, "task 1");
}
