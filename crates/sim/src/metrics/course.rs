use super::ledgers::{Ledgers, Share, from_ns, row_of};
use crate::engine::{Charge, Ledger};

/// Buckets of a run. When time outgrows them, neighbours are merged.
const MAX_BUCKETS: u64 = 400;
/// Width of the first buckets: 2^16 ns.
const FIRST_SHIFT: u32 = 16;
const NONE: u32 = u32::MAX;

/// Time charged to a cell before another one takes over.
const NEARLY_FULL_NS: u64 = 1 << 62;

/// Requests of one bucket and nearly one response time. Those with hash and channel waits alone touch one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Cell {
    /// How many, and the row in the lowest 16 bits, to save a cache line.
    count_and_row: u64,
    total_ns: u64,
    /// By the place of the charge ([`PLACES`]).
    sums_ns: [u64; Charge::COUNT],
}

const _: () = assert!(size_of::<Cell>() == 192, "three cache lines");

const ONE: u64 = 1 << u16::BITS;

/// The place of each charge in a cell: first those that every request may have.
const PLACES: [u8; Charge::COUNT] = {
    use Charge::{Channel, Controller, Flash, Hash, HashQueue, Transfer};
    let first = [Controller, Transfer, Flash, Channel, Hash, HashQueue];
    let mut places = [u8::MAX; Charge::COUNT];
    let (mut at, mut next) = (0, 0);
    while at < first.len() {
        places[first[at] as usize] = next;
        (at, next) = (at + 1, next + 1);
    }
    at = 0;
    while at < Charge::COUNT {
        if places[at] == u8::MAX {
            places[at] = next;
            next += 1;
        }
        at += 1;
    }
    places
};

impl Cell {
    fn new(row: usize) -> Self {
        Self { count_and_row: row as u64, total_ns: 0, sums_ns: [0; Charge::COUNT] }
    }

    fn count(&self) -> u64 {
        self.count_and_row / ONE
    }

    fn row(&self) -> usize {
        (self.count_and_row % ONE) as usize
    }

    /// Reads the ledger word by word, because a processor stalls on several recently written words at once.
    #[inline]
    fn add(&mut self, total_ns: u64, ledger: &Ledger) {
        self.count_and_row += ONE;
        self.total_ns += total_ns;
        for (charge, ns) in ledger.charges() {
            self.sums_ns[usize::from(PLACES[charge])] += ns;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.count_and_row += other.count() * ONE;
        self.total_ns += other.total_ns;
        self.sums_ns.iter_mut().zip(other.sums_ns).for_each(|(sum, ns)| *sum += ns);
    }

    fn charges_ns(&self) -> [u64; Charge::COUNT] {
        PLACES.map(|place| self.sums_ns[usize::from(place)])
    }
}

#[derive(Debug, Clone, Default)]
struct Bucket {
    max_ns: u64,
    /// Of each row of response times ([`row_of`]), the place of the cell that takes more of them.
    place: Vec<u32>,
    cells: Vec<Cell>,
}

impl Bucket {
    #[inline]
    fn cell(&mut self, row: usize, total_ns: u64) -> &mut Cell {
        let place = self.place.get(row).copied().unwrap_or(NONE);
        let room = self.cells.get(place as usize).map(|cell| cell.total_ns.checked_add(total_ns));
        match room {
            Some(Some(sum_ns)) if sum_ns < NEARLY_FULL_NS => &mut self.cells[place as usize],
            _ => self.new_cell(row),
        }
    }

    #[cold]
    fn new_cell(&mut self, row: usize) -> &mut Cell {
        if row >= self.place.len() {
            self.place.resize(row + 1, NONE);
        }
        self.place[row] = self.cells.len() as u32;
        self.cells.push(Cell::new(row));
        let last = self.cells.len() - 1;
        &mut self.cells[last]
    }

    fn merge(&mut self, other: &Self) {
        self.max_ns = self.max_ns.max(other.max_ns);
        for theirs in &other.cells {
            self.cell(theirs.row(), theirs.total_ns).merge(theirs);
        }
    }
}

/// At most 400 buckets of equal width by arrival, doubled when full, each with sums of wait ledgers in the rows of
/// [`Ledgers`], because only the end of the run shows which requests are the slowest.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    shift: u32,
    buckets: Vec<Bucket>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moment {
    pub(crate) count: u64,
    pub(crate) sum_ns: u128,
    pub(crate) max_ns: u64,
    /// At most 3.2 % above the exact one.
    pub(crate) p99_ns: Option<u64>,
}

/// Their number, and where their time went. The row in which the run's slowest begin counts by their part of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Slow {
    pub(crate) count: f64,
    pub(crate) charges_ns: [f64; Charge::COUNT],
}

impl Default for Course {
    fn default() -> Self {
        Self { shift: FIRST_SHIFT, buckets: Vec::new() }
    }
}

impl Course {
    pub(crate) fn width_ns(&self) -> u64 {
        1 << self.shift
    }

    pub(crate) fn len(&self) -> usize {
        self.buckets.len()
    }

    #[inline]
    pub(crate) fn record(&mut self, arrival_ns: u64, total_ns: u64, ledger: &Ledger) {
        let at = (arrival_ns >> self.shift) as usize;
        if at >= self.buckets.len() {
            return self.record_further(arrival_ns, total_ns, ledger);
        }
        let bucket = &mut self.buckets[at];
        bucket.max_ns = bucket.max_ns.max(total_ns);
        bucket.cell(row_of(total_ns), total_ns).add(total_ns, ledger);
    }

    #[cold]
    fn record_further(&mut self, arrival_ns: u64, total_ns: u64, ledger: &Ledger) {
        while arrival_ns >> self.shift >= MAX_BUCKETS {
            self.widen();
        }
        let buckets = (arrival_ns >> self.shift) as usize + 1;
        if buckets > self.buckets.len() {
            self.buckets.resize_with(buckets, Bucket::default);
        }
        self.record(arrival_ns, total_ns, ledger);
    }

    pub(crate) fn widen(&mut self) {
        self.shift += 1;
        let mut halves = std::mem::take(&mut self.buckets).into_iter();
        while let Some(mut bucket) = halves.next() {
            if let Some(right) = halves.next() {
                bucket.merge(&right);
            }
            self.buckets.push(bucket);
        }
    }

    pub(crate) fn ledgers(&self) -> Ledgers {
        let mut ledgers = Ledgers::default();
        for cell in self.buckets.iter().flat_map(|bucket| &bucket.cells) {
            ledgers.add_row(cell.row(), cell.count(), &cell.charges_ns().map(u128::from));
        }
        ledgers
    }

    pub(crate) fn moment(&self, at: usize) -> Moment {
        let none = Bucket::default();
        let bucket = self.buckets.get(at).unwrap_or(&none);
        let mut cells: Vec<&Cell> = bucket.cells.iter().collect();
        cells.sort_unstable_by_key(|cell| cell.row());
        let count = cells.iter().map(|cell| cell.count()).sum::<u64>();
        let sum_ns = cells.iter().map(|cell| u128::from(cell.total_ns)).sum();
        // The 99th percentile is the time that 1 % of the requests, rounded down, exceed.
        let mut above = 0;
        let row = cells.iter().rev().find(|cell| {
            above += cell.count();
            above > count / 100
        });
        let p99_ns = row.map(|cell| (from_ns(cell.row() + 1) - 1).min(bucket.max_ns));
        Moment { count, sum_ns, max_ns: bucket.max_ns, p99_ns }
    }

    pub(crate) fn slow(&self, at: usize, slowest: &Share) -> Slow {
        let mut slow = Slow { count: 0.0, charges_ns: [0.0; Charge::COUNT] };
        let first = row_of(slowest.from_ns);
        let cells = self.buckets.get(at).map_or(&[][..], |bucket| &bucket.cells);
        for cell in cells.iter().filter(|cell| slowest.count > 0 && cell.row() >= first) {
            let part = if cell.row() == first { slowest.first_part } else { 1.0 };
            slow.count += cell.count() as f64 * part;
            slow.charges_ns.iter_mut().zip(cell.charges_ns()).for_each(|(sum, ns)| *sum += ns as f64 * part);
        }
        slow
    }
}

#[cfg(test)]
mod tests {
    use flashtwin_ftl::Rng;

    use super::*;

    fn ledger(total_ns: u64) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.charge(Charge::Erase, total_ns / 3);
        ledger.charge(Charge::Flash, total_ns - total_ns / 3);
        ledger
    }

    #[test]
    fn charges_have_own_places_and_common_ones_share_a_line() {
        let mut places = PLACES;
        places.sort_unstable();
        assert!(places.into_iter().enumerate().all(|(at, place)| usize::from(place) == at));
        let mut cell = Cell::new(0);
        for charge in Charge::ALL {
            let mut ledger = Ledger::default();
            ledger.charge(charge, 1 << charge as u32);
            cell.add(ledger.total_ns(), &ledger);
        }
        assert_eq!(cell.charges_ns(), Charge::ALL.map(|charge| 1 << charge as u32));
        use Charge::{Channel, Controller, Flash, Hash, HashQueue, Transfer};
        for charge in [Controller, Transfer, Flash, Channel, Hash, HashQueue] {
            let place = usize::from(PLACES[charge as usize]);
            assert!(std::mem::offset_of!(Cell, sums_ns) + 8 * place < 64, "{charge:?}");
        }
    }

    #[test]
    fn cells_know_their_rows() {
        assert!(row_of(u64::MAX) < usize::from(u16::MAX));
    }

    #[test]
    fn buckets_hold_what_a_list_of_requests_says() {
        let mut rng = Rng::stream(3, "course");
        let (mut course, mut list) = (Course::default(), Vec::new());
        for at in 0..30_000u64 {
            // Time outgrows the buckets seven times; requests do not come in order.
            let (arrival, total) =
                (at * 100_000 + u64::from(rng.below(50_000_000)), 100 + u64::from(rng.below(9_000_000)));
            course.record(arrival, total, &ledger(total));
            list.push((arrival, total));
        }
        assert!((200..=400).contains(&course.len()), "{}", course.len());
        let slowest = course.ledgers().slowest(300);
        let (mut slow_count, mut slow_ns) = (0.0, 0.0);
        for at in 0..course.len() {
            let begin = at as u64 * course.width_ns();
            let inside =
                list.iter().filter(|(arrival, _)| (begin..begin + course.width_ns()).contains(arrival));
            let mut times: Vec<u64> = inside.map(|(_, total)| *total).collect();
            times.sort_unstable();
            let moment = course.moment(at);
            assert_eq!(
                (moment.count, moment.sum_ns),
                (times.len() as u64, times.iter().map(|&t| u128::from(t)).sum())
            );
            assert_eq!(moment.max_ns, times.last().copied().unwrap_or(0));
            if let Some(found) = moment.p99_ns {
                let exact = times[times.len() - 1 - times.len() / 100] as f64;
                assert!((1.0..1.032).contains(&(found as f64 / exact)), "{found} for {exact}");
            }
            let slow = course.slow(at, &slowest);
            let surely =
                times.iter().filter(|&&total| row_of(total) > row_of(slowest.from_ns)).count() as f64;
            let at_most = times.iter().filter(|&&total| total >= slowest.from_ns).count() as f64;
            assert!((surely..=at_most).contains(&slow.count), "{slow:?}");
            slow_count += slow.count;
            slow_ns += slow.charges_ns[Charge::Erase as usize];
        }
        assert!((slow_count - 300.0).abs() < 1e-6, "{slow_count}");
        let whole = slowest.charges_ns[Charge::Erase as usize] as f64;
        assert!((slow_ns / whole - 1.0).abs() < 1e-6, "{slow_ns} of {whole}");
    }

    #[test]
    fn sums_of_centuries_do_not_overflow() {
        let mut course = Course::default();
        let time = (1 << 61) + 5;
        let mut ledger = Ledger::default();
        Charge::ALL.into_iter().for_each(|charge| ledger.charge(charge, time / 21));
        for at in 0..100u64 {
            // In two buckets that become one.
            course.record(at % 2 * course.width_ns(), time, &ledger);
        }
        course.widen();
        let share = course.ledgers().whole();
        assert_eq!((share.count, share.charges_ns[3]), (100, 100 * u128::from(time / 21)));
        assert_eq!((course.moment(0).count, course.moment(0).sum_ns), (100, 100 * u128::from(time)));
    }

    #[test]
    fn nothing_arrived_is_missing_not_zero() {
        let mut course = Course::default();
        course.record(5 * course.width_ns(), 100, &ledger(100));
        assert_eq!((course.len(), course.moment(2).p99_ns, course.moment(5).p99_ns), (6, None, Some(100)));
        let none = Ledgers::default().slowest(0);
        assert_eq!((course.slow(2, &none).count, course.slow(5, &none).count), (0.0, 0.0));
    }

    #[test]
    fn a_percentile_is_the_longest_time_of_its_row() {
        let mut course = Course::default();
        (0..99).for_each(|_| course.record(0, 1000, &ledger(1000)));
        course.record(0, 5000, &ledger(5000));
        // Times from 992 to 1007 share a row.
        assert_eq!(course.moment(0).p99_ns, Some(1007));
    }

    #[test]
    fn a_cell_takes_requests_until_its_time_is_nearly_full() {
        let mut course = Course::default();
        let quarter = NEARLY_FULL_NS / 4;
        let cells = [1, 1, 1, 2, 2, 2, 3];
        for expected in cells {
            course.record(0, quarter, &ledger(quarter));
            assert_eq!(course.buckets[0].cells.len(), expected);
        }
        let each: Vec<u64> = course.buckets[0].cells.iter().map(|cell| cell.count()).collect();
        assert_eq!(each, [3, 3, 1]);
    }
}
