//! One kind's accesses in order: things that last, mixed with those of each day.

use super::order_plan::OrderPlan;
use super::pool::{Closeness, Entries, Extent, NONE, Occurrence, Pool};
use super::popularity::Multiplicities;
use crate::random::Random;

/// Accesses of one kind still to come. A *thing* is an accessed item: a value for writes, an extent for reads.
#[derive(Debug)]
pub(super) struct Order {
    lasting: Pool,
    recurring: Option<Recurring>,
    /// Things that are accessed on the day in hand only.
    today: Option<Pool>,
    days: Vec<Multiplicities>,
    closeness: Closeness,
    accesses: u64,
    done: u64,
    day_ends: u64,
    days_in_all: u64,
    things_of_later_days: u64,
    /// Lasting things not accessed yet that the caller needs for something else: they are not handed out.
    pub(super) reserved: u64,
    pub(super) entries: Entries,
}

#[derive(Debug, Default)]
struct Recurring {
    of_first_day: Vec<Extent>,
    again: usize,
    /// Whether the last access is on the first day and to a lasting thing, so that it is to be repeated.
    settles: bool,
}

impl Order {
    pub(super) fn new(plan: &OrderPlan) -> Order {
        let of_days: u64 = plan.of_days.iter().map(Multiplicities::occurrences).sum();
        let times = if plan.recurs { plan.of_days.len() as u64 } else { 1 };
        let accesses = plan.whole.occurrences() * times + of_days;
        let mut order = Order {
            lasting: Pool::new(&plan.whole, part(plan.closeness, plan.whole.occurrences(), accesses), false),
            recurring: plan.recurs.then(Recurring::default),
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

    /// Goes on with as many days as there were, which repeat the first day where they did so far.
    pub(super) fn go_on(&mut self, plan: &OrderPlan) {
        let Some(recurring) = &self.recurring else {
            *self = Order::new(plan);
            return;
        };
        // Reads may have ended before their order did: items that the first day did not reach do not recur.
        let of_days: u64 = plan.of_days.iter().map(Multiplicities::occurrences).sum();
        let again = recurring.of_first_day.len() * plan.of_days.len();
        self.accesses = self.done + again as u64 + of_days;
        self.days = plan.of_days.iter().rev().cloned().collect();
        self.days_in_all += self.days.len() as u64;
        self.things_of_later_days = plan.of_days.iter().map(Multiplicities::things).sum();
        self.next_day();
    }

    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.accesses - self.done
    }

    pub(super) fn unseen_lasting(&self) -> u64 {
        self.lasting.unseen()
    }

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
        let day = self.day();
        self.day_ends = match &self.recurring {
            Some(recurring) if day > 1 => {
                self.done + recurring.of_first_day.len() as u64 + of_day.occurrences()
            }
            _ => (u128::from(self.accesses) * u128::from(day) / u128::from(self.days_in_all)) as u64,
        };
        let length = self.day_ends.saturating_sub(self.done).max(1);
        let closeness = part(self.closeness, of_day.occurrences(), length);
        self.today = Some(Pool::new(&of_day, closeness, true));
        if let Some(recurring) = &mut self.recurring {
            recurring.again = 0;
        }
    }

    #[inline]
    fn left_lasting(&self) -> u64 {
        match &self.recurring {
            Some(recurring) if self.day() > 1 => (recurring.of_first_day.len() - recurring.again) as u64,
            _ => self.lasting.left(),
        }
    }

    /// The day in hand, from 1.
    pub(super) fn day(&self) -> u64 {
        self.days_in_all - self.days.len() as u64
    }

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
        self.left_lasting() == 0 || random.below(self.day_ends.saturating_sub(self.done).max(1)) < today
    }

    #[inline]
    fn advance(&mut self) {
        while self.done >= self.day_ends && self.left_today() == 0 && !self.days.is_empty() {
            self.next_day();
        }
    }

    #[inline]
    pub(super) fn next(&mut self, random: &mut Random) -> Occurrence {
        self.advance();
        let reserved = self.reserved;
        let todays = self.is_todays(random);
        let pool = match &mut self.today {
            Some(today) if todays => today,
            _ if self.recurring.is_some() => return self.next_recurring(random),
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

    fn next_recurring(&mut self, random: &mut Random) -> Occurrence {
        self.done += 1;
        let first_day = self.day() <= 1;
        match &mut self.recurring {
            Some(recurring) if !first_day => {
                let what = recurring.of_first_day[recurring.again];
                recurring.again += 1;
                Occurrence::Again { entry: NONE, what, copies: 0 }
            }
            recurring => {
                recurring.iter_mut().for_each(|recurring| recurring.settles = true);
                self.lasting.next(&mut self.entries, 0, random)
            }
        }
    }

    /// What every day accesses, in order, with repeats.
    pub(super) fn every_day(&mut self) -> &mut [Extent] {
        self.recurring.as_mut().map_or(&mut [], |recurring| &mut recurring.of_first_day)
    }

    /// Days on which the access that came last will come again, beside today.
    pub(super) fn recurs(&self) -> u64 {
        let settles = self.recurring.as_ref().is_some_and(|recurring| recurring.settles);
        if settles { self.days.len() as u64 } else { 0 }
    }

    /// Says that the access that came last goes to other pages with the same values, and so do those that repeat it.
    pub(super) fn rename(&mut self, entry: u32, what: Extent) {
        if entry != NONE {
            self.entries.rename(entry, what);
        } else if let Some(recurring) = &mut self.recurring
            && let Some(last) = recurring.again.checked_sub(1)
        {
            recurring.of_first_day[last] = what;
        }
    }

    #[inline]
    pub(super) fn settle(&mut self, what: Extent) {
        if let Some(recurring) = &mut self.recurring
            && std::mem::take(&mut recurring.settles)
        {
            recurring.of_first_day.push(what);
        }
    }

    pub(super) fn first(&mut self, evenly: bool, random: &mut Random) -> Occurrence {
        self.advance();
        self.done += 1;
        self.lasting.first(&mut self.entries, evenly, random)
    }

    /// A lasting thing that has not occurred and will again, if there are any that are not reserved.
    pub(super) fn first_of_several(&mut self, random: &mut Random) -> Option<Occurrence> {
        self.advance();
        let first = self.lasting.first_of_several(&mut self.entries, self.reserved, random)?;
        self.done += 1;
        Some(first)
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

/// The closeness of a pool that brings `occurrences` of `of` accesses: its own clock runs slower.
fn part(closeness: Closeness, occurrences: u64, of: u64) -> Closeness {
    let within = closeness.within as f64 * occurrences as f64 / of.max(1) as f64;
    Closeness { within: (within as u64).max(1), ..closeness }
}
