//! From a recipe to whole numbers: what is decided before the first request is made.

use super::locality::Mixed;
use super::pool::Closeness;
use super::popularity::{Impossible, Multiplicities, Skew};
use super::recipe::{LocalityRecipe, Recipe, ZipfRecipe};
use crate::error::{Cause, TraceError};
use crate::request::NO_CONTENT;

/// A recipe at a scale, checked.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) name: String,
    /// Requests, sequential ones and sizes of reads and of writes.
    pub(super) kinds: [KindPlan; 2],
    pub(super) days: u64,
    pub(super) day_ns: u64,
    pub(super) rhythm: (f64, f64),
    pub(super) burst: f64,
    pub(super) overwrite_skew: f64,
    pub(super) footprint: u64,
    pub(super) content: ContentPlan,
}

/// Requests of one kind.
#[derive(Clone, Debug)]
pub(super) struct KindPlan {
    pub(super) requests: u64,
    /// Runs of requests each of which begins where the one before ended.
    pub(super) runs: u64,
    /// Pages of a request and how many requests have as many, summing up to `requests`.
    pub(super) sizes: Vec<(u32, u64)>,
    pub(super) pages: u64,
}

impl KindPlan {
    /// Pages of the largest request; 0 without any.
    fn largest(&self) -> u32 {
        self.sizes.iter().filter(|&&(_, count)| count > 0).map(|&(pages, _)| pages).max().unwrap_or(0)
    }
}

/// Where contents come from.
#[derive(Debug)]
pub(super) enum ContentPlan {
    Values(Box<ValuesPlan>),
    /// Exponent in thousandths, number of values.
    Zipf(u32, u32),
}

/// Contents chosen in advance.
#[derive(Debug)]
pub(super) struct ValuesPlan {
    pub(super) writes: OrderPlan,
    /// Of runs, not of pages.
    pub(super) reads: OrderPlan,
    /// Pages written with what they hold.
    pub(super) same_content: u64,
    /// Pages written with a value that lies nowhere any more; not looked after where there is no number.
    pub(super) reborn: Option<u64>,
    /// Pages of values read that were there before, and that the trace writes.
    pub(super) pages_there: u64,
    pub(super) pages_kept: u64,
    /// Further pages that were there and hold values of these.
    pub(super) pages_copied: u64,
    pub(super) agreement: f64,
}

impl ValuesPlan {
    /// Pages that are read, none of which is ever overwritten.
    pub(super) fn pages_read(&self) -> u64 {
        self.pages_there + self.pages_kept + self.pages_copied
    }
}

/// What is needed to bring occurrences into an order.
#[derive(Debug)]
pub(super) struct OrderPlan {
    pub(super) whole: Multiplicities,
    pub(super) of_days: Vec<Multiplicities>,
    pub(super) closeness: Closeness,
}

/// Says of a key what is wrong with it.
struct Keys<'a>(&'a str);

impl Keys<'_> {
    fn wrong(&self, key: &str, what: impl std::fmt::Display, cure: &str) -> TraceError {
        TraceError::new(Cause::Argument, self.0, format!("{key} {what}"), cure)
    }

    /// A number within limits.
    fn between(&self, key: &str, value: f64, least: f64, most: f64) -> Result<f64, TraceError> {
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        Err(self.wrong(key, format!("is {value}"), &format!("give a number from {least} to {most}")))
    }

    fn share(&self, key: &str, percent: f64) -> Result<f64, TraceError> {
        Ok(self.between(key, percent, 0.0, 100.0)? / 100.0)
    }
}

const READ: usize = 0;
const WRITE: usize = 1;
/// Longest request, in pages of 4 KiB.
const PAGES_MAX: u32 = 1 << 16;
const REQUESTS_MAX: f64 = 4e9;

impl Plan {
    /// `place` is what the recipe is called in messages.
    pub(super) fn new(recipe: &Recipe, place: &str, scale: f64) -> Result<Plan, TraceError> {
        let keys = Keys(place);
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(keys.wrong("scale", format!("is {scale}"), "give a number above 0, 1 for the whole"));
        }
        let scaled = |count: u64| (count as f64 * scale).round().max(1.0) as u64;
        let count = recipe.requests.count as f64 * scale;
        let count = keys.between("requests.count times the scale", count.round(), 1.0, REQUESTS_MAX)? as u64;
        let arrivals = &recipe.arrivals;
        let day_s = keys.between("arrivals.day_s", arrivals.day_s, 1e-3, 1e9)?;
        let days = keys.between("arrivals.days", arrivals.days as f64, 1.0, 1e5)? as u64;
        let kinds = kinds(recipe, &keys, count)?;
        let footprint = scaled(recipe.addresses.footprint_pages);
        keys.between("addresses.footprint_pages", footprint as f64, 1.0, f64::from(NO_CONTENT - 1))?;
        let content = match recipe.writes.zipf {
            Some(zipf) => {
                let accessed = kinds[READ].pages + kinds[WRITE].pages;
                let largest = kinds[READ].largest().max(kinds[WRITE].largest());
                check_footprint(&keys, footprint as f64, accessed, largest, scale)?;
                zipf_content(recipe, zipf, &keys, scaled(zipf.values))?
            }
            None => {
                let plan = values(recipe, &keys, &kinds, scale)?;
                let to_overwrite = footprint as f64 - plan.pages_read() as f64;
                let written = kinds[WRITE].pages - plan.pages_kept;
                check_footprint(&keys, to_overwrite, written, kinds[WRITE].largest(), scale)?;
                ContentPlan::Values(Box::new(plan))
            }
        };
        Ok(Plan {
            name: recipe.name.clone(),
            kinds,
            days,
            day_ns: (day_s * scale * 1e9).max(24.0) as u64,
            rhythm: (
                keys.between("arrivals.daily_swing", arrivals.daily_swing, 0.0, 1.0)?,
                keys.between("arrivals.busiest_hour", arrivals.busiest_hour, 0.0, 24.0)?,
            ),
            burst: keys.between("arrivals.burst", arrivals.burst, 0.5, 0.99)?,
            overwrite_skew: keys.between(
                "addresses.overwrite_skew",
                recipe.addresses.overwrite_skew,
                0.0,
                0.99,
            )?,
            footprint,
            content,
        })
    }
}

impl Plan {
    /// Requests in all.
    pub(super) fn requests(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.requests).sum()
    }
}

fn kinds(recipe: &Recipe, keys: &Keys<'_>, count: u64) -> Result<[KindPlan; 2], TraceError> {
    let requests = &recipe.requests;
    let writes =
        (count as f64 * keys.share("requests.write_percent", requests.write_percent)?).round() as u64;
    let sequential = keys.share("requests.sequential_percent", requests.sequential_percent)?;
    let of_reads = match requests.read_sequential_percent {
        Some(percent) => keys.share("requests.read_sequential_percent", percent)?,
        None => sequential,
    };
    // What the writes must be so that all together are what was asked for.
    let of_writes = if writes > 0 {
        let all = sequential * count as f64 - of_reads * (count - writes) as f64;
        keys.between(
            "requests.read_sequential_percent (and what it leaves to writes)",
            all / writes as f64,
            -1e-9,
            1.0,
        )?
    } else {
        0.0
    };
    let kind = |key, requests: u64, sequential: f64, sizes: &[(u32, f64)]| {
        let sizes = sizes_of(keys, key, requests, sizes)?;
        let runs = (requests - (requests as f64 * sequential).round() as u64).max(u64::from(requests > 0));
        let pages = sizes.iter().map(|&(pages, count)| u64::from(pages) * count).sum();
        Ok::<_, TraceError>(KindPlan { requests, runs, sizes, pages })
    };
    let (key, pages) = match &requests.read_pages {
        Some(pages) => ("requests.read_pages", pages),
        None => ("requests.pages", &requests.pages),
    };
    let reads = kind(key, count - writes, of_reads, pages)?;
    Ok([reads, kind("requests.pages", writes, of_writes.max(0.0), &requests.pages)?])
}

/// Requests of each size: shares of the whole by largest remainder.
fn sizes_of(
    keys: &Keys<'_>,
    key: &str,
    requests: u64,
    sizes: &[(u32, f64)],
) -> Result<Vec<(u32, u64)>, TraceError> {
    let sum: f64 = sizes.iter().map(|&(_, percent)| percent).sum();
    if (sum - 100.0).abs() > 0.1 || sizes.iter().any(|&(_, percent)| percent < 0.0) {
        return Err(keys.wrong(
            key,
            format!("has shares that sum up to {sum} percent"),
            "let them sum up to 100",
        ));
    }
    if let Some((pages, _)) = sizes.iter().find(|&&(pages, _)| pages == 0 || pages > PAGES_MAX) {
        let cure = format!("give pages of 4 KiB, from 1 to {PAGES_MAX}");
        return Err(keys.wrong(key, format!("has a size of {pages} pages"), &cure));
    }
    let (mut before, mut given) = (0.0, 0);
    let counts = sizes.iter().map(|&(pages, percent)| {
        before += percent / sum;
        let until = (requests as f64 * before).round() as u64;
        let count = until.saturating_sub(given);
        given = until;
        (pages, count)
    });
    Ok(counts.collect())
}

fn zipf_content(
    recipe: &Recipe,
    zipf: ZipfRecipe,
    keys: &Keys<'_>,
    values: u64,
) -> Result<ContentPlan, TraceError> {
    let writes = &recipe.writes;
    if writes.unique_percent.is_some() || !writes.popularity.is_empty() || writes.locality.is_some() {
        let cure = "give either writes.zipf or writes.unique_percent and what goes with it";
        return Err(keys.wrong("writes.zipf", "draws each page by itself", cure));
    }
    let exponent = keys.between("writes.zipf.exponent", zipf.exponent, 0.0, 10.0)?;
    let values = keys.between("writes.zipf.values", values as f64, 1.0, 1e8)? as u32;
    Ok(ContentPlan::Zipf((exponent * 1000.0).round() as u32, values))
}

fn values(
    recipe: &Recipe,
    keys: &Keys<'_>,
    kinds: &[KindPlan; 2],
    scale: f64,
) -> Result<ValuesPlan, TraceError> {
    let (writes, reads) = (&recipe.writes, &recipe.reads);
    let Some(unique) = writes.unique_percent else {
        return Err(keys.wrong("writes.unique_percent", "is missing", "give it, or writes.zipf"));
    };
    let days = recipe.arrivals.days as usize;
    let read_kind = &kinds[READ];
    let same = keys.share("writes.same_content_percent", writes.same_content_percent)?;
    let same = kinds[WRITE].pages as f64 * same;
    let reborn = match writes.reborn_percent {
        Some(percent) => {
            let share = keys.share("writes.reborn_percent", percent)?;
            Some((kinds[WRITE].pages as f64 * share).round() as u64)
        }
        None => None,
    };
    let of_writes = Order {
        section: "writes",
        accesses: kinds[WRITE].pages,
        unique: keys.share("writes.unique_percent", unique)?,
        popularity: &writes.popularity,
        locality: writes.locality,
        of_the_day: keys.share("writes.of_the_day_percent", writes.of_the_day_percent)?,
        pages_each: 1.0,
        same_content: same,
    };
    let pages_each = read_kind.pages as f64 / read_kind.runs.max(1) as f64;
    let unique_reads = keys.share("reads.unique_percent", reads.unique_percent)?;
    let of_reads = Order {
        section: "reads",
        accesses: read_kind.runs,
        unique: unique_reads,
        popularity: &reads.popularity,
        locality: reads.locality,
        of_the_day: keys.share("reads.of_the_day_percent", reads.of_the_day_percent)?,
        pages_each,
        same_content: 0.0,
    };
    let write_order = of_writes.plan(keys, days, scale)?;
    let read_order = of_reads.plan(keys, days, scale)?;
    let read_pages = ((read_kind.pages as f64 * unique_reads).round() as u64).max(read_kind.pages.min(1));
    // At least one was there, so that there is something to read from the beginning.
    let kept =
        read_pages.saturating_sub(1) as f64 * keys.share("reads.written_percent", reads.written_percent)?;
    let pages_kept = kept.round() as u64;
    let unique_pages = match reads.unique_pages_percent {
        Some(percent) => {
            keys.between("reads.unique_pages_percent", percent, reads.unique_percent, 100.0)? / 100.0
        }
        None => unique_reads,
    };
    let copied = ((read_kind.pages as f64 * unique_pages).round() as u64).saturating_sub(read_pages);
    if pages_kept > write_order.whole.things() {
        let possible = write_order.whole.things() as f64 / read_pages as f64 * 100.0;
        return Err(keys.wrong(
            "reads.written_percent",
            "asks for more values than are written on more than one day",
            &format!("give at most {possible:.1}"),
        ));
    }
    Ok(ValuesPlan {
        same_content: same.round() as u64,
        reborn,
        writes: write_order,
        reads: read_order,
        pages_there: read_pages - pages_kept,
        pages_kept,
        pages_copied: copied,
        agreement: keys.share("reads.agreement_percent", reads.agreement_percent)?,
    })
}

/// One kind's accesses to values, as the recipe says it.
struct Order<'a> {
    section: &'static str,
    accesses: u64,
    unique: f64,
    popularity: &'a [(f64, f64)],
    locality: Option<LocalityRecipe>,
    of_the_day: f64,
    /// Values that are accessed together.
    pages_each: f64,
    /// Accesses that repeat what the page holds.
    same_content: f64,
}

impl Order<'_> {
    fn plan(&self, keys: &Keys<'_>, days: usize, scale: f64) -> Result<OrderPlan, TraceError> {
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
                let mixed = Mixed::new(&whole, &of_days, self.same_content);
                mixed.closeness(share, within_values as f64 * scale / self.pages_each)
            }
        };
        Ok(OrderPlan { whole, of_days, closeness })
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

fn check_footprint(
    keys: &Keys<'_>,
    to_overwrite: f64,
    written: u64,
    largest: u32,
    scale: f64,
) -> Result<(), TraceError> {
    let key = "addresses.footprint_pages";
    let least = f64::from(largest);
    if to_overwrite < least {
        let cure = format!(
            "the values read lie on pages of their own: give at least {:.0} more",
            ((least - to_overwrite) / scale).ceil()
        );
        return Err(keys.wrong(key, "leaves no pages to write to", &cure));
    }
    if to_overwrite > written as f64 {
        let cure = format!("give at least {:.0} less", (to_overwrite - written as f64) / scale);
        return Err(keys.wrong(key, "is more than the requests reach", &cure));
    }
    Ok(())
}
