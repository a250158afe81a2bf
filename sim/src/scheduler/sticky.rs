//! Sticky walk: a task keeps the processor for a run of geometric length, then another gets it.
//!
//! At each scheduling point the walk stays with probability 7/8. Instead of drawing at each point
//! it draws the length of the run, so it costs one draw a switch. Between a random walk and PCT: it
//! holds tasks back for longer than the one and needs no bug depth as the other.

use super::Turn;

pub(crate) struct Sticky;

/// `LONGER[i]` is the probability, in units of 2^-32, that a run has more than `i` steps.
const LONGER: [u32; 96] = {
    let mut table = [0; 96];
    let mut longer: u64 = 1 << 32;
    let mut i = 0;
    while i < table.len() {
        longer = longer * 7 / 8;
        table[i] = longer as u32;
        i += 1;
    }
    table
};

/// Length of the next run, from 1.
fn run_length(draw: u32) -> u64 {
    LONGER.partition_point(|&longer| draw < longer) as u64 + 1
}

impl Sticky {
    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        let n = turn.runnable.len() as u32;
        if n == 1 {
            turn.next_event = Turn::NEVER;
            return turn.runnable[0];
        }
        turn.next_event = turn.step + run_length(turn.draws.next_u32());
        let picked = turn.runnable[turn.draws.below(n - 1) as usize];
        // Another task than the current one: who drew it gets the last in its place.
        if picked == turn.current { turn.runnable[n as usize - 1] } else { picked }
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        let n = turn.runnable.len();
        turn.next_event =
            if n == 1 { Turn::NEVER } else { turn.step + run_length(turn.draws.next_u32()) };
        turn.pick()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_geometric_with_mean_eight() {
        let draws = 1 << 16;
        let sum: u64 = (0..draws).map(|i: u32| run_length(i << 16)).sum();
        let mean = sum as f64 / f64::from(draws);

        assert!((7.9..8.1).contains(&mean), "{mean}");
        assert_eq!(run_length(u32::MAX), 1);
    }
}
