//! Duplicates by plane.

use arrow_array::RecordBatch;
use flashtwin_trace::{NO_CONTENT, Op, Requests, Trace};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error;
use crate::input::Accumulator;
use crate::metric::{FirstPass, Metric, Table};
use crate::page_ops::page_ops;
use crate::rows::batch_of;
use crate::sample::{GROUPS, Sample};
use crate::value_counts::percent;

const WORD: u32 = u64::BITS;

/// Duplicates among the pages written, in all and by plane (DS-FTL paper, Fig. 3 and 4).
///
/// A page write is a duplicate on a plane when its content was written to that plane before: two
/// copies on one plane cannot be read at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Duplication {
    /// Page writes with known content.
    pub page_writes: u64,
    /// Of these, duplicates of an earlier one, anywhere; percent.
    pub duplicate_percent: Option<f64>,
    /// Mean over planes under static allocation, for the first number of planes in the options;
    /// percent.
    pub static_percent: Option<f64>,
    /// The same with writes to all planes in turn.
    pub round_robin_percent: Option<f64>,
    /// The table of `PlaneDuplicatesRow`.
    #[serde(skip)]
    pub by_plane: RecordBatch,
}

crate::rows! {
    /// One row an allocation, a number of planes and a plane.
    ///
    /// `static`: a page goes to plane (page number on its volume) modulo planes, for example with 8
    /// planes page 10 to plane 2. All static orders of channel, chip, die and plane spread
    /// consecutive pages over all planes before any gets a second one, so each gives the same
    /// groups of pages under other plane numbers. `round-robin`: each page written goes to the next
    /// plane, like dynamic allocation on an idle device.
    pub(crate) struct PlaneDuplicatesRow in "duplicates_by_plane" {
        /// `static`, `round-robin`.
        allocation: &'static str,
        /// Number of planes.
        planes: u32,
        /// Number of the plane, from 0.
        plane: u32,
        /// Pages written to it.
        pages: u64,
        /// Distinct contents among the pages written to it.
        contents: u64,
        /// Share of the pages whose content the plane had been written before.
        duplicate_percent: Option<f64>,
    }
}

/// Over numbers of planes; `None` when no write carries a known content. Exact.
pub fn duplication(trace: &Trace, planes: &[u32]) -> Option<Duplication> {
    crate::input::whole(DuplicationCounter::new(planes, Sample::ALL), trace).finish()
}

struct PlaneDuplicates {
    allocation: &'static str,
    planes: u32,
    /// A bit a plane for each content.
    marks: Vec<u64>,
    pages: Vec<u64>,
    contents: Vec<u64>,
}

impl PlaneDuplicates {
    fn new(allocation: &'static str, planes: u32) -> PlaneDuplicates {
        let counts = vec![0; planes as usize];
        PlaneDuplicates { allocation, planes, marks: Vec::new(), pages: counts.clone(), contents: counts }
    }

    /// Returns whether the content is new to the plane.
    fn write(&mut self, plane: u32, content: u32) -> bool {
        let words = self.planes.div_ceil(WORD) as usize;
        let word = content as usize * words + (plane / WORD) as usize;
        if word >= self.marks.len() {
            let contents = (content as usize + 1).max(self.marks.len() / words * 3 / 2);
            self.marks.resize(contents * words, 0);
        }
        let bit = 1 << (plane % WORD);
        let new = self.marks[word] & bit == 0;
        self.marks[word] |= bit;
        self.pages[plane as usize] += 1;
        self.contents[plane as usize] += u64::from(new);
        new
    }

    fn duplicate_percent(&self, plane: usize) -> Option<f64> {
        percent(self.pages[plane] - self.contents[plane], self.pages[plane])
    }

    fn mean_percent(&self) -> Option<f64> {
        let shares: Vec<f64> = (0..self.pages.len()).filter_map(|p| self.duplicate_percent(p)).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

/// Two bits a plane for each content.
pub(crate) struct DuplicationCounter {
    sample: Sample,
    /// Everything on one plane.
    whole: PlaneDuplicates,
    places: Vec<PlaneDuplicates>,
    page_writes: u64,
    /// Writes that are duplicates of an earlier one anywhere, and all, by group of contents.
    groups: [(u64, u64); GROUPS],
}

impl DuplicationCounter {
    pub(crate) fn new(planes: &[u32], sample: Sample) -> DuplicationCounter {
        let both = |&planes: &u32| {
            [PlaneDuplicates::new("static", planes), PlaneDuplicates::new("round-robin", planes)]
        };
        let places = planes.iter().filter(|&&planes| planes > 0).flat_map(both).collect();
        DuplicationCounter {
            sample,
            whole: PlaneDuplicates::new("all", 1),
            places,
            page_writes: 0,
            groups: Default::default(),
        }
    }
}

impl Metric for DuplicationCounter {
    type Figures = Option<Duplication>;
    const TABLES: &'static [Table<Self::Figures>] =
        &[Table::of::<PlaneDuplicatesRow>(|found| Some(found.as_ref()?.by_plane.clone()))];

    fn begin(first_pass: &mut FirstPass<'_>) -> Self {
        DuplicationCounter::new(&first_pass.options.planes, first_pass.sample)
    }

    fn standard_errors(&self) -> Vec<(&'static str, Option<f64>)> {
        vec![("duplicate_percent", error::of_percent(&self.groups))]
    }

    fn finish(self) -> Option<Duplication> {
        let written = self.whole.pages[0];
        if written == 0 {
            return None;
        }
        let mean = |allocation: &str| {
            self.places.iter().find(|places| places.allocation == allocation)?.mean_percent()
        };
        Some(Duplication {
            page_writes: (written as f64 / self.sample.rate).round() as u64,
            duplicate_percent: self.whole.duplicate_percent(0),
            static_percent: mean("static"),
            round_robin_percent: mean("round-robin"),
            by_plane: by_plane(&self.places),
        })
    }
}

impl Accumulator for DuplicationCounter {
    fn add(&mut self, requests: &Requests<'_>) {
        for index in (0..requests.len()).filter(|&index| requests.op[index] == Op::Write) {
            for page_op in page_ops(requests, index) {
                let nth = self.page_writes;
                self.page_writes += 1;
                let content = page_op.content;
                if content == NO_CONTENT || !self.sample.keeps_content(content) {
                    continue;
                }
                let new = self.whole.write(0, content);
                if !self.sample.is_all() {
                    let group = &mut self.groups[self.sample.group_of_content(content)];
                    *group = (group.0 + u64::from(!new), group.1 + 1);
                }
                for places in &mut self.places {
                    let by = if places.allocation == "static" { page_op.page } else { nth };
                    places.write((by % u64::from(places.planes)) as u32, content);
                }
            }
        }
    }
}

fn by_plane(all: &[PlaneDuplicates]) -> RecordBatch {
    let places = all.iter().flat_map(|places| (0..places.pages.len()).map(move |plane| (places, plane)));
    let row = |(places, plane): (&PlaneDuplicates, usize)| PlaneDuplicatesRow {
        allocation: places.allocation,
        planes: places.planes,
        plane: plane as u32,
        pages: places.pages[plane],
        contents: places.contents[plane],
        duplicate_percent: places.duplicate_percent(plane),
    };
    batch_of(&places.map(row).collect::<Vec<_>>())
}
