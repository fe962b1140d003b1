//! Counts times a number of the configuration, exact. A user who writes 0.15 means fifteen hundredths, and the
//! nearest binary fraction is a little less: 15 % of 100 pages would be 14.

/// `count` x `factor`, rounded down, `factor` being taken for the shortest decimal number that it is written
/// as. No more than `u64::MAX`. `factor` must be finite and not negative.
pub(crate) fn times(count: u64, factor: f64) -> u64 {
    // Never in scientific notation.
    let text = factor.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    // At most 17 digits are not zeros before the first or after the last: only a number of no use overflows.
    let Ok(digits) = format!("{whole}{fraction}").parse::<u128>() else { return u64::MAX };
    let product = digits.saturating_mul(u128::from(count));
    match 10u128.checked_pow(fraction.len() as u32) {
        Some(scale) => u64::try_from(product / scale).unwrap_or(u64::MAX),
        // More decimals than any product has digits.
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn decimal_numbers_are_what_they_are_written_as() {
        assert_eq!((times(100, 0.15), times(100, 0.29), times(1_000, 0.001)), (15, 29, 1));
        assert_eq!((times(100, 1.1), times(3, 0.1), times(10, 0.1), times(29, 1.0 / 3.0)), (110, 0, 1, 9));
        for hundredths in 0..=1_000u64 {
            let factor: f64 = format!("{}.{:02}", hundredths / 100, hundredths % 100).parse().unwrap();
            for count in [0, 1, 7, 100, 12_345, 4_000_000_000] {
                assert_eq!(times(count, factor), count * hundredths / 100, "{count} x {factor}");
            }
        }
    }

    #[test]
    fn what_is_too_large_or_too_small_is_the_most_or_nothing() {
        assert_eq!((times(1, f64::MAX), times(u64::MAX, 2.0)), (u64::MAX, u64::MAX));
        assert_eq!((times(0, 1e20), times(u64::MAX, f64::MIN_POSITIVE)), (0, 0));
        assert_eq!(
            (times(u64::MAX, 1.0), times(u64::MAX, 0.999_999_999_999_999_9)),
            (u64::MAX, 18_446_744_073_709_549_770)
        );
    }
}
