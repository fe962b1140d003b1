//! Statistics of all requests, for bringing them into a trace's form.

use std::ops::Range;

use crate::columns::Columns;
use crate::quality::Figures;
use crate::request::{CHUNK_BYTES, NO_CONTENT};

/// Statistics of requests as they come in: a reader gathers them batch by batch, in the processor's caches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    pub(crate) requests: usize,
    /// Whether they are sorted by time, the first one being at 0.
    pub(crate) in_time: bool,
    latest_ns: i64,
    /// If they are not, it judges nothing.
    pub(crate) figures: Figures,
    pub(crate) unaligned: u64,
    /// Whether contents are numbered by appearance, and how many there are.
    pub(crate) numbered: bool,
    pub(crate) contents: u32,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally {
            requests: 0,
            in_time: true,
            latest_ns: 0,
            figures: Figures::default(),
            unaligned: 0,
            numbered: true,
            contents: 0,
        }
    }

    pub(crate) fn of(columns: &Columns) -> Tally {
        let mut tally = Tally::new();
        tally.add(columns, 0..columns.len());
        tally
    }

    pub(crate) fn add(&mut self, columns: &Columns, rows: Range<usize>) {
        let time_ns = &columns.time_ns[rows.clone()];
        let (Some(&first), Some(&last)) = (time_ns.first(), time_ns.last()) else { return };
        self.in_time &= self.latest_ns <= first && time_ns.is_sorted() && (self.requests > 0 || first == 0);
        self.latest_ns = last;
        self.requests += rows.len();
        if self.in_time {
            let (offsets, lengths) =
                (&columns.offset_bytes[rows.clone()], &columns.length_bytes[rows.clone()]);
            self.figures.add(time_ns, &columns.op[rows.clone()], offsets, lengths);
        }
        // Columns without any contents may come without their starts.
        let Some(starts) = columns.content_start.get(rows.start..=rows.end) else { return };
        self.unaligned += count_unaligned(starts, &columns.offset_bytes[rows.clone()]);
        self.number(&columns.content[starts[0] as usize..starts[rows.len()] as usize]);
    }

    fn number(&mut self, contents: &[u32]) {
        let mut next = self.contents;
        self.numbered = self.numbered
            && contents.iter().all(|&id| {
                next += u32::from(id == next);
                id < next || id == NO_CONTENT
            });
        self.contents = next;
    }
}

pub(crate) fn count_unaligned(content_start: &[u64], offset_bytes: &[u64]) -> u64 {
    content_start
        .windows(2)
        .zip(offset_bytes)
        .filter(|(pair, offset)| (pair[0] != pair[1]) & (*offset % u64::from(CHUNK_BYTES) != 0))
        .count() as u64
}

#[cfg(test)]
mod tests {
    use flashtwin_bits::SplitMix64;

    use super::*;
    use crate::request::Op;

    fn columns(change: impl Fn(&mut Columns)) -> Columns {
        let mut draw = SplitMix64(5);
        let mut columns = Columns::empty();
        let mut named = 0;
        for number in 0..500 {
            columns.time_ns.push(number * 1_000);
            columns.volume.push(0);
            columns.op.push([Op::Read, Op::Write, Op::Trim][draw.next() as usize % 3]);
            columns.offset_bytes.push(draw.next() % 1_000 * 2_048);
            columns.length_bytes.push(4_096);
            if draw.next().is_multiple_of(2) {
                let id = draw.next() % (named + 1);
                let known = !draw.next().is_multiple_of(9);
                columns.content.push(if known { id as u32 } else { NO_CONTENT });
                named = if known { named.max(id + 1) } else { named };
            }
            columns.content_start.push(columns.content.len() as u64);
        }
        change(&mut columns);
        columns
    }

    #[test]
    fn what_is_gathered_batch_by_batch_is_what_all_columns_say() {
        for rows in [1, 7, 499, 500] {
            let columns = columns(|_| ());
            let mut tally = Tally::new();
            for first in (0..500).step_by(rows) {
                tally.add(&columns, first..(first + rows).min(500));
            }
            let mut figures = Figures::default();
            figures.add(&columns.time_ns, &columns.op, &columns.offset_bytes, &columns.length_bytes);
            assert_eq!((tally.requests, tally.in_time, tally.figures), (500, true, figures), "{rows}");
            let carries = |row: usize| columns.content_start[row] != columns.content_start[row + 1];
            let unaligned = (0..500).filter(|&row| carries(row) && columns.offset_bytes[row] % 4_096 != 0);
            assert_eq!(tally.unaligned, unaligned.count() as u64);
            let known = columns.content.iter().filter(|&&id| id != NO_CONTENT);
            assert_eq!((tally.numbered, tally.contents), (true, known.max().unwrap() + 1));
        }
    }

    #[test]
    fn what_is_out_of_order_is_noticed_wherever_batches_end() {
        type Change = fn(&mut Columns);
        let changes: [(Change, bool, bool); 4] = [
            (|columns| columns.time_ns[250] = 0, false, true),
            (|columns| columns.time_ns.iter_mut().for_each(|time| *time += 1), false, true),
            (|columns| columns.time_ns[0] = -5, false, true),
            (|columns| columns.content[0] = 7, true, false),
        ];
        for (change, in_time, numbered) in changes {
            let columns = columns(change);
            for rows in [1, 10, 250, 500] {
                let mut tally = Tally::new();
                for first in (0..500).step_by(rows) {
                    tally.add(&columns, first..first + rows);
                }
                assert_eq!((tally.in_time, tally.numbered), (in_time, numbered), "{rows}");
            }
        }
    }
}
