//! Races with a drop: what is still going on with a relation's pages when the relation goes.

mod drop_vs_new_page;
mod drop_vs_write_in_flight;
mod drop_with_own_pin;
