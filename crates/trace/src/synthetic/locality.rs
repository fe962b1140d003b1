//! From LRU positions to distances in time: how close repeats must be.

use super::pool::Closeness;
use super::popularity::Multiplicities;

/// Closeness with which `share` of repeats are found among the `depth` things used last.
///
/// Between two occurrences of a thing that are `g` occurrences apart lie as many other things as a
/// window of `g` touches. How many that is on average is the integral, over windows up to `g`, of the
/// share of occurrences that are first ones or whose thing was last used longer ago (Denning and Schwartz,
/// CACM 15(3), 1972; Xiang et al., ASPLOS '13). Close repeats have distances up to `within`, all
/// equally likely; other repeats lie as a random order lets them, so their distances are known too.
/// Both unknowns follow: `within` from the depth, the share of close repeats from what the others bring.
///
/// Of several pools that are mixed, `density` is the share of occurrences that belong to this one.
pub(super) fn closeness(pool: &Multiplicities, share: f64, depth: f64) -> Closeness {
    let occurrences = pool.occurrences();
    let repeats = occurrences - pool.things();
    if repeats == 0 || share <= 0.0 || depth < 1.0 {
        return Closeness::default();
    }
    let first = pool.things() as f64 / occurrences as f64;
    // The window that touches `depth` things: at least as many occurrences as things.
    let (mut low, mut high) = (depth.min(occurrences as f64), occurrences as f64);
    for _ in 0..60 {
        let window = (low + high) / 2.0;
        let close = close_share(pool, share, window);
        if touched(pool, first, close, window) < depth { low = window } else { high = window }
    }
    let share = close_share(pool, share, low);
    Closeness { share, within: (low as u64).max(1) }
}

/// Share of close repeats with which `share` of all repeats lie within `window`.
fn close_share(pool: &Multiplicities, share: f64, window: f64) -> f64 {
    // What the other repeats bring depends a little on how many there are: a few rounds settle it.
    let mut close = share;
    for _ in 0..8 {
        let others = 1.0 - longer(pool, close, window);
        close = ((share - others) / (1.0 - others).max(1e-9)).clamp(0.0, 1.0);
    }
    close
}

/// Share of the repeats that are not close whose distance is above `gap`, in a random order.
fn longer(pool: &Multiplicities, close: f64, gap: f64) -> f64 {
    let part = (gap / pool.occurrences() as f64).min(1.0);
    let (mut sum, mut weight) = (0.0, 0.0);
    for class in &pool.classes {
        let repeats = class.things as f64 * f64::from(class.times - 1);
        let points = 1.0 + (1.0 - close) * f64::from(class.times - 1);
        sum += repeats * libm::pow(1.0 - part, points);
        weight += repeats;
    }
    sum / weight
}

/// Things that a window of `gap` occurrences touches.
fn touched(pool: &Multiplicities, first: f64, close: f64, gap: f64) -> f64 {
    const STEPS: u32 = 32;
    let miss = |at: f64| {
        let not_close = longer(pool, close, at * gap);
        first + (1.0 - first) * (close * (1.0 - at) + (1.0 - close) * not_close)
    };
    // The trapezoid rule: the integrand is smooth and falls.
    let inner: f64 = (1..STEPS).map(|step| miss(f64::from(step) / f64::from(STEPS))).sum();
    gap * (inner + (miss(0.0) + miss(1.0)) / 2.0) / f64::from(STEPS)
}
