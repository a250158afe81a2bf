//! The page of a store: what was run, what failed, what was seen. Nothing is loaded from elsewhere.

mod heat_map;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::corpus::replay_line;
use crate::meetings::Meetings;
use crate::registry;
use crate::store::{Contents, StoredSweep};

const STYLE: &str = "\
:root{color-scheme:light dark;--rule:#8884;--quiet:#888;--bad:#c22;--cell:#06c}
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:90rem;padding:0 1rem}
h1{font-size:1.3rem}h2{font-size:1.1rem;margin-top:2.5rem}.quiet{color:var(--quiet)}
.wide{overflow-x:auto}table{border-collapse:collapse}
th,td{text-align:left;padding:.2rem .8rem;border-bottom:1px solid var(--rule)}
.number{text-align:right}.bad{color:var(--bad);font-weight:600}
code{font:13px ui-monospace,monospace}
.label{font:11px ui-monospace,monospace;fill:currentColor}.cell{fill:var(--cell)}
";

/// The page of `contents`, in HTML.
#[must_use]
pub fn page(contents: &Contents) -> String {
    let sweeps = &contents.sweeps;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "Sweeps of " (contents.rev) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Sweeps of " (contents.rev) }
                div class="wide" { (summary(sweeps)) }
                @for sweep in sweeps.iter().filter(|sweep| sweep.tally.failures > 0) {
                    (failures(sweep))
                }
                @for sweep in sweeps.iter().filter(|sweep| sweep.tally.meetings.executions > 0) {
                    (coverage(sweep))
                }
            }
        }
    }
    .into_string()
}

fn summary(sweeps: &[StoredSweep]) -> Markup {
    html! {
        table {
            tr {
                th { "scenario" } th { "scheduler" } th { "mutant" }
                th class="number" { "executions" } th class="number" { "steps" }
                th class="number" { "failures" } th class="number" { "hand-offs" }
                th class="number" { "new in 1,000" } th { "hash" }
            }
            @for sweep in sweeps {
                @let tally = &sweep.tally;
                @let hand_offs = tally.meetings.hand_off_richness();
                tr {
                    td { (sweep.scenario) }
                    td { (sweep.scheduler) }
                    td { (sweep.mutant.as_deref().unwrap_or("")) }
                    td class="number" { (tally.executions) }
                    td class="number" { (tally.steps) }
                    td.number.bad[tally.failures > 0] { (tally.failures) }
                    @if tally.meetings.executions > 0 {
                        td class="number" { (hand_offs.seen) }
                        td class="number" { (format!("{:.1}", hand_offs.new_per_1000)) }
                    } @else {
                        td {} td {}
                    }
                    td { code { (format!("{:016x}", tally.hash)) } }
                }
            }
        }
    }
}

fn title(sweep: &StoredSweep) -> String {
    let mutant = sweep.mutant.as_ref().map(|mutant| format!(", with {mutant}"));
    format!("{} under {}{}", sweep.scenario, sweep.scheduler, mutant.unwrap_or_default())
}

fn failures(sweep: &StoredSweep) -> Markup {
    let scenario = registry::find(&sweep.scenario).ok();
    html! {
        h2 { (title(sweep)) " fails" }
        table {
            tr { th { "rule" } th class="number" { "executions" } th { "lowest seed" } }
            @for (rule, failed) in &sweep.tally.examples {
                tr {
                    td class="bad" { (rule) }
                    td class="number" { (sweep.tally.rules.get(rule).copied().unwrap_or(1)) }
                    td {
                        (failed.message.lines().next().unwrap_or("")) br;
                        @if let Some(scenario) = scenario {
                            code {
                                (replay_line(
                                    scenario,
                                    &sweep.scheduler,
                                    failed.seed,
                                    sweep.mutant.as_deref(),
                                ))
                            }
                        } @else {
                            "seed " (failed.seed)
                        }
                    }
                }
            }
        }
    }
}

fn coverage(sweep: &StoredSweep) -> Markup {
    let meetings: &Meetings = &sweep.tally.meetings;
    let (hand_offs, holds) = (meetings.hand_off_richness(), meetings.hold_richness());
    let sentence = |what: &str, richness: holdup::coverage::Richness| {
        format!(
            "{} {what}, {} of them in one execution only; the next 1,000 should show {:.1} new ones, \
             and about {:.0} have not been seen",
            richness.seen, richness.seen_once, richness.new_per_1000, richness.unseen
        )
    };
    html! {
        h2 { (title(sweep)) }
        p class="quiet" { (meetings.executions) " executions were looked at." }
        p { (sentence("holds met", holds)) ". Rows are holds, columns what met them." }
        div class="wide" { (heat_map::heat_map(&meetings.holds, meetings.executions)) }
        p { (sentence("hand-offs", hand_offs)) ". Rows are changes, columns what met them." }
        div class="wide" { (heat_map::heat_map(&meetings.hand_offs, meetings.executions)) }
    }
}
