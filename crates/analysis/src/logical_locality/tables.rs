//! Logical locality as tables.

use std::sync::Arc;

use arrow_array::{Float64Array, RecordBatch, StringArray, UInt32Array};

use super::{LocalityOfKind, LogicalLocalityOptions};
use crate::table::table;

/// Distances at which the gain of waiting is given; those of SWC Fig. 15 and some more.
const GAIN_DISTANCES: [u32; 6] = [0, 1, 16, 64, 256, 1024];
/// Times at which the gain of distance is given; those of SWC Fig. 16 and some more.
const GAIN_TIMES: [u32; 5] = [1, 25, 250, 1000, 5000];

/// All values up to 16, then four an octave: 1, 5/4, 6/4 and 7/4 of a power of two.
fn grid(first: u32, last: u32) -> Vec<u32> {
    let octaves = (2..30).flat_map(|octave| (4..8).map(move |quarter| quarter << octave));
    let all = (first..16).chain(octaves);
    let mut grid: Vec<u32> = all.take_while(|&value| value < last).collect();
    grid.push(last);
    grid
}

pub(super) fn locality(options: LogicalLocalityOptions, kinds: &[(&str, &LocalityOfKind); 2]) -> RecordBatch {
    let (mut names, mut distances, mut times) = (Vec::new(), Vec::new(), Vec::new());
    let mut probabilities = Vec::new();
    for &(name, kind) in kinds {
        for &distance in &grid(0, options.distance_pages_max) {
            for &time in &grid(1, options.time_requests_max) {
                let Some(probability) = kind.probability(distance, time) else { continue };
                names.push(name);
                distances.push(distance);
                times.push(time);
                probabilities.push(probability);
            }
        }
    }
    table(vec![
        ("kind", Arc::new(StringArray::from(names))),
        ("distance_pages", Arc::new(UInt32Array::from(distances))),
        ("time_requests", Arc::new(UInt32Array::from(times))),
        ("probability", Arc::new(Float64Array::from(probabilities))),
    ])
}

pub(super) fn gain(options: LogicalLocalityOptions, kinds: &[(&str, &LocalityOfKind); 2]) -> RecordBatch {
    let (distance_max, time_max) = (options.distance_pages_max, options.time_requests_max);
    let mut rows = Vec::new();
    for &(name, kind) in kinds {
        for at in GAIN_DISTANCES {
            rows.push((name, "time", at, kind.probability(at, time_max), kind.probability(at, 1)));
        }
        for at in GAIN_TIMES {
            rows.push((name, "distance", at, kind.probability(distance_max, at), kind.probability(0, at)));
        }
    }
    // Those outside the window, and of kinds without requests, are undefined.
    rows.retain(|row| row.3.is_some());
    let gains: Float64Array = rows.iter().map(|row| Some(row.3? - row.4?)).collect();
    table(vec![
        ("kind", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0)))),
        ("along", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1)))),
        ("at", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.2)))),
        ("gain", Arc::new(gains)),
    ])
}
