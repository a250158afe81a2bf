#![expect(unsafe_code, reason = "casts plain memory to atomics")]

use std::fmt::Write as _;
use std::sync::atomic as std_atomic;

use holdup::sync::atomic::{self as our_atomic, Ordering};
use holdup::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64};
use holdup::thread;

use crate::{caught, fails, passes};

const ORDERS: [Ordering; 5] = {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    [Relaxed, Release, Acquire, AcqRel, SeqCst]
};

/// What the operations of one atomic return and leave behind, as text.
macro_rules! log {
    ($log:ident, $new:expr; $($call:ident($($argument:expr),*);)*) => {$({
        let word = $new;
        let returned = word.$call($($argument),*);
        writeln!($log, "{} gives {returned:?}, leaves {word:?}", stringify!($call)).unwrap();
    })*};
}

macro_rules! log_of_common {
    ($log:ident, $atomic:ty, $a:ident, $b:ident, $order:expr) => {
        log! { $log, <$atomic>::new($a);
            load(Ordering::Acquire);
            store($b, Ordering::Release);
            swap($b, $order);
            compare_exchange($a, $b, $order, Ordering::Acquire);
            compare_exchange($b, $a, $order, Ordering::Relaxed);
            compare_exchange_weak($b, $a, $order, Ordering::SeqCst);
            fetch_update($order, Ordering::Acquire, |old| (old == $a).then_some($b));
            fetch_update($order, Ordering::Relaxed, |_| None);
        }
        let mut word = <$atomic>::from($a);
        *word.get_mut() = $b;
        writeln!($log, "{:?}", word).unwrap();
        writeln!($log, "{:?} {:?}", word.into_inner(), <$atomic>::default()).unwrap();
    };
}

macro_rules! log_of_integer {
    ($atomics:ident, $atomic:ident, $value:ty) => {{
        let mut log = String::new();
        let values = [0, 1, 5, <$value>::MAX, <$value>::MIN, <$value>::MAX / 3];
        for (a, b) in values.iter().flat_map(|&a| values.map(|b| (a, b))) {
            writeln!(log, "{a} and {b}").unwrap();
            log_of_common!(log, $atomics::$atomic, a, b, Ordering::SeqCst);
            for order in ORDERS {
                log! { log, $atomics::$atomic::new(a);
                    swap(b, order);
                    fetch_add(b, order);
                    fetch_sub(b, order);
                    fetch_and(b, order);
                    fetch_nand(b, order);
                    fetch_or(b, order);
                    fetch_xor(b, order);
                    fetch_max(b, order);
                    fetch_min(b, order);
                }
            }
        }
        log
    }};
}

macro_rules! log_of_bool {
    ($atomics:ident) => {{
        let mut log = String::new();
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            log_of_common!(log, $atomics::AtomicBool, a, b, Ordering::AcqRel);
            for order in ORDERS {
                log! { log, $atomics::AtomicBool::new(a);
                    fetch_and(b, order);
                    fetch_nand(b, order);
                    fetch_or(b, order);
                    fetch_xor(b, order);
                    fetch_not(order);
                }
            }
        }
        log
    }};
}

macro_rules! log_of_pointer {
    ($atomics:ident) => {{
        let mut log = String::new();
        let (a, b): (*mut u8, *mut u8) =
            (std::ptr::without_provenance_mut(16), std::ptr::without_provenance_mut(32));
        log_of_common!(log, $atomics::AtomicPtr<u8>, a, b, Ordering::AcqRel);
        log
    }};
}

/// `check` holds in an execution and outside of one. One task alone has one schedule.
#[track_caller]
fn in_both_worlds(check: impl Fn() + Sync) {
    let report = holdup::Checker::new("one task").seeds(0..1).run(&check);
    assert_eq!(report.first_failure, None);
    check();
}

macro_rules! behaves_as_std {
    ($($test:ident, $atomic:ident, $value:ty;)*) => {$(
        #[test]
        fn $test() {
            in_both_worlds(|| {
                let ours = log_of_integer!(our_atomic, $atomic, $value);
                let of_std = log_of_integer!(std_atomic, $atomic, $value);
                assert_eq!(ours, of_std);
            });
            assert_eq!(size_of::<our_atomic::$atomic>(), size_of::<std_atomic::$atomic>());
            assert_eq!(align_of::<our_atomic::$atomic>(), align_of::<std_atomic::$atomic>());
        }
    )*};
}

behaves_as_std! {
    an_atomic_u8_does_what_that_of_std_does, AtomicU8, u8;
    an_atomic_u16_does_what_that_of_std_does, AtomicU16, u16;
    an_atomic_u32_does_what_that_of_std_does, AtomicU32, u32;
    an_atomic_u64_does_what_that_of_std_does, AtomicU64, u64;
    an_atomic_usize_does_what_that_of_std_does, AtomicUsize, usize;
    an_atomic_i8_does_what_that_of_std_does, AtomicI8, i8;
    an_atomic_i16_does_what_that_of_std_does, AtomicI16, i16;
    an_atomic_i32_does_what_that_of_std_does, AtomicI32, i32;
    an_atomic_i64_does_what_that_of_std_does, AtomicI64, i64;
    an_atomic_isize_does_what_that_of_std_does, AtomicIsize, isize;
}

#[test]
fn an_atomic_bool_does_what_that_of_std_does() {
    in_both_worlds(|| assert_eq!(log_of_bool!(our_atomic), log_of_bool!(std_atomic)));
    assert_eq!(size_of::<our_atomic::AtomicBool>(), size_of::<std_atomic::AtomicBool>());
}

#[test]
fn an_atomic_pointer_does_what_that_of_std_does() {
    in_both_worlds(|| assert_eq!(log_of_pointer!(our_atomic), log_of_pointer!(std_atomic)));
    assert_eq!(size_of::<AtomicPtr<u64>>(), size_of::<std_atomic::AtomicPtr<u64>>());
    assert_eq!(align_of::<AtomicPtr<u64>>(), align_of::<std_atomic::AtomicPtr<u64>>());
}

#[test]
fn an_order_that_std_refuses_is_refused() {
    in_both_worlds(|| {
        let word = AtomicU32::new(1);

        let refused = |operation: &dyn Fn(&AtomicU32)| {
            caught(|| operation(&word));
            assert_eq!(word.load(Ordering::SeqCst), 1);
        };
        for order in [Ordering::Release, Ordering::AcqRel] {
            refused(&|word| _ = word.load(order));
            refused(&|word| _ = word.compare_exchange(1, 2, Ordering::SeqCst, order));
        }
        for order in [Ordering::Acquire, Ordering::AcqRel] {
            refused(&|word| word.store(2, order));
        }
        refused(&|_| our_atomic::fence(Ordering::Relaxed));
    });
}

#[test]
fn a_fence_is_a_scheduling_point_and_showing_a_word_is_none() {
    let word = AtomicU32::new(7);
    let body = || {
        our_atomic::fence(Ordering::SeqCst);
        our_atomic::compiler_fence(Ordering::SeqCst);
        assert_eq!(format!("{word:?}"), "7");
    };

    let trace = holdup::Checker::new("fence").trace(0, &body);

    assert_eq!(trace.failure, None);
    assert_eq!(trace.steps, 1);
}

#[test]
fn a_static_word_starts_afresh_in_every_execution() {
    static COUNT: AtomicU64 = AtomicU64::new(3);
    static WORDS: [AtomicU8; 4] = [const { AtomicU8::new(1) }; 4];

    passes(|| {
        assert_eq!(COUNT.fetch_add(1, Ordering::SeqCst), 3);
        assert_eq!(WORDS[2].swap(9, Ordering::SeqCst), 1);
        let seen = thread::spawn(|| WORDS[2].load(Ordering::SeqCst)).join().unwrap();
        assert_eq!((seen, WORDS[1].load(Ordering::SeqCst)), (9, 1));
    });

    assert_eq!(COUNT.load(Ordering::SeqCst), 3);
    assert_eq!(WORDS[2].load(Ordering::SeqCst), 1);
}

#[test]
fn plain_memory_that_is_cast_to_atomics_works() {
    in_both_worlds(|| {
        let mut memory = [1_u32, 2, 3];
        let words: *const [AtomicU32; 3] = (&raw mut memory).cast();
        // SAFETY: an atomic has the layout of its integer, and nobody else touches the array.
        let words = unsafe { &*words };

        words[1].fetch_add(40, Ordering::SeqCst);

        assert_eq!(words[1].as_ptr().addr(), (&raw const words[1]).addr());
        assert_eq!(memory, [1, 42, 3]);
    });
}

/// The value of a word after two tasks have changed it three times each.
fn two_tasks(change: impl Fn(&AtomicU32) + Sync) -> u32 {
    let word = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..3).for_each(|_| change(&word)));
        }
    });
    word.into_inner()
}

#[test]
fn an_update_between_a_load_and_a_store_is_lost() {
    let failure = fails(|| {
        let sum = two_tasks(|word| {
            let old = word.load(Ordering::SeqCst);
            word.store(old + 1, Ordering::SeqCst);
        });
        assert_eq!(sum, 6, "all count");
    });

    assert!(failure.message.contains("all count"), "{}", failure.message);
}

#[test]
fn atomic_updates_are_not_lost() {
    passes(|| {
        let one_step = two_tasks(|word| _ = word.fetch_add(1, Ordering::Relaxed));
        let update = two_tasks(|word| {
            word.fetch_update(Ordering::AcqRel, Ordering::Acquire, |old| Some(old + 1)).unwrap();
        });
        let swap = two_tasks(|word| {
            let mut old = word.load(Ordering::Relaxed);
            while let Err(now) =
                word.compare_exchange_weak(old, old + 1, Ordering::AcqRel, Ordering::Relaxed)
            {
                old = now;
            }
        });
        assert_eq!([one_step, update, swap], [6; 3]);
    });
}

#[test]
fn an_update_is_tried_again_if_another_task_was_faster() {
    let failure = fails(|| {
        let tries = std_atomic::AtomicU32::new(0);
        two_tasks(|word| {
            let again = |old| {
                tries.fetch_add(1, Ordering::Relaxed);
                Some(old + 1)
            };
            word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, again).unwrap();
        });
        assert_eq!(tries.into_inner(), 6, "nobody tries twice");
    });

    assert!(failure.message.contains("nobody tries twice"), "{}", failure.message);
}

#[test]
fn outside_of_executions_threads_count_together() {
    let count = AtomicU64::new(0);

    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1_000).for_each(|_| _ = count.fetch_add(1, Ordering::Relaxed)));
        }
    });

    assert_eq!(count.into_inner(), 4_000);
}
