//! Random draws: ChaCha8, a seed standing alone.
//!
//! Seeds are run in order, and keying a generator anew for each of them would cost about 90 ns, a
//! fifth of a small execution. So the first 32 words of seed `s` are the `s`-th 128 bytes of one
//! keystream: consecutive seeds read on, any other seed seeks. An execution that needs more goes
//! on in a second keystream, whose nonce is the seed.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Words of a seed in the common keystream: what a small execution needs.
const HEAD_WORDS: usize = 32;
/// Words drawn at once from the keystream of the seed alone: what the cipher computes at once.
const TAIL_WORDS: usize = 64;

/// What a keystream is for; its key.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Domain {
    /// Decisions of schedulers.
    Schedule = 1,
    /// Faults.
    Fault = 2,
    /// Draws the code under test asks for.
    Workload = 3,
    /// Which of several waiting tasks a wake-up reaches.
    Wake = 4,
    /// What a guided search varies.
    Guide = 5,
    /// Which execution a proof within a bound runs next.
    Proof = 7,
    /// When crashes come, and what they leave: faults that are drawn apart from the others, so that
    /// they stay what they are where a schedule is varied.
    Crash = 6,
}

pub(crate) struct Draws {
    head: ChaCha8Rng,
    tail: ChaCha8Rng,
    seed: u64,
    /// The seed whose bytes come next in `head`, if it was left at such a place.
    next_seed: Option<u64>,
    in_tail: bool,
    at: usize,
    end: usize,
    words: [u8; TAIL_WORDS * 4],
}

impl Draws {
    pub(crate) fn new(domain: Domain) -> Self {
        let mut key = *b"holdup schedule and fault draws\0";
        key[31] = domain as u8;
        let head = ChaCha8Rng::from_seed(key);
        key[30] = b'+';
        let tail = ChaCha8Rng::from_seed(key);
        Self {
            head,
            tail,
            seed: 0,
            next_seed: None,
            in_tail: false,
            at: 0,
            end: 0,
            words: [0; TAIL_WORDS * 4],
        }
    }

    /// For tests of schedulers alone.
    #[cfg(test)]
    pub(crate) fn of_schedules() -> Self {
        Self::new(Domain::Schedule)
    }

    /// Goes to the beginning of `seed`.
    pub(crate) fn start(&mut self, seed: u64) {
        if self.next_seed != Some(seed) {
            // A seed has two blocks, so the upper bit of its place goes into the nonce.
            self.head.set_stream(seed >> 63);
            self.head.set_word_pos(u128::from(seed << 1) * 16);
        }
        self.head.fill_bytes(&mut self.words[..HEAD_WORDS * 4]);
        self.next_seed = (seed << 1).checked_add(2).and_then(|_| seed.checked_add(1));
        self.seed = seed;
        self.in_tail = false;
        (self.at, self.end) = (0, HEAD_WORDS);
    }

    /// The seed whose draws these are.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        if !self.in_tail {
            self.tail.set_stream(self.seed);
            self.tail.set_word_pos(0);
            self.in_tail = true;
        }
        self.tail.fill_bytes(&mut self.words);
        (self.at, self.end) = (0, TAIL_WORDS);
    }

    /// The next word.
    #[inline(always)]
    pub(crate) fn next_u32(&mut self) -> u32 {
        if self.at == self.end {
            self.refill();
        }
        let from = self.at * 4;
        self.at += 1;
        let bytes = &self.words[from..from + 4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        (u64::from(self.next_u32()) << 32) | u64::from(self.next_u32())
    }

    /// A number below `n`, which must not be 0. Off from uniform by less than `n` in 2^32.
    #[inline(always)]
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(n)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(draws: &mut Draws, seed: u64, n: usize) -> Vec<u32> {
        draws.start(seed);
        (0..n).map(|_| draws.next_u32()).collect()
    }

    #[test]
    fn a_seed_gives_the_same_draws_whatever_ran_before() {
        let mut in_order = Draws::new(Domain::Schedule);
        let ordered: Vec<_> = (0..6).map(|seed| first(&mut in_order, seed, 200)).collect();

        let mut alone = Draws::new(Domain::Schedule);
        for seed in [5, 0, 3, 3, 1, 4, 2] {
            assert_eq!(first(&mut alone, seed, 200), ordered[seed as usize]);
        }
    }

    #[test]
    fn far_seeds_differ() {
        let mut draws = Draws::new(Domain::Schedule);
        let seeds = [0, 1, 1 << 63, u64::MAX, u64::MAX - 1, (1 << 63) - 1];
        let firsts: std::collections::BTreeSet<_> =
            seeds.iter().map(|&seed| first(&mut draws, seed, 4)).collect();

        assert_eq!(firsts.len(), seeds.len());
    }
}
