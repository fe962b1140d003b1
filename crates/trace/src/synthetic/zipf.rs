//! Contents drawn page by page, as CA-SSD's paper does in 5.3; addresses as for other contents.

use super::places::Places;
use super::plan::Plan;
use super::runs::Runs;
use crate::page::Zipf;
use crate::random::Random;
use crate::request::NO_CONTENT;

/// Requests whose contents follow Zipf's law. Reads and writes go to the same pages.
#[derive(Debug)]
pub(super) struct Drawn {
    pub(super) runs: [Runs; 2],
    zipf: Zipf,
    /// The number of each value in the trace, in order of first appearance.
    numbers: Vec<u32>,
    /// Content of each touched page, the first touched first.
    held: Vec<u32>,
    places: Places,
    sizes: Vec<u32>,
    random: Random,
}

impl Drawn {
    pub(super) fn new(
        plan: &Plan,
        exponent_thousandths: u32,
        values: u32,
        runs: [Runs; 2],
        random: Random,
    ) -> Drawn {
        Drawn {
            runs,
            zipf: Zipf::new(exponent_thousandths, values),
            numbers: vec![NO_CONTENT; values as usize],
            held: Vec::with_capacity(plan.footprint as usize),
            places: Places::new(plan.footprint, plan.overwrite_skew),
            sizes: Vec::new(),
            random,
        }
    }

    /// Goes on with another round of as many requests, on the same pages.
    pub(super) fn go_on(&mut self, runs: [Runs; 2], random: Random) {
        self.runs = runs;
        self.random = random;
    }

    /// The next run of one kind, with `room` for this many requests: its first page, its sizes, each page's value.
    pub(super) fn next(
        &mut self,
        write: bool,
        room: u64,
        next_value: &mut u32,
        values: &mut Vec<u32>,
    ) -> (u64, &[u32]) {
        let left = self.runs[0].pages + self.runs[1].pages;
        self.runs[usize::from(write)].next(self.places.top, room, &mut self.sizes, &mut self.random);
        let pages: u64 = self.sizes.iter().copied().map(u64::from).sum();
        let start = self.places.choose(pages, left, None, &mut self.random);
        values.clear();
        for page in (start..start + pages).rev() {
            let index = self.places.index(page);
            if index == self.held.len() {
                let before = self.zipf.draw(&mut self.random);
                self.held.push(before);
            } else if write {
                self.held[index] = self.zipf.draw(&mut self.random);
            }
            values.push(self.held[index]);
        }
        values.reverse();
        for value in values {
            let number = &mut self.numbers[*value as usize];
            if *number == NO_CONTENT {
                *number = *next_value;
                *next_value += 1;
            }
            *value = *number;
        }
        (start, &self.sizes)
    }
}
