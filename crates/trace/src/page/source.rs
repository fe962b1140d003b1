//! Where contents come from, by name.

use std::fmt;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{ErrorCause, TraceError};

/// Where the contents of pages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContentSource {
    /// The trace's own.
    Recorded,
    /// Every page write brings a new content. Every page read before it is written holds one of its own.
    Unique,
    /// Every page write brings value `i` of `1..=values` with probability `C * i^-exponent` (CA-SSD paper, section
    /// 5.3). Pages that existed before the trace get a value in the same way, in order of addresses.
    Zipf {
        /// The exponent in thousandths: 0 for equally popular values, 1000 for the classical law.
        exponent_thousandths: u32,
        /// How many values there are.
        values: u32,
        /// Seed of the draws; `None`: 1, or the run's seed if there is one.
        seed: Option<u64>,
    },
    /// The content of a page is its address: it always holds the same, and no two pages do.
    SameAsAddress,
    /// No contents at all, for systems that do not look at them.
    None,
}

/// The most values that can be drawn from: their table takes 16 bytes each.
const VALUES_MAX: u32 = 100_000_000;
/// The highest exponent, in thousandths; by then one value in a thousand draws is not the first.
const EXPONENT_MAX: u32 = 10_000;
const EXPECTED: &str =
    "recorded, unique, same-as-address or zipf(EXPONENT,VALUES[,SEED]), such as zipf(0.8,100000)";

impl ContentSource {
    /// The kind of source, for example `zipf`. `Display` gives the full text, which can be parsed again.
    pub fn name(self) -> &'static str {
        match self {
            ContentSource::Recorded => "recorded",
            ContentSource::Unique => "unique",
            ContentSource::Zipf { .. } => "zipf",
            ContentSource::SameAsAddress => "same-as-address",
            ContentSource::None => "none",
        }
    }

    /// The same source with this seed, if it draws and has none of its own.
    #[must_use]
    pub fn with_seed(self, run: u64) -> ContentSource {
        match self {
            ContentSource::Zipf { exponent_thousandths, values, seed: None } => {
                ContentSource::Zipf { exponent_thousandths, values, seed: Some(run) }
            }
            other => other,
        }
    }

    pub(crate) fn check(self) -> Result<(), TraceError> {
        match self {
            ContentSource::Zipf { values, .. } if !(1..=VALUES_MAX).contains(&values) => {
                Err(wrong(&self.to_string(), &not_values(&values.to_string())))
            }
            ContentSource::Zipf { exponent_thousandths, .. } if exponent_thousandths > EXPONENT_MAX => {
                Err(wrong(&self.to_string(), &not_an_exponent(&thousandths(exponent_thousandths))))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for ContentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ContentSource::Zipf { exponent_thousandths, values, seed } => {
                write!(f, "zipf({},{values}", thousandths(exponent_thousandths))?;
                match seed {
                    Some(seed) => write!(f, ",{seed})"),
                    None => f.write_str(")"),
                }
            }
            other => f.write_str(other.name()),
        }
    }
}

fn thousandths(number: u32) -> String {
    let text = format!("{}.{:03}", number / 1000, number % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn wrong(word: &str, why: &str) -> TraceError {
    let colon = if why.is_empty() { "" } else { ": " };
    TraceError::new(
        ErrorCause::Argument,
        "content",
        format!("'{word}' is not a source of contents{colon}{why}"),
        format!("use {EXPECTED}"),
    )
}

fn not_an_exponent(text: &str) -> String {
    format!("the exponent '{text}' is not a number from 0 to 10 with up to three decimals")
}

fn not_values(text: &str) -> String {
    format!("the number of values '{text}' is not a whole number from 1 to {VALUES_MAX}")
}

impl FromStr for ContentSource {
    type Err = TraceError;

    fn from_str(word: &str) -> Result<ContentSource, TraceError> {
        parse(word).map_err(|why| wrong(word, &why))
    }
}

fn parse(word: &str) -> Result<ContentSource, String> {
    let plain =
        [ContentSource::Recorded, ContentSource::Unique, ContentSource::SameAsAddress, ContentSource::None];
    match word.strip_prefix("zipf").map(str::trim_ascii) {
        Some(numbers) => zipf(numbers),
        None => plain.into_iter().find(|source| source.name() == word).ok_or_else(String::new),
    }
}

fn zipf(text: &str) -> Result<ContentSource, String> {
    let inside = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let inside = inside.ok_or("parentheses were expected behind zipf")?;
    let parts: Vec<&str> = inside.split(',').map(str::trim_ascii).collect();
    let (exponent, values, seed) = match parts[..] {
        [exponent, values] => (exponent, values, None),
        [exponent, values, seed] => (exponent, values, Some(seed)),
        _ => return Err(format!("{} numbers are given, two or three were expected", parts.len())),
    };
    Ok(ContentSource::Zipf {
        exponent_thousandths: parse_thousandths(exponent).ok_or_else(|| not_an_exponent(exponent))?,
        values: values
            .parse()
            .ok()
            .filter(|values| (1..=VALUES_MAX).contains(values))
            .ok_or_else(|| not_values(values))?,
        seed: match seed {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| format!("the seed '{text}' is not a whole number"))?),
        },
    })
}

fn parse_thousandths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 3 {
        return None;
    }
    let number = format!("{whole}{part:0<3}").parse().ok()?;
    (number <= EXPONENT_MAX).then_some(number)
}

impl Serialize for ContentSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ContentSource, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = ContentSource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<ContentSource, E> {
                parse(word).map_err(|why| {
                    let why = if why.is_empty() { why } else { format!(" ({why})") };
                    E::custom(format!("'{word}' is no source of contents, expected {EXPECTED}{why}"))
                })
            }
        }

        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written() {
        for text in [
            "recorded",
            "unique",
            "same-as-address",
            "none",
            "zipf(0.8,100000)",
            "zipf(0,1)",
            "zipf(1.005,7,42)",
        ] {
            let source: ContentSource = text.parse().unwrap();
            assert_eq!(source.to_string(), text);
            assert_eq!(serde_json::to_string(&source).unwrap(), format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<ContentSource>(&format!("\"{text}\"")).unwrap(), source);
        }
        let loose: ContentSource = "zipf( 0.80 , 100000 )".parse().unwrap();
        assert_eq!(loose.to_string(), "zipf(0.8,100000)");
        assert_eq!(loose.with_seed(9).to_string(), "zipf(0.8,100000,9)");
        assert_eq!(loose.with_seed(9).with_seed(3), loose.with_seed(9));
    }

    #[test]
    fn wrong_texts_are_explained() {
        for (text, why) in [
            ("ziph(1,2)", "'ziph(1,2)' is not a source of contents; use recorded"),
            ("zipf", "parentheses"),
            ("zipf(1)", "1 numbers are given"),
            ("zipf(1,2,3,4)", "4 numbers are given"),
            ("zipf(-1,5)", "the exponent '-1' is not a number from 0 to 10"),
            ("zipf(0.8001,5)", "the exponent '0.8001'"),
            ("zipf(11,5)", "the exponent '11'"),
            ("zipf(99999999999,5)", "the exponent '99999999999'"),
            ("zipf(1,0)", "the number of values '0'"),
            ("zipf(1,1e6)", "the number of values '1e6'"),
            ("zipf(1,5,x)", "the seed 'x'"),
        ] {
            let error = text.parse::<ContentSource>().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("zipf(0.8,100000)"), "{error}");
        }
        let made_up = ContentSource::Zipf { exponent_thousandths: 1000, values: 0, seed: None };
        assert!(made_up.check().unwrap_err().to_string().contains("the number of values '0'"));
    }
}
