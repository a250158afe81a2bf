//! A port is made, put on a list and given its name; another call deletes ports by number.
//!
//! Whoever uses a port counts itself in; who deletes it takes it off the list and frees it once
//! nobody is counted in. The bug puts it on the list before it counts its maker in, so that it can be
//! freed before the maker is done.
//! Source: CVE-2017-15265 (the sequencer of ALSA), in ConVul.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, hint, mutant, name, note, register};

register!(Scenario {
    name: "cve-2017-15265",
    area: "classic",
    summary: "a port is deleted by its number before its maker is done with it",
    rules: &["I-FREED"],
    mutants: &[MutantCase {
        name: "classic.port_freed_early",
        budget: 1_000,
        note: "the port is on the list before its maker is counted in",
        critical_pair: Some([("deleter", "freed"), ("maker", "freed")]),
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: port_freed_early,
    script: Some(
        "maker until \"puts the port on the list\"\n\
         deleter until \"frees the port\"\n\
         maker to the end\n",
    ),
    script_mutant: Some("classic.port_freed_early"),
    ..Scenario::BASE
});

#[derive(Default)]
struct Port {
    is_listed: Mutex<bool>,
    users: AtomicU32,
    is_freed: AtomicBool,
}

impl Port {
    fn put_on_list(&self) {
        *lock(&self.is_listed) = true;
        note!("puts the port on the list");
    }

    fn count_in(&self) {
        self.users.fetch_add(1, SeqCst);
    }

    fn write_name(&self) {
        let is_freed = self.is_freed.load(SeqCst);
        assert!(!is_freed, "I-FREED: nobody uses a port that was freed");
        note!("names the port");
    }
}

fn port_freed_early() {
    // Given a port on no list,
    let port = Arc::new(Port::default());
    name!(&port.users, "users");
    name!(&port.is_freed, "freed");
    // when its maker puts it there and names it
    let maker = {
        let port = port.clone();
        actor("maker", move || {
            if mutant::is("classic.port_freed_early") {
                port.put_on_list();
                port.count_in();
            } else {
                port.count_in();
                port.put_on_list();
            }
            port.write_name();
            port.users.fetch_sub(1, SeqCst);
        })
    };
    // while another call deletes it,
    let deleter = actor("deleter", move || {
        let was_listed = std::mem::take(&mut *lock(&port.is_listed));
        if was_listed {
            hint::spin_until(&port.users, |users| users == 0);
            port.is_freed.store(true, SeqCst);
            note!("frees the port");
        }
    });
    // then the maker names a port that is there.
    finish(maker);
    finish(deleter);
}
