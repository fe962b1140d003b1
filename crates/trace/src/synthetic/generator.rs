//! The requests of a workload, one after the other.

use super::arrivals::Arrivals;
use super::plan::{ContentPlan, Plan};
use super::reads::Reads;
use super::runs::Runs;
use super::writes::Writes;
use super::zipf::Drawn;
use crate::CHUNK_BYTES;
use crate::columns::Columns;
use crate::random::Random;
use crate::request::Op;

// What is drawn for: draws of one purpose do not depend on how many there are of another.
const ARRIVALS: u64 = 10;
const KINDS: u64 = 11;
const WRITES: u64 = 12;
const READS: u64 = 13;

/// Makes the requests of a plan. Memory: about 8 bytes a page that may be overwritten, 36 for each value
/// that has occurred and will again, 16 for each run that was kept and is still to be read.
#[derive(Debug)]
pub(super) struct Generator {
    arrivals: Arrivals,
    /// Arrival of the first request, which is where time begins.
    origin: Option<u64>,
    pages: Pages,
    next_value: u32,
    kinds: Random,
    run: Run,
}

/// Where pages and contents come from.
#[derive(Debug)]
enum Pages {
    Values(Box<(Writes, Reads)>),
    Drawn(Box<Drawn>),
}

/// Requests each of which begins where the one before ended, and how far they are given out.
#[derive(Debug, Default)]
struct Run {
    write: bool,
    page: u64,
    sizes: Vec<u32>,
    next: usize,
    values: Vec<u32>,
    next_value: usize,
}

impl Generator {
    pub(super) fn new(plan: &Plan, seed: u64) -> Generator {
        let random = |purpose| Random::new(seed, purpose);
        let [read_plan, write_plan] = &plan.kinds;
        let pages = match &plan.content {
            ContentPlan::Zipf(exponent, values) => {
                let runs = [Runs::new(read_plan), Runs::new(write_plan)];
                Pages::Drawn(Box::new(Drawn::new(plan, *exponent, *values, runs, random(WRITES))))
            }
            ContentPlan::Values(values) => {
                let writes = Writes::new(plan, values, Runs::new(write_plan), random(WRITES));
                let reads = Reads::new(
                    read_plan,
                    values,
                    plan.footprint - values.pages_there - values.pages_copied,
                    random(READS),
                );
                Pages::Values(Box::new((writes, reads)))
            }
        };
        let requests = read_plan.requests + write_plan.requests;
        Generator {
            arrivals: Arrivals::new(
                requests,
                plan.days,
                plan.day_ns,
                plan.rhythm,
                plan.burst,
                random(ARRIVALS),
            ),
            origin: None,
            pages,
            next_value: 0,
            kinds: random(KINDS),
            run: Run::default(),
        }
    }

    /// Adds requests until there are `rows`, or none are left.
    pub(super) fn fill(&mut self, columns: &mut Columns, rows: usize) {
        while columns.time_ns.len() < rows {
            if self.run.next == self.run.sizes.len() && !self.next_run() {
                return;
            }
            let Some(time) = self.arrivals.next() else { return };
            let origin = *self.origin.get_or_insert(time);
            let run = &mut self.run;
            let pages = run.sizes[run.next];
            run.next += 1;
            let values = run.next_value..run.next_value + pages as usize;
            run.next_value = values.end;
            columns.time_ns.push((time - origin) as i64);
            columns.volume.push(0);
            columns.op.push(if run.write { Op::Write } else { Op::Read });
            columns.offset_bytes.push(run.page * u64::from(CHUNK_BYTES));
            columns.length_bytes.push(pages * CHUNK_BYTES);
            columns.content.extend_from_slice(&run.values[values]);
            columns.content_start.push(columns.content.len() as u64);
            run.page += u64::from(pages);
        }
    }

    /// Begins the next run; whether there is one.
    fn next_run(&mut self) -> bool {
        let Generator { pages, kinds, run, next_value, .. } = self;
        let (reads_left, writes_left) = match pages {
            Pages::Values(both) => (both.1.left(), both.0.runs.left()),
            Pages::Drawn(drawn) => (drawn.runs[0].left(), drawn.runs[1].left()),
        };
        if reads_left + writes_left == 0 {
            return false;
        }
        // All orders of the runs left are equally likely.
        run.write = kinds.below(reads_left + writes_left) >= reads_left;
        (run.next, run.next_value) = (0, 0);
        match pages {
            Pages::Drawn(drawn) => {
                let (page, sizes) = drawn.next(run.write, next_value, &mut run.values);
                run.page = page;
                run.sizes.clear();
                run.sizes.extend_from_slice(sizes);
            }
            Pages::Values(both) if run.write => {
                let (page, sizes) = both.0.next(next_value, &mut run.values);
                run.page = page;
                run.sizes.clear();
                run.sizes.extend_from_slice(sizes);
            }
            Pages::Values(both) => {
                let (writes, reads) = &mut **both;
                reads.not_kept(std::mem::take(&mut writes.not_kept));
                let (page, value) = reads.next(&mut writes.kept, next_value, &mut run.sizes);
                run.page = page;
                let pages: u32 = run.sizes.iter().sum();
                run.values.clear();
                run.values.extend(value..value + pages);
            }
        }
        !run.sizes.is_empty()
    }
}
