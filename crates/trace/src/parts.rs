//! A trace in memory in parts, each gone through by a thread of its own.

use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

/// Requests that are worth a thread.
const PART_REQUESTS: usize = 1 << 17;
/// Most parts. Each has page tables of its own, which are merged later.
const PARTS_MAX: usize = 4;

/// Requests in parts of about the same length, one for each processor, or fewer.
pub(crate) fn parts(requests: usize) -> Vec<Range<usize>> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    in_parts(requests, processors.min(PARTS_MAX).min(requests / PART_REQUESTS))
}

pub(crate) fn in_parts(requests: usize, parts: usize) -> Vec<Range<usize>> {
    let parts = parts.max(1);
    (0..parts).map(|part| requests * part / parts..requests * (part + 1) / parts).collect()
}

/// Runs the same work for several items in parallel, the last one on this thread; results are in their order.
pub(crate) fn side_by_side<I: Send, T: Send>(
    things: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> T + Sync,
) -> Vec<T> {
    let mut things: Vec<I> = things.into_iter().collect();
    let Some(last) = things.pop() else { return Vec::new() };
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = things.into_iter().map(|thing| scope.spawn(move || work(thing))).collect();
        let last = work(last);
        threads.into_iter().map(joined).chain([last]).collect()
    })
}

/// The result of a thread; its panic goes on here.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

pub(crate) fn pieces<T>(
    mut column: &mut [T],
    lengths: impl Iterator<Item = usize>,
) -> impl Iterator<Item = &mut [T]> {
    lengths.map(move |length| {
        let (piece, rest) = std::mem::take(&mut column).split_at_mut(length);
        column = rest;
        piece
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_of_it_once_in_order() {
        for (requests, count) in [(0, 1), (1, 3), (10, 3), (7, 7), (1_000_003, 4)] {
            let parts = in_parts(requests, count);
            assert_eq!(parts.len(), count);
            assert!(parts.iter().cloned().flatten().eq(0..requests));
        }
        assert_eq!((in_parts(5, 0).len(), parts(PART_REQUESTS * 2 - 1).len()), (1, 1));
    }

    #[test]
    fn pieces_run_in_parallel_and_results_are_in_order() {
        let mut column: Vec<u32> = (0..100).collect();
        let parts = in_parts(column.len(), 7);
        let sums = side_by_side(pieces(&mut column, parts.iter().map(Range::len)), |piece| {
            piece.iter_mut().for_each(|item| *item *= 2);
            piece.iter().sum::<u32>()
        });
        assert!(column.iter().copied().eq((0..100).map(|item| item * 2)));
        let expected = parts.iter().map(|part| part.clone().map(|item| 2 * item as u32).sum());
        assert_eq!(sums, expected.collect::<Vec<u32>>());
        assert!(side_by_side(0..0, |item: usize| item).is_empty());
    }

    #[test]
    fn a_panic_in_a_part_goes_on() {
        let fail = |part: usize| assert_ne!(part, 1, "on purpose");
        assert!(std::panic::catch_unwind(|| side_by_side(0..3, fail)).is_err());
        assert_eq!(side_by_side(2..4, fail), [(), ()]);
    }
}
