//! Drawing values by popularity.

use crate::random::Random;

/// Draws `i` from `0..values` with probability proportional to `(i + 1)^-exponent`.
///
/// The alias method (A. J. Walker, ACM TOMS 3(3), 1977): a value is chosen with equal probability, and kept with a
/// probability of its own or exchanged for a certain other one. Weights are whole numbers, so shares add up exactly:
/// probabilities are those of the formula to the 53 bits of its powers and to 2^-64, on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The value is kept when a random number is below this, of 2^64.
    keep: u64,
    other: u32,
}

impl Zipf {
    pub(crate) fn new(exponent_thousandths: u32, values: u32) -> Zipf {
        // The sum stays below 2^127: the least of 10^8 values with an exponent of 2 weighs 2^46, so no share is rounded
        // much.
        let weight_max = (1u128 << (95 + values.leading_zeros())) as f64;
        let weight = |value: u32| {
            // The library's own power is the same everywhere, the system's is not.
            let power = libm::pow(f64::from(value) + 1.0, -f64::from(exponent_thousandths) / 1000.0);
            (power * weight_max) as u128
        };
        let sum: u128 = (0..values).map(weight).sum();
        // In units of 1 / (values * sum), all values together have `sum` for each of them.
        let mut share: Vec<u128> = (0..values).map(|value| weight(value) * u128::from(values)).collect();
        let mut cells: Vec<Cell> = (0..values).map(|value| Cell { keep: u64::MAX, other: value }).collect();
        let (mut poor, mut rich): (Vec<u32>, Vec<u32>) =
            (0..values).partition(|&value| share[value as usize] < sum);
        while let (Some(from), Some(&to)) = (poor.pop(), rich.last()) {
            let has = share[from as usize];
            cells[from as usize] = Cell { keep: part_of_2_64(has, sum), other: to };
            // The rich value fills the gap of the poor one.
            share[to as usize] -= sum - has;
            if share[to as usize] < sum {
                rich.pop();
                poor.push(to);
            }
        }
        Zipf { cells }
    }

    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> u32 {
        let value = random.below(self.cells.len() as u64) as usize;
        let cell = self.cells[value];
        if random.next() < cell.keep { value as u32 } else { cell.other }
    }
}

/// `part / whole` of 2^64; below 2^64 for `part` below `whole`.
fn part_of_2_64(part: u128, whole: u128) -> u64 {
    // Casting stops at the highest number.
    (part as f64 / whole as f64 * 18_446_744_073_709_551_616.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probabilities(zipf: &Zipf) -> Vec<f64> {
        let values = zipf.cells.len();
        let mut probability = vec![0.0; values];
        for (value, cell) in zipf.cells.iter().enumerate() {
            let keep = cell.keep as f64 / 2f64.powi(64);
            probability[value] += keep / values as f64;
            probability[cell.other as usize] += (1.0 - keep) / values as f64;
        }
        probability
    }

    fn formula(exponent: f64, values: usize) -> Vec<f64> {
        let weights: Vec<f64> = (1..=values).map(|i| (i as f64).powf(-exponent)).collect();
        // From the smallest, for the sum's sake.
        let sum: f64 = weights.iter().rev().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    #[test]
    fn the_table_is_the_formula() {
        for thousandths in [0, 1, 400, 800, 1000, 1005, 2000, 5000] {
            for values in [1usize, 2, 3, 7, 100, 5000] {
                let zipf = Zipf::new(thousandths, values as u32);
                let expected = formula(f64::from(thousandths) / 1000.0, values);
                for (value, (got, expected)) in probabilities(&zipf).iter().zip(&expected).enumerate() {
                    let error = (got - expected).abs();
                    let limit = expected * 1e-12 + 2f64.powi(-64);
                    assert!(error < limit, "a {thousandths}, N {values}, value {value}: {got} {expected}");
                }
            }
        }
    }

    #[test]
    fn draws_are_the_same_on_every_machine() {
        let zipf = Zipf::new(800, 1_000_000);
        let mut random = Random::new(1, 1);
        let draws: Vec<u32> = (0..6).map(|_| zipf.draw(&mut random)).collect();
        assert_eq!(draws, [14422, 303459, 141445, 215, 222507, 25415]);
    }
}
