//! The error of sampled figures, estimated from groups of items.

/// Fewest events whose scatter can be told from none.
const SEEN_MIN: u64 = 10;

/// Standard error of the ratio of two sums, given both sums for each group of items. Groups are chosen by hash, so the
/// scatter of a ratio over them shows how far it would move with other items (W. Cochran, Sampling Techniques, 3rd ed.,
/// 6.4). Missing with fewer than two groups that have any of the denominator, and when the numerator (or its
/// complement) was seen fewer than 10 times, because the scatter of so few has no meaning.
fn of_ratio(groups: &[(u64, u64)]) -> Option<f64> {
    let used = groups.iter().filter(|&&(_, whole)| whole > 0).count() as f64;
    if used < 2.0 {
        return None;
    }
    let part: u64 = groups.iter().map(|&(part, _)| part).sum();
    let whole: u64 = groups.iter().map(|&(_, whole)| whole).sum();
    if part.min(whole.abs_diff(part)) < SEEN_MIN {
        return None;
    }
    let ratio = part as f64 / whole as f64;
    let scatter: f64 = groups.iter().map(|&(part, whole)| (part as f64 - ratio * whole as f64).powi(2)).sum();
    let mean_whole = whole as f64 / used;
    Some((scatter / (used * (used - 1.0))).sqrt() / mean_whole)
}

/// [`of_ratio`] for a ratio in percent.
pub(crate) fn of_percent(groups: &[(u64, u64)]) -> Option<f64> {
    of_ratio(groups).map(|error| error * 100.0)
}

/// Standard error of a figure that is about the mean of the groups' estimates. Missing with fewer than two.
pub(crate) fn of_mean(groups: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let known: Vec<f64> = groups.into_iter().flatten().collect();
    let count = known.len() as f64;
    if count < 2.0 {
        return None;
    }
    let mean = known.iter().sum::<f64>() / count;
    let scatter: f64 = known.iter().map(|value| (value - mean).powi(2)).sum();
    Some((scatter / (count * (count - 1.0))).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_groups_have_no_error() {
        assert_eq!(of_ratio(&[(1, 4); 16]), Some(0.0));
        assert_eq!(of_ratio(&[(1, 4)]), None);
        assert_eq!(of_ratio(&[(0, 0), (10, 40)]), None);
        assert_eq!(of_ratio(&[(2, 1000), (7, 1000)]), None);
    }

    #[test]
    fn equal_groups_give_the_standard_error_of_the_mean() {
        // Ratios 0.1, 0.2, 0.3: mean 0.2, standard deviation 0.1, error 0.1 / sqrt(3).
        let error = of_ratio(&[(10, 100), (20, 100), (30, 100)]).unwrap();
        assert!((error - 0.1 / 3f64.sqrt()).abs() < 1e-12, "{error}");
    }
}
