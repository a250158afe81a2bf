use std::time::Duration;

use holdup::time::{Instant, SystemTime, UNIX_EPOCH};
use holdup::{Checker, thread};

use crate::{fails, passes};

#[test]
fn a_day_of_sleep_takes_a_day_and_no_time() {
    let really = std::time::Instant::now();
    passes(|| {
        let day = Duration::from_secs(86_400);
        let start = Instant::now();
        thread::sleep(day);
        assert!(start.elapsed() >= day);
        assert!(start.elapsed() < day + Duration::from_millis(1));
        assert!(Instant::now() > start + day);
    });
    assert!(really.elapsed() < Duration::from_secs(60));
}

#[test]
fn sleepers_wake_in_order_of_their_deadlines() {
    passes(|| {
        let order = holdup::sync::Mutex::new(vec![]);
        thread::scope(|scope| {
            for seconds in [3, 1, 2] {
                let order = &order;
                scope.spawn(move || {
                    thread::sleep(Duration::from_secs(seconds));
                    order.lock().unwrap().push(seconds);
                });
            }
        });
        assert_eq!(*order.lock().unwrap(), [1, 2, 3]);
    });
}

#[test]
fn a_loop_that_polls_the_clock_ends() {
    passes(|| {
        let deadline = Instant::now() + Duration::from_micros(100);
        while Instant::now() < deadline {}
        let deadline = Instant::now() + Duration::from_micros(100);
        while Instant::now() < deadline {
            holdup::hint::spin_loop();
        }
        let deadline = Instant::now() + Duration::from_micros(100);
        while Instant::now() < deadline {
            thread::yield_now();
        }
    });
}

#[test]
fn every_execution_begins_at_the_same_time() {
    let year_2000 = Duration::from_secs(946_684_800);
    let body = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        assert!(since >= year_2000 && since < year_2000 + Duration::from_millis(1));
    };
    let report = Checker::new("epoch").seeds(0..20).run(&body);
    assert_eq!(report.failures, 0);
    assert!(SystemTime::now().duration_since(UNIX_EPOCH).unwrap() > year_2000);
}

#[test]
fn an_instant_from_outside_is_refused_inside() {
    let outside = Instant::now();
    let failure = fails(|| {
        let _ = Instant::now() - outside;
    });
    assert!(failure.message.contains("from outside"), "{}", failure.message);
}

#[test]
fn outside_of_executions_the_clock_is_real() {
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(2));
    assert!(start.elapsed() >= Duration::from_millis(2));
    assert!(start.elapsed() < Duration::from_secs(60));
    assert_eq!((start + Duration::from_secs(1)) - start, Duration::from_secs(1));
}
