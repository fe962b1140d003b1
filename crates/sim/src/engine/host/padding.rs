//! Program units that are not full when the host waits for pages in them: they are padded, so that they are programmed.
//!
//! A flush waits for pages that were written before it, and so does a write that goes past the write cache (FUA): the
//! units are padded as soon as all writes are decided. A page that waits for a place in RAM waits for programs: the units
//! are padded if no program is under way that would give a place up.

use super::{Condition, Controller, Engine, Observer};

impl<C: Controller, O: Observer> Engine<C, O> {
    /// The host waits from now on for pages that were written until now.
    pub(super) fn ask_for_padding(&mut self) {
        self.pads_units = self.array.gathers();
    }

    /// Pads the open program units if the host waits for pages in them.
    #[inline]
    pub(super) fn pad_if_waited_for(&mut self) {
        if self.array.gathers() {
            self.look_at_units();
        }
    }

    #[inline(never)]
    fn look_at_units(&mut self) {
        let decided = self.page_ops.all_writes_are_decided();
        let (gathered, under_way) = self.array.host_pages_in_units();
        let wants_place =
            || [Condition::CachePlace, Condition::BufferPlace].map(|place| self.waits.anybody(place));
        let stuck = gathered > 0 && under_way == 0 && wants_place().contains(&true);
        let due = self.pads_units && decided;
        self.pads_units &= !decided;
        if gathered > 0 && (due || stuck) {
            if let Err(error) = self.controller.pad_units(&mut self.own_ops) {
                self.accounts.fail(error);
            }
            self.queue_own(false);
        }
    }
}
