//! What the buffer pool costs on this machine: hits, recent reads, misses, scans, write-back,
//! start-up.
//!
//! Native only: an instrumented build would measure the simulator. `--json` prints one document,
//! otherwise a table; `--only TEXT` leaves out the cases whose name does not contain it; the
//! `--bench` that cargo appends is accepted and means nothing.
//!
//! Times are the best of some rounds, since whatever disturbs a round only makes it slower: of
//! processor time where one thread works, of time on the wall where several do. What
//! the machine itself is worth in that minute is told beside each: the time of two locked
//! operations on a hot line, which is the least that a pin and an unpin can cost.

mod harness;
mod hits;
mod large;
mod recent;
mod storage;
mod traffic;

use std::process::ExitCode;

use harness::{Bench, Row};
use holdup_engine::INSTRUMENTED;

const USAGE: &str = "there are --json and --only TEXT";

struct Arguments {
    json: bool,
    only: String,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments { json: false, only: String::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => parsed.json = true,
            "--bench" => {}
            "--only" => match arguments.next() {
                Some(text) => parsed.only = text,
                None => return Err(format!("--only needs a part of a case's name; {USAGE}")),
            },
            other => return Err(format!("no option {other}; {USAGE}")),
        }
    }
    if INSTRUMENTED {
        let instead = "run cargo bench -p holdup-engine --bench pool";
        return Err(format!(
            "this build is instrumented and would measure the simulator; {instead}"
        ));
    }
    Ok(parsed)
}

fn rows(only: &str) -> Result<Vec<Row>, String> {
    let mut bench = Bench::new(only);
    hits::cases(&mut bench);
    recent::cases(&mut bench);
    traffic::cases(&mut bench);
    large::cases(&mut bench);
    bench.finish()
}

fn main() -> ExitCode {
    let rows = arguments().and_then(|Arguments { json, only }| Ok((json, rows(&only)?)));
    match rows {
        Ok((true, rows)) => harness::print_json(&rows),
        Ok((false, rows)) => harness::print_table(&rows),
        Err(message) => {
            eprintln!("pool: {message}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
