//! Portfolio: the seed picks the scheduler, so that one seed always reproduces alone.
//!
//! A race whose windows lie far apart in time is never found by a random walk and soon by PCT; one
//! that needs three tasks close together is found hundreds of times sooner by a random walk. Which
//! kind the next bug is, nobody knows.

use super::{Depth, Lens, Pct, Pilot, Random, Sticky, Strategy};
use crate::core::Draws;

pub(crate) fn draw(pilot: &Pilot, draws: &mut Draws) -> Strategy {
    match draws.below(16) {
        0..5 => Strategy::Random(Random),
        5..7 => Strategy::Sticky(Sticky),
        7..11 => Strategy::Pct(Pct::new(Depth::Drawn, pilot, draws)),
        _ => Strategy::Lens(Lens::new(pilot, draws)),
    }
}
