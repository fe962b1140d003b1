//! The densest moment among 1,000 requests.

use std::collections::VecDeque;

const REQUESTS: u64 = 1_000;

/// Most requests within a span of time, among each 1,000 in a row.
#[derive(Clone, Debug)]
pub(super) struct Busiest {
    span_ns: i64,
    /// Times of requests that lie less than a span before the last one, of the present thousand.
    recent: VecDeque<i64>,
    in_row: u64,
    most: u64,
    sum: u64,
    rows: u64,
}

impl Busiest {
    pub(super) fn new(span_ns: i64) -> Busiest {
        Busiest { span_ns, recent: VecDeque::new(), in_row: 0, most: 0, sum: 0, rows: 0 }
    }

    #[inline]
    pub(super) fn add(&mut self, time: i64) {
        while self.recent.front().is_some_and(|&first| time - first >= self.span_ns) {
            self.recent.pop_front();
        }
        self.recent.push_back(time);
        self.most = self.most.max(self.recent.len() as u64);
        self.in_row += 1;
        if self.in_row == REQUESTS {
            self.sum += self.most;
            self.rows += 1;
            (self.in_row, self.most) = (0, 0);
            self.recent.clear();
        }
    }

    /// Missing below 1,000 requests.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.sum as f64 / self.rows as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_within_any_span_is_that_of_looking_everywhere() {
        let mut time = 0;
        let times: Vec<i64> = (0..3_500u64)
            .map(|number| {
                let far = number.wrapping_mul(flashtwin_bits::STEP) >> 56;
                time += if far < 20 { 5_000 } else { far as i64 };
                time
            })
            .collect();
        for span in [100, 1_000, 100_000] {
            let mut busiest = Busiest::new(span);
            times.iter().for_each(|&time| busiest.add(time));
            let of_row = |row: &[i64]| {
                let within =
                    |from: i64| row.iter().filter(|&&time| (from..from + span).contains(&time)).count();
                row.iter().map(|&from| within(from)).max().unwrap()
            };
            let sum: usize = times.chunks_exact(1_000).map(of_row).sum();
            assert_eq!(busiest.mean(), Some(sum as f64 / 3.0), "{span}");
        }
        assert_eq!(Busiest::new(1).mean(), None);
    }
}
