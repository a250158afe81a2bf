//! Executions per second of the simulator beside its peers, on the same programs in one run.
//!
//! `cargo bench -p holdup` prints one table a program: shuttle (random, URW, PCT of depth 3), loom
//! where it can run the program, and `holdup`, on `page` with its race check and without (`off`).
//! All are sampled in turn, so that a slow spell of the machine hits all of them; ratios are medians
//! of the rounds' own ratios, from process CPU time on one thread. `--rounds N` (7), `--only NAME`,
//! `--scheduler NAME` (only that one, of whoever has it), `--json`; the `--bench` that cargo appends
//! is accepted.

mod holdup_peer;
mod loom_peer;
mod sample;
mod shuttle_peer;
mod table;

use sample::{Config, Program};

/// The programs, in the order of their tables.
const PROGRAMS: &[Program] =
    &[Program::FetchAdd, Program::Spinlock, Program::Page, Program::Words, Program::SpawnJoin];

fn configs(scheduler: Option<&str>) -> Vec<Config> {
    let mut configs = shuttle_peer::configs();
    configs.extend(loom_peer::configs());
    configs.extend(holdup_peer::configs());
    configs.retain(|config| scheduler.is_none_or(|name| config.scheduler == name));
    configs
}

fn main() {
    let mut rounds = 7;
    let mut only = None;
    let mut scheduler = None;
    let mut json = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--bench" => {}
            "--json" => json = true,
            "--only" => only = arguments.next(),
            "--scheduler" => scheduler = arguments.next(),
            "--rounds" => {
                let number = arguments.next().and_then(|text| text.parse().ok());
                let Some(number) = number.filter(|&number| number > 0) else {
                    return complain("--rounds takes a number of rounds, from 1");
                };
                rounds = number;
            }
            other => {
                return complain(&format!(
                    "{other:?} is unknown; there are --rounds N, --only NAME, --scheduler NAME and \
                     --json"
                ));
            }
        }
    }
    let programs: Vec<_> = PROGRAMS
        .iter()
        .filter(|program| only.as_ref().is_none_or(|only| program.name() == only))
        .collect();
    if programs.is_empty() {
        let names: Vec<_> = PROGRAMS.iter().map(Program::name).collect();
        return complain(&format!("--only takes one of {}", names.join(", ")));
    }
    let configs = configs(scheduler.as_deref());
    if configs.is_empty() {
        return complain("no peer has a scheduler of this name; the tables without it list them");
    }
    let mut rows = Vec::new();
    for program in programs {
        let measured = sample::measure(*program, &configs, rounds);
        if !json {
            table::print(*program, &measured);
        }
        rows.extend(measured.iter().map(|row| table::json(*program, row)));
    }
    if json {
        println!("{{\"rows\":[{}]}}", rows.join(","));
    }
}

fn complain(sentence: &str) {
    eprintln!("{sentence}");
    std::process::exit(2);
}
