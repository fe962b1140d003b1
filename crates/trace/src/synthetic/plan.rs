//! From a recipe to whole numbers: all decisions before the first request.

use super::course::{READ, WRITE};
use super::keys::Keys;
use super::kinds::{KindPlan, kinds};
use super::order_plan::{OrderPlan, OrderRecipe};
use super::popularity::Multiplicities;
use super::recipe::{ReadsRecipe, Recipe, Within, ZipfRecipe};
use super::trains::TrainsPlan;
use crate::error::TraceError;
use crate::request::NO_CONTENT;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) kinds: [KindPlan; 2],
    pub(super) days: u64,
    /// Days that are made: fewer than `days`, or more, which are made in rounds of `days`.
    pub(super) trace_days: u64,
    pub(super) day_ns: u64,
    pub(super) rhythm: (f64, f64),
    pub(super) burst: f64,
    pub(super) trains: Option<TrainsPlan>,
    pub(super) overwrite_skew: f64,
    pub(super) footprint: u64,
    pub(super) content: ContentPlan,
    pub(super) writes_per_flush: u64,
}

#[derive(Debug)]
pub(super) enum ContentPlan {
    Values(Box<ValuesPlan>),
    /// Exponent in thousandths, number of values.
    Zipf(u32, u32),
}

#[derive(Debug)]
pub(super) struct ValuesPlan {
    pub(super) writes: OrderPlan,
    /// Of runs, not of pages.
    pub(super) reads: OrderPlan,
    pub(super) same_content: u64,
    /// Pages written with a value that lies nowhere any more; not looked after where there is no number.
    pub(super) reborn: Option<u64>,
    pub(super) read_before: u64,
    pub(super) renewal: Option<Renewal>,
    /// Pages of values read that were there before, and that the trace writes.
    pub(super) pages_there: u64,
    pub(super) pages_kept: u64,
    /// Further pages that were there and hold values of these.
    pub(super) pages_copied: u64,
    /// The same for each further round, in which recurring reads are not new.
    pub(super) later: LaterPages,
    pub(super) agreement: f64,
    pub(super) live_runs: u64,
    pub(super) pages_shared: u64,
}

/// How the pages that are read every day get new contents, in place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renewal {
    /// Neighbouring pages that are renewed together.
    pub(super) pages: u32,
    /// Those that are, from a day to the next, as a share of all pages of a day and of those that are read every day.
    pub(super) of_pages: f64,
    pub(super) share: f64,
    /// Pages renewed in the first round, and in each later one, about.
    pub(super) first: u64,
    pub(super) later: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LaterPages {
    /// Those that were there before, those that the round writes, and those that hold the same as others.
    pub(super) there: u64,
    pub(super) kept: u64,
    pub(super) copied: u64,
}

impl LaterPages {
    /// Addresses that a round needs for them, with enough for those that were to be kept and are not.
    pub(super) fn addresses(&self) -> u64 {
        self.there + 2 * self.kept + self.copied
    }
}

impl ValuesPlan {
    pub(super) fn pages_read(&self) -> u64 {
        self.pages_there + self.pages_kept + self.pages_copied
    }

    /// Pages renewed in the first round, and in each later one.
    pub(super) fn renewed(&self) -> (u64, u64) {
        self.renewal.map_or((0, 0), |renewal| (renewal.first, renewal.later))
    }
}

const REQUESTS_MAX: f64 = 4e9;

impl Plan {
    pub(super) fn new(recipe: &Recipe, place: &str, scale: f64) -> Result<Plan, TraceError> {
        let keys = Keys(place);
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(keys.wrong("scale", format!("is {scale}"), "give a number above 0, 1 for the whole"));
        }
        let scaled = |count: u64| (count as f64 * scale).round().max(1.0) as u64;
        let count = recipe.requests.count as f64 * scale;
        let count = keys.between("requests.count times the scale", count.round(), 1.0, REQUESTS_MAX)? as u64;
        let writes_per_flush = match recipe.requests.writes_per_flush {
            Some(writes) => {
                keys.between("requests.writes_per_flush", writes as f64, 1.0, REQUESTS_MAX)? as u64
            }
            None => 0,
        };
        let arrivals = &recipe.arrivals;
        let day_s = keys.between("arrivals.day_s", arrivals.day_s, 1e-3, 1e9)?;
        let days = keys.between("arrivals.days", arrivals.days as f64, 1.0, 1e5)? as u64;
        let trace_days = arrivals.trace_days.unwrap_or(arrivals.days);
        let trace_days = keys.between("arrivals.trace_days", trace_days as f64, 1.0, 1e5)? as u64;
        let trains = match &arrivals.trains {
            Some(trains) => Some(TrainsPlan::new(trains, recipe, &keys)?),
            None => None,
        };
        let kinds = kinds(recipe, trains.as_ref(), &keys, count)?;
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
                let plan = values(recipe, &keys, &kinds, footprint, scale)?;
                let to_overwrite = footprint as f64 - (plan.pages_read() + plan.pages_shared) as f64;
                let written =
                    kinds[WRITE].pages.saturating_sub(plan.pages_kept + plan.pages_shared + plan.renewed().0);
                check_footprint(&keys, to_overwrite, written, kinds[WRITE].largest(), scale)?;
                ContentPlan::Values(Box::new(plan))
            }
        };
        check_rounds(&keys, trace_days.div_ceil(days), footprint, &kinds, recipe.writes.zipf.is_none())?;
        Ok(Plan {
            name: recipe.name.clone(),
            kinds,
            days,
            trace_days,
            day_ns: (day_s * scale * 1e9).max(24.0) as u64,
            rhythm: (
                keys.between("arrivals.daily_swing", arrivals.daily_swing, 0.0, 1.0)?,
                keys.between("arrivals.busiest_hour", arrivals.busiest_hour, 0.0, 24.0)?,
            ),
            burst: keys.between("arrivals.burst", arrivals.burst, 0.5, 0.99)?,
            trains,
            overwrite_skew: keys.between(
                "addresses.overwrite_skew",
                recipe.addresses.overwrite_skew,
                0.0,
                0.99,
            )?,
            footprint,
            content,
            writes_per_flush,
        })
    }

    pub(super) fn requests(&self) -> u64 {
        let flushes = self.kinds[WRITE].requests.checked_div(self.writes_per_flush).unwrap_or(0);
        let of_a_round = self.kinds.iter().map(|kind| kind.requests).sum::<u64>() + flushes;
        (u128::from(of_a_round) * u128::from(self.trace_days) / u128::from(self.days)) as u64
    }

    pub(super) fn rounds(&self) -> u64 {
        self.trace_days.div_ceil(self.days)
    }
}

fn check_rounds(
    keys: &Keys<'_>,
    rounds: u64,
    footprint: u64,
    kinds: &[KindPlan; 2],
    new_values: bool,
) -> Result<(), TraceError> {
    // A round brings a value for each page accessed at most, and as many pages.
    let of_a_round = kinds[READ].pages + kinds[WRITE].pages;
    let most = (u64::from(NO_CONTENT - 1) - footprint.min(u64::from(NO_CONTENT - 1))) / of_a_round.max(1);
    if most == 0 && new_values {
        let what = format!(
            "asks for {of_a_round} page operations on {footprint} pages, whose contents 32 bits may not number"
        );
        return Err(keys.wrong("requests.count times the scale", what, "give a smaller scale"));
    }
    if rounds > 1 && rounds > most {
        let what = format!("asks for {rounds} times as much as arrivals.days");
        let cure = format!("give at most {} times, or a smaller scale", most.max(1));
        return Err(keys.wrong("arrivals.trace_days", what, &cure));
    }
    Ok(())
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
    footprint: u64,
    scale: f64,
) -> Result<ValuesPlan, TraceError> {
    let (writes, reads) = (&recipe.writes, &recipe.reads);
    let Some(unique) = writes.unique_percent else {
        return Err(keys.wrong("writes.unique_percent", "is missing", "give it, or writes.zipf"));
    };
    let days = recipe.arrivals.days as usize;
    let same = keys.share("writes.same_content_percent", writes.same_content_percent)?;
    let same = kinds[WRITE].pages as f64 * same;
    let reborn =
        writes.reborn_percent.map(|percent| keys.share("writes.reborn_percent", percent)).transpose()?;
    let reborn = reborn.map(|share| (kinds[WRITE].pages as f64 * share).round() as u64);
    let shared = keys.share("addresses.shared_percent", recipe.addresses.shared_percent)?;
    let pages_shared = (footprint as f64 * shared).round() as u64;
    let of_writes = OrderRecipe {
        section: "writes",
        accesses: kinds[WRITE].pages,
        unique: keys.share("writes.unique_percent", unique)?,
        popularity: &writes.popularity,
        locality: writes.locality,
        of_the_day: keys.share("writes.of_the_day_percent", writes.of_the_day_percent)?,
        pages_each: 1.0,
        same_content: same,
        shared: pages_shared as f64,
    };
    let live = keys.share("reads.live_percent", reads.live_percent)?;
    // At least one run is not, so that there is something to read before anything is written.
    let live_runs = ((kinds[READ].runs as f64 * live).round() as u64).min(kinds[READ].runs.saturating_sub(1));
    let still_pages = kinds[READ].pages as f64 * (1.0 - live_runs as f64 / kinds[READ].runs.max(1) as f64);
    let of_reads = order_of_reads(reads, keys, &kinds[READ], live_runs)?;
    let write_order = of_writes.plan(keys, days, scale)?;
    let renewal =
        renewal(reads, keys, &of_reads, (write_order.whole.things(), kinds[WRITE].smallest()), days)?;
    let (read_order, unique_reads) = match reads.unique_within {
        Within::Trace => (of_reads.plan(keys, days, scale)?, of_reads.unique),
        Within::Day => {
            let extents = recurring(keys, reads)? + renewal.map_or(0.0, |renewal| renewal.of_pages);
            let order = of_reads.plan_days(keys, days, extents)?;
            let unique = order.things() as f64 / (kinds[READ].runs - live_runs).max(1) as f64;
            (order, unique)
        }
    };
    let read_pages = ((still_pages * unique_reads).round() as u64).max(kinds[READ].pages.min(1));
    // At least one was there, so that there is something to read from the beginning.
    let written = keys.share("reads.written_percent", reads.written_percent)?;
    let written = if renewal.is_some() { 0.0 } else { written };
    let kept = read_pages.saturating_sub(1) as f64 * written;
    let unique_pages = match reads.unique_pages_percent {
        Some(percent) => {
            let least = (unique_reads * 1e4).floor() / 100.0;
            keys.between("reads.unique_pages_percent", percent, least, 100.0)? / 100.0
        }
        None => unique_reads,
    };
    let copied = ((still_pages * unique_pages).round() as u64).saturating_sub(read_pages);
    check_kept(reads, keys, (kept, read_pages), &read_order, &write_order)?;
    let pages_kept = kept.round() as u64;
    let read_before = keys.share("writes.read_before_percent", writes.read_before_percent)?;
    let read_before = (write_order.things() as f64 * read_before).round() as u64;
    check_read_before(keys, read_before, read_pages - pages_kept, write_order.things())?;
    let new_things = match reads.unique_within {
        Within::Trace => read_order.things(),
        Within::Day => read_order.of_days.iter().map(Multiplicities::things).sum(),
    };
    let new = |pages: u64| {
        (u128::from(pages) * u128::from(new_things) / u128::from(read_order.things().max(1))) as u64
    };
    let later = LaterPages { there: new(read_pages - pages_kept), kept: new(pages_kept), copied };
    Ok(ValuesPlan {
        same_content: same.round() as u64,
        reborn,
        read_before,
        renewal,
        writes: write_order,
        reads: read_order,
        pages_there: read_pages - pages_kept,
        pages_kept,
        pages_copied: copied,
        later,
        agreement: keys.share("reads.agreement_percent", reads.agreement_percent)?,
        live_runs,
        pages_shared,
    })
}

/// The order in which values are read, still to be planned; refuses shares of days beside those of the trace.
fn order_of_reads<'a>(
    reads: &'a ReadsRecipe,
    keys: &Keys<'_>,
    kind: &KindPlan,
    live_runs: u64,
) -> Result<OrderRecipe<'a>, TraceError> {
    let unique = keys.share("reads.unique_percent", reads.unique_percent)?;
    if reads.unique_within == Within::Trace && reads.recurring_percent != 0.0 {
        let cure = "give reads.unique_within = \"day\" beside it";
        return Err(keys.wrong(
            "reads.recurring_percent",
            "is of days, and reads.unique_percent of the trace",
            cure,
        ));
    }
    Ok(OrderRecipe {
        section: "reads",
        accesses: kind.runs - live_runs,
        unique,
        popularity: &reads.popularity,
        locality: reads.locality,
        of_the_day: keys.share("reads.of_the_day_percent", reads.of_the_day_percent)?,
        pages_each: kind.pages as f64 / kind.runs.max(1) as f64,
        same_content: 0.0,
        shared: 0.0,
    })
}

/// Of the values that are written on several days, the share that may be written first where they are read every day.
/// The others are left for the first day, and for pages that are not read.
const VALUES_FOR_RENEWAL: f64 = 0.75;

fn renewal(
    reads: &ReadsRecipe,
    keys: &Keys<'_>,
    order: &OrderRecipe<'_>,
    (values, smallest): (u64, u32),
    days: usize,
) -> Result<Option<Renewal>, TraceError> {
    let Some(pages) = reads.renewed_pages else { return Ok(None) };
    let key = "reads.renewed_pages";
    if reads.unique_within == Within::Trace {
        return Err(keys.wrong(key, "is of days", "give reads.unique_within = \"day\" beside it"));
    }
    if pages < smallest.max(1) {
        let cure = format!("a write has {smallest} pages or more: give as many");
        return Err(keys.wrong(key, format!("is {pages}"), &cure));
    }
    let recurring = recurring(keys, reads)?;
    let pages_of_day = order.accesses as f64 * order.unique * order.pages_each / days as f64;
    let possible = values as f64 * VALUES_FOR_RENEWAL / (pages_of_day * days as f64).max(1.0);
    let of_pages = (1.0 - recurring).min(possible);
    let on = |days: usize| (pages_of_day * of_pages * days as f64) as u64;
    Ok(Some(Renewal {
        pages,
        of_pages,
        share: of_pages / (recurring + of_pages).max(1e-9),
        first: on(days - 1),
        later: on(days),
    }))
}

fn check_kept(
    reads: &ReadsRecipe,
    keys: &Keys<'_>,
    (kept, read_pages): (f64, u64),
    read_order: &OrderPlan,
    write_order: &OrderPlan,
) -> Result<(), TraceError> {
    // On the first day all values are read for the first time, and few were written before that.
    let later = match reads.unique_within {
        Within::Trace => 1.0,
        Within::Day => 1.0 - read_order.things_of_first_day() as f64 / read_order.things().max(1) as f64,
    };
    if kept > later * read_pages as f64 {
        let possible = format!("give at most {:.1}, or less of reads.recurring_percent", later * 100.0);
        let what = "asks for more values than are read on later days only";
        return Err(keys.wrong("reads.written_percent", what, &possible));
    }
    if kept.round() as u64 > write_order.whole.things() {
        let possible = write_order.whole.things() as f64 / read_pages as f64 * 100.0;
        return Err(keys.wrong(
            "reads.written_percent",
            "asks for more values than are written on more than one day",
            &format!("give at most {possible:.1}"),
        ));
    }
    Ok(())
}

fn check_read_before(keys: &Keys<'_>, wanted: u64, there: u64, written: u64) -> Result<(), TraceError> {
    if wanted <= there {
        return Ok(());
    }
    let possible = there as f64 / written.max(1) as f64 * 100.0;
    Err(keys.wrong(
        "writes.read_before_percent",
        "asks for more values than the trace reads of those that lay there",
        &format!("give at most {possible:.1}"),
    ))
}

/// The share of a day's reads that come again; refuses keys that have no meaning beside it.
fn recurring(keys: &Keys<'_>, reads: &ReadsRecipe) -> Result<f64, TraceError> {
    let beside = [
        ("reads.locality", reads.locality.is_some()),
        ("reads.of_the_day_percent", reads.of_the_day_percent > 0.0),
    ];
    if let Some((key, _)) = beside.iter().find(|(_, given)| *given) {
        let cure = "leave it out; what reads.recurring_percent leaves is read on one day";
        return Err(keys.wrong(key, "says nothing where reads.unique_within is \"day\"", cure));
    }
    keys.share("reads.recurring_percent", reads.recurring_percent)
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
            "values that are read, or shared, lie on pages of their own: give at least {:.0} more, or less of \
             addresses.shared_percent",
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
