//! The recipe of a workload. Doc comments are the reference manual's text (docs/workloads.md).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{ErrorCause, TraceError};

/// A workload described by its statistics. `flashtwin trace synthesize` makes a trace from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Name of the workload; the trace is called so.
    pub name: String,
    /// The workload, the source of its numbers, and the assumptions.
    pub description: String,
    /// How many requests of which kind and size.
    pub requests: RequestsRecipe,
    /// When they arrive.
    #[serde(default)]
    pub arrivals: ArrivalsRecipe,
    /// Which addresses they go to.
    pub addresses: AddressesRecipe,
    /// Contents of the pages written.
    pub writes: WritesRecipe,
    /// Contents of the pages read.
    #[serde(default)]
    pub reads: ReadsRecipe,
    /// Targets of the trace, as flashtwin's characterization measures it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
}

/// How many requests of which kind and size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestsRecipe {
    /// Requests at scale 1.
    pub count: u64,
    /// Share of requests that are writes, in percent; the others are reads.
    pub write_percent: f64,
    /// Share of requests that begin where the one before ended, in percent.
    pub sequential_percent: f64,
    /// Share of the reads that do, in percent, where it is another; with trains, before their ends cut reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_sequential_percent: Option<f64>,
    /// Writes from one flush to the next, which arrives with the last of them; no flushes without it. They are not among
    /// the `count`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_per_flush: Option<u64>,
    /// Sizes of requests: pairs of pages of 4 KiB and percent.
    #[serde(default = "one_page")]
    pub pages: Vec<(u32, f64)>,
    /// Sizes of read requests, where they are others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_pages: Option<Vec<(u32, f64)>>,
}

fn one_page() -> Vec<(u32, f64)> {
    vec![(1, 100.0)]
}

/// When requests arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArrivalsRecipe {
    /// Days that the trace lasts, over which everything holds that the recipe says.
    pub days: u64,
    /// Days that are made, where they are others. Fewer are the first of the `days`. After the last of these the trace goes
    /// on with as many more like them: on the same pages, with new values, and with the same reads that recur.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_days: Option<u64>,
    /// Length of a day in seconds at scale 1. A smaller scale shortens the days, so that the rate stays
    /// what it is; the number of days stays too.
    pub day_s: f64,
    /// How far the rate rises above its mean at the busiest hour, as a share of the mean, and falls
    /// below it twelve hours later: 0 (steady) to 1.
    pub daily_swing: f64,
    /// The busiest hour of the day, 0 to 24.
    pub busiest_hour: f64,
    /// Burstiness at all scales of time below an hour, by the b-model (Wang et al., ICDE '02): the share of
    /// the requests of an interval that falls into one half of it. 0.5 (steady) to below 1. Where requests
    /// come in trains, it is the trains that are spread so.
    pub burst: f64,
    /// Requests that come close behind each other, and silence between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trains: Option<TrainsRecipe>,
}

/// Requests that come in trains: within a millisecond of each other, mostly of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainsRecipe {
    /// How long trains are: points [requests, percent], so many percent of the trains have at most so many
    /// requests; both rising, the last one at 100. Between two points lengths are spread evenly on a
    /// logarithmic scale.
    pub lengths: Vec<(f64, f64)>,
    /// Time from a request to the next of its train: points [microseconds, percent], as for lengths, up to 1,000.
    pub gaps_us: Vec<(f64, f64)>,
    /// Share of the trains that begin where the one before ended, with the same operation, in percent.
    #[serde(default)]
    pub joined_percent: f64,
    /// Share of the trains that have reads and writes, in percent; the writes come first. The others have
    /// one operation.
    #[serde(default)]
    pub mixed_percent: f64,
}

impl Default for ArrivalsRecipe {
    fn default() -> ArrivalsRecipe {
        ArrivalsRecipe {
            days: 1,
            trace_days: None,
            day_s: 86_400.0,
            daily_swing: 0.0,
            busiest_hour: 14.0,
            burst: 0.5,
            trains: None,
        }
    }
}

/// Which addresses requests go to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressesRecipe {
    /// Distinct pages of 4 KiB that are read or written, at scale 1.
    pub footprint_pages: u64,
    /// How unevenly overwrites are spread over the pages written before: page `x` of `n` is chosen with a
    /// density proportional to `(x / n)^-skew`. 0 (evenly) to below 1.
    #[serde(default)]
    pub overwrite_skew: f64,
    /// Share of the pages that are written once with the content of another page, in percent. The more there
    /// are, the less space a store needs that keeps every content once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared_percent: f64,
}

/// Contents of the pages written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WritesRecipe {
    /// Distinct values among the pages written, in percent of the pages written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_percent: Option<f64>,
    /// How popular the popular ones are: points [accesses, values], the smallest share of the values written
    /// that receives this share of the writes; both in percent, rising. With one point popularity follows
    /// Zipf's law, with several all values between two points are equally popular, as are all values without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub popularity: Vec<(f64, f64)>,
    /// In place of both: each page written holds value `i` of `values` with a probability proportional to
    /// `i^-exponent`, and so does each page at the beginning (CA-SSD paper 5.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zipf: Option<ZipfRecipe>,
    /// Page writes of the content that the page already holds, in percent of the pages written.
    #[serde(default)]
    pub same_content_percent: f64,
    /// Page writes of a value that was written before but lies on no page any more, in percent of the pages
    /// written: pages to overwrite are sought so that it is no more, as far as there are such. Without it
    /// overwrites do not consider the old content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reborn_percent: Option<f64>,
    /// Share of the values written that the trace read before it wrote them, in percent: contents that lay on the
    /// device when the trace began, and of which the first write is a duplicate already.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read_before_percent: f64,
    /// How soon values come again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locality: Option<LocalityRecipe>,
    /// Share of the values that are written on one day only, in percent: the drift of popularity. Each
    /// day has as many.
    #[serde(default)]
    pub of_the_day_percent: f64,
}

/// Values by Zipf's law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZipfRecipe {
    /// The law's exponent.
    pub exponent: f64,
    /// Number of values at scale 1.
    pub values: u64,
}

/// How soon values come again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalityRecipe {
    /// So many percent of the accesses that are not the first to their value ...
    pub percent: f64,
    /// ... find it among this many values accessed last (at scale 1).
    pub within_values: u64,
}

/// Contents of the pages read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadsRecipe {
    /// Distinct values among the pages read, in percent of the pages read.
    pub unique_percent: f64,
    /// Of which time that holds: of the whole trace, or of each day by itself. With `day`, `popularity` is
    /// that of a day, too.
    #[serde(skip_serializing_if = "Within::is_trace")]
    pub unique_within: Within,
    /// With `unique_within = "day"`: the share of each day's reads that repeats the day before, in percent. The
    /// same values are read from the same pages in the same order, day after day; the others are of one day.
    pub recurring_percent: f64,
    /// With `unique_within = "day"`: how many neighbouring pages are renewed together. Then the same extents are read every
    /// day, and what does not recur is overwritten by the trace, in place and before it is read, so many pages at a time.
    /// Without it whole extents are new, elsewhere; so are, with it, those for which the trace has no new value: at most three
    /// in four of the values that it writes on several days go there. `written_percent` says nothing beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewed_pages: Option<u32>,
    /// Share of the reads that go to pages which the trace writes and overwrites, in percent: to those written so far,
    /// the ones overwritten most the most, and the read returns their content. All other keys are about the rest of the reads.
    #[serde(skip_serializing_if = "is_zero")]
    pub live_percent: f64,
    /// Distinct pages among the pages read in the whole trace, in percent of the pages read: more than there are values
    /// where several pages hold the same one. Default: as many as values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_pages_percent: Option<f64>,
    /// How popular the popular ones are; see `writes.popularity`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub popularity: Vec<(f64, f64)>,
    /// Share of the values read that the trace has written before, in percent; the others lay on the
    /// device when it began. Each of these is read where it was written first, and stays there.
    pub written_percent: f64,
    /// How far reads and writes agree on the popular values: values that are written and read are drawn by
    /// their popularity among writes with this probability (percent), evenly otherwise.
    pub agreement_percent: f64,
    /// How soon values come again; see `writes.locality`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locality: Option<LocalityRecipe>,
    /// Share of the values that are read on one day only, in percent.
    pub of_the_day_percent: f64,
}

impl Default for ReadsRecipe {
    fn default() -> ReadsRecipe {
        ReadsRecipe {
            unique_percent: 100.0,
            unique_within: Within::Trace,
            recurring_percent: 0.0,
            renewed_pages: None,
            live_percent: 0.0,
            unique_pages_percent: None,
            popularity: Vec::new(),
            written_percent: 0.0,
            agreement_percent: 0.0,
            locality: None,
            of_the_day_percent: 0.0,
        }
    }
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// The time over which distinct values are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Within {
    /// The whole trace.
    #[default]
    Trace,
    /// Each day by itself.
    Day,
}

impl Within {
    fn is_trace(&self) -> bool {
        *self == Within::Trace
    }
}

/// A statistic that the trace must have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Which one; `flashtwin workloads --help` lists them.
    pub metric: String,
    /// The published value, at scale 1.
    pub value: f64,
    /// Whether the statistic must be met (`equal`), or must not be above (`at-most`) or below (`at-least`) the value.
    #[serde(default, skip_serializing_if = "Bound::is_equal")]
    pub bound: Bound,
    /// How far it may be off, in percent of the value: 5, or the uncertainty of the source, for example 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_percent: Option<f64>,
    /// Where it was published.
    pub source: String,
    /// Why it cannot be met: the other published number that it contradicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<String>,
}

/// How a target is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The value itself.
    #[default]
    Equal,
    /// No more than the value.
    AtMost,
    /// No less than the value.
    AtLeast,
}

impl Bound {
    fn is_equal(&self) -> bool {
        *self == Bound::Equal
    }
}

impl Recipe {
    /// Reads a recipe. `place` is its name in messages.
    ///
    /// # Errors
    /// [`Malformed`](ErrorCause::Malformed) with line and column where the text is no recipe.
    pub fn parse(place: &str, text: &str) -> Result<Recipe, TraceError> {
        toml::from_str(text).map_err(|error| {
            let cure =
                "`flashtwin workloads NAME` prints a whole recipe, docs/workloads.md says what keys mean";
            let malformed = TraceError::new(ErrorCause::Malformed, place, error.message().to_owned(), cure);
            match error.span() {
                Some(span) => {
                    let before = &text[..span.start.min(text.len())];
                    let line = before.matches('\n').count() as u64 + 1;
                    let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1) + 1;
                    malformed.at_line(line, Some(column))
                }
                None => malformed,
            }
        })
    }

    /// The JSON schema of recipes; its descriptions are the reference text.
    pub fn schema() -> serde_json::Value {
        let generator =
            schemars::generate::SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
        let schema = generator.into_generator().into_root_schema_for::<Recipe>();
        serde_json::to_value(schema).unwrap_or_default()
    }
}
