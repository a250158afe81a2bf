//! The tables.

use crate::sample::{Program, Row};

pub(crate) fn print(program: Program, rows: &[Row]) {
    println!("\n{} (`{}`)\n", program.title(), program.name());
    println!(
        "{:<8} {:<10} {:>13} {:>10} {:>9} {:>16} {:>13}",
        "peer",
        "scheduler",
        "executions/s",
        "steps/exec",
        "ns/step",
        "x shuttle random",
        "x shuttle pct3"
    );
    for row in rows {
        let ns = row.median_ns();
        println!(
            "{:<8} {:<10} {:>13.0} {:>10.1} {:>9.2} {:>16.2} {:>13.2}",
            row.peer,
            row.scheduler,
            1e9 / ns,
            row.steps_per_execution,
            ns / row.steps_per_execution,
            row.over_random,
            row.over_pct
        );
    }
}

pub(crate) fn json(program: Program, row: &Row) -> String {
    format!(
        "{{\"program\":\"{}\",\"peer\":\"{}\",\"scheduler\":\"{}\",\"executions_per_second\":{:.0},\
         \"steps_per_execution\":{:.1},\"over_shuttle_random\":{:.2},\"over_shuttle_pct3\":{:.2}}}",
        program.name(),
        row.peer,
        row.scheduler,
        1e9 / row.median_ns(),
        row.steps_per_execution,
        row.over_random,
        row.over_pct
    )
}
