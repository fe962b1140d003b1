//! The table of single requests, written lot by lot while the run goes on, so that memory does not grow with it.

mod row;
mod writer;

pub(crate) use row::RequestRow;
use writer::Writer;
pub use writer::{RequestTable, RequestsTo};

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
        self.push(Entry { arrived: *arrived, total_ns: None, ledger: Ledger::default(), server: None });
    }

    pub(crate) fn completed(&mut self, arrived: &Arrived, done: &Completed<'_>) {
        let (total_ns, ledger, server) = (Some(done.total_ns), *done.ledger, done.server);
        self.push(Entry { arrived: *arrived, total_ns, ledger, server });
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

    pub(crate) fn check(&mut self) -> Result<(), SimError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    pub(crate) fn finish(mut self) -> Result<RequestTable, SimError> {
        self.hand_on();
        self.check()?;
        self.writer.finish()
    }
}
