//! A device is stopped while a request comes in: no request may touch it once it has stopped.
//!
//! A request counts itself in and then goes on only if nobody is stopping the device; whoever stops
//! it says so first and then gives up the count that the device has of its own. The bug looks at the
//! flag before counting in, so that the device can stop in between.
//! Source: Qadeer and Wu, PLDI 2004; `bluetooth_driver_bad` of SCTBench.

use crate::door::sync::Arc;
use crate::door::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use crate::door::{MutantCase, Scenario, actor, finish, hint, mutant, name, note, register};

register!(Scenario {
    name: "bluetooth-driver",
    area: "classic",
    summary: "a request comes in just as its device is stopped",
    rules: &["I-STOPPED"],
    mutants: &[MutantCase {
        name: "classic.bluetooth_driver",
        budget: 1_000,
        note: "the request looks whether the device is stopping before it counts itself in",
        preemptions: Some(1),
        critical_pair: Some([("request", "stopping"), ("stopper", "stopping")]),
        ..MutantCase::BASE
    }],
    body: bluetooth_driver,
    script: Some(
        "request until \"finds the device working\"\n\
         stopper until \"stops the device\"\n\
         request to the end\n",
    ),
    script_mutant: Some("classic.bluetooth_driver"),
    ..Scenario::BASE
});

struct Device {
    /// Requests under way, and one for the device itself until it is told to stop.
    pending: AtomicI64,
    is_stopping: AtomicBool,
    may_stop: AtomicBool,
    is_stopped: AtomicBool,
}

impl Device {
    fn is_working(&self) -> bool {
        let is_working = !self.is_stopping.load(SeqCst);
        note!("finds the device {}", if is_working { "working" } else { "stopping" });
        is_working
    }

    fn count_in(&self) {
        self.pending.fetch_add(1, SeqCst);
    }

    fn count_out(&self) {
        if self.pending.fetch_sub(1, SeqCst) == 1 {
            self.may_stop.store(true, SeqCst);
        }
    }
}

fn bluetooth_driver() {
    // Given a device that works,
    let device = Arc::new(Device {
        pending: AtomicI64::new(1),
        is_stopping: AtomicBool::new(false),
        may_stop: AtomicBool::new(false),
        is_stopped: AtomicBool::new(false),
    });
    name!(&device.is_stopping, "stopping");
    name!(&device.is_stopped, "stopped");
    name!(&device.may_stop, "may stop");
    name!(&device.pending, "pending requests");
    // when it is stopped
    let stopper = {
        let device = device.clone();
        actor("stopper", move || {
            device.is_stopping.store(true, SeqCst);
            device.count_out();
            hint::spin_until(&device.may_stop, |may_stop| may_stop != 0);
            device.is_stopped.store(true, SeqCst);
            note!("stops the device");
        })
    };
    // while a request comes in,
    let request = actor("request", move || {
        let goes_on = if mutant::is("classic.bluetooth_driver") {
            let goes_on = device.is_working();
            device.count_in();
            goes_on
        } else {
            device.count_in();
            device.is_working()
        };
        if goes_on {
            // then it finds it working or leaves it alone.
            let is_stopped = device.is_stopped.load(SeqCst);
            assert!(!is_stopped, "I-STOPPED: nobody uses a device that has stopped");
        }
        device.count_out();
    });
    finish(stopper);
    finish(request);
}
