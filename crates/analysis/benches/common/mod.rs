//! What the benches share: draws, a clock, the best of some rounds.
#![allow(dead_code, missing_docs, unreachable_pub)]

#[path = "../../tests/it/common/random.rs"]
mod random;

use std::hint::black_box;
use std::time::Instant;

pub use random::Random;

pub const ROUNDS: usize = 3;

/// Processor seconds of this thread, because a busy machine disturbs them less than the wall clock.
pub struct Clock {
    wall: Instant,
    processor_ns: Option<u64>,
}

fn processor_ns() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

impl Clock {
    pub fn start() -> Self {
        Self { wall: Instant::now(), processor_ns: processor_ns() }
    }

    pub fn seconds(&self) -> f64 {
        match (self.processor_ns, processor_ns()) {
            (Some(begin), Some(end)) => (end - begin) as f64 / 1e9,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// Best time of some rounds, in seconds.
pub fn best<T>(mut run: impl FnMut() -> T) -> f64 {
    let seconds = (0..ROUNDS).map(|_| {
        let clock = Clock::start();
        black_box(run());
        clock.seconds()
    });
    seconds.fold(f64::INFINITY, f64::min)
}

/// Accesses to items that are numbered by first appearance, and how often each is accessed.
pub fn numbered(accesses: impl Iterator<Item = u64>, items: u64) -> (Vec<u32>, Vec<u32>) {
    let mut numbers = vec![u32::MAX; items as usize];
    let mut counts = Vec::new();
    let number = |item: u64| {
        let number = &mut numbers[item as usize];
        if *number == u32::MAX {
            *number = counts.len() as u32;
            counts.push(0);
        }
        counts[*number as usize] += 1;
        *number
    };
    let accesses = accesses.map(number).collect();
    (accesses, counts)
}
