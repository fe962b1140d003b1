//! Holds (`engine.hold_every_us`): collection of some drives makes the host's writes wait in their slots for a while, and
//! begins to do so at regular times. It has two modes, told apart by the recent rate of writes. A hold of the lazy mode
//! goes on when no slot is free: then it lets a share of the recent rate pass. A hold of the urgent mode makes way.

use std::collections::VecDeque;

use flashtwin_ftl::Rng;

use super::NO_EVENT;
use crate::config::EngineConfig;

const NS_PER_S: u128 = 1_000_000_000;
/// A share of 1, in integers.
const WHOLE: u64 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mode {
    /// From the begin of a hold to that of the next. A longer hold skips those that would begin meanwhile.
    pub(super) every_ns: u64,
    /// The least length of a hold.
    pub(super) least_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HoldRules {
    pub(super) lazy: Mode,
    pub(super) urgent: Mode,
    /// From this rate on collection is urgent; 0: never.
    pub(super) urgent_per_s: u64,
    /// The rate at which holds take all the time; 0: no hold is longer than the least.
    pub(super) full_per_s: u64,
    /// In millionths.
    pub(super) pass_share: u64,
}

impl HoldRules {
    pub(super) fn of(config: &EngineConfig) -> Option<Self> {
        let ns = |us: f64| (us * 1000.0).round() as u64;
        let mode = |every_us, least_us| Mode { every_ns: ns(every_us), least_ns: ns(least_us) };
        let rules = Self {
            lazy: mode(config.hold_every_us, config.hold_us),
            urgent: mode(config.urgent_hold_every_us, config.urgent_hold_us),
            urgent_per_s: config.urgent_writes_per_s.into(),
            full_per_s: config.hold_full_writes_per_s.into(),
            pass_share: (config.hold_pass_share * WHOLE as f64).round() as u64,
        };
        (rules.lazy.every_ns > 0).then_some(rules)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Holds {
    rules: HoldRules,
    rng: Rng,
    next_ns: u64,
    until_ns: u64,
    /// When the next write may pass while no slot is free.
    passes_ns: u64,
    gap_ns: u64,
    writes: u64,
    /// Begins of the last holds, and writes until then.
    begins: VecDeque<(u64, u64)>,
}

impl Holds {
    /// The recent rate is that between so many holds.
    pub(super) const RECENT: usize = 8;
    pub(super) const MOST_MEANS: u64 = 10;

    pub(super) fn new(rules: HoldRules, seed: u64) -> Box<Self> {
        Box::new(Self {
            rules,
            rng: Rng::stream(seed, "holds"),
            next_ns: rules.lazy.every_ns,
            until_ns: 0,
            passes_ns: 0,
            gap_ns: 0,
            writes: 0,
            begins: VecDeque::from([(0, 0)]),
        })
    }

    pub(super) fn advance_to(&mut self, now_ns: u64) {
        while self.next_ns <= now_ns {
            self.begin(self.next_ns);
        }
    }

    fn begin(&mut self, now_ns: u64) {
        let (since_ns, before) = self.begins[0];
        let per_s = u128::from(self.writes - before) * NS_PER_S / u128::from(now_ns - since_ns);
        self.begins.push_back((now_ns, self.writes));
        if self.begins.len() > Self::RECENT {
            self.begins.pop_front();
        }
        let HoldRules { lazy, urgent, urgent_per_s, full_per_s, pass_share } = self.rules;
        let is_urgent = urgent_per_s > 0 && per_s >= urgent_per_s.into();
        let mode = if is_urgent { urgent } else { lazy };
        // The share of time that holds take grows with the square of the rate.
        let mean_ns = match u128::from(full_per_s) {
            0 => 0,
            full => u128::from(mode.every_ns) * per_s * per_s / (full * full),
        };
        let length_ns = mode.least_ns + self.rng.exponential(mean_ns as u64, Self::MOST_MEANS);
        self.until_ns = now_ns + length_ns;
        // Between two holds there is time, so that all that waits goes on.
        self.next_ns = now_ns + (length_ns / mode.every_ns + 1) * mode.every_ns;
        let passing = per_s * u128::from(pass_share);
        self.gap_ns = match passing {
            _ if is_urgent => 0,
            0 => NO_EVENT,
            _ => (NS_PER_S * u128::from(WHOLE) / passing) as u64,
        };
        self.passes_ns = now_ns.saturating_add(self.gap_ns);
    }

    /// When a write goes on that is due at `due_ns`, as far as the hold that has begun tells. `full` is whether no slot
    /// is free since `now_ns` or before.
    pub(super) fn goes_on_ns(&self, due_ns: u64, full: bool, now_ns: u64) -> u64 {
        let ends_ns = if full { self.until_ns.min(self.passes_ns.max(now_ns)) } else { self.until_ns };
        due_ns.max(ends_ns)
    }

    /// A write goes on.
    pub(super) fn went_on(&mut self, is_write: bool, now_ns: u64) {
        self.writes += u64::from(is_write);
        if now_ns < self.until_ns {
            self.passes_ns = now_ns.saturating_add(self.gap_ns);
        }
    }
}
