//! The metrics that follow requests, contents and pages through a trace, once the survey is known.

use flashtwin_trace::Op;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::metrics::{Following, MetricResults};
use crate::basics::{
    IntervalRow, RequestSizeRow, Requested, Survey, TraceInfo, VolumeRow, interarrival, request_sizes,
};
use crate::input::{About, Accumulator};
use crate::metric::{FirstPass, Tables, named};
use crate::options::Options;
use crate::periods::{Clock, Periods, WorkloadPeriodRow};
use crate::popularity::{self, Popularity, PopularityRow};
use crate::rows::Row;
use crate::sample::Sample;
use crate::value_counts::ValueCounts;

pub(super) struct SecondPass {
    about: About,
    sample: Sample,
    requested: Requested,
    values: ValueCounts,
    periods: Periods,
    footprint_pages: Option<u64>,
    following: Following,
}

impl SecondPass {
    pub(super) fn new(survey: Survey, options: &Options, sample: Sample) -> SecondPass {
        let Survey { about, requested, values, periods, pages } = survey;
        let (footprint_pages, footprint) = pages.finish();
        let clock = Clock::new(options.period_ns(), about.duration_ns);
        let mut first_pass = FirstPass { options, sample, about: &about, clock, values: &values, footprint };
        let following = Following::begin(&mut first_pass);
        SecondPass { about, sample, requested, values, periods, footprint_pages, following }
    }

    pub(super) fn accumulators(&mut self) -> Vec<&mut dyn Accumulator> {
        self.following.accumulators()
    }

    fn errors(&self) -> Map<String, Value> {
        let mut all = Map::new();
        let mut add = |metric: &str, figures: &[&str], errors: &[Option<f64>]| {
            for (figure, &error) in figures.iter().zip(errors) {
                all.insert(format!("{metric}.{figure}"), error.into());
            }
        };
        let rate = self.sample.rate;
        // Each page is in the sample with this probability: a binomial count.
        let footprint = self.footprint_pages.map(|pages| (pages as f64 * (1.0 / rate - 1.0)).sqrt());
        add("info", &["footprint_pages"], &[footprint]);
        let unique = [Op::Read, Op::Write].map(|op| self.values.unique_percent_error(op));
        add("info", &["unique_values_read_percent", "unique_values_write_percent"], &unique);
        for (kind, op) in [("popularity.read", Op::Read), ("popularity.write", Op::Write)] {
            let figures = ["contents_for_50_percent", "contents_for_80_percent"];
            add(kind, &figures, &popularity::concentration_errors(&self.values, op));
        }
        all.extend(
            self.following.standard_errors().into_iter().map(|(figure, error)| (figure, error.into())),
        );
        all
    }

    pub(super) fn finish(self) -> (Followed, Tables) {
        let standard_errors = (!self.sample.is_all()).then(|| self.errors());
        let (about, mut requested, values) = (self.about, self.requested, self.values);
        let quality = match &self.following.space {
            Some(space) => space.quality(),
            None => self.sample.is_all().then(|| requested.page_quality()),
        };
        let mut found = self.following.finish();
        found.read_amplification.discount(&found.logical_locality);
        let space = found.space.as_ref();
        let info = TraceInfo::assemble(&about, &mut requested, &values, self.footprint_pages, space, quality);
        let mut tables = vec![
            named::<WorkloadPeriodRow>(&self.periods.finish()),
            named::<RequestSizeRow>(&request_sizes(&mut requested)),
            named::<IntervalRow>(&interarrival(&requested)),
            named::<VolumeRow>(&requested.by_volume(&about.volume_names)),
        ];
        let popularity = popularity::of_counts(&values);
        tables.extend(popularity.iter().map(|found| named::<PopularityRow>(&found.table)));
        tables.extend(found.tables());
        (Followed { standard_errors, info, popularity, found }, tables)
    }
}

/// The figures of the second pass.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Followed {
    /// When sampled: estimated standard errors of figures, by path, such as
    /// `space.duplicate_write_percent`. Those of miss ratios are in their table.
    #[serde(skip_serializing_if = "Option::is_none")]
    standard_errors: Option<Map<String, Value>>,
    /// The workload in numbers.
    info: TraceInfo,
    /// Popularity of contents; `null` without contents.
    popularity: Option<Popularity>,
    #[serde(flatten)]
    found: MetricResults,
}

pub(super) fn schemas() -> Vec<(String, Value)> {
    let mut all = vec![
        WorkloadPeriodRow::schema(),
        RequestSizeRow::schema(),
        IntervalRow::schema(),
        VolumeRow::schema(),
        PopularityRow::schema(),
    ];
    all.extend(MetricResults::schemas());
    all
}
