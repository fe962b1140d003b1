use std::ops::Range;

use flashtwin_analysis::rows;

use crate::finished::FinishedRun;
use crate::metrics::QueueSeries;

rows! {
    /// One row a time bin and chip.
    ///
    /// At most 512 bins of equal width, a power of two of nanoseconds; the last may be shorter.
    /// Simulated time. Ordered by bin, then chip.
    pub(super) struct QueueRow in "queue_over_time" {
        /// Begin of the bin.
        start_ns: i64,
        /// Length of the bin.
        width_ns: i64,
        /// The chip.
        chip: u32,
        /// Operations waiting and in service: mean within the bin.
        queue_mean: Option<f64>,
        /// Operations waiting and in service: maximum within the bin.
        queue_max: u32,
    }
}

impl QueueRow {
    pub(super) fn all(run: &mut FinishedRun<'_>) -> Vec<QueueRow> {
        let span_ns = run.counted_from_ns()..run.engine.now_ns();
        QueueRow::of(&mut run.engine.accounts_mut().observer.queues, &span_ns)
    }

    fn of(queues: &mut QueueSeries, span_ns: &Range<u64>) -> Vec<QueueRow> {
        let chips = queues.finish(span_ns.end);
        let width = queues.width_ns();
        let bins = chips.first().map_or(0, Vec::len);
        let first = (span_ns.start / width) as usize;
        let cells = (first..bins).flat_map(|bin| (0..chips.len()).map(move |chip| (bin, chip)));
        let row = |(bin, chip): (usize, usize)| {
            let cell = chips[chip][bin];
            // The warm-up may end within the first bin, and the run within the last.
            let start = (bin as u64 * width).max(span_ns.start);
            let length = ((bin as u64 + 1) * width).min(span_ns.end) - start;
            QueueRow {
                start_ns: start as i64,
                width_ns: length as i64,
                chip: chip as u32,
                queue_mean: (length > 0).then(|| cell.area as f64 / length as f64),
                queue_max: cell.max,
            }
        };
        cells.map(row).collect()
    }
}

rows! {
    /// One row a time bin.
    ///
    /// Bins as in `queue_over_time`. No rows for a system that does not hash.
    pub(super) struct HashQueueRow in "hash_queue_over_time" {
        /// Begin of the bin.
        start_ns: i64,
        /// Length of the bin.
        width_ns: i64,
        /// Pages waiting for the hash unit and in it: mean within the bin.
        queue_mean: Option<f64>,
        /// Pages waiting for the hash unit and in it: maximum within the bin.
        queue_max: u32,
    }
}

impl HashQueueRow {
    pub(super) fn all(run: &mut FinishedRun<'_>) -> Vec<HashQueueRow> {
        if run.engine.hash_unit().is_none() {
            return Vec::new();
        }
        let span_ns = run.counted_from_ns()..run.engine.now_ns();
        // The unit's queue is followed as that of a single chip.
        let rows = QueueRow::of(&mut run.engine.accounts_mut().observer.hash_queue, &span_ns);
        rows.into_iter()
            .map(|QueueRow { start_ns, width_ns, queue_mean, queue_max, .. }| HashQueueRow {
                start_ns,
                width_ns,
                queue_mean,
                queue_max,
            })
            .collect()
    }
}
