//! Many volumes, each by itself: the results are those of [`characterize`](super::characterize) for the volume's own
//! trace, in tables for all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, RecordBatch, StringArray, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use flashtwin_trace::{ErrorCause, Progress, TraceError};
use rayon::prelude::*;

use super::{Characterization, Work};
use crate::input::Input;
use crate::options::Options;

/// The column with the name of the volume.
const VOLUME: &str = "volume";
/// Volumes of as many requests are characterized one after another, smaller ones side by side.
const LARGE_REQUESTS: u64 = 1 << 16;

/// Results of [`characterize_volumes`].
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeResults {
    /// The summary of each volume as JSON text.
    pub summaries: Vec<String>,
    /// Rows of all volumes, by the table's name. The column `volume` comes first. A volume without the table has no rows.
    pub tables: Vec<(String, RecordBatch)>,
}

/// Opens a volume by its place in a list.
pub type OpenVolume<'a> = dyn Fn(usize) -> Result<Box<dyn Input + Send>, TraceError> + Sync + 'a;

/// Characterizes the volumes of these names and requests.
pub fn characterize_volumes(
    volumes: &[(String, u64)],
    open: &OpenVolume<'_>,
    options: &Options,
    progress: &dyn Progress,
) -> Result<VolumeResults, TraceError> {
    let done = AtomicU64::new(0);
    let work = |&place: &usize| {
        let found = Work::new(open(place)?.as_mut(), options, &Quiet(progress)).run()?;
        progress.update(done.fetch_add(1, Ordering::Relaxed) + 1, volumes.len() as u64);
        Ok((place, found))
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build();
    let pool = pool.map_err(|error| TraceError::threads(VOLUME, &error))?;
    let (large, small): (Vec<_>, Vec<_>) =
        (0..volumes.len()).partition(|&place| volumes[place].1 >= LARGE_REQUESTS);
    let mut found = pool.install(|| small.par_iter().map(work).collect::<Result<Vec<_>, TraceError>>())?;
    for place in &large {
        found.push(pool.install(|| work(place))?);
    }
    found.sort_by_key(|(place, _)| *place);
    let summaries = found.iter().map(|(_, found)| found.summary.to_string()).collect();
    let found: Vec<_> = found.iter().map(|(place, found)| (volumes[*place].0.as_str(), found)).collect();
    let tables = together(&found).map_err(|error| {
        let what = format!("the tables of all volumes do not fit together ({error})");
        TraceError::new(ErrorCause::TooLarge, VOLUME, what, "split the trace (`flashtwin trace split`)")
    })?;
    Ok(VolumeResults { summaries, tables })
}

/// The tables of all volumes, each one behind another.
fn together(found: &[(&str, &Characterization)]) -> Result<Vec<(String, RecordBatch)>, ArrowError> {
    let mut tables: Vec<(String, Vec<(&str, &RecordBatch)>)> = Vec::new();
    for (volume, found) in found {
        for (name, table) in &found.tables {
            match tables.iter_mut().find(|(known, _)| known == name) {
                Some((_, of)) => of.push((volume, table)),
                None => tables.push((name.clone(), vec![(volume, table)])),
            }
        }
    }
    tables.into_iter().map(|(name, of)| Ok((name, joined(&of)?))).collect()
}

fn joined(of: &[(&str, &RecordBatch)]) -> Result<RecordBatch, ArrowError> {
    let schema = of[0].1.schema();
    let (mut fields, mut columns) = (schema.fields().to_vec(), Vec::new());
    // The table of volumes has the column.
    if schema.column_with_name(VOLUME).is_none() {
        let names = of.iter().flat_map(|(volume, table)| std::iter::repeat_n(volume, table.num_rows()));
        fields.insert(0, Arc::new(Field::new(VOLUME, DataType::Utf8, false)));
        columns.push(Arc::new(StringArray::from_iter_values(names)) as ArrayRef);
    }
    for column in 0..schema.fields().len() {
        let parts: Vec<_> = of.iter().map(|(_, table)| table.column(column).to_data()).collect();
        let mut all =
            MutableArrayData::new(parts.iter().collect(), false, parts.iter().map(|part| part.len()).sum());
        for (part, data) in parts.iter().enumerate() {
            all.try_extend(part, 0, data.len())?;
        }
        columns.push(make_array(all.freeze()));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// Hears whether to stop; progress is by volume.
struct Quiet<'a>(&'a dyn Progress);

impl Progress for Quiet<'_> {
    fn update(&self, _done: u64, _total: u64) {}

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
