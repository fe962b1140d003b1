//! Slots of the host's queue. In a closed loop a request takes a slot when it arrives, and gives it back with its answer;
//! in an open loop requests arrive by the trace's clock and no slot is ever taken.

use std::collections::VecDeque;

/// The slots of a closed loop.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// How many slots were taken for the first time; 0 in an open loop.
    taken: u32,
    /// When each slot was given back that no later request has taken yet, the first one first.
    freed_ns: VecDeque<u64>,
}

impl Slots {
    /// Takes one of `depth` slots that was never taken before; whether there was one.
    pub(super) fn take_new(&mut self, depth: u32) -> bool {
        let new = self.taken < depth;
        self.taken += u32::from(new);
        new
    }

    /// Whether every slot that was ever taken is taken now.
    pub(super) fn all_taken(&self) -> bool {
        self.freed_ns.is_empty()
    }

    /// Takes the slot that was given back first; when that was.
    pub(super) fn take_freed(&mut self) -> Option<u64> {
        self.freed_ns.pop_front()
    }

    /// A request gives back its slot, if it has one.
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
