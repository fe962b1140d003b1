//! The metrics that follow requests, contents and pages through a trace, once the survey is known.

use flashtwin_trace::Op;

use super::Characterization;
use crate::Accumulator;
use crate::basics::{Requested, Survey, SurveyedPages, TraceInfo, interarrival, request_sizes};
use crate::drift::DriftFollower;
use crate::duplication::DuplicationCounter;
use crate::input::About;
use crate::logical_locality::{LogicalLocalityMeter, LogicalLocalityOptions};
use crate::options::Options;
use crate::periods::{Clock, Periods};
use crate::popularity;
use crate::read_amplification::ReadSimulator;
use crate::read_cost::ReadCostMeter;
use crate::sample::Sample;
use crate::space::SpaceFollower;
use crate::value_counts::ValueCounts;
use crate::value_locality::{PopularContents, ValueLocalityMeter};

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

    /// Adds the standard errors of a sample.
    fn errors(&self, result: &mut Characterization) {
        let rate = self.sample.rate;
        // Each page is in the sample with this probability: a binomial count.
        let footprint = self.footprint_pages.map(|pages| (pages as f64 * (1.0 / rate - 1.0)).sqrt());
        result.errors("info", ["footprint_pages"], [footprint]);
        let unique = [Op::Read, Op::Write].map(|op| self.values.unique_percent_error(op));
        result.errors("info", ["unique_values_read_percent", "unique_values_write_percent"], unique);
        for (kind, op) in [("popularity.read", Op::Read), ("popularity.write", Op::Write)] {
            let figures = ["contents_for_50_percent", "contents_for_80_percent"];
            result.errors(kind, figures, popularity::concentration_errors(&self.values, op));
        }
        let figures = ["duplicate_write_percent", "rewrite_percent", "contents_of_pages_held_percent"];
        let errors = self.space.as_ref().map_or([None; 3], SpaceFollower::errors);
        result.errors("space", figures, errors);
        let figures =
            ["popular_before_percent", "read_before_percent", "seen_before_percent", "first_read_percent"];
        result.errors("drift", figures, self.drift.errors());
        result.errors("duplication", ["duplicate_percent"], [self.duplication.error()]);
    }

    /// Adds all figures and tables.
    pub(super) fn finish(self, result: &mut Characterization) {
        if !self.sample.is_all() {
            self.errors(result);
        }
        let (about, mut requested, values) = (self.about, self.requested, self.values);
        let without = || (None, self.sample.is_all().then(|| requested.page_quality()));
        let (space, quality) = self.space.map_or_else(without, SpaceFollower::finish);
        let pages = self.footprint_pages;
        let info = TraceInfo::assemble(&about, &mut requested, &values, pages, space.as_ref(), quality);
        result.metric("info", Some(info), |_| []);
        result.tables([
            ("periods", self.periods.finish()),
            ("request_sizes", request_sizes(&mut requested)),
            ("interarrival", interarrival(&requested)),
            ("volumes", requested.by_volume(&about.volume_names)),
        ]);
        result.metric("popularity", popularity::of_counts(&values), |found| [("popularity", found.table)]);
        result.metric("drift", self.drift.finish(), |found| {
            [("popularity_by_period", found.curves), ("popularity_stability", found.stability)]
        });
        result.metric("space", space, |found| [("space", found.table)]);
        result.metric("duplication", self.duplication.finish(), |found| {
            [("duplicates_by_plane", found.by_plane)]
        });
        result.metric("value_locality", Some(self.value_locality.finish()), |found| {
            [("miss_ratio", found.miss_ratio), ("popular_miss_ratio", found.popular_miss_ratio)]
        });
        let locality = self.logical_locality.finish();
        result.metric("read_amplification", Some(self.read_amplification.finish(&locality)), |found| {
            [("read_amplification", found.table)]
        });
        result.metric("read_cost", Some(self.read_cost.finish()), |found| [("read_cost", found.table)]);
        result.metric("logical_locality", Some(locality), |found| {
            [("logical_locality", found.table), ("locality_gain", found.gain)]
        });
    }
}
