//! How often each value is accessed, and how that is brought into an order: decided in advance.

use super::keys::Keys;
use super::locality::Mixed;
use super::pool::{Closeness, GROUP};
use super::popularity::{Impossible, Multiplicities, Skew};
use super::recipe::LocalityRecipe;
use crate::error::TraceError;

#[derive(Debug)]
pub(super) struct OrderPlan {
    pub(super) whole: Multiplicities,
    pub(super) of_days: Vec<Multiplicities>,
    pub(super) closeness: Closeness,
    /// Whether `whole` is accessed on the first day, and on every other day again in the same order.
    pub(super) recurs: bool,
}

impl OrderPlan {
    pub(super) fn things(&self) -> u64 {
        self.whole.things() + self.of_days.iter().map(Multiplicities::things).sum::<u64>()
    }

    /// Things accessed on the first day: the lasting ones where they recur, and those of that day.
    pub(super) fn things_of_first_day(&self) -> u64 {
        self.whole.things() + self.of_days.first().map_or(0, Multiplicities::things)
    }
}

pub(super) struct OrderRecipe<'a> {
    pub(super) section: &'static str,
    pub(super) accesses: u64,
    pub(super) unique: f64,
    pub(super) popularity: &'a [(f64, f64)],
    pub(super) locality: Option<LocalityRecipe>,
    pub(super) of_the_day: f64,
    pub(super) pages_each: f64,
    pub(super) same_content: f64,
    /// Accesses whose values come in groups, one access after the other.
    pub(super) shared: f64,
}

impl OrderRecipe<'_> {
    pub(super) fn plan(&self, keys: &Keys<'_>, days: usize, scale: f64) -> Result<OrderPlan, TraceError> {
        let key = |name: &str| format!("{}.{name}", self.section);
        let things =
            ((self.accesses as f64 * self.unique).round() as u64).clamp(self.accesses.min(1), self.accesses);
        let mut whole = self.multiplicities(keys, things)?;
        // A value of one day must fit into it beside others.
        let times_max = self.accesses / days.max(1) as u64 / 5;
        let of_days = if days > 1 { whole.deal_out(self.of_the_day, days, times_max) } else { Vec::new() };
        let closeness = match self.locality {
            None => Closeness::default(),
            Some(LocalityRecipe { percent, within_values }) => {
                let share = keys.share(&key("locality.percent"), percent)?;
                let of_groups = self.shared * (1.0 - 1.0 / whole.mean_of_several(GROUP));
                let mixed = Mixed::new(&whole, &of_days, self.same_content + of_groups);
                mixed.closeness(share, within_values as f64 * scale / self.pages_each)
            }
        };
        Ok(OrderPlan { whole, of_days, closeness, recurs: false })
    }

    /// The plan of accesses that are as the recipe says on each day by itself, `recurring` of them the same every day.
    pub(super) fn plan_days(
        mut self,
        keys: &Keys<'_>,
        days: usize,
        recurring: f64,
    ) -> Result<OrderPlan, TraceError> {
        let days = (days as u64).min(self.accesses).max(1);
        self.accesses /= days;
        let things =
            ((self.accesses as f64 * self.unique).round() as u64).clamp(self.accesses.min(1), self.accesses);
        let mut whole = self.multiplicities(keys, things)?;
        let of_a_day = whole.deal_out(1.0 - recurring, 1, u64::MAX).pop().unwrap_or_default();
        let of_days = vec![of_a_day; days as usize];
        Ok(OrderPlan { whole, of_days, closeness: Closeness::default(), recurs: true })
    }

    fn multiplicities(&self, keys: &Keys<'_>, things: u64) -> Result<Multiplicities, TraceError> {
        let key = |name: &str| format!("{}.{name}", self.section);
        let mut points = Vec::with_capacity(self.popularity.len());
        for &(accesses, values) in self.popularity {
            points.push(Skew {
                accesses_share: keys.share(&key("popularity"), accesses)?,
                things_share: keys.share(&key("popularity"), values)?,
            });
        }
        match points[..] {
            [] => Ok(even(things, self.accesses)),
            [skew] => {
                Multiplicities::new(things, self.accesses, skew).map_err(|Impossible { least, most }| {
                    let what = format!(
                        "says that {} % of the values have {} % of the accesses, which {} rules out",
                        skew.things_share * 100.0,
                        skew.accesses_share * 100.0,
                        key("unique_percent")
                    );
                    let cure = format!(
                        "with as many distinct values it is between {:.2} and {:.2} % of them",
                        least * 100.0,
                        most * 100.0
                    );
                    keys.wrong(&key("popularity"), what, &cure)
                })
            }
            _ => Multiplicities::stepped(things, self.accesses, &points).map_err(|index| {
                let what = match self.popularity.get(index) {
                    Some((accesses, values)) => {
                        format!("has the point [{accesses}, {values}], which cannot be")
                    }
                    None => "leaves fewer accesses than values behind its last point".to_owned(),
                };
                let cure = "values behind a point must be less popular than those before it, but occur once";
                keys.wrong(&key("popularity"), what, cure)
            }),
        }
    }
}

/// All things as often as each other, to one occurrence.
fn even(things: u64, occurrences: u64) -> Multiplicities {
    use super::popularity::Class;
    let Some(each) = occurrences.checked_div(things) else { return Multiplicities::default() };
    let more = occurrences - each * things;
    let class = |times: u64, things| Class { times: times as u32, things };
    let mut classes = vec![class(each + 1, more), class(each, things - more)];
    classes.retain(|class| class.things > 0);
    Multiplicities { classes }
}
