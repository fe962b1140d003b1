//! Writing the canonical Parquet of a trace that is never whole in memory.

use std::path::Path;
use std::sync::mpsc;
use std::thread;

use super::metadata::json;
use super::write::{GROUP_ROWS, TraceFile, metadata};
use super::{KEY_HAS_DIGESTS, KEY_QUALITY, KEY_TRACE_DIGEST};
use crate::columns::Columns;
use crate::digest::TraceHasher;
use crate::error::TraceError;
use crate::holes::Holes;
use crate::options::Format;
use crate::progress::Progress;
use crate::quality::{Figures, Quality};
use crate::request::CHUNK_BYTES;

/// Batches made ahead of the one that is being written.
const AHEAD: usize = 2;

/// Writes the requests that `make` brings, in order, on one volume, without digests; returns how many there are. `make`
/// brings fewer rows than asked for only at the end. Contents must be numbered by first appearance.
pub(crate) fn write_streamed(
    name: &str,
    format: Format,
    mut make: impl FnMut(usize) -> Columns + Send,
    total: u64,
    path: &Path,
    threaded: bool,
    progress: &dyn Progress,
) -> Result<u64, TraceError> {
    let mut known = metadata(name, format.name(), &["0".to_owned()]);
    known.push((KEY_HAS_DIGESTS, false.to_string()));
    let mut file = TraceFile::create(path, known, &[])?;
    let mut hasher = TraceHasher::new(CHUNK_BYTES);
    let mut figures = Figures::default();
    let mut requests = 0;
    let mut write = |columns: Columns| {
        progress.update(requests, total);
        if progress.cancelled() {
            return Err(TraceError::cancelled(name));
        }
        let run = columns.as_run();
        hasher.add(&run);
        figures.add(run.time_ns, run.op, run.offset_bytes, run.length_bytes);
        requests += run.len() as u64;
        file.add(&run, None)
    };
    let mut batches = std::iter::from_fn(move || Some(make(GROUP_ROWS)).filter(|columns| columns.len() > 0));
    if threaded {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(AHEAD);
            // Nobody receives when writing has failed.
            scope.spawn(move || batches.try_for_each(|columns| sender.send(columns).ok()));
            receiver.iter().try_for_each(&mut write)
        })?;
    } else {
        batches.try_for_each(&mut write)?;
    }
    let mut quality = Quality::default();
    quality.judge(&figures);
    file.finish(vec![(KEY_QUALITY, json(&quality)), (KEY_TRACE_DIGEST, hasher.finish(Holes::NONE))])?;
    Ok(requests)
}
