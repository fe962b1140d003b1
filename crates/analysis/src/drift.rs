//! Temporal value popularity: whether popular contents stay popular.

use arrow_array::RecordBatch;
use flashtwin_trace::{Op, Requests, Trace};
use schemars::JsonSchema;
use serde::Serialize;

use crate::counts::Counts;
use crate::error;
use crate::input::Accumulator;
use crate::metric::{FirstPass, Metric, Table};
use crate::page_ops::{at, known};
use crate::periods::Clock;
use crate::popularity::curve_steps;
use crate::rows::batch_of;
use crate::sample::{GROUPS, Sample};
use crate::value_counts::percent;

/// A chart cannot show more.
const CURVES_MAX: usize = 31;
const POINTS_MAX: u64 = 200;
const POPULAR_ONE_IN: usize = 10;

/// Temporal value popularity (RR-SSD paper, section II and Fig. 5, 6): whether contents read often
/// in one period receive the reads of the next.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Drift {
    /// Periods of the trace.
    pub periods: u64,
    /// Mean of `popular_before_percent` over the periods that have it.
    pub popular_before_percent: Option<f64>,
    /// Mean of `read_before_percent` over the periods that have it.
    pub read_before_percent: Option<f64>,
    /// Mean of `seen_before_percent` over the periods that have it.
    pub seen_before_percent: Option<f64>,
    /// Mean of `first_read_percent` over the periods from the second on.
    pub first_read_percent: Option<f64>,
    /// Most contents that appeared for the first time in a period after the first.
    pub new_contents_max: Option<u64>,
    /// The table of `StabilityRow`.
    #[serde(skip)]
    pub stability: RecordBatch,
    /// The table of `PeriodCurveRow`.
    #[serde(skip)]
    pub curves: RecordBatch,
}

crate::rows! {
    /// One row a period: shares of its page reads that go to contents popular, read, or seen
    /// before.
    ///
    /// Shares are missing without page reads; those of the period before also in the first period.
    pub(crate) struct StabilityRow in "popularity_stability" {
        /// Number, from 0.
        period: u32,
        /// Page reads.
        page_reads: u64,
        /// Of `page_reads`, those of the tenth of contents most read in the period before, at least one.
        popular_before_percent: Option<f64>,
        /// Of `page_reads`, those of contents read in the period before.
        read_before_percent: Option<f64>,
        /// Of `page_reads`, those of contents read or written in the period before.
        seen_before_percent: Option<f64>,
        /// Of `page_reads`, those of contents never read before.
        first_read_percent: Option<f64>,
        /// Contents neither read nor written in any period before.
        new_contents: u64,
    }
}

crate::rows! {
    /// Popularity in each period, contents in order of their reads in the first period that has any.
    ///
    /// The curve of a later period ends below 1 where it reads other contents. At most 31 periods of at most 200
    /// points.
    pub(crate) struct PeriodCurveRow in "popularity_by_period" {
        /// Number, from 0.
        period: u32,
        /// Share of the contents of that first period, 0 to 1.
        value_fraction: f64,
        /// Share of the period's page reads that they receive, 0 to 1.
        access_fraction: f64,
    }
}

/// `None` when no read or write carries a known content. Exact.
pub fn drift(trace: &Trace, period_ns: i64) -> Option<Drift> {
    let clock = Clock::new(period_ns, trace.duration_ns());
    crate::input::whole(DriftFollower::new(clock, Sample::ALL), trace).finish()
}

mod flag {
    pub(super) const SEEN: u8 = 1;
    pub(super) const READ: u8 = 2;
    pub(super) const SEEN_NOW: u8 = 4;
    pub(super) const READ_BEFORE: u8 = 8;
    pub(super) const SEEN_BEFORE: u8 = 16;
    pub(super) const POPULAR_BEFORE: u8 = 32;
    pub(super) const OF_THE_PERIOD_BEFORE: u8 = READ_BEFORE | SEEN_BEFORE | POPULAR_BEFORE;
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    reads: u64,
    popular_before: u64,
    read_before: u64,
    seen_before: u64,
    first_read: u64,
    new_contents: u64,
}

impl Row {
    fn add(&mut self, other: Row) {
        self.reads += other.reads;
        self.popular_before += other.popular_before;
        self.read_before += other.read_before;
        self.seen_before += other.seen_before;
        self.first_read += other.first_read;
        self.new_contents += other.new_contents;
    }
}

/// Follows popularity from period to period. 9 bytes a content.
pub(crate) struct DriftFollower {
    sample: Sample,
    clock: Clock,
    flags: Vec<u8>,
    /// In the current period.
    reads: Counts,
    /// Contents seen in this period, and in the one before.
    now: Vec<u32>,
    before: Vec<u32>,
    row: Row,
    rows: Vec<Row>,
    /// Of all periods but the first, by group of contents.
    groups: [Row; GROUPS],
    /// Contents of the first period with reads, most read first.
    first_order: Vec<u32>,
    curves: Vec<PeriodCurveRow>,
    curves_of: usize,
}

impl DriftFollower {
    pub(crate) fn new(clock: Clock, sample: Sample) -> DriftFollower {
        DriftFollower {
            sample,
            clock,
            flags: Vec::new(),
            reads: Counts::default(),
            now: Vec::new(),
            before: Vec::new(),
            row: Row::default(),
            rows: Vec::new(),
            groups: Default::default(),
            first_order: Vec::new(),
            curves: Vec::new(),
            curves_of: 0,
        }
    }

    fn access(&mut self, op: Op, content: u32) {
        let flags = at(&mut self.flags, content, 0);
        let is = |bit: u8| u64::from(*flags & bit != 0);
        let mut one = Row { new_contents: 1 - is(flag::SEEN), ..Row::default() };
        if op == Op::Read {
            one.reads = 1;
            one.popular_before = is(flag::POPULAR_BEFORE);
            one.read_before = is(flag::READ_BEFORE);
            one.seen_before = is(flag::SEEN_BEFORE);
            one.first_read = 1 - is(flag::READ);
            self.reads.add_one(content);
        }
        self.row.add(one);
        if !self.sample.is_all() && self.clock.period() > 0 {
            self.groups[self.sample.group_of_content(content)].add(one);
        }
        if *flags & flag::SEEN_NOW == 0 {
            self.now.push(content);
        }
        *flags |= flag::SEEN | flag::SEEN_NOW;
        if op == Op::Read {
            *flags |= flag::READ;
        }
    }

    fn end_period(&mut self) {
        let read = |&content: &u32| self.reads.get(content) > 0;
        let order = self.reads.ranks(self.now.iter().copied().filter(read));
        if self.first_order.is_empty() {
            self.first_order.clone_from(&order);
        }
        self.draw();
        for content in self.before.drain(..) {
            self.flags[content as usize] &= !flag::OF_THE_PERIOD_BEFORE;
        }
        for &content in &self.now {
            let flags = &mut self.flags[content as usize];
            *flags = *flags & !flag::SEEN_NOW | flag::SEEN_BEFORE;
            self.reads.reset(content);
        }
        for &content in &order {
            self.flags[content as usize] |= flag::READ_BEFORE;
        }
        for &content in &order[..order.len().div_ceil(POPULAR_ONE_IN)] {
            self.flags[content as usize] |= flag::POPULAR_BEFORE;
        }
        std::mem::swap(&mut self.before, &mut self.now);
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// The curve of the current period along the order of the first.
    fn draw(&mut self) {
        if self.row.reads == 0 || self.curves_of == CURVES_MAX {
            return;
        }
        self.curves_of += 1;
        let contents = self.first_order.len();
        let mut sum = 0;
        for ranks in curve_steps(contents, POINTS_MAX) {
            let next = &self.first_order[ranks.clone()];
            sum += next.iter().map(|&content| self.reads.get(content)).sum::<u64>();
            self.curves.push(PeriodCurveRow {
                period: self.clock.period(),
                value_fraction: ranks.end as f64 / contents as f64,
                access_fraction: sum as f64 / self.row.reads as f64,
            });
        }
    }
}

impl Metric for DriftFollower {
    type Figures = Option<Drift>;
    const TABLES: &'static [Table<Self::Figures>] = &[
        Table::of::<PeriodCurveRow>(|found| Some(found.as_ref()?.curves.clone())),
        Table::of::<StabilityRow>(|found| Some(found.as_ref()?.stability.clone())),
    ];

    fn begin(first_pass: &mut FirstPass<'_>) -> Self {
        DriftFollower::new(first_pass.clock, first_pass.sample)
    }

    /// Of shares of the reads of all periods but the first.
    fn standard_errors(&self) -> Vec<(&'static str, Option<f64>)> {
        let error = |part: fn(&Row) -> u64| {
            let sums = self.groups.map(|group| (part(&group), group.reads));
            error::of_percent(&sums)
        };
        vec![
            ("popular_before_percent", error(|row| row.popular_before)),
            ("read_before_percent", error(|row| row.read_before)),
            ("seen_before_percent", error(|row| row.seen_before)),
            ("first_read_percent", error(|row| row.first_read)),
        ]
    }

    fn finish(mut self) -> Option<Drift> {
        if self.flags.is_empty() {
            return None;
        }
        self.end_period();
        let rows = &self.rows;
        let estimate = |count: u64| (count as f64 / self.sample.rate).round() as u64;
        let later = rows.iter().skip(1).map(|row| row.new_contents).max();
        Some(Drift {
            periods: rows.len() as u64,
            popular_before_percent: mean(before(rows, |row| row.popular_before)),
            read_before_percent: mean(before(rows, |row| row.read_before)),
            seen_before_percent: mean(before(rows, |row| row.seen_before)),
            first_read_percent: mean(before(rows, |row| row.first_read)),
            new_contents_max: later.map(estimate),
            stability: stability(rows, estimate),
            curves: batch_of(&self.curves),
        })
    }
}

impl Accumulator for DriftFollower {
    fn add(&mut self, requests: &Requests<'_>) {
        let sample = self.sample;
        for index in 0..requests.len() {
            while self.clock.is_over(requests.time_ns[index]) {
                self.end_period();
                self.clock.next();
            }
            let op = requests.op[index];
            if !op.moves_data() {
                continue;
            }
            for content in known(requests, index).filter(|&content| sample.keeps_content(content)) {
                self.access(op, content);
            }
        }
    }
}

/// Missing in the first period, which has none before it.
fn before(rows: &[Row], part: impl Fn(&Row) -> u64) -> impl Iterator<Item = Option<f64>> {
    let share = move |(period, row): (usize, &Row)| percent(part(row), row.reads).filter(|_| period > 0);
    rows.iter().enumerate().map(share)
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let known: Vec<f64> = values.flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

fn stability(rows: &[Row], estimate: impl Fn(u64) -> u64) -> RecordBatch {
    let mut shares = (
        before(rows, |row| row.popular_before),
        before(rows, |row| row.read_before),
        before(rows, |row| row.seen_before),
    );
    let row = |(period, row): (u32, &Row)| StabilityRow {
        period,
        page_reads: estimate(row.reads),
        popular_before_percent: shares.0.next().flatten(),
        read_before_percent: shares.1.next().flatten(),
        seen_before_percent: shares.2.next().flatten(),
        first_read_percent: percent(row.first_read, row.reads),
        new_contents: estimate(row.new_contents),
    };
    batch_of(&(0..).zip(rows).map(row).collect::<Vec<_>>())
}
