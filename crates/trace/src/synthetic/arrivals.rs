//! When requests arrive: a daily rhythm, and bursts at every scale of time below an hour.

use crate::random::Random;

/// Hours of a day, the parts its rhythm is made of.
pub(super) const HOURS: usize = 24;
/// Bursts are not resolved further: two requests of a burst may have the same microsecond.
const SHORTEST_NS: u64 = 1_000;

/// Arrival times in rising order, as many as were asked for.
///
/// Below an hour it is the b-model (Wang et al., ICDE '02): of the requests of an interval one half of it,
/// chosen at random, receives the share `bias` and the other half the rest, and so on down to the
/// microsecond. 0.5 is a steady stream; the higher, the longer the queues. Bursts have a memory at every
/// scale: the index of dispersion grows with the interval it is measured over.
#[derive(Debug)]
pub(super) struct Arrivals {
    random: Random,
    bias: f64,
    hours: Hours,
    /// Intervals to come, the next one last: start, length, requests.
    stack: Vec<(u64, u64, u64)>,
}

#[derive(Debug)]
struct Hours {
    requests: u64,
    hour_ns: f64,
    /// Share of a day's requests that come before the end of each hour.
    share_before: [f64; HOURS],
    days: u64,
    next: u64,
    given: u64,
}

impl Arrivals {
    /// `requests` over `days` of `day_ns`; `swing` is how far the rate rises above its mean at `busiest`
    /// o'clock, and falls below it twelve hours later.
    pub(super) fn new(
        requests: u64,
        days: u64,
        day_ns: u64,
        (swing, busiest): (f64, f64),
        bias: f64,
        random: Random,
    ) -> Arrivals {
        let rate = |hour: usize| {
            let angle = (hour as f64 + 0.5 - busiest) / HOURS as f64 * std::f64::consts::TAU;
            1.0 + swing * libm::cos(angle)
        };
        let day: f64 = (0..HOURS).map(rate).sum();
        let mut before = 0.0;
        let share_before = std::array::from_fn(|hour| {
            before += rate(hour) / day;
            before
        });
        let hour_ns = day_ns as f64 / HOURS as f64;
        let hours = Hours { requests, hour_ns, share_before, days, next: 0, given: 0 };
        Arrivals { random, bias, hours, stack: Vec::new() }
    }

    fn split(&mut self, start: u64, length: u64, requests: u64) {
        let bits = self.random.next();
        let heavy = requests as f64 * self.bias;
        // Rounded up or down at random, so that single requests go either way too.
        let fraction = (bits >> 11) as f64 / (1u64 << 53) as f64;
        let heavy = ((heavy + fraction) as u64).min(requests);
        let (first, second) =
            if bits & 1 == 0 { (heavy, requests - heavy) } else { (requests - heavy, heavy) };
        let half = length / 2;
        if second > 0 {
            self.stack.push((start + half, length - half, second));
        }
        if first > 0 {
            self.stack.push((start, half, first));
        }
    }
}

impl Iterator for Arrivals {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        loop {
            let Some((start, length, requests)) = self.stack.pop() else {
                self.stack.push(self.hours.next()?);
                continue;
            };
            if requests == 0 {
                continue;
            }
            if requests == 1 {
                return Some(start + self.random.below(length.max(1)));
            }
            if length <= SHORTEST_NS {
                self.stack.push((start, length, requests - 1));
                return Some(start);
            }
            self.split(start, length, requests);
        }
    }
}

impl Iterator for Hours {
    type Item = (u64, u64, u64);

    fn next(&mut self) -> Option<(u64, u64, u64)> {
        if self.next >= self.days * HOURS as u64 {
            return None;
        }
        let (day, hour) = (self.next / HOURS as u64, self.next % HOURS as u64);
        self.next += 1;
        let last = self.next == self.days * HOURS as u64;
        let share = (day as f64 + self.share_before[hour as usize]) / self.days as f64;
        let until = if last { self.requests } else { (self.requests as f64 * share) as u64 };
        let start = ((self.next - 1) as f64 * self.hour_ns) as u64;
        let end = (self.next as f64 * self.hour_ns) as u64;
        let requests = until.saturating_sub(self.given);
        self.given += requests;
        Some((start, end - start, requests))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_NS: u64 = 86_400_000_000_000;

    fn times(requests: u64, days: u64, swing: f64, bias: f64) -> Vec<u64> {
        Arrivals::new(requests, days, DAY_NS, (swing, 14.0), bias, Random::new(1, 0)).collect()
    }

    #[test]
    fn all_requests_arrive_in_order_and_on_their_days() {
        for bias in [0.5, 0.7, 0.9] {
            let times = times(70_003, 7, 0.5, bias);
            assert_eq!(times.len(), 70_003);
            assert!(times.is_sorted());
            for day in 0..7 {
                let of_day = times.iter().filter(|&&time| time / DAY_NS == day).count();
                assert!(of_day.abs_diff(70_003 / 7) <= 2, "{day}: {of_day}");
            }
        }
    }

    #[test]
    fn the_rhythm_is_a_cosine() {
        let times = times(240_000, 1, 0.8, 0.5);
        let of_hour = |hour: u64| {
            let hour_ns = DAY_NS / 24;
            times.iter().filter(|&&time| time / hour_ns == hour).count() as f64 / 10_000.0
        };
        for hour in 0..24u64 {
            let expected = 1.0 + 0.8 * ((hour as f64 + 0.5 - 14.0) / 24.0 * std::f64::consts::TAU).cos();
            assert!((of_hour(hour) - expected).abs() < 0.01, "{hour}: {} {expected}", of_hour(hour));
        }
    }

    #[test]
    fn bursts_follow_the_b_model() {
        // Over 2^k equal parts the mean square of counts is (2 (b^2 + (1-b)^2))^k times the squared mean.
        const PARTS: u32 = 8;
        for bias in [0.5f64, 0.65, 0.8] {
            let requests = 1u64 << 17;
            let times = times(24 * requests, 1, 0.0, bias);
            let part_ns = DAY_NS / 24 / (1 << PARTS);
            let mut counts = vec![0f64; 24 << PARTS];
            times.iter().for_each(|time| counts[(time / part_ns).min((24 << PARTS) - 1) as usize] += 1.0);
            let mean = times.len() as f64 / counts.len() as f64;
            let square = counts.iter().map(|count| count * count).sum::<f64>() / counts.len() as f64;
            let expected = (2.0 * (bias.powi(2) + (1.0 - bias).powi(2))).powi(PARTS as i32);
            let found = square / (mean * mean);
            assert!((found / expected - 1.0).abs() < 0.05, "{bias}: {found} {expected}");
        }
    }
}
