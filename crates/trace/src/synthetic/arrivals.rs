//! When requests arrive: a daily rhythm, bursts at every scale of time below an hour, and trains.

use super::trains::{Stretch, Trains};
use crate::random::Random;

pub(super) const HOURS: usize = 24;
/// Bursts are not resolved further: two requests of a burst may have the same microsecond.
const SHORTEST_NS: u64 = 1_000;

/// Arrival times in rising order, as many as were asked for. Below an hour it is the b-model (Wang et al., ICDE '02):
/// one half of an interval, chosen at random, receives the share `bias` of its requests, and so on down to the
/// microsecond. 0.5 is a steady stream. With trains, their beginnings are spread in this way, and the other requests
/// follow.
#[derive(Debug)]
pub(super) struct Arrivals {
    random: Random,
    bias: f64,
    hours: Hours,
    /// Intervals to come, the next one last: start, length, requests (or trains).
    stack: Vec<(u64, u64, u64)>,
    trains: Option<Trains>,
    /// Requests to come of the train that goes on, and when the last request arrived.
    in_train: u32,
    last_ns: Option<u64>,
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
    /// `requests` over `days` of `day_ns`; the rate rises by `swing` above its mean at `busiest` o'clock, and falls as
    /// much.
    pub(super) fn new(
        requests: u64,
        days: u64,
        day_ns: u64,
        (swing, busiest): (f64, f64),
        bias: f64,
        trains: Option<Trains>,
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
        Arrivals { random, bias, hours, stack: Vec::new(), trains, in_train: 0, last_ns: None }
    }

    /// The stream of the next requests; for as many requests as have arrived and a few more.
    pub(super) fn next_stretch(&mut self) -> Option<Stretch> {
        self.trains.as_mut()?.next_stretch()
    }

    fn next_hour(&mut self) -> Option<(u64, u64, u64)> {
        let (start, length, requests) = self.hours.next()?;
        let Some(trains) = &mut self.trains else { return Some((start, length, requests)) };
        // The hour was charged with its quota; trains are whole.
        let most = self.hours.requests - (self.hours.given - requests);
        let (count, given) = trains.fill(requests, most);
        self.hours.given += given - requests;
        Some((start, length, count))
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
        match &mut self.trains {
            None => self.next_start(),
            Some(trains) if self.in_train > 0 => {
                self.in_train -= 1;
                self.last_ns = self.last_ns.map(|last| last + trains.gap_ns());
                self.last_ns
            }
            Some(_) => self.begin_train(),
        }
    }
}

impl Arrivals {
    fn begin_train(&mut self) -> Option<u64> {
        let joined = self.trains.as_ref().is_some_and(Trains::is_joined);
        // Only the trains that are not joined to another are spread over the hour.
        let start = if joined { None } else { Some(self.next_start()?) };
        let trains = self.trains.as_mut()?;
        self.in_train = trains.next_train()?.requests - 1;
        self.last_ns = match (self.last_ns, start) {
            (None, start) => start,
            (Some(end), start) => Some(trains.begin_ns(start, end)),
        };
        self.last_ns
    }

    #[inline]
    fn next_start(&mut self) -> Option<u64> {
        loop {
            let Some((start, length, requests)) = self.stack.pop() else {
                let hour = self.next_hour()?;
                self.stack.push(hour);
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
    use super::super::trains::tests::some;
    use super::super::trains::{APART_NS, Train};
    use super::*;

    const DAY_NS: u64 = 86_400_000_000_000;

    fn times(requests: u64, days: u64, swing: f64, bias: f64) -> Vec<u64> {
        Arrivals::new(requests, days, DAY_NS, (swing, 14.0), bias, None, Random::new(1, 0)).collect()
    }

    fn in_trains(requests: u64, swing: f64, bias: f64, joined: f64, seed: u64) -> (Vec<u64>, Vec<Train>) {
        let plan = some(joined, 0.0);
        let trains = Trains::new(&plan, Random::new(seed, 1), Random::new(seed, 2));
        let rhythm = (swing, 14.0);
        let times = Arrivals::new(requests, 7, DAY_NS, rhythm, bias, Some(trains), Random::new(seed, 0));
        // An hour's excess is deducted from the next one: the whole is as if made in one go.
        let mut alone = Trains::new(&plan, Random::new(seed, 1), Random::new(seed, 2));
        alone.fill(requests, requests);
        (times.collect(), std::iter::from_fn(|| alone.next_train()).collect())
    }

    #[test]
    fn what_lies_between_silences_is_the_trains_that_were_dealt() {
        // With nothing joined an hour's end changes nothing, and trains are those dealt, one after another.
        for seed in 0..5 {
            let (times, dealt) = in_trains(50_000, 0.6, 0.8, 0.0, seed);
            let mut lengths = vec![1u32];
            for pair in times.windows(2) {
                if pair[1] - pair[0] > APART_NS {
                    lengths.push(1);
                } else {
                    *lengths.last_mut().unwrap() += 1;
                    assert!((pair[1] - pair[0]) < 51_000, "within a train");
                }
            }
            assert!(lengths.iter().eq(dealt.iter().map(|train| &train.requests)), "{}", lengths.len());
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
