//! One kind's accesses in order: things that last, mixed with those of each day.

use super::plan::OrderPlan;
use super::pool::{Closeness, Entries, Occurrence, Pool};
use super::popularity::Multiplicities;
use crate::random::Random;

/// Accesses to come.
#[derive(Debug)]
pub(super) struct Order {
    lasting: Pool,
    /// Of the day that it is, and of the days to come, the next one last.
    today: Option<Pool>,
    days: Vec<Multiplicities>,
    closeness: Closeness,
    accesses: u64,
    done: u64,
    day_ends: u64,
    days_in_all: u64,
    things_of_later_days: u64,
    /// Unseen lasting things that are needed elsewhere.
    pub(super) reserved: u64,
    pub(super) entries: Entries,
}

impl Order {
    pub(super) fn new(plan: &OrderPlan) -> Order {
        let of_days: u64 = plan.of_days.iter().map(Multiplicities::occurrences).sum();
        let accesses = plan.whole.occurrences() + of_days;
        let mut order = Order {
            lasting: Pool::new(&plan.whole, part(plan.closeness, plan.whole.occurrences(), accesses), false),
            today: None,
            days: plan.of_days.iter().rev().cloned().collect(),
            closeness: plan.closeness,
            accesses,
            done: 0,
            day_ends: 0,
            days_in_all: plan.of_days.len() as u64,
            things_of_later_days: plan.of_days.iter().map(Multiplicities::things).sum(),
            reserved: 0,
            entries: Entries::new(),
        };
        order.next_day();
        order
    }

    /// Accesses to come.
    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.accesses - self.done
    }

    /// Lasting things that have not occurred.
    pub(super) fn unseen_lasting(&self) -> u64 {
        self.lasting.unseen()
    }

    /// Things that have not occurred, those of later days included.
    pub(super) fn unseen(&self) -> u64 {
        self.lasting.unseen() + self.today.as_ref().map_or(0, Pool::unseen) + self.things_of_later_days
    }

    fn next_day(&mut self) {
        if let Some(mut over) = self.today.take() {
            over.close(&mut self.entries);
        }
        let Some(of_day) = self.days.pop() else {
            self.day_ends = self.accesses;
            return;
        };
        self.things_of_later_days -= of_day.things();
        let day = self.days_in_all - self.days.len() as u64;
        self.day_ends = (u128::from(self.accesses) * u128::from(day) / u128::from(self.days_in_all)) as u64;
        let length = self.day_ends.saturating_sub(self.done).max(1);
        let closeness = part(self.closeness, of_day.occurrences(), length);
        self.today = Some(Pool::new(&of_day, closeness, true));
    }

    /// Accesses of today's things to come.
    #[inline]
    fn left_today(&self) -> u64 {
        self.today.as_ref().map_or(0, Pool::left)
    }

    /// Whether the next access is to one of today's things: they must all occur before the day ends.
    #[inline]
    fn is_todays(&mut self, random: &mut Random) -> bool {
        let today = self.left_today();
        if today == 0 {
            return false;
        }
        let lasting = self.lasting.left();
        lasting == 0 || random.below(self.day_ends.saturating_sub(self.done).max(1)) < today
    }

    /// Passes on to the day that the next access belongs to.
    #[inline]
    fn advance(&mut self) {
        while self.done >= self.day_ends && self.left_today() == 0 && !self.days.is_empty() {
            self.next_day();
        }
    }

    /// The next access; there must be one left.
    #[inline]
    pub(super) fn next(&mut self, random: &mut Random) -> Occurrence {
        self.advance();
        let reserved = self.reserved;
        let todays = self.is_todays(random);
        let pool = match &mut self.today {
            Some(today) if todays => today,
            _ if self.lasting.left() > 0 => &mut self.lasting,
            // Only days to come have any left: the next one begins early.
            _ => {
                self.next_day();
                return self.next(random);
            }
        };
        self.done += 1;
        pool.next(&mut self.entries, if todays { 0 } else { reserved }, random)
    }

    /// A lasting thing that has not occurred; there must be one.
    pub(super) fn first(&mut self, evenly: bool, random: &mut Random) -> Occurrence {
        self.advance();
        self.done += 1;
        self.lasting.first(&mut self.entries, evenly, random)
    }

    /// Takes an access to `value` out of turn, if `entry` still stands for it and it is awaited.
    #[inline]
    pub(super) fn take(&mut self, entry: u32, value: u32) -> bool {
        let Some(of_a_day) = self.entries.awaits(entry, value) else { return false };
        let pool = match &mut self.today {
            Some(today) if of_a_day => today,
            _ => &mut self.lasting,
        };
        pool.take(&mut self.entries, entry);
        self.done += 1;
        true
    }
}

/// The closeness of a pool that brings only so many of all accesses: its own clock runs slower.
fn part(closeness: Closeness, occurrences: u64, of: u64) -> Closeness {
    let within = closeness.within as f64 * occurrences as f64 / of.max(1) as f64;
    Closeness { within: (within as u64).max(1), ..closeness }
}
