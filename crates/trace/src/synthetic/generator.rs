//! The requests of a workload, one after the other.

use std::collections::VecDeque;

use super::arrivals::Arrivals;
use super::course::{Course, READ, WRITE};
use super::plan::{ContentPlan, Plan};
use super::reads::Reads;
use super::runs::Runs;
use super::trains::Trains;
use super::writes::Writes;
use super::zipf::Drawn;
use crate::columns::Columns;
use crate::random::Random;
use crate::request::{CHUNK_BYTES, Op, Request};

// Purposes of random draws: draws of one purpose do not depend on the number of draws of another.
const ARRIVALS: u64 = 10;
const KINDS: u64 = 11;
const WRITES: u64 = 12;
const READS: u64 = 13;
const TRAINS: u64 = 14;
const GAPS: u64 = 15;
/// More than there are purposes: each round has its own.
const PURPOSES: u64 = 64;

/// Makes the requests of a plan. Memory: 8 bytes a page that may be overwritten, 36 a value to come again, 16 a kept
/// run.
#[derive(Debug)]
pub(super) struct Generator {
    plan: Plan,
    seed: u64,
    /// Rounds of the plan's days that are over, and when the one at hand began.
    round: u64,
    round_begins_ns: u64,
    ends_ns: u64,
    last_ns: u64,
    arrivals: Arrivals,
    /// Arrival of the first request, which is where time begins.
    origin: Option<u64>,
    pages: Pages,
    next_value: u32,
    kinds: Random,
    run: Run,
    /// With trains: their streams, and runs of reads that their ends cut, the oldest first.
    course: Option<Course>,
    cut: VecDeque<Run>,
    /// Writes from one flush to the next, 0 for none, and how many are left until then.
    writes_per_flush: u64,
    writes_left: u64,
}

#[derive(Debug)]
enum Pages {
    Values(Box<(Writes, Reads)>),
    Drawn(Box<Drawn>),
}

/// Requests each of which begins where the one before ended, and how far they have been handed out.
#[derive(Debug, Default)]
struct Run {
    write: bool,
    live: bool,
    page: u64,
    sizes: Vec<u32>,
    next: usize,
    values: Vec<u32>,
    next_value: usize,
}

impl Run {
    fn is_over(&self) -> bool {
        self.next == self.sizes.len()
    }

    fn pages(&self) -> u64 {
        self.sizes[self.next..].iter().copied().map(u64::from).sum()
    }
}

impl Generator {
    pub(super) fn new(plan: Plan, seed: u64) -> Generator {
        let random = |purpose| Random::new(seed, purpose);
        let [read_plan, write_plan] = &plan.kinds;
        let pages = match &plan.content {
            ContentPlan::Zipf(exponent, values) => {
                let runs = [Runs::new(read_plan), Runs::new(write_plan)];
                Pages::Drawn(Box::new(Drawn::new(&plan, *exponent, *values, runs, random(WRITES))))
            }
            ContentPlan::Values(values) => {
                let writes = Writes::new(&plan, values, Runs::new(write_plan), random(WRITES));
                let reads = Reads::new(
                    &plan.kinds,
                    values,
                    plan.footprint - values.pages_there - values.pages_copied,
                    random(READS),
                );
                Pages::Values(Box::new((writes, reads)))
            }
        };
        let whole_rounds = plan.trace_days.is_multiple_of(plan.days);
        Generator {
            round: 0,
            round_begins_ns: 0,
            ends_ns: if whole_rounds { u64::MAX } else { plan.trace_days.saturating_mul(plan.day_ns) },
            last_ns: 0,
            arrivals: arrivals(&plan, random),
            origin: None,
            pages,
            next_value: 0,
            kinds: random(KINDS),
            run: Run::default(),
            course: course(&plan),
            cut: VecDeque::new(),
            writes_per_flush: plan.writes_per_flush,
            writes_left: plan.writes_per_flush,
            plan,
            seed,
        }
    }

    #[cold]
    fn next_round(&mut self) -> bool {
        self.round += 1;
        if self.round >= self.plan.rounds() {
            return false;
        }
        let Generator { plan, seed, round, .. } = self;
        let random = |purpose| Random::new(*seed, purpose + *round * PURPOSES);
        let [read_plan, write_plan] = &plan.kinds;
        match (&mut self.pages, &plan.content) {
            (Pages::Values(both), ContentPlan::Values(values)) => {
                let (writes, reads) = &mut **both;
                // Behind the footprint and the additions of the rounds before.
                let base = plan.footprint + values.pages_kept + (*round - 1) * values.later.addresses();
                writes.go_on(values, Runs::new(write_plan), base, random(WRITES));
                reads.go_on(read_plan, values, base, random(READS));
            }
            (Pages::Drawn(drawn), _) => {
                drawn.go_on([Runs::new(read_plan), Runs::new(write_plan)], random(WRITES));
            }
            _ => return false,
        }
        self.round_begins_ns = (*round * plan.days).saturating_mul(plan.day_ns);
        self.arrivals = arrivals(plan, random);
        self.course = course(plan);
        self.kinds = random(KINDS);
        self.run = Run::default();
        self.cut.clear();
        true
    }

    #[inline]
    fn next_arrival(&mut self) -> Option<u64> {
        let time = match self.arrivals.next() {
            Some(time) => time,
            None if self.next_round() => self.arrivals.next()?,
            None => return None,
        };
        // The last train of a round may end when the next one has begun.
        self.last_ns = self.last_ns.max(self.round_begins_ns + time);
        (self.last_ns < self.ends_ns).then_some(self.last_ns)
    }

    /// Adds requests until there are `rows`, or none are left; one more where that is a flush.
    pub(super) fn fill(&mut self, columns: &mut Columns, rows: usize) {
        while columns.time_ns.len() < rows {
            let Some(time) = self.next_arrival() else { return };
            let goes_on = match self.course {
                Some(_) => self.follow(),
                None => !self.run.is_over() || self.draw_run(),
            };
            if !goes_on {
                return;
            }
            let origin = *self.origin.get_or_insert(time);
            let run = &mut self.run;
            let pages = run.sizes[run.next];
            run.next += 1;
            let values = run.next_value..run.next_value + pages as usize;
            run.next_value = values.end;
            columns.content.extend_from_slice(&run.values[values]);
            columns.push(Request {
                time_ns: (time - origin) as i64,
                volume: 0,
                op: if run.write { Op::Write } else { Op::Read },
                offset_bytes: run.page * u64::from(CHUNK_BYTES),
                length_bytes: pages * CHUNK_BYTES,
            });
            run.page += u64::from(pages);
            if self.run.write && self.writes_per_flush > 0 {
                self.note_write(columns);
            }
        }
    }

    fn note_write(&mut self, columns: &mut Columns) {
        self.writes_left -= 1;
        if self.writes_left > 0 {
            return;
        }
        self.writes_left = self.writes_per_flush;
        let time_ns = columns.time_ns.last().copied().unwrap_or(0);
        columns.push(Request { time_ns, volume: 0, op: Op::Flush, offset_bytes: 0, length_bytes: 0 });
    }

    #[inline]
    fn follow(&mut self) -> bool {
        let Generator { arrivals, kinds, course: Some(course), .. } = self else { return false };
        let begins = course.is_over();
        if begins && !course.turn() {
            let Some(stretch) = arrivals.next_stretch() else { return false };
            course.begin(stretch, kinds);
        }
        let (kind, room) = course.kind();
        course.step();
        let changes = begins || self.run.write != (kind == WRITE);
        let cuts = changes && !self.run.is_over();
        if cuts {
            self.cut.push_back(std::mem::take(&mut self.run));
        }
        if !self.run.is_over() {
            return true;
        }
        // A later stretch takes up reads that were cut: going on at once would be a longer stretch.
        let spare = match (changes, cuts) {
            (false, _) => usize::MAX,
            (true, cuts) => usize::from(cuts),
        };
        if kind == READ && (self.cut.len() > spare || self.reads_left() == 0) {
            self.run = self.cut.pop_front().unwrap_or_default();
            self.look_again();
        }
        !self.run.is_over() || self.next_run(kind == WRITE, room)
    }

    fn look_again(&mut self) {
        let Generator { pages: Pages::Values(both), run, .. } = self else { return };
        if run.live {
            both.0.contents(run.page, run.pages(), &mut run.values);
            run.next_value = 0;
        } else {
            both.0.renewed.look(run.page, &mut run.values[run.next_value..]);
        }
    }

    fn reads_left(&self) -> u64 {
        match &self.pages {
            Pages::Values(both) => both.1.left(),
            Pages::Drawn(drawn) => drawn.runs[READ].left(),
        }
    }

    fn draw_run(&mut self) -> bool {
        let (reads_left, writes_left) = match &self.pages {
            Pages::Values(both) => (both.1.left(), both.0.runs.left()),
            Pages::Drawn(drawn) => (drawn.runs[READ].left(), drawn.runs[WRITE].left()),
        };
        if reads_left + writes_left == 0 {
            return false;
        }
        let write = self.kinds.below(reads_left + writes_left) >= reads_left;
        self.next_run(write, u64::MAX)
    }

    /// Begins the next run, a write's with `room` for this many requests; whether there is one.
    fn next_run(&mut self, write: bool, room: u64) -> bool {
        let Generator { pages, run, next_value, .. } = self;
        (run.write, run.live) = (write, false);
        (run.next, run.next_value) = (0, 0);
        match pages {
            Pages::Drawn(drawn) => {
                let (page, sizes) = drawn.next(run.write, room, next_value, &mut run.values);
                run.page = page;
                run.sizes.clear();
                run.sizes.extend_from_slice(sizes);
            }
            Pages::Values(both) if run.write => {
                let (page, sizes) = both.0.next(room, next_value, &mut run.values);
                run.page = page;
                run.sizes.clear();
                run.sizes.extend_from_slice(sizes);
            }
            Pages::Values(both) => {
                let (writes, reads) = &mut **both;
                reads.not_kept(std::mem::take(&mut writes.not_kept));
                if let Some(page) = reads.next_live(writes, &mut run.sizes) {
                    (run.page, run.live) = (page, true);
                    writes.contents(page, run.pages(), &mut run.values);
                    return !run.sizes.is_empty();
                }
                run.page = reads.next(writes, next_value, &mut run.sizes, &mut run.values);
            }
        }
        !run.sizes.is_empty()
    }
}

fn arrivals(plan: &Plan, random: impl Fn(u64) -> Random) -> Arrivals {
    let trains = plan.trains.as_ref().map(|trains| Trains::new(trains, random(TRAINS), random(GAPS)));
    Arrivals::new(
        plan.kinds.iter().map(|kind| kind.requests).sum(),
        plan.days,
        plan.day_ns,
        plan.rhythm,
        plan.burst,
        trains,
        random(ARRIVALS),
    )
}

fn course(plan: &Plan) -> Option<Course> {
    let trains = plan.trains.as_ref()?;
    Some(Course::new([plan.kinds[READ].requests, plan.kinds[WRITE].requests], trains))
}
