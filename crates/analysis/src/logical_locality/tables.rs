//! Logical locality as tables.

use arrow_array::RecordBatch;

use super::LocalityOfKind;
use super::options::LogicalLocalityOptions;
use crate::rows::batch_of;

/// Distances at which the gain of waiting is given; those of SWC Fig. 15 and some more.
const GAIN_DISTANCES: [u32; 6] = [0, 1, 16, 64, 256, 1024];
/// Times at which the gain of distance is given; those of SWC Fig. 16 and some more.
const GAIN_TIMES: [u32; 5] = [1, 25, 250, 1000, 5000];

/// All values up to 16, then four an octave: for example 16, 20, 24, 28 and 32.
fn grid(first: u32, last: u32) -> Vec<u32> {
    let octaves = (2..30).flat_map(|octave| (4..8).map(move |quarter| quarter << octave));
    let all = (first..16).chain(octaves);
    let mut grid: Vec<u32> = all.take_while(|&value| value < last).collect();
    grid.push(last);
    grid
}

/// Distances that the tables need, those of the discount of read amplification (powers of two) among them; ascending.
pub(super) fn distances(options: LogicalLocalityOptions) -> Vec<u32> {
    let last = options.distance_pages_max;
    let powers = (0..u32::BITS).map(|power| 1 << power);
    let further = GAIN_DISTANCES.into_iter().chain(powers).filter(|&distance| distance <= last);
    let mut distances: Vec<u32> = grid(0, last).into_iter().chain(further).collect();
    distances.sort_unstable();
    distances.dedup();
    distances
}

crate::rows! {
    /// P(D, T) on a grid that is denser where small. No rows for a kind without requests.
    pub(crate) struct LocalityRow in "logical_locality" {
        /// `read`, `write`.
        kind: &'static str,
        /// D, the distance.
        distance_pages: u32,
        /// T, the time.
        time_requests: u32,
        /// P(D, T), 0 to 1.
        probability: f64,
    }
}

pub(super) fn locality(
    options: LogicalLocalityOptions,
    kinds: &[(&'static str, &LocalityOfKind); 2],
) -> RecordBatch {
    let mut rows = Vec::new();
    for &(kind, locality) in kinds {
        for &distance_pages in &grid(0, options.distance_pages_max) {
            for &time_requests in &grid(1, options.time_requests_max) {
                let Some(probability) = locality.probability(distance_pages, time_requests) else { continue };
                rows.push(LocalityRow { kind, distance_pages, time_requests, probability });
            }
        }
    }
    batch_of(&rows)
}

crate::rows! {
    /// The gain of a longer or wider window (SWC Fig. 15 and 16).
    pub(crate) struct GainRow in "locality_gain" {
        /// `read`, `write`.
        kind: &'static str,
        /// `time`: the gain of a longer wait; `distance`: the gain of a wider range of addresses.
        along: &'static str,
        /// Along `time` a distance D, along `distance` a time T.
        at: u32,
        /// Along `time` P(D, T max) - P(D, 1), along `distance` P(D max, T) - P(0, T).
        gain: Option<f64>,
    }
}

pub(super) fn gain(
    options: LogicalLocalityOptions,
    kinds: &[(&'static str, &LocalityOfKind); 2],
) -> RecordBatch {
    let (distance_max, time_max) = (options.distance_pages_max, options.time_requests_max);
    let mut rows = Vec::new();
    let mut add = |kind, along, at, most: Option<f64>, least: Option<f64>| {
        // Points outside the window, and kinds without requests, are undefined.
        rows.extend(most.map(|most| GainRow { kind, along, at, gain: least.map(|least| most - least) }));
    };
    for &(kind, locality) in kinds {
        for at in GAIN_DISTANCES {
            add(kind, "time", at, locality.probability(at, time_max), locality.probability(at, 1));
        }
        for at in GAIN_TIMES {
            add(kind, "distance", at, locality.probability(distance_max, at), locality.probability(0, at));
        }
    }
    batch_of(&rows)
}
