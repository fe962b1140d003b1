//! Reading the canonical Parquet.

use std::fs::File;
use std::sync::Arc;

use flashtwin_bits::SpareMemory;
use parquet::basic::Compression;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::Length;

use super::ahead::Batches;
use super::decode::{Decoded, Fault, Reading};
use super::metadata::{ContentMetadata, Metadata, malformed};
use super::schema::Places;
use super::source::ParquetSource;
use super::{
    CONTENT_DIGEST, DIGEST, KEY_CHUNK_BYTES, KEY_QUALITY, KEY_SCHEMA, KEY_VOLUME_NAMES, SCHEMA_VERSION,
    digests, growing, sound,
};
use crate::columns::{Columns, check_lengths, check_requests};
use crate::digest::{Digests, digests_of_zeroes};
use crate::error::{ErrorCause, TraceError, quoted};
use crate::feed::{Feed, Parts};
use crate::holes::Holes;
use crate::input::{Input, Source};
use crate::memory;
use crate::options::OpenOptions;
use crate::progress::Progress;
use crate::quality::Quality;
use crate::request::CHUNK_BYTES;
use crate::tally::Tally;
use crate::volumes::Volumes;

/// Opens the requests of `input`. A compressed file, or an input that is no file, is first read into memory whole.
pub(crate) fn open(
    source: &Source,
    input: Input,
    options: &OpenOptions,
    digests: bool,
) -> Result<Box<dyn Feed>, TraceError> {
    let name = input.name.clone();
    let bytes = input.total;
    let plan = match source {
        Source::File(path) if !input.is_packed() => {
            let place = File::open(path)
                .and_then(ParquetSource::file)
                .map_err(|error| TraceError::io(&name, &error))?;
            plan(&name, place, digests, options.threaded)?
        }
        _ => plan(&name, ParquetSource::Memory(input.read_all()?.into()), digests, options.threaded)?,
    };
    let inside = plan.digests.then(digests::Inside::default);
    let named = plan.named.then(digests::Named::default);
    if plan.rows == 0 {
        return Err(crate::input::empty(&name));
    }
    let known = ContentMetadata::of(&name, &plan.metadata)?;
    let quality = first_quality(&plan.metadata, plan.rows);
    let names: Option<Vec<String>> =
        plan.metadata.get(KEY_VOLUME_NAMES).and_then(|json| serde_json::from_str(json).ok());
    let mut rows = Rows {
        name,
        window_ns: options.sort_window_ns,
        bytes,
        plan,
        done: 0,
        ended: false,
        earliest_ns: i64::MAX,
        latest_ns: i64::MIN,
        names: names.unwrap_or_default(),
        volumes: Volumes::default(),
        holes: Holes::default(),
        known,
        quality,
        inside,
        named,
        tally: None,
    };
    for (volume, range) in std::mem::take(&mut rows.known.holes).iter() {
        let index = rows.volume(volume);
        rows.holes.add(index, range);
    }
    Ok(Box::new(rows))
}

struct Plan {
    batches: Batches,
    metadata: Metadata,
    rows: usize,
    /// Contents of all rows, those that carry none counted as one.
    contents: u64,
    digests: bool,
    named: bool,
}

fn plan(name: &str, source: ParquetSource, digests: bool, threaded: bool) -> Result<Plan, TraceError> {
    let file = footer(name, &source)?;
    let metadata = Metadata::of(&file);
    check_version(name, &metadata)?;
    let places = Places::of(name, file.file_metadata().schema_descr(), digests)?;
    check_codecs(name, &file)?;
    let rows = usize::try_from(file.file_metadata().num_rows()).unwrap_or(0);
    let named = places.named;
    let contents = if named { places.digests } else { places.content };
    let chunks = contents.map(|at| file.row_groups().iter().map(move |group| group.column(at)));
    let contents = chunks.into_iter().flatten().map(|chunk| chunk.num_values().max(0) as u64).sum();
    let digests = !named && places.digests.is_some();
    let reading = Reading { source: Arc::new(source), metadata: Arc::new(file), places };
    Ok(Plan { batches: Batches::new(&reading, threaded), metadata, rows, contents, digests, named })
}

impl Plan {
    fn contents_of(&self, rows: usize) -> usize {
        let share = u128::from(self.contents) * rows as u128 / self.rows.max(1) as u128;
        usize::try_from(share).unwrap_or(0)
    }
}

/// Reads the footer; of a recording that was interrupted, the last one that is whole.
fn footer(name: &str, source: &ParquetSource) -> Result<ParquetMetaData, TraceError> {
    let loaded = ParquetMetaDataReader::new().parse_and_finish(source).map_err(|error| error.to_string());
    let checked = loaded.and_then(|file| sound::check(&file, source.len()).map(|()| file));
    checked.or_else(|error| match growing::last_footer(source) {
        Some((footer, _)) => Ok(footer),
        None => Err(broken(name, &error)),
    })
}

/// The counters of the first reading, which the file keeps; this reading adds to them.
fn first_quality(metadata: &Metadata, rows: usize) -> Quality {
    let kept = metadata.get(KEY_QUALITY).and_then(|json| serde_json::from_str(json).ok());
    let quality = kept.unwrap_or_else(|| Quality { lines: rows as u64, ..Quality::default() });
    // Warnings follow from the counters, anew.
    Quality { warnings: Vec::new(), ..quality }
}

fn broken(name: &str, error: &dyn std::fmt::Display) -> TraceError {
    TraceError::new(
        ErrorCause::Malformed,
        name,
        format!("this Parquet file cannot be read ({error})"),
        "it may be truncated: fetch or write it again",
    )
}

fn check_version(name: &str, metadata: &Metadata) -> Result<(), TraceError> {
    if let Some(version) = metadata.get(KEY_SCHEMA) {
        let known = version.parse::<u32>().is_ok_and(|version| version <= SCHEMA_VERSION);
        if !known {
            return Err(malformed(
                name,
                format!("schema version {} is not known, {SCHEMA_VERSION} was expected", quoted(version)),
            ));
        }
    }
    match metadata.get(KEY_CHUNK_BYTES) {
        Some(bytes) if bytes != CHUNK_BYTES.to_string() => Err(malformed(
            name,
            format!("contents of {} bytes each, {CHUNK_BYTES} was expected", quoted(bytes)),
        )),
        _ => Ok(()),
    }
}

/// Refuses a compression that cannot be undone: LZO, for which there is no free library.
fn check_codecs(name: &str, metadata: &ParquetMetaData) -> Result<(), TraceError> {
    let columns = metadata.row_groups().iter().flat_map(|group| group.columns());
    match columns.into_iter().find(|column| column.compression() == Compression::LZO) {
        None => Ok(()),
        Some(column) => Err(TraceError::new(
            ErrorCause::Malformed,
            name,
            format!("column {} is compressed with LZO, which cannot be read", column.column_path()),
            "write the file with zstd, snappy, gzip, brotli, LZ4 or without compression",
        )),
    }
}

struct Rows {
    name: String,
    window_ns: u64,
    bytes: u64,
    plan: Plan,
    done: usize,
    ended: bool,
    earliest_ns: i64,
    latest_ns: i64,
    names: Vec<String>,
    volumes: Volumes,
    /// The metadata's contents and holes; the holes by index of `volumes`.
    known: ContentMetadata,
    holes: Holes,
    quality: Quality,
    inside: Option<digests::Inside>,
    named: Option<digests::Named>,
    tally: Option<Tally>,
}

impl Feed for Rows {
    fn read(&mut self, rows: usize, progress: &dyn Progress) -> Result<Columns, TraceError> {
        let expected = rows.min(self.plan.rows - self.done.min(self.plan.rows));
        memory::check_whole(&self.name, expected as u64, self.plan.contents_of(expected) as u64)?;
        let mut columns = Columns::with_capacity(expected, self.plan.contents_of(expected));
        self.tally = (rows == usize::MAX).then(Tally::new);
        SpareMemory::touch_while(&columns.rooms(), || self.fill(&mut columns, rows, progress))?;
        check_lengths(&self.name, &columns)?;
        self.done += columns.len();
        Ok(columns)
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn latest_ns(&self) -> i64 {
        self.latest_ns
    }

    fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    fn holes(&self) -> &Holes {
        &self.holes
    }

    fn zero_content(&self) -> Option<u32> {
        let Some(named) = &self.named else { return self.known.zero_content };
        match self.known.zero_digest {
            Some(digest) => named.get(&digest),
            None => digests_of_zeroes().find_map(|digest| named.get(&digest)),
        }
    }

    fn digests(&self) -> Option<&[[u8; 16]]> {
        let inside = self.inside.as_ref().map(|inside| &inside.digests[..]);
        inside.or_else(|| self.named.as_ref().map(|named| &named.digests[..]))
    }

    fn into_parts(self: Box<Self>, digests: bool) -> Result<Parts, TraceError> {
        let digests = match (self.inside, self.named) {
            (Some(inside), _) => inside.finish(),
            (None, Some(named)) if digests => named.finish(),
            _ => Digests::default(),
        };
        Ok(Parts { volumes: self.volumes, quality: self.quality, digests, tally: self.tally })
    }
}

impl Rows {
    #[inline]
    fn volume(&mut self, number: u32) -> u32 {
        self.volumes.index(number.into(), |key| {
            self.names.get(key as usize).cloned().unwrap_or_else(|| key.to_string())
        })
    }

    fn fill(
        &mut self,
        columns: &mut Columns,
        rows: usize,
        progress: &dyn Progress,
    ) -> Result<(), TraceError> {
        while !self.ended && columns.len() < rows {
            let Some(batch) = self.plan.batches.next() else {
                self.ended = true;
                break;
            };
            let first_row = self.done + columns.len();
            let mut batch = batch.map_err(|fault| self.error(fault, first_row))?;
            let fresh = columns.len();
            let rows = batch.columns.len();
            memory::check_growth(&self.name, first_row, self.bytes(columns, rows))?;
            self.number_contents(&mut batch, first_row)?;
            columns.extend_from(&batch.columns, 0..rows);
            self.take_in(columns, fresh)?;
            let done = self.done + columns.len();
            let share = done as f64 / self.plan.rows.max(1) as f64;
            progress.update((self.bytes as f64 * share) as u64, self.bytes);
            if progress.cancelled() {
                return Err(TraceError::cancelled(&self.name));
            }
        }
        Ok(())
    }

    fn bytes(&self, columns: &Columns, further: usize) -> (u64, u64) {
        let (held, more) = columns.bytes(further);
        let named = self.named.as_ref().map_or((0, 0), |named| named.bytes(further));
        (held + named.0, more + named.1)
    }

    fn error(&self, fault: Fault, first_row: usize) -> TraceError {
        match fault {
            Fault::File(error) => broken(&self.name, &error),
            Fault::Value { column, row, what } => malformed(&self.name, format!("column {column}: {what}"))
                .at_line((first_row + row) as u64 + 1, None),
        }
    }

    fn number_contents(&mut self, batch: &mut Decoded, first_row: usize) -> Result<(), TraceError> {
        let Some(lists) = batch.digests.take() else { return Ok(()) };
        if let Some(named) = &mut self.named {
            let fault = |(row, what)| Fault::Value { column: CONTENT_DIGEST.to_owned(), row, what };
            return named.add(lists, &mut batch.columns).map_err(|bad| self.error(fault(bad), first_row));
        }
        let Some(inside) = &mut self.inside else { return Ok(()) };
        inside.add(&lists, &mut batch.columns).map_err(|(row, what)| {
            let what = format!("column {DIGEST}: {what}");
            let cure = "remove the column (digests are optional), or convert the trace again";
            TraceError::new(ErrorCause::Malformed, &self.name, what, cure)
                .at_line((first_row + row) as u64 + 1, None)
        })
    }

    /// Checks the rows from `fresh` on, while they are in the processor's caches, and numbers their volumes.
    fn take_in(&mut self, columns: &mut Columns, fresh: usize) -> Result<(), TraceError> {
        check_requests(&self.name, columns, fresh..columns.len(), self.done)?;
        self.check_order(&columns.time_ns[fresh..], self.done + fresh)?;
        for volume in &mut columns.volume[fresh..] {
            *volume = self.volume(*volume);
        }
        if let Some(tally) = &mut self.tally {
            tally.add(columns, fresh..columns.len());
        }
        Ok(())
    }

    /// Follows the times of the next rows, which may step back by the sorting window; `first_row` rows came before.
    fn check_order(&mut self, time_ns: &[i64], first_row: usize) -> Result<(), TraceError> {
        for (at, &time) in time_ns.iter().enumerate() {
            self.earliest_ns = self.earliest_ns.min(time);
            if time >= self.latest_ns {
                self.latest_ns = time;
                continue;
            }
            let behind = self.latest_ns.abs_diff(time);
            if behind > self.window_ns {
                return Err(self.too_early(time, behind, first_row + at));
            }
            self.quality.reordered_requests += 1;
            self.quality.largest_step_back_ns = self.quality.largest_step_back_ns.max(behind);
        }
        match self.latest_ns.checked_sub(self.earliest_ns) {
            None if !time_ns.is_empty() => Err(malformed(&self.name, "time_ns spans more than 292 years")),
            _ => Ok(()),
        }
    }

    fn too_early(&self, time: i64, behind: u64, row: usize) -> TraceError {
        TraceError::new(
            ErrorCause::Disorder,
            &self.name,
            format!(
                "time_ns {time} is {:.6} s earlier than a request before it, the sorting window is {:.6} s",
                behind as f64 / 1e9,
                self.window_ns as f64 / 1e9
            ),
            format!("sort the file by time, or widen the window: sort_window_ns = {behind} or more (--sort-window on the command line)"),
        )
        .at_line(row as u64 + 1, None)
    }
}
