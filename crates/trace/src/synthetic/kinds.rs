//! How many requests of each kind there are, how large they are, and in how many runs.

use super::keys::Keys;
use super::recipe::Recipe;
use super::trains::TrainsPlan;
use crate::error::TraceError;

#[derive(Clone, Debug)]
pub(super) struct KindPlan {
    pub(super) requests: u64,
    pub(super) runs: u64,
    /// Pages of a request and how many requests have as many, summing up to `requests`.
    pub(super) sizes: Vec<(u32, u64)>,
    pub(super) pages: u64,
    /// Stretches of this kind in trains, by request; a run ends with its stretch. 0 without trains.
    pub(super) stretches_per_request: f64,
}

impl KindPlan {
    pub(super) fn largest(&self) -> u32 {
        self.occurring().max().unwrap_or(0)
    }

    pub(super) fn smallest(&self) -> u32 {
        self.occurring().min().unwrap_or(0)
    }

    fn occurring(&self) -> impl Iterator<Item = u32> + '_ {
        self.sizes.iter().filter(|&&(_, count)| count > 0).map(|&(pages, _)| pages)
    }
}

const PAGES_MAX: u32 = 1 << 16;

pub(super) fn kinds(
    recipe: &Recipe,
    trains: Option<&TrainsPlan>,
    keys: &Keys<'_>,
    count: u64,
) -> Result<[KindPlan; 2], TraceError> {
    let requests = &recipe.requests;
    let writes =
        (count as f64 * keys.share("requests.write_percent", requests.write_percent)?).round() as u64;
    let sequential = keys.share("requests.sequential_percent", requests.sequential_percent)?;
    let of_reads = match requests.read_sequential_percent {
        Some(percent) => keys.share("requests.read_sequential_percent", percent)?,
        None => sequential,
    };
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
    let shares = match trains {
        Some(trains) => {
            let counts = [count - writes, writes].map(|requests| requests as f64);
            in_trains([of_reads, of_writes], counts, recipe, trains, keys)?
        }
        None => [of_reads, of_writes],
    };
    let stretches_per_request = trains.map_or(0.0, TrainsPlan::stretches_per_request);
    let kind = |key, requests: u64, sequential: f64, sizes: &[(u32, f64)]| {
        let sizes = sizes_of(keys, key, requests, sizes)?;
        let runs = (requests - (requests as f64 * sequential).round() as u64).max(u64::from(requests > 0));
        let pages = sizes.iter().map(|&(pages, count)| u64::from(pages) * count).sum();
        Ok::<_, TraceError>(KindPlan { requests, runs, sizes, pages, stretches_per_request })
    };
    let (key, pages) = match &requests.read_pages {
        Some(pages) => ("requests.read_pages", pages),
        None => ("requests.pages", &requests.pages),
    };
    let [of_reads, of_writes] = shares.map(|share| share.max(0.0));
    let reads = kind(key, count - writes, of_reads, pages)?;
    Ok([reads, kind("requests.pages", writes, of_writes, &requests.pages)?])
}

/// Shares of sequential requests with which runs are made, so that the requested shares are left after cuts. Data are
/// read in the runs in which they were written, so each end of a stretch costs reads sequentiality. Writes make up for
/// that as far as they can, and longer runs of reads for the rest.
fn in_trains(
    [reads, writes]: [f64; 2],
    [read_requests, write_requests]: [f64; 2],
    recipe: &Recipe,
    trains: &TrainsPlan,
    keys: &Keys<'_>,
) -> Result<[f64; 2], TraceError> {
    let kept = 1.0 - trains.stretches_per_request();
    let fit = |key: &str, share: f64| {
        if share <= kept + 1e-9 {
            return Ok(share.min(kept));
        }
        let what = format!("asks for {:.1} % where trains end before", share * 100.0);
        let cure = format!("with arrivals.trains as they are at most {:.1} % are possible", kept * 100.0);
        Err(keys.wrong(key, what, &cure))
    };
    if recipe.writes.zipf.is_some() {
        return Ok([fit("requests.sequential_percent", reads)?, fit("requests.sequential_percent", writes)?]);
    }
    if recipe.requests.read_sequential_percent.is_some() {
        return Ok([reads, fit("requests.sequential_percent", writes)?]);
    }
    if write_requests == 0.0 {
        return Ok([fit("requests.sequential_percent", reads)? / kept, 0.0]);
    }
    let lost = reads * (1.0 - kept) * read_requests;
    let of_writes = (writes + lost / write_requests).min(kept);
    let left = reads * read_requests + (writes - of_writes) * write_requests;
    let of_reads = if read_requests > 0.0 { left / read_requests } else { 0.0 };
    Ok([fit("requests.sequential_percent", of_reads)? / kept, of_writes])
}

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
