//! Reads that wait for the program of their page, where controller RAM serves no reads. A wait's key has the life of
//! its block, because after an erase the number is another page. The wait is kept in the array, which pins the block at
//! once, because operations without time may erase it next.

use flashtwin_bits::Slab;
use flashtwin_ftl::{ReadTarget, Unit};
use flashtwin_nand::Ppn;
use hashbrown::HashMap;

use super::super::accounts::{Charge, Ledger};
use super::{Accounts, Array, NONE, Observer, Op, OpenLedger, Queue, Work};

#[derive(Debug, Clone, Copy)]
pub(crate) struct AwaitedRead {
    pub(crate) target: ReadTarget,
    /// The name of its data ([`super::merging`]); of host reads.
    pub(crate) data: u64,
    /// [`Op::request`] and [`Op::other`] of the operation to be.
    pub(crate) request: u32,
    pub(crate) work: Work,
    pub(crate) other: u32,
    pub(crate) charged: OpenLedger,
}

#[derive(Debug, Clone, Copy)]
struct WaitingRead {
    read: AwaitedRead,
    ready_ns: Option<u64>,
    programmed: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ProgramWaits {
    /// By page and life of its block, in order of arrival.
    by_page: HashMap<(Ppn, u32), Vec<u32>>,
    reads: Slab<WaitingRead>,
}

impl ProgramWaits {
    fn insert(&mut self, page: (Ppn, u32), read: AwaitedRead) -> u32 {
        let at = self.reads.insert(WaitingRead { read, ready_ns: None, programmed: false });
        self.by_page.entry(page).or_default().push(at);
        at
    }
}

impl Array {
    /// Returns its number. Other things may be read before it comes to its chip ([`Array::awaited_read_comes`]).
    pub(crate) fn await_program<O: Observer>(
        &mut self,
        read: AwaitedRead,
        accounts: &mut Accounts<O>,
    ) -> u32 {
        let ppn = read.target.ppn;
        // The life that the mapping tables mean: erases that are ordered but not carried out count.
        let page = (ppn, self.blocks.decided_life(self.geometry.block_index(ppn)));
        let Some(awaited) = &mut self.awaited else { return NONE };
        accounts.counts.pages.awaited_reads += 1;
        awaited.insert(page, read)
    }

    pub(crate) fn awaited_read_comes<O: Observer>(
        &mut self,
        at: u32,
        waited: OpenLedger,
        accounts: &mut Accounts<O>,
    ) {
        let now = self.now_ns;
        let Some(awaited) = &mut self.awaited else { return };
        let waiting = &mut awaited.reads[at as usize];
        waiting.ready_ns = Some(now);
        if let Some(waited) = accounts.close(waited) {
            accounts.charge(&mut waiting.read.charged, &waited);
        }
        let WaitingRead { read: AwaitedRead { target, work, .. }, programmed, .. } = *waiting;
        let unit = self.unit_of_plane[target.plane];
        self.load_up(unit, true, accounts);
        if target.redirected && work == Work::HostRead {
            accounts.redirected(self.units[unit].chip);
        }
        if programmed {
            self.unpin(&target);
            self.queue_awaited(at, None, accounts);
        }
    }

    #[cold]
    pub(super) fn programmed<O: Observer>(&mut self, ppn: Ppn, accounts: &mut Accounts<O>) {
        let page = (ppn, self.blocks.life(self.geometry.block_index(ppn)));
        let unit = self.unit_of_plane[self.geometry.plane(ppn)];
        let Some(reads) = self.awaited.as_mut().and_then(|awaited| awaited.by_page.remove(&page)) else {
            return;
        };
        for at in reads {
            let Some(awaited) = &mut self.awaited else { return };
            let waiting = &mut awaited.reads[at as usize];
            waiting.programmed = true;
            let WaitingRead { read, ready_ns, .. } = *waiting;
            match ready_ns {
                Some(_) => self.queue_awaited(at, Some(unit), accounts),
                // The read still waits for something else: until it comes, the block may not be erased.
                None => self.pin(&read.target),
            }
        }
    }

    /// If the program ends now, `programmer` is its unit, which dispatches itself.
    fn queue_awaited<O: Observer>(&mut self, at: u32, programmer: Option<Unit>, accounts: &mut Accounts<O>) {
        let Some(awaited) = &mut self.awaited else { return };
        awaited.reads.free(at);
        let WaitingRead { read, ready_ns, .. } = awaited.reads[at as usize];
        let AwaitedRead { target, data, request, work, other, mut charged } = read;
        let unit = self.unit_of_plane[target.plane];
        let ready_ns = ready_ns.unwrap_or(self.now_ns);
        accounts.charge(&mut charged, &Ledger::only(Charge::PageProgram, self.now_ns - ready_ns));
        let may_join = work == Work::HostRead && self.merging.is_some();
        if may_join && self.join_read(unit, (&target, data), request, charged, accounts) {
            return self.load_down(unit, true, accounts);
        }
        let pins_block = self.geometry.plane(target.ppn) == target.plane;
        self.pin(&target);
        let slot = self.ops.insert(Op {
            pins_block,
            redirected: target.redirected,
            other,
            request,
            charged,
            ready_ns,
            ..Op::new(target.ppn, work)
        });
        if may_join {
            self.may_be_joined(unit, slot, data);
        }
        if work == Work::HostRead {
            self.sense_awaited(target.ppn);
        }
        self.units[unit].push_in_order(Queue::Reads, slot, &mut self.ops);
        if Some(unit) != programmer {
            self.suspend_for_read(unit, accounts);
            self.dispatch_or_hold(unit, accounts);
        }
        self.note_wait(unit, slot, accounts);
    }
}
