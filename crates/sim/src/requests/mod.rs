//! The table of single requests, written lot by lot while the run goes on, so that memory does not grow with it.

mod row;
mod writer;

use std::sync::Arc;

pub(crate) use row::RequestRow;
use writer::Writer;
pub use writer::{RequestTable, RequestsTo};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use flashtwin_bits::Slab;

use crate::engine::{Arrived, Completed, Ledger, ServedBy};
use crate::error::SimError;

/// Requests of a lot, some 15 MB.
const LOT: usize = 1 << 16;

#[derive(Debug, Clone, Copy)]
struct Entry {
    arrived: Arrived,
    total_ns: Option<u64>,
    ledger: Ledger,
    server: Option<ServedBy>,
}

impl Entry {
    fn trimmed(arrived: &Arrived) -> Self {
        Self { arrived: *arrived, total_ns: None, ledger: Ledger::default(), server: None }
    }

    fn completed(arrived: &Arrived, done: &Completed<'_>) -> Self {
        let (total_ns, ledger, server) = (Some(done.total_ns), *done.ledger, done.server);
        Self { arrived: *arrived, total_ns, ledger, server }
    }
}

/// Requests for a host that lives in the drive's time and sees completions when it is time.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostRequests {
    /// Large, so they stay where they are; the lists name their slots.
    entries: Slab<Entry>,
    /// The engine reports a completion as soon as it is certain: the time, and the entry.
    ahead: Vec<(u64, u32)>,
    /// Completed by the host's clock, in this order, with the time.
    done: Vec<(u64, u32)>,
}

impl HostRequests {
    /// The controller has taken a trim in.
    pub(crate) fn trimmed(&mut self, arrived: &Arrived, now_ns: u64) {
        self.ahead.push((now_ns, self.entries.insert(Entry::trimmed(arrived))));
    }

    pub(crate) fn completed(&mut self, arrived: &Arrived, done: &Completed<'_>) {
        let entry = self.entries.insert(Entry::completed(arrived, done));
        self.ahead.push((done.arrival_ns + done.total_ns, entry));
    }

    /// Hands the answers that are certain to another drive's books. Trims have none.
    pub(crate) fn hand_over(&mut self, mut to: impl FnMut(&Arrived, &Completed<'_>)) {
        for (_, slot) in self.ahead.drain(..) {
            let Entry { arrived, total_ns, ledger, server } = &self.entries[slot as usize];
            let &Arrived { number, kind, arrival_ns, .. } = arrived;
            if let &Some(total_ns) = total_ns {
                let (request, server) = (slot, *server);
                to(arrived, &Completed { request, number, kind, arrival_ns, total_ns, ledger, server });
            }
            self.entries.free(slot);
        }
    }

    /// The host's clock has come to `clock_ns`.
    pub(crate) fn settle(&mut self, clock_ns: u64) {
        let known = self.done.len();
        self.done.extend(self.ahead.extract_if(.., |(done_ns, _)| *done_ns <= clock_ns));
        self.done[known..].sort_by_key(|(done_ns, _)| *done_ns);
    }

    /// The next completion that is certain.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.ahead.iter().map(|(done_ns, _)| *done_ns).min()
    }

    /// At most `most` of the requests completed by now, in their order: number, time, and response time.
    pub(crate) fn take_times(&mut self, most: usize) -> impl Iterator<Item = [u64; 3]> {
        let most = most.min(self.done.len());
        self.done.drain(..most).map(|(done_ns, slot)| {
            self.entries.free(slot);
            let Entry { arrived, total_ns, .. } = self.entries[slot as usize];
            [arrived.number, done_ns, total_ns.unwrap_or(0)]
        })
    }

    /// The requests completed since the last call: `id`, `done_ns` and, of the columns of the table of requests, the response
    /// time alone unless `parts` are wanted.
    pub(crate) fn take(&mut self, system: &str, parts: bool) -> Result<RecordBatch, ArrowError> {
        let done_ns: Vec<i64> = self.done.iter().map(|&(done_ns, _)| done_ns as i64).collect();
        let entries = || self.done.iter().map(|&(_, slot)| &self.entries[slot as usize]);
        let batch = if parts {
            writer::batch(system, entries())
        } else {
            let id: ArrayRef =
                Arc::new(entries().map(|entry| Some(entry.arrived.number)).collect::<UInt64Array>());
            let response_ns = Arc::new(entries().map(|entry| entry.total_ns).collect::<UInt64Array>());
            RecordBatch::try_from_iter_with_nullable([("id", id, false), ("response_ns", response_ns, true)])?
        };
        let (schema, mut columns, _) = batch.into_parts();
        self.done.drain(..).for_each(|(_, slot)| self.entries.free(slot));
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        fields[0] = Arc::new(Field::new("id", DataType::UInt64, false));
        fields.insert(1, Arc::new(Field::new("done_ns", DataType::Int64, false)));
        columns.insert(1, Arc::new(Int64Array::from(done_ns)));
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    }
}

#[derive(Debug)]
pub(crate) struct RequestLog {
    lot: Vec<Entry>,
    writer: Writer,
    failed: Option<SimError>,
}

impl RequestLog {
    pub(crate) fn new(system: &str, to: &RequestsTo) -> Result<Self, SimError> {
        let writer = Writer::new(system, to)?;
        Ok(Self { lot: Vec::with_capacity(LOT), writer, failed: None })
    }

    #[cold]
    pub(crate) fn trimmed(&mut self, arrived: &Arrived) {
        self.push(Entry::trimmed(arrived));
    }

    pub(crate) fn completed(&mut self, arrived: &Arrived, done: &Completed<'_>) {
        self.push(Entry::completed(arrived, done));
    }

    fn push(&mut self, entry: Entry) {
        self.lot.push(entry);
        if self.lot.len() == LOT {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        if self.failed.is_none() && !self.lot.is_empty() {
            self.failed = self.writer.write(&self.lot).err();
        }
        self.lot.clear();
    }

    /// A full disk is no reason to replay for hours.
    pub(crate) fn check(&mut self) -> Result<(), SimError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    pub(crate) fn finish(mut self) -> Result<RequestTable, SimError> {
        self.hand_on();
        self.check()?;
        self.writer.finish()
    }
}
