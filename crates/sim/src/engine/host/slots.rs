//! Slots of the host's queue in a closed loop. An open loop takes none.

use std::collections::VecDeque;

#[derive(Debug, Clone, Default)]
pub(super) struct Slots {
    /// Slots in use so far; 0 in an open loop.
    taken: u32,
    /// When each free slot was given back, the first one first.
    freed_ns: VecDeque<u64>,
}

impl Slots {
    pub(super) fn take_new(&mut self, depth: u32) -> bool {
        let new = self.taken < depth;
        self.taken += u32::from(new);
        new
    }

    pub(super) fn all_taken(&self) -> bool {
        self.freed_ns.is_empty()
    }

    pub(super) fn take_freed(&mut self) -> Option<u64> {
        self.freed_ns.pop_front()
    }

    #[inline]
    pub(super) fn give_back(&mut self, now_ns: u64) {
        if self.taken > 0 {
            self.freed_ns.push_back(now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_in_the_order_they_were_given_back() {
        let mut slots = Slots::default();
        slots.give_back(1);
        assert!(slots.all_taken(), "an open loop has none");
        assert_eq!([0, 1, 2].map(|_| slots.take_new(2)), [true, true, false]);
        assert!(slots.all_taken());
        slots.give_back(7);
        slots.give_back(9);
        assert_eq!([0, 1, 2].map(|_| slots.take_freed()), [Some(7), Some(9), None]);
    }
}
