// The programs, written once. Each peer includes this text after it has imported `AtomicU64`,
// `AtomicBool`, `Ordering`, `Arc`, `spawn` and `spin_loop` of its own, and made a `touch`, which tells
// of a change to plain memory whoever wants to know.

/// Two tasks, ten fetch_adds each.
pub(crate) fn fetch_add() {
    let sum = Arc::new(AtomicU64::new(0));
    let mut tasks = Vec::with_capacity(2);
    for _ in 0..2 {
        let sum = sum.clone();
        tasks.push(spawn(move || {
            for _ in 0..10 {
                sum.fetch_add(1, Ordering::SeqCst);
            }
        }));
    }
    for task in tasks {
        task.join().unwrap();
    }
    assert_eq!(sum.load(Ordering::SeqCst), 20);
}

/// Four tasks, each a hundred times through a test-and-set spinlock.
pub(crate) fn spinlock() {
    let lock = Arc::new(AtomicBool::new(false));
    let mut tasks = Vec::with_capacity(4);
    for _ in 0..4 {
        let lock = lock.clone();
        tasks.push(spawn(move || {
            for _ in 0..100 {
                while lock.swap(true, Ordering::Acquire) {
                    spin_loop();
                }
                lock.store(false, Ordering::Release);
            }
        }));
    }
    for task in tasks {
        task.join().unwrap();
    }
}

/// Four tasks, each a hundred times through a test-and-set spinlock, to change 64 bytes under it.
pub(crate) fn page() {
    let shared = Arc::new((AtomicBool::new(false), [0_u64; 8]));
    let mut tasks = Vec::with_capacity(4);
    for _ in 0..4 {
        let shared = shared.clone();
        tasks.push(spawn(move || {
            let (lock, page) = &*shared;
            for _ in 0..100 {
                while lock.swap(true, Ordering::Acquire) {
                    spin_loop();
                }
                touch(page);
                lock.store(false, Ordering::Release);
            }
        }));
    }
    for task in tasks {
        task.join().unwrap();
    }
}

/// Eight tasks, a thousand operations each, on sixteen words.
pub(crate) fn words() {
    let words: Arc<[AtomicU64; 16]> = Arc::new(std::array::from_fn(|_| AtomicU64::new(0)));
    let mut tasks = Vec::with_capacity(8);
    for task in 0..8_u64 {
        let words = words.clone();
        tasks.push(spawn(move || {
            let mut x = task.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            for _ in 0..1_000 {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let word = &words[(x >> 60) as usize];
                match (x >> 57) & 3 {
                    0 => {
                        word.load(Ordering::Acquire);
                    }
                    1 => word.store(x, Ordering::Release),
                    2 => {
                        word.fetch_add(x, Ordering::AcqRel);
                    }
                    _ => {
                        let _ = word.compare_exchange(x, x + 1, Ordering::AcqRel, Ordering::Acquire);
                    }
                }
            }
        }));
    }
    for task in tasks {
        task.join().unwrap();
    }
}

/// Four tasks that do nothing.
pub(crate) fn spawn_join() {
    let mut tasks = Vec::with_capacity(4);
    for i in 0..4_u64 {
        tasks.push(spawn(move || i));
    }
    let mut sum = 0;
    for task in tasks {
        sum += task.join().unwrap();
    }
    assert_eq!(sum, 6);
}

pub(crate) fn program(program: Program) -> fn() {
    match program {
        Program::FetchAdd => fetch_add,
        Program::Spinlock => spinlock,
        Program::Page => page,
        Program::Words => words,
        Program::SpawnJoin => spawn_join,
    }
}
