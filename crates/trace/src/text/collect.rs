//! Collects the output of line parsers.

use crate::columns::Columns;
use crate::digest::{Digests, digests_of_zeroes, fold};
use crate::feed::Parts;
use crate::flags;
use crate::operations::{Operation, Vocabulary};
use crate::options::OpenOptions;
use crate::quality::Quality;
use crate::request::{NO_CONTENT, NO_STREAM, Op, Request};
use crate::volumes::Volumes;

use super::fields::{Bad, Complaint, Field};
use super::intern::{BATCH, Interner};

pub(crate) struct Parsed {
    pub(crate) operation: Operation,
    pub(crate) time_ns: i64,
    pub(crate) time_at: usize,
    pub(crate) volume: u32,
    pub(crate) offset_bytes: u64,
    /// Only that of a trim may have more than 32 bits.
    pub(crate) length_bytes: u64,
}

pub(crate) struct Collector {
    columns: Columns,
    volumes: Volumes,
    pub(crate) quality: Quality,
    interner: Interner,
    /// Digests of the last entries of `columns.content`, whose ids are looked up together.
    waiting: Vec<[u8; 16]>,
    /// First time of the file, in the file's own ticks: some clocks count from the year 1601.
    first_tick: Option<u64>,
    latest_ns: i64,
    window_ns: u64,
    pub(crate) vocabulary: Vocabulary,
}

impl Collector {
    pub(crate) fn new(options: &OpenOptions) -> Collector {
        Collector {
            columns: Columns::empty(),
            volumes: Volumes::default(),
            quality: Quality::default(),
            interner: Interner::new(),
            waiting: Vec::with_capacity(BATCH),
            first_tick: None,
            latest_ns: i64::MIN,
            window_ns: options.sort_window_ns,
            vocabulary: options.op_words.clone(),
        }
    }

    /// A time in ticks of `ns_per_tick`, as nanoseconds since the file's first time.
    #[inline]
    pub(crate) fn time(&mut self, ticks: u64, ns_per_tick: u64, at: usize) -> Result<i64, Bad> {
        const TIME: Field = Field { name: "time", expected: "a time" };
        let first = *self.first_tick.get_or_insert(ticks);
        // Both are below 2^63, so the difference fits. A tick is far below 2^63 ns.
        let time_ns = (ticks as i64 - first as i64).checked_mul(ns_per_tick as i64);
        // Half of what 64 bits hold in either direction, so that times can be subtracted.
        time_ns.filter(|time_ns| time_ns.unsigned_abs() < 1 << 62).ok_or_else(|| {
            let limit = "more than 146 years away from the first request";
            Bad::new(at, Complaint::Beyond(TIME, limit))
        })
    }

    /// Index of a volume by its key, by which volumes are numbered in the end.
    #[inline]
    pub(crate) fn volume(&mut self, key: u64, name: impl FnOnce(u64) -> String) -> u32 {
        self.volumes.index(key, name)
    }

    #[inline]
    pub(crate) fn pass_line(&mut self) {
        self.quality.passed_lines += 1;
    }

    /// Adds the requests of an operation, or counts a line without any.
    #[inline(always)]
    pub(crate) fn push(&mut self, parsed: &Parsed) -> Result<(), Bad> {
        match parsed.operation {
            Operation { flush_first: false, op: Some(op @ (Op::Read | Op::Write)), durable: false } => {
                self.add(op, parsed, parsed.offset_bytes, parsed.length_bytes as u32)
            }
            Operation { op: Some(op), .. } => self.add_seldom(op, parsed),
            Operation { op: None, .. } => {
                self.pass_line();
                Ok(())
            }
        }
    }

    #[cold]
    fn add_seldom(&mut self, op: Op, parsed: &Parsed) -> Result<(), Bad> {
        // Parts of a trim are below 4 GiB. Their bounds lie on any page of up to 1 MiB, as its own do.
        const PART_BYTES: u32 = u32::MAX - (1 << 20) + 1;
        let &Parsed { operation: Operation { flush_first, durable, .. }, offset_bytes, length_bytes, .. } =
            parsed;
        if flush_first || op == Op::Flush {
            // It has no address, wherever the line says that it was.
            self.add(Op::Flush, parsed, 0, 0)?;
            // The line's contents are its write's.
            if let [.., begin, end] = &mut self.columns.content_start[..] {
                *end = *begin;
            }
            if op == Op::Flush || length_bytes == 0 {
                return Ok(());
            }
        }
        let (first_row, mut done) = (self.rows(), 0);
        loop {
            let part = u32::try_from(length_bytes - done).unwrap_or(PART_BYTES);
            self.add(op, parsed, offset_bytes.saturating_add(done), part)?;
            done += u64::from(part);
            if done == length_bytes {
                break;
            }
        }
        self.mark_from(first_row, (if durable { flags::DURABLE } else { 0 }, NO_STREAM));
        Ok(())
    }

    #[inline]
    fn add(&mut self, op: Op, parsed: &Parsed, offset_bytes: u64, length_bytes: u32) -> Result<(), Bad> {
        let &Parsed { time_ns, volume, .. } = parsed;
        if time_ns < self.latest_ns {
            self.step_back(parsed)?;
        } else {
            self.latest_ns = time_ns;
        }
        if length_bytes == 0 && op != Op::Flush {
            self.quality.empty_requests += 1;
            return Ok(());
        }
        self.columns.push(Request { time_ns, volume, op, offset_bytes, length_bytes });
        Ok(())
    }

    #[cold]
    pub(crate) fn mark_from(&mut self, row: usize, marks: (u8, u16)) {
        self.columns.mark_from(row, marks);
    }

    #[cold]
    fn step_back(&mut self, parsed: &Parsed) -> Result<(), Bad> {
        let behind_ns = self.latest_ns.abs_diff(parsed.time_ns);
        if behind_ns > self.window_ns {
            // The line may be skipped: its contents must not stay.
            self.look_up();
            let kept = self.columns.content_start.last().copied().unwrap_or(0);
            self.columns.content.truncate(kept as usize);
            let window_ns = self.window_ns;
            let complaint = Complaint::TooEarly { behind_ns, window_ns };
            return Err(Bad::new(parsed.time_at, complaint));
        }
        let quality = &mut self.quality;
        quality.reordered_requests += 1;
        quality.largest_step_back_ns = quality.largest_step_back_ns.max(behind_ns);
        Ok(())
    }

    /// Lengthens the last request, whose contents have been added before; false if there is none or it gets too long.
    #[inline]
    pub(crate) fn lengthen_last(&mut self, length_bytes: u32) -> bool {
        let columns = &mut self.columns;
        let (Some(length), Some(end)) = (columns.length_bytes.last_mut(), columns.content_start.last_mut())
        else {
            return false;
        };
        match length.checked_add(length_bytes) {
            Some(sum) => {
                *length = sum;
                *end = columns.content.len() as u64;
                self.quality.joined_lines += 1;
                true
            }
            None => false,
        }
    }

    #[inline]
    pub(crate) fn content(&mut self, digest: &[u8]) {
        self.columns.content.push(NO_CONTENT);
        self.waiting.push(fold(digest));
        if self.waiting.len() == BATCH {
            self.look_up();
        }
    }

    fn look_up(&mut self) {
        let content = &mut self.columns.content;
        let first = content.len() - self.waiting.len();
        let ids = &mut content[first..];
        // Beyond the last id the reader refuses the trace.
        self.interner.ids(&self.waiting, |nth, id| ids[nth] = id.unwrap_or(NO_CONTENT));
        self.waiting.clear();
    }

    /// Bytes of the collected requests, and the largest growth at one time for `further` more lines.
    pub(crate) fn bytes(&self, further: usize) -> (u64, u64) {
        let (columns, contents) = (self.columns.bytes(further), self.interner.bytes(further));
        let digests = if self.interner.digests.is_empty() { 0 } else { contents.1 };
        (columns.0 + contents.0, columns.1 + digests)
    }

    pub(crate) fn rows(&self) -> usize {
        self.columns.len()
    }

    /// Takes out the requests so far. The last one stays until the end, because the next line may lengthen it.
    pub(crate) fn take(&mut self, at_end: bool) -> Columns {
        self.look_up();
        self.columns.take_but(usize::from(!at_end))
    }

    /// The latest time so far; nothing may come that is further behind it than the sorting window.
    pub(crate) fn latest_ns(&self) -> i64 {
        self.latest_ns
    }

    /// The content of nothing but zeroes among those taken, if its digest is one that needs no key.
    pub(crate) fn zero_content(&self) -> Option<u32> {
        digests_of_zeroes().find_map(|digest| self.interner.find(&digest))
    }

    pub(crate) fn digests(&self) -> &[[u8; 16]] {
        &self.interner.digests
    }

    pub(crate) fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    pub(crate) fn into_parts(self) -> Parts {
        let digests = Digests::new(self.interner.digests);
        Parts { volumes: self.volumes, quality: self.quality, digests, tally: None }
    }
}
