//! The metrics that follow requests, contents and pages through a trace, once the survey is known.

use flashtwin_trace::Op;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Tables, named};
use crate::Accumulator;
use crate::basics::{
    IntervalRow, RequestSizeRow, Requested, Survey, SurveyedPages, TraceInfo, VolumeRow, interarrival,
    request_sizes,
};
use crate::drift::{Drift, DriftFollower, PeriodCurveRow, StabilityRow};
use crate::duplication::{Duplication, DuplicationCounter, PlaneDuplicatesRow};
use crate::input::About;
use crate::logical_locality::{
    GainRow, LocalityRow, LogicalLocality, LogicalLocalityMeter, LogicalLocalityOptions,
};
use crate::options::Options;
use crate::periods::{Clock, Periods, WorkloadPeriodRow};
use crate::popularity::{self, Popularity, PopularityRow};
use crate::read_amplification::{ReadAmplification, ReadAmplificationRow, ReadSimulator};
use crate::read_cost::{CostRow, ReadCost, ReadCostMeter};
use crate::rows::Row;
use crate::sample::Sample;
use crate::space::{Space, SpaceFollower, SpaceRow};
use crate::value_counts::ValueCounts;
use crate::value_locality::{
    MissRatioRow, PopularContents, PopularMissRatioRow, ValueLocality, ValueLocalityMeter,
};

/// What is known from the first pass, and the metrics of the second in the making.
pub(super) struct SecondPass {
    about: About,
    sample: Sample,
    requested: Requested,
    values: ValueCounts,
    periods: Periods,
    footprint_pages: Option<u64>,

    drift: DriftFollower,
    /// Where there are contents.
    space: Option<SpaceFollower>,
    duplication: DuplicationCounter,
    value_locality: ValueLocalityMeter,
    logical_locality: LogicalLocalityMeter,
    read_amplification: ReadSimulator,
    read_cost: ReadCostMeter,
}

impl SecondPass {
    pub(super) fn new(survey: Survey, options: &Options, sample: Sample) -> SecondPass {
        let Survey { about, requested, values, periods, pages } = survey;
        let clock = Clock::new(options.period_ns(), about.duration_ns);
        let (footprint_pages, space) = match pages {
            SurveyedPages::Count(pages) => (pages.finish(), None),
            SurveyedPages::Before(before) => {
                let footprint = before.finish();
                (footprint.footprint_pages, Some(SpaceFollower::new(footprint, clock, sample)))
            }
        };
        let popular = PopularContents::new([values.of(Op::Read), values.of(Op::Write)]);
        let window = LogicalLocalityOptions {
            sector_bytes: about.sector_bytes,
            direction: options.locality.direction,
            distance_pages_max: options.locality.distance_max,
            time_requests_max: options.locality.time_max,
        };
        SecondPass {
            sample,
            drift: DriftFollower::new(clock, sample),
            space,
            duplication: DuplicationCounter::new(&options.planes, sample),
            value_locality: ValueLocalityMeter::new(sample, popular),
            logical_locality: LogicalLocalityMeter::new(window),
            read_amplification: ReadSimulator::new(),
            read_cost: ReadCostMeter::new(),
            about,
            requested,
            values,
            periods,
            footprint_pages,
        }
    }

    /// All accumulators; the slow ones first, so that the others fill up the threads.
    pub(super) fn accumulators(&mut self) -> Vec<&mut dyn Accumulator> {
        let mut all: Vec<&mut dyn Accumulator> = vec![
            &mut self.logical_locality,
            &mut self.value_locality,
            &mut self.read_amplification,
            &mut self.read_cost,
            &mut self.duplication,
            &mut self.drift,
        ];
        all.extend(self.space.as_mut().map(|space| space as &mut dyn Accumulator));
        all
    }

    /// The standard errors of a sample.
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
        let figures = ["duplicate_write_percent", "rewrite_percent", "contents_of_pages_held_percent"];
        add("space", &figures, &self.space.as_ref().map_or([None; 3], SpaceFollower::errors));
        let figures =
            ["popular_before_percent", "read_before_percent", "seen_before_percent", "first_read_percent"];
        add("drift", &figures, &self.drift.errors());
        add("duplication", &["duplicate_percent"], &[self.duplication.error()]);
        all
    }

    /// All figures and tables.
    pub(super) fn finish(self) -> (Followed, Tables) {
        let standard_errors = (!self.sample.is_all()).then(|| self.errors());
        let (about, mut requested, values) = (self.about, self.requested, self.values);
        let without = || (None, self.sample.is_all().then(|| requested.page_quality()));
        let (space, quality) = self.space.map_or_else(without, SpaceFollower::finish);
        let pages = self.footprint_pages;
        let info = TraceInfo::assemble(&about, &mut requested, &values, pages, space.as_ref(), quality);
        let mut tables = vec![
            named::<WorkloadPeriodRow>(&self.periods.finish()),
            named::<RequestSizeRow>(&request_sizes(&mut requested)),
            named::<IntervalRow>(&interarrival(&requested)),
            named::<VolumeRow>(&requested.by_volume(&about.volume_names)),
        ];
        let logical_locality = self.logical_locality.finish();
        let followed = Followed {
            standard_errors,
            info,
            popularity: popularity::of_counts(&values),
            drift: self.drift.finish(),
            space,
            duplication: self.duplication.finish(),
            value_locality: self.value_locality.finish(),
            read_amplification: self.read_amplification.finish(&logical_locality),
            read_cost: self.read_cost.finish(),
            logical_locality,
        };
        tables.extend(followed.tables());
        (followed, tables)
    }
}

/// The figures of the second pass.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Followed {
    /// When sampled, the estimated standard error of each figure that one can be given for, by its path, such as
    /// `space.duplicate_write_percent`; those of miss ratios stand in their table.
    #[serde(skip_serializing_if = "Option::is_none")]
    standard_errors: Option<Map<String, Value>>,
    /// The workload in numbers.
    info: TraceInfo,
    /// Popularity of contents; `null` without contents.
    popularity: Option<Popularity>,
    /// Drift of popularity; `null` without contents.
    drift: Option<Drift>,
    /// Duplicates among writes, and space; `null` without contents.
    space: Option<Space>,
    /// Duplicates by plane; `null` without contents.
    duplication: Option<Duplication>,
    /// Temporal locality of contents and of addresses.
    value_locality: ValueLocality,
    /// Read amplification.
    read_amplification: ReadAmplification,
    /// Flash time of reading.
    read_cost: ReadCost,
    /// Logical locality.
    logical_locality: LogicalLocality,
}

impl Followed {
    /// The tables behind these figures.
    fn tables(&self) -> Tables {
        let mut tables = Tables::new();
        if let Some(found) = &self.popularity {
            tables.push(named::<PopularityRow>(&found.table));
        }
        if let Some(found) = &self.drift {
            tables.push(named::<PeriodCurveRow>(&found.curves));
            tables.push(named::<StabilityRow>(&found.stability));
        }
        if let Some(found) = &self.space {
            tables.push(named::<SpaceRow>(&found.table));
        }
        if let Some(found) = &self.duplication {
            tables.push(named::<PlaneDuplicatesRow>(&found.by_plane));
        }
        tables.extend([
            named::<MissRatioRow>(&self.value_locality.miss_ratio),
            named::<PopularMissRatioRow>(&self.value_locality.popular_miss_ratio),
            named::<ReadAmplificationRow>(&self.read_amplification.table),
            named::<CostRow>(&self.read_cost.table),
            named::<LocalityRow>(&self.logical_locality.table),
            named::<GainRow>(&self.logical_locality.gain),
        ]);
        tables
    }
}

/// The schema of a row of each table of the first and the second pass, by its name.
pub(super) fn schemas() -> Vec<(String, Value)> {
    vec![
        WorkloadPeriodRow::schema(),
        RequestSizeRow::schema(),
        IntervalRow::schema(),
        VolumeRow::schema(),
        PopularityRow::schema(),
        PeriodCurveRow::schema(),
        StabilityRow::schema(),
        SpaceRow::schema(),
        PlaneDuplicatesRow::schema(),
        MissRatioRow::schema(),
        PopularMissRatioRow::schema(),
        ReadAmplificationRow::schema(),
        CostRow::schema(),
        LocalityRow::schema(),
        GainRow::schema(),
    ]
}
