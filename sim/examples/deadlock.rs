//! Two transfers take the spinlocks of two accounts, each its own first. The moment each has one and
//! wants the other, the report says who owns what, who waits for what, and where.
//!
//! `cargo run -p holdup --example deadlock`

#![expect(unsafe_code, reason = "a lock of its own guards plain memory")]

use std::cell::UnsafeCell;

use holdup::hold::{self, HoldKind, Rules};
use holdup::sync::atomic::{AtomicBool, Ordering};
use holdup::{Checker, hint, name, note, thread};

static ACCOUNT_LOCK: HoldKind = HoldKind::new("account lock", Rules::NONE);

struct Account {
    locked: AtomicBool,
    balance: UnsafeCell<i64>,
}

// SAFETY: `balance` is touched by `transfer` only, which owns the locks of both accounts meanwhile.
unsafe impl Sync for Account {}

impl Account {
    fn open(balance: i64) -> Self {
        Self { locked: AtomicBool::new(false), balance: UnsafeCell::new(balance) }
    }

    #[track_caller]
    fn lock(&self) {
        while self.locked.swap(true, Ordering::Acquire) {
            hint::spin_loop();
        }
        hold::begin(&ACCOUNT_LOCK, (&raw const self.locked).addr());
    }

    fn unlock(&self) {
        hold::end((&raw const self.locked).addr());
        self.locked.store(false, Ordering::Release);
    }
}

fn transfer(amount: i64, from: &Account, to: &Account, [first, second]: [&Account; 2]) {
    first.lock();
    note!("has one account");
    second.lock();
    note!("has both accounts");
    // SAFETY: this task owns the locks of both accounts.
    unsafe { *from.balance.get() -= amount };
    // SAFETY: as above.
    unsafe { *to.balance.get() += amount };
    second.unlock();
    first.unlock();
}

/// Alice pays Bob while Bob pays Alice.
fn pay_each_other(in_one_order: bool) {
    let (alice, bob) = (&Account::open(100), &Account::open(100));
    name!(&alice.locked, "Alice's account");
    name!(&bob.locked, "Bob's account");
    thread::scope(|scope| {
        scope.spawn(|| transfer(10, alice, bob, [alice, bob]));
        let order = if in_one_order { [alice, bob] } else { [bob, alice] };
        scope.spawn(move || transfer(30, bob, alice, order));
    });
}

fn main() {
    let checker = Checker::new("pay each other").seeds(0..10_000);

    let wrong = || pay_each_other(false);
    let report = checker.clone().stop_at_first(true).run(&wrong);
    let found = report.first_failure.expect("each waits for the other");
    assert_eq!(found.failure.rule, "deadlock");
    let replay = "cargo run -p holdup --example deadlock";
    println!("{}\n", checker.trace(found.seed, &wrong).failure_report(replay));

    let report = checker.run(&|| pay_each_other(true));
    assert_eq!(report.first_failure, None);
    println!("With one order for all, all {} executions pass.", report.executions);
}

#[test]
fn two_orders_deadlock_and_one_order_does_not() {
    main();
}
