//! Page operations of the host that wait. A read with its tables in RAM and its page on flash gets no entry, nor does a
//! write that needs no hash.

use std::collections::VecDeque;

use flashtwin_ftl::{Host, Lpn, NO_CONTENT, NO_HANDLE, ReadTarget};

use super::super::accounts::Accounts;
use super::super::pool::Slot;
use super::write_table::WriteTable;
use super::{Ledger, NONE, Observer, OpenLedger, Pool};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fingerprint {
    /// The system ignores contents, or the sample of the page's run was not found.
    No,
    /// Yes: a sample, or a page whose sample was found.
    Yes,
    /// Unknown until the sample is looked up.
    AsSample,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    /// A write that waits for its reads or for an earlier write of its page; one that bypasses the hash unit, until it
    /// is decided. When it has its tables, it reads this old page, if any.
    Preparing(Option<ReadTarget>),
    /// A write at the hash unit, which keeps the order of writes.
    Hashing,
    /// A write whose hash is known. It waits for a page of the fingerprint store, or for an earlier write that does.
    Hashed,
    /// A read that waits for mapping tables. Then it reads this page, whose data have this name, or needs no flash.
    ReadTables(Option<(ReadTarget, u64)>),
    /// A read that waits for mapping tables. The read cache has its data.
    ReadCached,
    /// A read that waits for mapping tables and, in the array under this number, for the program of its page.
    ReadProgram(u32),
    /// A read that waits for the decision of the newest write of its page.
    ReadDecision,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct PageOp {
    pub(super) page: Host,
    pub(super) request: u32,
    /// The undecided writes of the same page just before and just after this one.
    pub(super) before: u32,
    pub(super) behind: u32,
    next: u32,
    /// Its walk through mapping tables ([`super::tables`]), while it waits for them.
    pub(super) walk: u32,
    /// Reads served from controller RAM. The controller counts them once the content is known.
    pub(super) reads: u32,
    /// Charges so far; for a write only if it waited for more than the hash unit.
    pub(super) charged: OpenLedger,
    /// When a write came to the hash unit, or a read began to wait.
    pub(super) since_ns: u64,
    pub(super) state: State,
    /// Unmet needs of a write: its tables, its old page, its sample.
    pub(super) needs: u8,
    pub(super) fingerprint: Fingerprint,
    /// It has waited for nothing but the hash unit, so its wait follows from its request.
    pub(super) plain: bool,
    pub(super) is_sample: bool,
    /// The placement handle of a write.
    pub(super) handle: u8,
    due: bool,
    /// The page is trimmed as soon as it is written.
    pub(super) trimmed: bool,
}

impl Slot for PageOp {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl PageOp {
    #[inline(always)]
    fn new(page: Host, request: u32, state: State, since_ns: u64) -> Self {
        Self {
            page,
            request,
            before: NONE,
            behind: NONE,
            next: NONE,
            walk: NONE,
            reads: 0,
            charged: OpenLedger::NONE,
            since_ns,
            state,
            needs: 0,
            fingerprint: Fingerprint::No,
            plain: true,
            is_sample: false,
            handle: NO_HANDLE,
            due: false,
            trimmed: false,
        }
    }
}

pub(super) fn page_read(lpn: Lpn) -> Host {
    Host { lpn, address: 0, content: NO_CONTENT }
}

#[derive(Debug, Clone)]
pub(super) struct PageOps {
    slots: Pool<PageOp>,
    /// By logical page, its newest undecided write.
    newest: WriteTable,
    /// Writes that may be ready. A decision may free others, which are appended here rather than decided recursively.
    due: VecDeque<u32>,
    pub(super) looking: bool,
    /// The placement handle of the writes that are being taken in.
    pub(super) handle: u8,
}

impl PageOps {
    pub(super) fn new() -> Self {
        let (slots, newest, due) = (Pool::new(), WriteTable::new(), VecDeque::new());
        Self { slots, newest, due, looking: false, handle: NO_HANDLE }
    }

    #[inline]
    pub(super) fn newest(&self, lpn: Lpn) -> Option<u32> {
        Some(self.newest.of(lpn)).filter(|&write| write != NONE)
    }

    pub(super) fn all_writes_are_decided(&self) -> bool {
        self.newest.is_empty()
    }

    /// Charges part of the wait of a page operation.
    pub(super) fn charge<O: Observer>(&mut self, op: u32, ledger: &Ledger, accounts: &mut Accounts<O>) {
        let op = &mut self.slots[op];
        op.plain = false;
        accounts.charge(&mut op.charged, ledger);
    }

    #[inline]
    pub(super) fn insert_write(&mut self, page: Host, request: u32, fingerprint: Fingerprint) -> u32 {
        let write = PageOp::new(page, request, State::Preparing(None), 0);
        let write = PageOp { fingerprint, handle: self.handle, ..write };
        let slot = self.slots.insert(write);
        let before = self.newest.replace(page.lpn, slot);
        if before != NONE {
            self.slots[slot].before = before;
            self.slots[before].behind = slot;
        }
        slot
    }

    #[inline]
    pub(super) fn remove_write(&mut self, slot: u32) -> PageOp {
        let write = self.slots[slot];
        match write.behind {
            NONE => self.newest.remove(write.page.lpn),
            behind => self.slots[behind].before = NONE,
        }
        self.slots.remove(slot);
        write
    }

    pub(super) fn insert(
        &mut self,
        page: Host,
        request: u32,
        state: State,
        charged: OpenLedger,
        since_ns: u64,
    ) -> u32 {
        self.slots.insert(PageOp { charged, ..PageOp::new(page, request, state, since_ns) })
    }

    pub(super) fn remove(&mut self, slot: u32) -> PageOp {
        self.slots.remove(slot);
        self.slots[slot]
    }

    #[inline]
    pub(super) fn note_due(&mut self, slot: u32) {
        if !std::mem::replace(&mut self.slots[slot].due, true) {
            self.due.push_back(slot);
        }
    }

    pub(super) fn next_due(&mut self) -> Option<u32> {
        let slot = self.due.pop_front()?;
        self.slots[slot].due = false;
        Some(slot)
    }
}

impl std::ops::Index<u32> for PageOps {
    type Output = PageOp;
    #[inline]
    fn index(&self, slot: u32) -> &PageOp {
        &self.slots[slot]
    }
}

impl std::ops::IndexMut<u32> for PageOps {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut PageOp {
        &mut self.slots[slot]
    }
}
