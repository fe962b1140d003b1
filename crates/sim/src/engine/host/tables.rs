//! Page operations that wait for pages of the mapping tables.
//!
//! Missing pages are read one after the other, because the first has the address of the second. The controller's tables
//! run ahead of the flash: a page "in RAM" may still be on its way there, and the operation waits for it as well.

use flashtwin_bits::Slab;
use flashtwin_ftl::{Cause, Lookup};

use super::{BackEnd, Condition, Controller, Decider, NONE, Observer, Waits};

#[derive(Debug, Clone, Default)]
struct Walk {
    /// In the order of need. The operation goes on after the last page that delays it; later ones are read all the
    /// same. A page without a place on flash is being read for another operation.
    steps: Vec<Lookup>,
    at: usize,
    since_ns: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    looked_up: Vec<Lookup>,
    walks: Slab<Walk>,
}

impl Tables {
    fn insert(&mut self, since_ns: u64) -> u32 {
        self.walks.insert_with(
            || Walk { since_ns, ..Walk::default() },
            |walk| {
                walk.steps.clear();
                (walk.at, walk.since_ns) = (0, since_ns);
            },
        )
    }

    pub(super) fn page_has_come(&mut self, walk: u32) {
        self.walks[walk as usize].at += 1;
    }

    /// Returns when it began, and the pages behind the last one that delayed anybody.
    pub(super) fn end(&mut self, walk: u32) -> (u64, Vec<Lookup>) {
        let Walk { steps, at, since_ns } = &mut self.walks[walk as usize];
        let ended = (*since_ns, steps.split_off(*at));
        self.walks.free(walk);
        ended
    }

    /// [`NONE`] if nothing delays the operation.
    #[inline(never)]
    fn prepare<C: Controller, O: Observer>(&mut self, back: &mut BackEnd<C, O>, waits: &mut Waits) -> u32 {
        back.controller.take_lookups(&mut self.looked_up);
        let walk = self.insert(back.now_ns());
        let steps = &mut self.walks[walk as usize].steps;
        for lookup in self.looked_up.drain(..) {
            let Lookup { page, read, delays } = lookup;
            let arriving = waits.is_expected(Condition::TablePage(page));
            let on_flash = read.and_then(|ppn| back.array.place_on_flash(ppn));
            steps.extend(match (read, on_flash) {
                (Some(_), Some(ppn)) if !arriving => {
                    // The block must not be erased before the read has its turn.
                    back.array.pin_page(ppn);
                    waits.expect(Condition::TablePage(page));
                    Some(Lookup { read: on_flash, ..lookup })
                }
                (Some(_), _) => {
                    // The page was just evicted and is on its way to the flash, or even to RAM: it needs no other read.
                    back.accounts.counts.own_buffer_reads[Cause::Metadata as usize] += 1;
                    (arriving && delays).then_some(Lookup { read: None, ..lookup })
                }
                (None, _) => (arriving && delays).then_some(lookup),
            });
        }
        if steps.iter().any(|step| step.delays) {
            return walk;
        }
        let counted_only = std::mem::take(steps);
        self.walks.free(walk);
        Self::read_behind(counted_only, back);
        NONE
    }

    /// Reads table pages that delay no operation: they only take the flash's time.
    pub(super) fn read_behind<C: Controller, O: Observer>(lookups: Vec<Lookup>, back: &mut BackEnd<C, O>) {
        for Lookup { page, read, .. } in lookups {
            if let Some(ppn) = read {
                back.read_table_page(page, ppn, NONE);
            }
        }
    }

    /// Goes on from step to step, to a page that must be waited for; `false` where there is none any more.
    pub(super) fn walk<C: Controller, O: Observer>(
        &mut self,
        walk: u32,
        op: u32,
        back: &mut BackEnd<C, O>,
        waits: &mut Waits,
    ) -> bool {
        let walk = &mut self.walks[walk as usize];
        loop {
            match walk.steps.get(walk.at) {
                Some(&Lookup { page, read: Some(ppn), delays: true }) => {
                    back.read_table_page(page, ppn, op);
                    return true;
                }
                Some(&Lookup { page, delays: true, .. }) => {
                    if waits.is_expected(Condition::TablePage(page)) {
                        waits.wait(Condition::TablePage(page), op);
                        return true;
                    }
                    walk.at += 1;
                }
                _ => return false,
            }
        }
    }
}

impl<C: Controller, O: Observer> Decider<C, O> {
    #[inline]
    pub(super) fn looked_up(&mut self) -> u32 {
        let Self { tables, back, waits, .. } = self;
        tables.as_mut().map_or(NONE, |tables| tables.prepare(back, waits))
    }

    /// The walk was made a moment ago, so its first page is not in RAM.
    #[inline(never)]
    pub(super) fn wait_for_tables(&mut self, walk: u32, op: u32) {
        self.page_ops[op].walk = walk;
        let Some(tables) = &mut self.tables else { return };
        let waits = tables.walk(walk, op, &mut self.back, &mut self.waits);
        debug_assert!(waits, "a walk begins with a page that delays nobody");
    }
}
