//! Waits of page operations, in one table by condition.
//!
//! To let a page operation wait for one more thing, add a variant of [`Condition`], call [`Waits::wait`] where it must
//! stop and [`Waits::wake`] where the thing has come. A write that waits counts one more of `PageOp::needs` meanwhile,
//! and goes on by `Decider::got_what_it_needs`. Waits for a hash, a flush, a place in RAM and a program stand in
//! their own files.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::Condition;

#[derive(Debug, Clone, Default)]
pub(super) struct Waits {
    lists: HashMap<Condition, VecDeque<u32>>,
}

impl Waits {
    /// The condition will come, whether anybody waits for it or not: [`Waits::is_expected`] until it is woken.
    pub(super) fn expect(&mut self, condition: Condition) {
        self.lists.entry(condition).or_default();
    }

    pub(super) fn is_expected(&self, condition: Condition) -> bool {
        self.lists.contains_key(&condition)
    }

    pub(super) fn wait(&mut self, condition: Condition, op: u32) {
        self.lists.entry(condition).or_default().push_back(op);
    }

    #[cfg(test)]
    pub(super) fn anybody(&self, condition: Condition) -> bool {
        self.lists.get(&condition).is_some_and(|list| !list.is_empty())
    }

    pub(super) fn wake(&mut self, condition: Condition) -> VecDeque<u32> {
        self.lists.remove(&condition).unwrap_or_default()
    }
}
