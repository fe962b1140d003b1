//! How often each content is read and written.

use flashtwin_trace::{Op, Requests};

use crate::counts::Counts;
use crate::error;
use crate::input::Accumulator;
use crate::page_ops::{known, soon};
use crate::sample::{GROUPS, Sample};

/// The base of everything about popularity. 8 bytes a content.
#[derive(Clone, Debug)]
pub(crate) struct ValueCounts {
    sample: Sample,
    /// Reads and writes of contents that the sample keeps.
    counts: [Counts; 2],
    pub(crate) accesses: [u64; 2],
    /// All contents seen, whether the sample keeps them or not.
    pub(crate) contents: u64,
}

impl ValueCounts {
    pub(crate) fn new(sample: Sample) -> ValueCounts {
        ValueCounts { sample, counts: Default::default(), accesses: [0, 0], contents: 0 }
    }

    pub(crate) fn of(&self, op: Op) -> &Counts {
        &self.counts[op as usize]
    }

    pub(crate) fn distinct(&self, op: Op) -> u64 {
        self.of(op).iter().filter(|&count| count > 0).count() as u64
    }

    pub(crate) fn unique_percent(&self, op: Op) -> Option<f64> {
        percent(self.distinct(op), self.accesses[op as usize])
    }

    pub(crate) fn unique_percent_error(&self, op: Op) -> Option<f64> {
        let groups = self.groups(op);
        let sums = groups.map(|counts| (counts.len() as u64, counts.iter().sum::<u64>()));
        error::of_percent(&sums)
    }

    /// Those above 0.
    pub(crate) fn groups(&self, op: Op) -> [Counts; GROUPS] {
        let mut groups: [Vec<u64>; GROUPS] = Default::default();
        for (content, count) in (0..).zip(self.of(op).iter()).filter(|&(_, count)| count > 0) {
            groups[self.sample.group_of_content(content)].push(count);
        }
        groups.map(|counts| counts.into_iter().collect())
    }
}

pub(crate) fn percent(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64 * 100.0)
}

impl Accumulator for ValueCounts {
    fn add(&mut self, requests: &Requests<'_>) {
        for index in 0..requests.len() {
            let op = requests.op[index];
            for &content in soon(requests, index) {
                // Most requests have the same op as this one.
                self.counts[op as usize & 1].prefetch(content);
            }
            for content in known(requests, index) {
                self.contents = self.contents.max(u64::from(content) + 1);
                if !op.moves_data() || !self.sample.keeps_content(content) {
                    continue;
                }
                self.accesses[op as usize] += 1;
                self.counts[op as usize].add_one(content);
            }
        }
    }
}
