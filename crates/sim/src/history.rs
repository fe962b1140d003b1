//! The history of a drive before the trace: steps that write the pages of the trace's footprint.
//!
//! The state before decides: the same skewed writes amplify by 2.6 after an erase and by 3.4 after the drive was filled
//! in order (Haas et al., SSD-iq, PVLDB 18(11), 2025).

use std::fmt;
use std::str::FromStr;

use flashtwin_ftl::Rng;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    InOrder,
    Shuffled,
    /// Pages drawn evenly; `times` writes for each page on average.
    Uniform {
        times: f64,
    },
    /// Pages drawn by popularity rank^-exponent; the ranks lie anywhere among the addresses.
    Zipf {
        exponent: f64,
        times: f64,
    },
    /// A share of the pages takes a share of the writes; the hot ones lie anywhere among the addresses.
    HotCold {
        pages: f64,
        writes: f64,
        times: f64,
    },
}

/// Without steps: random overwrites until collection has settled.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History(Vec<Step>);

const EXPECTED: &str = "words of in-order, shuffled, uniform(TIMES), zipf(EXPONENT,TIMES) and hot-cold(PAGES,WRITES,TIMES), \
                        such as 'in-order zipf(0.8,4)'";
/// Limit of the times that a step writes all pages, and of the exponent.
const MOST: f64 = 1000.0;

impl History {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Page numbers in order. A history that does not begin with all pages fills the drive in order first.
    pub(crate) fn writes(&self, pages: u32, seed: u64) -> impl Iterator<Item = u32> + use<> {
        let mut rng = Rng::stream(seed, "history");
        let fills = matches!(self.0.first(), Some(Step::InOrder | Step::Shuffled));
        let first = (!fills).then_some(Step::InOrder);
        let steps: Vec<Step> = first.into_iter().chain(self.0.iter().copied()).collect();
        steps.into_iter().flat_map(move |step| {
            let draw = step.prepared(pages, &mut rng);
            (0..step.count(pages)).map(draw)
        })
    }
}

impl Step {
    fn count(self, pages: u32) -> u64 {
        match self {
            Step::InOrder | Step::Shuffled => u64::from(pages),
            Step::Uniform { times } | Step::Zipf { times, .. } | Step::HotCold { times, .. } => {
                (times * f64::from(pages)).round() as u64
            }
        }
    }

    fn prepared(self, pages: u32, rng: &mut Rng) -> Box<dyn FnMut(u64) -> u32> {
        let mut rng = Rng::stream(rng.next_u64(), "step");
        let order = match self {
            Step::InOrder | Step::Uniform { .. } => Vec::new(),
            _ => shuffled(pages, &mut rng),
        };
        match self {
            Step::InOrder => Box::new(|at| at as u32),
            Step::Shuffled => Box::new(move |at| order[at as usize]),
            Step::Uniform { .. } => Box::new(move |_| rng.below(pages)),
            Step::Zipf { exponent, .. } => {
                let below = cumulative(pages, exponent);
                let total = below.last().copied().unwrap_or(1.0);
                Box::new(move |_| {
                    let drawn = unit(&mut rng) * total;
                    order[below.partition_point(|&sum| sum <= drawn).min(order.len() - 1)]
                })
            }
            Step::HotCold { pages: share, writes, .. } => {
                let hot = ((share * f64::from(pages)).round() as u32).clamp(1, pages);
                Box::new(move |_| {
                    let is_hot = hot == pages || unit(&mut rng) < writes;
                    let rank = if is_hot { rng.below(hot) } else { hot + rng.below(pages - hot) };
                    order[rank as usize]
                })
            }
        }
    }
}

fn shuffled(pages: u32, rng: &mut Rng) -> Vec<u32> {
    let mut order: Vec<u32> = (0..pages).collect();
    for last in (1..pages).rev() {
        order.swap(last as usize, rng.below(last + 1) as usize);
    }
    order
}

fn cumulative(pages: u32, exponent: f64) -> Vec<f64> {
    (1..=pages)
        .scan(0.0, |sum, rank| {
            *sum += f64::from(rank).powf(-exponent);
            Some(*sum)
        })
        .collect()
}

fn unit(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::InOrder => out.write_str("in-order"),
            Step::Shuffled => out.write_str("shuffled"),
            Step::Uniform { times } => write!(out, "uniform({times})"),
            Step::Zipf { exponent, times } => write!(out, "zipf({exponent},{times})"),
            Step::HotCold { pages, writes, times } => write!(out, "hot-cold({pages},{writes},{times})"),
        }
    }
}

impl fmt::Display for History {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(Step::to_string).collect();
        out.write_str(&words.join(" "))
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(word: &str) -> Result<Step, String> {
        let (name, inside) = match word.split_once('(') {
            None => (word, ""),
            Some((name, rest)) => (name, rest.strip_suffix(')').ok_or("a parenthesis is not closed")?),
        };
        let numbers: Vec<f64> = inside
            .split(',')
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().ok().filter(|number| (0.0..=MOST).contains(number)))
            .collect::<Option<_>>()
            .ok_or_else(|| format!("'{inside}' are not numbers from 0 to {MOST}"))?;
        match (name, &numbers[..]) {
            ("in-order", []) => Ok(Step::InOrder),
            ("shuffled", []) => Ok(Step::Shuffled),
            ("uniform", &[times]) => Ok(Step::Uniform { times }),
            ("zipf", &[exponent, times]) if exponent <= 10.0 => Ok(Step::Zipf { exponent, times }),
            ("hot-cold", &[pages, writes, times]) if pages <= 1.0 && writes <= 1.0 => {
                Ok(Step::HotCold { pages, writes, times })
            }
            _ => Err(format!("there is no step '{word}'")),
        }
    }
}

impl FromStr for History {
    type Err = String;

    fn from_str(text: &str) -> Result<History, String> {
        text.split_ascii_whitespace()
            .map(str::parse)
            .collect::<Result<_, String>>()
            .map(History)
            .map_err(|why| format!("'{text}' is not a history: {why}; expected {EXPECTED}"))
    }
}

impl Serialize for History {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for History {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<History, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, pages: u32) -> Vec<u32> {
        text.parse::<History>().unwrap().writes(pages, 1).collect()
    }

    fn times(pages: &[u32], of: u32) -> Vec<usize> {
        let mut found = vec![0; of as usize];
        pages.iter().for_each(|&page| found[page as usize] += 1);
        found
    }

    #[test]
    fn a_history_is_read_as_it_is_written() {
        for text in ["", "in-order", "shuffled uniform(2)", "in-order zipf(0.8,4) hot-cold(0.05,0.95,10)"] {
            assert_eq!(text.parse::<History>().unwrap().to_string(), text);
        }
        for (text, why) in [
            ("spiral", "there is no step 'spiral'"),
            ("uniform", "there is no step 'uniform'"),
            ("uniform(-1)", "not numbers from 0"),
            ("hot-cold(2,0.5,1)", "there is no step"),
            ("zipf(0.8", "not closed"),
        ] {
            let error = text.parse::<History>().unwrap_err();
            assert!(error.contains(why) && error.contains("in-order zipf(0.8,4)"), "{error}");
        }
    }

    #[test]
    fn every_page_is_written_before_any_is_written_again() {
        for text in ["in-order", "shuffled", "uniform(3)", "zipf(1,2)", "shuffled hot-cold(0.1,0.9,2)"] {
            let found = written(text, 1000);
            assert_eq!(times(&found[..1000], 1000), vec![1; 1000], "{text}");
        }
        assert_eq!(written("in-order uniform(2.5)", 1000).len(), 3500);
        assert_eq!(written("in-order", 5), [0, 1, 2, 3, 4]);
        assert_ne!(written("shuffled", 1000), written("in-order", 1000));
    }

    #[test]
    fn pages_are_written_as_often_as_the_pattern_says() {
        let pages = 1000;
        let counts = |text: &str| {
            let mut found = times(&written(text, pages)[pages as usize..], pages);
            found.sort_unstable_by(|a, b| b.cmp(a));
            found
        };
        let share = |counts: &[usize], first: usize| {
            counts[..first].iter().sum::<usize>() as f64 / counts.iter().sum::<usize>() as f64
        };
        let hot = counts("in-order hot-cold(0.05,0.9,500)");
        assert!((share(&hot, 50) - 0.9).abs() < 0.005, "{}", share(&hot, 50));
        let zipf = counts("in-order zipf(0.8,500)");
        let weight = |ranks: u32| (1..=ranks).map(|rank| f64::from(rank).powf(-0.8)).sum::<f64>();
        for ranks in [1, 10, 100] {
            let expected = weight(ranks) / weight(pages);
            assert!((share(&zipf, ranks as usize) / expected - 1.0).abs() < 0.02, "{ranks}");
        }
        assert!((share(&counts("in-order uniform(500)"), 100) - 0.1).abs() < 0.01);
    }

    #[test]
    fn equal_seeds_write_equally() {
        assert_eq!(written("shuffled zipf(0.9,2)", 300), written("shuffled zipf(0.9,2)", 300));
    }
}
