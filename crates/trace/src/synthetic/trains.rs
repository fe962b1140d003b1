//! Trains: requests close behind each other, mostly of one kind and on neighbouring pages.

use std::collections::VecDeque;

use super::deck::{Deck, Wrong};
use super::keys::Keys;
use super::recipe::{Recipe, TrainsRecipe};
use crate::error::TraceError;
use crate::random::Random;

/// Requests further apart than this are of different trains, as in the characterization.
pub(super) const APART_NS: u64 = 1_000_000;

#[derive(Clone, Debug)]
pub(super) struct TrainsPlan {
    /// Requests of a train, and nanoseconds between two of them.
    pub(super) lengths: Deck,
    pub(super) gaps_ns: Deck,
    /// Share of the trains that continue the stream of the one before.
    pub(super) joined: f64,
    /// Share of the trains that have reads and writes, and of those that can: with one request they cannot.
    pub(super) mixed: f64,
    pub(super) mixed_of_several: f64,
    /// A train that would begin within the least silence of the one before waits up to this much longer.
    pub(super) wait_ns: u64,
    pub(super) joined_wait_ns: u64,
}

const LENGTH_MAX: f64 = 1e6;
/// Cards of the decks: of a few thousand trains one may have a share of the requests that counts.
const LENGTHS: usize = 8192;
const GAPS: usize = 1024;
const HOURS: f64 = 24.0;
/// A train that comes too early begins within 10 ms, if there is as much time.
const WAIT_MAX_NS: u64 = 9_000_000;
/// A joined one within 20: half of those in the heads of FIU's mail traces come within 10 ms, of its web server 14.
const JOINED_WAIT_MAX_NS: u64 = 19_000_000;

impl TrainsPlan {
    pub(super) fn new(
        trains: &TrainsRecipe,
        recipe: &Recipe,
        keys: &Keys<'_>,
    ) -> Result<TrainsPlan, TraceError> {
        let lengths = deck(keys, "arrivals.trains.lengths", &trains.lengths, Some(LENGTH_MAX))?;
        let gaps_ns = deck(keys, "arrivals.trains.gaps_us", &trains.gaps_us, None)?;
        let several = lengths.share_from(2);
        let mixed_key = "arrivals.trains.mixed_percent";
        let mixed = keys.between(mixed_key, trains.mixed_percent, 0.0, several * 100.0)? / 100.0;
        let joined_key = "arrivals.trains.joined_percent";
        let asked = keys.share(joined_key, trains.joined_percent)?;
        // Some of the trains that continue a stream begin where a run ends.
        let mean = lengths.mean();
        let sequential = recipe.requests.sequential_percent / 100.0;
        let within = (sequential - asked / mean) / (1.0 - 1.0 / mean).max(1e-9);
        let joined = if asked > 0.0 { asked / within.min(1.0) } else { 0.0 };
        if within < asked || joined >= (1.0 - mixed).powi(2) {
            let cure = "give fewer, or more of requests.sequential_percent";
            return Err(keys.wrong(joined_key, format!("is {}", trains.joined_percent), cure));
        }
        let spare_ns = spare_ns(recipe, &lengths, &gaps_ns, keys)?;
        Ok(TrainsPlan {
            lengths,
            gaps_ns,
            joined,
            mixed,
            mixed_of_several: mixed / several.max(1e-9),
            wait_ns: spare_ns.clamp(1, WAIT_MAX_NS),
            joined_wait_ns: spare_ns.clamp(1, JOINED_WAIT_MAX_NS),
        })
    }

    pub(super) fn stretches_per_request(&self) -> f64 {
        (1.0 - self.joined + self.mixed) / self.lengths.mean()
    }
}

fn deck(keys: &Keys<'_>, key: &str, points: &[(f64, f64)], most: Option<f64>) -> Result<Deck, TraceError> {
    let (least, limit, unit) = match most {
        Some(most) => (1.0, most, 1.0),
        None => (0.0, APART_NS as f64 / 1e3, 1e3),
    };
    for &(value, _) in points {
        keys.between(key, value, least, limit)?;
    }
    Deck::new(points, most.is_some(), unit, if most.is_some() { LENGTHS } else { GAPS }).map_err(|wrong| {
        match wrong {
            Wrong::Incomplete => {
                keys.wrong(key, "does not end at 100 percent", "give the longest one with 100")
            }
            Wrong::NotRising => keys.wrong(
                key,
                "has points that do not rise",
                "let both numbers of each be above those before",
            ),
        }
    })
}

/// Silence behind a train of the busiest hour, beyond twice the least one: the time that trains may wait.
fn spare_ns(recipe: &Recipe, lengths: &Deck, gaps_ns: &Deck, keys: &Keys<'_>) -> Result<u64, TraceError> {
    let arrivals = &recipe.arrivals;
    let hour_ns = arrivals.day_s * 1e9 / HOURS;
    let requests =
        recipe.requests.count as f64 / (arrivals.days as f64 * HOURS) * (1.0 + arrivals.daily_swing);
    let every_ns = hour_ns / (requests / lengths.mean()).max(1.0);
    let lasts_ns = (lengths.mean() - 1.0) * gaps_ns.mean();
    let spare_ns = every_ns - lasts_ns - 2.0 * APART_NS as f64;
    if spare_ns < 0.0 {
        let what = format!(
            "last {:.2} ms, and in the busiest hour one begins every {:.2} ms",
            lasts_ns / 1e6,
            every_ns / 1e6
        );
        let cure = "silences are longer than 1 ms: give longer trains, or none";
        return Err(keys.wrong("arrivals.trains", what, cure));
    }
    Ok(spare_ns as u64)
}

/// Requests in a row of the same kind. Of a train that mixes, writes come first; the smaller part has `minor` requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) requests: u32,
    /// 0 where all are of one kind.
    pub(super) minor: u32,
}

/// The smaller part of a mixed train is at most one request in three.
const MINOR_ONE_IN: u32 = 3;

#[derive(Clone, Copy, Debug)]
pub(super) struct Train {
    pub(super) requests: u32,
    /// Whether the train goes on where the train before ended, which it then follows soon.
    pub(super) joined: bool,
}

#[derive(Debug)]
pub(super) struct Trains {
    plan: TrainsPlan,
    /// Trains of the hour, and the same requests by stream.
    trains: VecDeque<Train>,
    stretches: VecDeque<Stretch>,
    random: Random,
    times: Random,
}

impl Trains {
    pub(super) fn new(plan: &TrainsPlan, random: Random, times: Random) -> Trains {
        Trains { plan: plan.clone(), trains: VecDeque::new(), stretches: VecDeque::new(), random, times }
    }

    /// Makes trains for about `requests`, and never more than `most`. Returns the number of trains not joined to
    /// another, and the requests of all. If the last train is longer, the next hour has fewer requests.
    pub(super) fn fill(&mut self, requests: u64, most: u64) -> (u64, u64) {
        let (mut alone, mut given) = (0, 0);
        while given < requests {
            let length = u64::from(self.plan.lengths.deal(&mut self.random).max(1)).min(most - given) as u32;
            // The first one of an hour begins when the hour says.
            let joined = self.stretch(length, given > 0);
            self.trains.push_back(Train { requests: length, joined });
            alone += u64::from(!joined);
            given += u64::from(length);
        }
        (alone, given)
    }

    /// Chooses the stream of a train; returns whether it continues that of the one before.
    fn stretch(&mut self, length: u32, may_join: bool) -> bool {
        let TrainsPlan { joined, mixed, mixed_of_several, .. } = self.plan;
        // Neither a train that mixes nor the one behind it is joined: others make up for them.
        let joined = joined / (1.0 - mixed).powi(2);
        if length > 1 && self.random.chance(mixed_of_several) {
            let minor = 1 + self.random.below(u64::from((length / MINOR_ONE_IN).max(1))) as u32;
            self.stretches.push_back(Stretch { requests: length, minor });
            return false;
        }
        match self.stretches.back_mut() {
            Some(before) if may_join && before.minor == 0 && self.random.chance(joined) => {
                before.requests += length;
                true
            }
            _ => {
                self.stretches.push_back(Stretch { requests: length, minor: 0 });
                false
            }
        }
    }

    pub(super) fn next_train(&mut self) -> Option<Train> {
        self.trains.pop_front()
    }

    pub(super) fn is_joined(&self) -> bool {
        self.trains.front().is_some_and(|train| train.joined)
    }

    pub(super) fn next_stretch(&mut self) -> Option<Stretch> {
        self.stretches.pop_front()
    }

    #[inline]
    pub(super) fn gap_ns(&mut self) -> u64 {
        u64::from(self.plan.gaps_ns.deal(&mut self.times))
    }

    /// When a train begins that was to begin at `start_ns` (a joined one: soon), behind one that ended at `end_ns`.
    pub(super) fn begin_ns(&mut self, start_ns: Option<u64>, end_ns: u64) -> u64 {
        let within = match start_ns {
            Some(start_ns) if start_ns > end_ns + APART_NS => return start_ns,
            Some(_) => self.plan.wait_ns,
            None => self.plan.joined_wait_ns,
        };
        end_ns + APART_NS + 1 + self.times.below(within)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn some(joined: f64, mixed: f64) -> TrainsPlan {
        let lengths = Deck::new(&[(1.0, 30.0), (4.0, 60.0), (30.0, 100.0)], true, 1.0, 1024).unwrap();
        let several = lengths.share_from(2);
        TrainsPlan {
            lengths,
            gaps_ns: Deck::new(&[(39.0, 1.0), (50.0, 100.0)], false, 1e3, 1024).unwrap(),
            joined,
            mixed,
            mixed_of_several: mixed / several,
            wait_ns: WAIT_MAX_NS,
            joined_wait_ns: JOINED_WAIT_MAX_NS,
        }
    }

    #[test]
    fn stretches_hold_the_same_requests_as_trains_do() {
        let plan = some(0.3, 0.1);
        let mut trains = Trains::new(&plan, Random::new(1, 0), Random::new(1, 1));
        let (alone, given) = trains.fill(200_000, 1_000_000);
        assert!((200_000..200_030).contains(&given));
        let requests: u64 = trains.trains.iter().map(|train| u64::from(train.requests)).sum();
        let of_stretches = trains.stretches.iter().map(|stretch| u64::from(stretch.requests)).sum();
        assert_eq!((requests, of_stretches), (given, given));
        assert_eq!(trains.stretches.len() as u64, alone);
        let share = |count: usize| count as f64 / trains.trains.len() as f64;
        let mixed = trains.stretches.iter().filter(|stretch| stretch.minor > 0);
        assert!(mixed.clone().all(|stretch| stretch.minor <= (stretch.requests / MINOR_ONE_IN).max(1)));
        // Four standard deviations of 20,000 trains.
        assert!((share(mixed.count()) - 0.1).abs() < 0.009);
        assert!((share(trains.trains.iter().filter(|train| train.joined).count()) - 0.3).abs() < 0.013);
        let per_request = (trains.stretches.len() as f64 + 0.1 * trains.trains.len() as f64) / given as f64;
        assert!((per_request / plan.stretches_per_request() - 1.0).abs() < 0.03, "{per_request}");
    }

    #[test]
    fn the_last_train_is_cut_to_what_there_is() {
        let mut trains = Trains::new(&some(0.0, 0.0), Random::new(1, 0), Random::new(1, 1));
        assert_eq!(trains.fill(0, 100), (0, 0));
        let (_, given) = trains.fill(95, 100);
        assert!((95..=100).contains(&given));
        assert_eq!(trains.fill(100 - given, 100 - given).1, 100 - given);
    }
}
