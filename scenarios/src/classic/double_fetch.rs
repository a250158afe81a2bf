//! A kernel reads a length from memory that the caller can change, checks it, and reads it again.
//!
//! Source: the double fetches of ConVul, such as CVE-2016-6516.

use crate::door::sync::Arc;
use crate::door::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, name, note, register};

/// What was allocated.
const ROOM: usize = 8;
/// Fields that are fetched before and after the length.
const FIELDS: usize = 4;

register!(Scenario {
    name: "cve-2016-6516",
    area: "classic",
    summary: "a caller changes a length between the kernel's check and its use",
    rules: &["I-BOUND"],
    mutants: &[MutantCase {
        name: "classic.double_fetch",
        budget: 2_000,
        note: "the length is fetched again after it has been checked",
        critical_pair: Some([("caller", "length"), ("kernel", "length")]),
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: double_fetch,
    script: Some(
        "kernel until \"finds length 8\"\n\
         caller until \"writes length 64\"\n\
         kernel to the end\n",
    ),
    script_mutant: Some("classic.double_fetch"),
    ..Scenario::BASE
});

struct Request {
    length: AtomicUsize,
    fields: [AtomicUsize; FIELDS],
}

impl Request {
    fn fetch_fields(&self) {
        for field in &self.fields {
            let _ = field.load(SeqCst);
        }
    }
}

fn double_fetch() {
    // Given a request with a length that fits,
    let request = Arc::new(Request {
        length: AtomicUsize::new(ROOM),
        fields: std::array::from_fn(AtomicUsize::new),
    });
    name!(&request.length, "length");
    // when the kernel checks and uses it
    let kernel = {
        let request = request.clone();
        actor("kernel", move || {
            request.fetch_fields();
            let mut length = request.length.load(SeqCst);
            note!("finds length {length}");
            if length > ROOM {
                return;
            }
            if mutant::is("classic.double_fetch") {
                length = request.length.load(SeqCst);
                note!("finds length {length}");
            }
            // then nothing is copied beyond what was allocated,
            assert!(length <= ROOM, "I-BOUND: {length} are copied into room for {ROOM}");
            request.fetch_fields();
        })
    };
    // while the caller writes to it.
    let caller = actor("caller", move || {
        request.fields.iter().for_each(|field| field.store(1, SeqCst));
        request.length.store(64, SeqCst);
        note!("writes length 64");
        request.fields.iter().for_each(|field| field.store(2, SeqCst));
    });
    finish(kernel);
    finish(caller);
}
