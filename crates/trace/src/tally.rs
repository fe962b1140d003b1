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
