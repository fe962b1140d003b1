//! From the threads that carry requests out to the one that writes rows.
//!
//! The writer restores the order of arrival. It polls, so handing a row over costs a lock and wakes no thread.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use flashtwin_trace::Op;
use smallvec::SmallVec;

use super::key::Digest;
use crate::locks::{lock, unpoisoned};

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) time_ns: i64,
    pub(crate) op: Op,
    pub(crate) flags: u8,
    pub(crate) offset_bytes: u64,
    pub(crate) length_bytes: u32,
    /// Most requests are a page.
    pub(crate) digests: SmallVec<[Digest; 1]>,
}

impl Row {
    fn bytes(&self) -> usize {
        let outside = if self.digests.spilled() { self.digests.capacity() * size_of::<Digest>() } else { 0 };
        size_of::<(u64, Option<Row>)>() + outside
    }
}

/// A request that failed leaves its number and no row.
pub(crate) type Numbered = (u64, Option<Row>);

#[derive(Default)]
struct State {
    rows: Vec<Numbered>,
    bytes: usize,
    ended: bool,
}

pub(crate) struct Queue {
    begun: Instant,
    next: AtomicU64,
    state: Mutex<State>,
    taken: Condvar,
    /// There is much to take, or all is over.
    look: Condvar,
    bytes_max: usize,
    pub(crate) stalled_ns: AtomicU64,
}

pub(crate) struct Arrived<'a> {
    queue: &'a Queue,
    number: u64,
    pub(crate) time_ns: i64,
    row: Option<Row>,
}

impl Arrived<'_> {
    pub(crate) fn done(mut self, row: Row) {
        self.row = Some(row);
    }
}

impl Drop for Arrived<'_> {
    fn drop(&mut self) {
        self.queue.push(self.number, self.row.take());
    }
}

impl Queue {
    pub(crate) fn new(bytes_max: usize) -> Queue {
        Queue {
            begun: Instant::now(),
            next: AtomicU64::new(0),
            state: Mutex::default(),
            taken: Condvar::new(),
            look: Condvar::new(),
            bytes_max,
            stalled_ns: AtomicU64::new(0),
        }
    }

    pub(crate) fn arrive(&self) -> Arrived<'_> {
        let number = self.next.fetch_add(1, Relaxed);
        let time_ns = i64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(i64::MAX);
        Arrived { queue: self, number, time_ns, row: None }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn push(&self, number: u64, row: Option<Row>) {
        let bytes = row.as_ref().map_or(size_of::<Numbered>(), Row::bytes);
        let mut state = self.state();
        if state.bytes >= self.bytes_max && !state.ended {
            let stalled = Instant::now();
            let full = |state: &mut State| state.bytes >= self.bytes_max && !state.ended;
            state = unpoisoned(self.taken.wait_while(state, full));
            self.stalled_ns.fetch_add(stalled.elapsed().as_nanos() as u64, Relaxed);
        }
        if state.ended {
            return;
        }
        let before = state.bytes;
        state.bytes += bytes;
        state.rows.push((number, row));
        let half = self.bytes_max / 2;
        if before < half && state.bytes >= half {
            self.look.notify_one();
        }
    }

    /// Requests handed over since the last call, after `patience` at most; returns whether there will be more.
    pub(crate) fn take(&self, into: &mut Vec<Numbered>, patience: Duration) -> bool {
        let mut state = self.state();
        if !state.ended && state.bytes < self.bytes_max / 2 {
            state = unpoisoned(self.look.wait_timeout(state, patience)).0;
        }
        std::mem::swap(&mut state.rows, into);
        state.bytes = 0;
        self.taken.notify_all();
        !state.ended
    }

    /// Rows that are there can still be taken.
    pub(crate) fn end(&self) {
        self.state().ended = true;
        self.look.notify_all();
        self.taken.notify_all();
    }
}

#[derive(Default)]
pub(crate) struct InOrder {
    next: u64,
    held: std::collections::BTreeMap<u64, Option<Row>>,
    latest_ns: i64,
}

/// Rows held back for one that is still under way. A request that takes longer is written late.
const HELD_MAX: usize = 1 << 16;

impl InOrder {
    /// Hands on all rows whose turn has come. At the end, or when too many are held, all.
    pub(crate) fn add(&mut self, rows: &mut Vec<Numbered>, end: bool, mut take: impl FnMut(Row)) {
        for (number, row) in rows.drain(..) {
            if number == self.next && self.held.is_empty() {
                self.hand_on(number, row, &mut take);
            } else {
                self.held.insert(number, row);
            }
        }
        while let Some(entry) = self.held.first_entry() {
            let turn = *entry.key() <= self.next;
            if !turn && !end && self.held.len() <= HELD_MAX {
                break;
            }
            let entry = self.held.pop_first();
            if let Some((number, row)) = entry {
                self.hand_on(number, row, &mut take);
            }
        }
    }

    fn hand_on(&mut self, number: u64, row: Option<Row>, take: &mut impl FnMut(Row)) {
        self.next = self.next.max(number + 1);
        if let Some(mut row) = row {
            // A number and its time are taken one after the other, and a late row must not go back in time.
            self.latest_ns = self.latest_ns.max(row.time_ns);
            row.time_ns = self.latest_ns;
            take(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(time_ns: i64) -> Option<Row> {
        Some(Row {
            time_ns,
            op: Op::Read,
            flags: 0,
            offset_bytes: 0,
            length_bytes: 1,
            digests: SmallVec::new(),
        })
    }

    fn times(order: &mut InOrder, rows: Vec<Numbered>, end: bool) -> Vec<i64> {
        let mut times = Vec::new();
        order.add(&mut { rows }, end, |row| times.push(row.time_ns));
        times
    }

    #[test]
    fn rows_come_in_the_order_of_their_arrival() {
        let mut order = InOrder::default();
        assert_eq!(times(&mut order, vec![(1, row(11)), (2, row(12))], false), [0; 0]);
        assert_eq!(times(&mut order, vec![(0, None), (4, row(14))], false), [11, 12]);
        assert_eq!(times(&mut order, vec![(3, row(9))], false), [12, 14], "time does not go back");
        assert_eq!(times(&mut order, vec![(7, row(17)), (6, row(16))], true), [16, 17]);
    }

    #[test]
    fn one_that_never_ends_does_not_hold_all_others() {
        let mut order = InOrder::default();
        let many = (1..=HELD_MAX as u64 + 10).map(|number| (number, row(number as i64))).collect();
        let first = times(&mut order, many, false);
        assert_eq!((first.len(), first[0]), (HELD_MAX + 10, 1), "then none is held");
        assert_eq!(times(&mut order, vec![(0, row(0))], false), [HELD_MAX as i64 + 10]);
    }

    #[test]
    fn full_queue_blocks_requests_and_an_ended_one_frees_them() {
        let queue = Queue::new(1);
        queue.arrive().done(row(0).unwrap());
        std::thread::scope(|scope| {
            let second = scope.spawn(|| queue.arrive().done(row(1).unwrap()));
            std::thread::sleep(Duration::from_millis(30));
            assert!(!second.is_finished());
            let mut taken = Vec::new();
            assert!(queue.take(&mut taken, Duration::ZERO));
            assert_eq!(taken.len(), 1);
            second.join().unwrap();
            assert!(queue.stalled_ns.load(Relaxed) > 0);
            let third = scope.spawn(|| queue.arrive().done(row(2).unwrap()));
            std::thread::sleep(Duration::from_millis(30));
            queue.end();
            third.join().unwrap();
            taken.clear();
            assert!(!queue.take(&mut taken, Duration::ZERO));
            assert_eq!(taken.len(), 1);
        });
    }
}
