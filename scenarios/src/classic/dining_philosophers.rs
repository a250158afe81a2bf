//! Philosophers at a round table, a fork between any two, and nobody eats without both.
//!
//! Right is that the last one takes the forks in the other order. With the bug all take the left one
//! first, and everybody has to have it before anybody has both. Who waits for a fork is no preemption:
//! one is enough, if the guests come in the right order.
//! Source: Dijkstra; `din_phil2_sat` to `din_phil7_sat` of SCTBench.

use crate::classic::lock;
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

/// The table of so many.
macro_rules! dining_philosophers {
    ($name:literal, $mutant:literal, $guests:literal, $budget:literal) => {
        register!(Scenario {
            name: $name,
            area: "classic",
            summary: concat!(
                $guests,
                " philosophers each take the fork to the left and to the right"
            ),
            rules: &["deadlock"],
            mutants: &[MutantCase {
                name: $mutant,
                budget: $budget,
                note: "everybody takes the left fork first",
                preemptions: Some(1),
                ..MutantCase::BASE
            }],
            body: || dine::<$guests>($mutant),
            ..Scenario::BASE
        });
    };
}

dining_philosophers!("dining-philosophers-3", "classic.dining_philosophers_3", 3, 1_000);
dining_philosophers!("dining-philosophers-5", "classic.dining_philosophers_5", 5, 2_000);
dining_philosophers!("dining-philosophers-7", "classic.dining_philosophers_7", 7, 10_000);

fn dine<const GUESTS: usize>(bug: &'static str) {
    // Given a table with as many forks as guests,
    let forks: Arc<[Mutex<()>; GUESTS]> = Arc::new(std::array::from_fn(|_| Mutex::new(())));
    // when everybody wants to eat,
    let guests: [_; GUESTS] = std::array::from_fn(|guest| {
        let forks = forks.clone();
        actor("philosopher", move || {
            let (left, right) = (guest, (guest + 1) % GUESTS);
            let is_turned = right < left && !mutant::is(bug);
            let (first, second) = if is_turned { (right, left) } else { (left, right) };
            let _first = lock(&forks[first]);
            let _second = lock(&forks[second]);
        })
    });
    // then everybody does.
    guests.into_iter().for_each(finish);
}
