//! From a recipe to a trace in memory, or straight into a file.

use std::path::Path;

use super::generator::Generator;
use super::plan::Plan;
use super::recipe::Recipe;
use crate::columns::Columns;
use crate::error::TraceError;
use crate::format::parquet::write_streamed;
use crate::options::Format;
use crate::progress::Progress;
use crate::quality::Quality;
use crate::trace::{Trace, finish};
use crate::volumes::Volumes;

const ROWS: usize = 1 << 18;

/// Makes the trace of a recipe. `place` names the recipe in messages, `scale` multiplies requests, footprint, values
/// and the length of days, and another seed gives another trace of the same kind. Progress is in requests.
///
/// # Errors
/// [`Argument`](crate::ErrorCause::Argument) if numbers of the recipe contradict each other.
pub fn synthesize(
    recipe: &Recipe,
    place: &str,
    scale: f64,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Trace, TraceError> {
    let plan = Plan::new(recipe, place, scale)?;
    let total = plan.requests();
    let name = plan.name.clone();
    let mut generator = Generator::new(plan, seed);
    let mut columns = Columns::with_capacity(total as usize, total as usize);
    loop {
        let wanted = columns.len() + ROWS;
        generator.fill(&mut columns, wanted);
        progress.update(columns.len() as u64, total);
        if progress.cancelled() {
            return Err(TraceError::cancelled(place));
        }
        if columns.len() < wanted {
            break;
        }
    }
    Ok(finish(&name, Format::MEMORY, columns, one_volume(), Quality::default(), None))
}

/// Like [`synthesize`], into a canonical Parquet file without ever holding the trace; returns the number of requests.
/// With `threaded` requests are made in a thread of its own; the bytes are the same.
pub fn synthesize_parquet(
    recipe: &Recipe,
    place: &str,
    (scale, seed): (f64, u64),
    path: &Path,
    threaded: bool,
    progress: &dyn Progress,
) -> Result<u64, TraceError> {
    let plan = Plan::new(recipe, place, scale)?;
    let total = plan.requests();
    let name = plan.name.clone();
    let mut generator = Generator::new(plan, seed);
    let make = move |rows: usize| {
        let mut columns = Columns::with_capacity(rows, rows);
        generator.fill(&mut columns, rows);
        columns
    };
    write_streamed(&name, Format::MEMORY, make, total, path, threaded, progress)
}

fn one_volume() -> Volumes {
    let mut volumes = Volumes::default();
    volumes.index(0, |key| key.to_string());
    volumes
}
