//! What all programs come to, one arm against another.

use std::collections::BTreeSet;

use crate::hunt::{Arm, Peer, Row};

/// One arm beside a peer's arm, over the bugs that the peer's arm finds.
pub(crate) struct Comparison {
    /// Bugs that the peer's arm finds.
    pub(crate) bugs: usize,
    /// Those of them that ours finds.
    pub(crate) found: usize,
    /// The peer's executions to a failure over ours, geometric mean.
    pub(crate) fewer: f64,
    /// The peer's processor seconds to a failure over ours, geometric mean.
    pub(crate) faster: f64,
    /// The same, sum over sum: what it takes to find all of them.
    pub(crate) faster_in_all: f64,
}

/// Bugs that both find count in the means.
pub(crate) fn compare(rows: &[Row], ours: &Arm, peer: &Arm) -> Option<Comparison> {
    let found = |arm: &Arm, mutant: &str| {
        let row = rows.iter().find(|row| row.arm == *arm && row.mutant == mutant)?;
        Some((row.found.mean()?, row.found.mean_seconds()?))
    };
    let theirs = mutants(rows).into_iter().filter_map(|mutant| {
        let theirs = found(peer, mutant)?;
        Some((theirs, found(ours, mutant)))
    });
    let theirs: Vec<_> = theirs.collect();
    let both: Vec<_> = theirs.iter().filter_map(|(peer, ours)| Some((*peer, (*ours)?))).collect();
    let (their_seconds, our_seconds) = both
        .iter()
        .fold((0.0, 0.0), |(theirs, mine), (peer, ours)| (theirs + peer.1, mine + ours.1));
    Some(Comparison {
        bugs: theirs.len(),
        found: both.len(),
        fewer: geometric_mean(both.iter().map(|(peer, ours)| peer.0 / ours.0))?,
        faster: geometric_mean(both.iter().map(|(peer, ours)| peer.1 / ours.1))?,
        faster_in_all: their_seconds / our_seconds,
    })
}

/// The arms, in order of appearance.
pub(crate) fn arms(rows: &[Row]) -> Vec<&Arm> {
    let mut seen = BTreeSet::new();
    rows.iter().map(|row| &row.arm).filter(|arm| seen.insert(*arm)).collect()
}

/// The bugs, in order of appearance.
pub(crate) fn mutants(rows: &[Row]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    rows.iter().map(|row| &*row.mutant).filter(|mutant| seen.insert(*mutant)).collect()
}

/// How many bugs an arm finds.
pub(crate) fn found(rows: &[Row], arm: &Arm) -> usize {
    rows.iter().filter(|row| row.arm == *arm && row.found.count() > 0).count()
}

/// Executions to a failure under `arm`, geometric mean; a bug that it does not find counts with
/// all executions that were spent on it.
pub(crate) fn executions(rows: &[Row], arm: &Arm) -> Option<f64> {
    let spent = |row: &Row| row.found.budget as f64 * row.found.executions.len() as f64;
    let means = rows.iter().filter(|row| row.arm == *arm);
    geometric_mean(means.map(|row| row.found.mean().unwrap_or_else(|| spent(row))))
}

/// The arm of `peer` that needs the fewest executions over all programs.
pub(crate) fn best(rows: &[Row], peer: Peer) -> Option<&Arm> {
    let of_peer = arms(rows).into_iter().filter(|arm| arm.peer() == peer);
    of_peer.min_by(|a, b| {
        let mean = |arm| executions(rows, arm).unwrap_or(f64::INFINITY);
        mean(a).total_cmp(&mean(b))
    })
}

/// Our arm with the lowest median on a bug, and that median.
pub(crate) fn best_median<'a>(rows: &'a [Row], mutant: &str) -> Option<(&'a Arm, u64)> {
    let ours = rows.iter().filter(|row| row.mutant == mutant && row.arm.peer() == Peer::Holdup);
    ours.filter_map(|row| Some((&row.arm, row.found.median()?))).min_by_key(|&(_, median)| median)
}

fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.into_iter().map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}
