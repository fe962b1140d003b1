//! Reading the canonical Parquet.

use std::fs::File;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Schema};
use flashtwin_bits::SpareMemory;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::Length;

use super::ahead::{Batches, Reading};
use super::content_metadata::ContentMetadata;
use super::metadata::{BadRow, Metadata, malformed};
use super::source::ParquetSource;
use super::{
    CONTENT_DIGEST, FLAGS, KEY_CHUNK_BYTES, KEY_QUALITY, KEY_SCHEMA, KEY_VOLUME_NAMES, SCHEMA_VERSION,
    digests, growing, sound,
};
use crate::columns::{Columns, check_lengths, check_requests};
use crate::digest::{Digests, digests_of_zeroes};
use crate::error::{ErrorCause, TraceError, quoted};
use crate::feed::{Feed, Parts};
use crate::flags;
use crate::holes::Holes;
use crate::input::{Input, Source};
use crate::memory;
use crate::options::OpenOptions;
use crate::progress::Progress;
use crate::quality::Quality;
use crate::request::{CHUNK_BYTES, NO_CONTENT, Op};
use crate::tally::Tally;
use crate::volumes::Volumes;

/// Opens the requests of `input`. Parquet is read from its end, so a compressed file, or an input that is no file,
/// is first read into memory whole.
pub(crate) fn open(
    source: &Source,
    input: Input,
    options: &OpenOptions,
    digests: bool,
) -> Result<Box<dyn Feed>, TraceError> {
    let name = input.name.clone();
    let bytes = input.total;
    let plan = match source {
        Source::File(path) if !input.is_compressed() => {
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

/// A Parquet file whose schema has been checked.
struct Plan {
    batches: Batches,
    metadata: Metadata,
    rows: usize,
    /// Contents of all rows, those that carry none counted as one.
    contents: u64,
    /// Whether batches have the column of digests.
    digests: bool,
    /// Whether contents are given as digests.
    named: bool,
}

fn plan(name: &str, place: ParquetSource, digests: bool, threaded: bool) -> Result<Plan, TraceError> {
    let found = footer(name, &place)?;
    let (file, schema) = (found.metadata(), found.schema());
    let metadata = Metadata::of(file);
    check_version(name, &metadata)?;
    check_schema(name, schema)?;
    check_codecs(name, file)?;
    let digests = digests && schema.field_with_name(DIGEST).is_ok();
    let rows = usize::try_from(file.file_metadata().num_rows()).unwrap_or(0);
    let named = schema.field_with_name(CONTENT).is_err() && schema.field_with_name(CONTENT_DIGEST).is_ok();
    let contents = if named { CONTENT_DIGEST } else { CONTENT };
    let wanted =
        REQUIRED.iter().map(|(name, _)| *name).chain([contents, FLAGS]).chain(digests.then_some(DIGEST));
    let columns = ProjectionMask::columns(found.parquet_schema(), wanted);
    let chunks = file.row_groups().iter().flat_map(|group| group.columns());
    let of_contents =
        chunks.filter(|chunk| chunk.column_path().parts().first().is_some_and(|part| part == contents));
    let contents = of_contents.map(|chunk| chunk.num_values().max(0) as u64).sum();
    let reading = Reading { place, metadata: found, columns };
    let batches = Batches::new(&reading, threaded).map_err(|error| broken(name, &error))?;
    Ok(Plan { batches, metadata, rows, contents, digests, named })
}

impl Plan {
    /// Contents that this number of rows is likely to carry.
    fn contents_of(&self, rows: usize) -> usize {
        let share = u128::from(self.contents) * rows as u128 / self.rows.max(1) as u128;
        usize::try_from(share).unwrap_or(0)
    }
}

/// Reads the footer; of a recording that was interrupted, the last one that is whole.
fn footer(name: &str, place: &ParquetSource) -> Result<ArrowReaderMetadata, TraceError> {
    let loaded =
        ArrowReaderMetadata::load(place, ArrowReaderOptions::new()).map_err(|error| error.to_string());
    let checked = loaded.and_then(|found| sound::check(found.metadata(), place.len()).map(|()| found));
    checked.or_else(|error| {
        let (footer, _) = growing::last_footer(place).ok_or_else(|| broken(name, &error))?;
        ArrowReaderMetadata::try_new(Arc::new(footer), ArrowReaderOptions::new())
            .map_err(|error| broken(name, &error))
    })
}

/// The counters of the first reading, which the file keeps; this reading adds to them.
fn first_quality(metadata: &Metadata, rows: usize) -> Quality {
    let kept = metadata.get(KEY_QUALITY).and_then(|json| serde_json::from_str(json).ok());
    let quality = kept.unwrap_or_else(|| Quality { lines: rows as u64, ..Quality::default() });
    // Warnings follow from the counters, anew.
    Quality { warnings: Vec::new(), ..quality }
}

/// The columns that a file must have, and their types.
const REQUIRED: [(&str, DataType); 5] = [
    ("time_ns", DataType::Int64),
    ("volume", DataType::UInt32),
    ("op", DataType::UInt8),
    ("offset_bytes", DataType::UInt64),
    ("length_bytes", DataType::UInt32),
];
const CONTENT: &str = "content";
const DIGEST: &str = super::DIGEST;

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

fn check_schema(file: &str, schema: &Schema) -> Result<(), TraceError> {
    for (name, expected) in &REQUIRED {
        let Ok(field) = schema.field_with_name(name) else {
            let present: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            return Err(malformed(
                file,
                format!("column {name} ({expected}) is missing; the file has {}", present.join(", ")),
            ));
        };
        if !field.data_type().is_integer() {
            let what = format!("column {name} is {}, {expected} was expected", field.data_type());
            return Err(malformed(file, what));
        }
    }
    match schema.field_with_name(CONTENT).map(|f| f.data_type()) {
        Err(_) | Ok(DataType::Null) => Ok(()),
        Ok(DataType::List(item) | DataType::LargeList(item)) if item.data_type().is_integer() => Ok(()),
        Ok(other) => Err(malformed(file, format!("column {CONTENT} is {other}, List(UInt32) was expected"))),
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

/// The rows of a Parquet file.
struct Rows {
    name: String,
    window_ns: u64,
    /// Bytes of the file.
    bytes: u64,
    plan: Plan,
    /// Rows read so far.
    done: usize,
    ended: bool,
    earliest_ns: i64,
    latest_ns: i64,
    /// Names of the volumes by their number in the file.
    names: Vec<String>,
    volumes: Volumes,
    /// The metadata's contents and holes; the holes by index of `volumes`.
    known: ContentMetadata,
    holes: Holes,
    quality: Quality,
    /// Digests of contents, where the file has them and they are wanted.
    inside: Option<digests::Inside>,
    /// Contents by their digests, if the file has digests.
    named: Option<digests::Named>,
    /// Statistics of the rows, if all are read at once.
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
    /// Index of the volume with this number in the file.
    #[inline]
    fn volume(&mut self, number: u32) -> u32 {
        self.volumes.index(number.into(), |key| {
            self.names.get(key as usize).cloned().unwrap_or_else(|| key.to_string())
        })
    }

    /// Takes batches until there are `rows` rows.
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
            let batch = batch.map_err(|error| broken(&self.name, &error))?;
            memory::check_growth(
                &self.name,
                self.done + columns.len(),
                self.bytes(columns, batch.num_rows()),
            )?;
            let fresh = columns.len();
            self.append(&batch, columns)?;
            self.append_digests(&batch, columns)?;
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

    /// Bytes of the rows so far, and the largest growth at one time for `further` more rows.
    fn bytes(&self, columns: &Columns, further: usize) -> (u64, u64) {
        let (held, more) = columns.bytes(further);
        let named = self.named.as_ref().map_or((0, 0), |named| named.bytes(further));
        (held + named.0, more + named.1)
    }

    fn append(&mut self, batch: &RecordBatch, columns: &mut Columns) -> Result<(), TraceError> {
        let row = (self.done + columns.len()) as u64;
        let file = &self.name;
        let column = |name: &str| {
            let found = batch.column_by_name(name);
            found.ok_or_else(|| malformed(file, format!("column {name} is missing")))
        };
        let fail = |name: &'static str| {
            move |(at, what): (usize, String)| {
                malformed(file, format!("column {name}: {what}")).at_line(row + at as u64 + 1, None)
            }
        };
        extend::<Int64Type>(&mut columns.time_ns, column("time_ns")?).map_err(fail("time_ns"))?;
        extend::<UInt32Type>(&mut columns.volume, column("volume")?).map_err(fail("volume"))?;
        extend::<UInt64Type>(&mut columns.offset_bytes, column("offset_bytes")?)
            .map_err(fail("offset_bytes"))?;
        extend::<UInt32Type>(&mut columns.length_bytes, column("length_bytes")?)
            .map_err(fail("length_bytes"))?;
        let mut numbers = Vec::with_capacity(batch.num_rows());
        extend::<UInt8Type>(&mut numbers, column("op")?).map_err(fail("op"))?;
        for (at, &number) in numbers.iter().enumerate() {
            let op = Op::from_number(number).ok_or_else(|| {
                let what = format!("{number} is not 0 (read), 1 (write), 2 (trim) or 3 (flush)");
                fail("op")((at, what))
            })?;
            columns.op.push(op);
        }
        if let Some(content) = batch.column_by_name(CONTENT) {
            append_contents(columns, content).map_err(fail(CONTENT))?;
        }
        if let (Some(named), Some(lists)) = (&mut self.named, batch.column_by_name(CONTENT_DIGEST)) {
            named.append(lists, columns).map_err(fail(CONTENT_DIGEST))?;
        }
        if let Some(flags) = batch.column_by_name(FLAGS) {
            append_flags(columns, batch.num_rows(), flags).map_err(fail(FLAGS))?;
        }
        // Files without the column have no contents anywhere.
        let end = columns.content.len() as u64;
        columns.content_start.resize(columns.time_ns.len() + 1, end);
        Ok(())
    }

    fn append_digests(&mut self, batch: &RecordBatch, columns: &mut Columns) -> Result<(), TraceError> {
        let (Some(inside), Some(lists)) = (&mut self.inside, batch.column_by_name(DIGEST)) else {
            return Ok(());
        };
        let first = self.done + columns.len() - batch.num_rows();
        inside.add(lists, columns, batch.num_rows()).map_err(|(at, what)| {
            let what = format!("column {DIGEST}: {what}");
            let cure = "remove the column (digests are optional), or convert the trace again";
            TraceError::new(ErrorCause::Malformed, &self.name, what, cure)
                .at_line((first + at) as u64 + 1, None)
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

    /// Follows the times of the next rows, which may step back as far as the sorting window allows; `first_row` rows
    /// came before them.
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

/// Appends an integer column of any width to `values`.
fn extend<T: ArrowPrimitiveType>(values: &mut Vec<T::Native>, array: &dyn Array) -> Result<(), BadRow>
where
    T::Native: TryFrom<i64> + TryFrom<u64>,
{
    if array.null_count() > 0 {
        let row = array.nulls().and_then(|n| (0..n.len()).find(|&i| n.is_null(i)));
        return Err((row.unwrap_or(0), "a value is missing (null)".to_owned()));
    }
    if let Some(exact) = array.as_primitive_opt::<T>() {
        values.extend_from_slice(exact.values());
        return Ok(());
    }
    fn convert<S: ArrowPrimitiveType, W, N>(values: &mut Vec<N>, array: &dyn Array) -> Result<(), BadRow>
    where
        W: From<S::Native> + std::fmt::Display + Copy,
        N: TryFrom<W>,
    {
        for (row, &value) in array.as_primitive::<S>().values().iter().enumerate() {
            let wide = W::from(value);
            let fits = N::try_from(wide).map_err(|_| (row, format!("{wide} is out of range")))?;
            values.push(fits);
        }
        Ok(())
    }
    match array.data_type() {
        DataType::Int8 => convert::<Int8Type, i64, _>(values, array),
        DataType::Int16 => convert::<Int16Type, i64, _>(values, array),
        DataType::Int32 => convert::<Int32Type, i64, _>(values, array),
        DataType::Int64 => convert::<Int64Type, i64, _>(values, array),
        DataType::UInt8 => convert::<UInt8Type, u64, _>(values, array),
        DataType::UInt16 => convert::<UInt16Type, u64, _>(values, array),
        DataType::UInt32 => convert::<UInt32Type, u64, _>(values, array),
        DataType::UInt64 => convert::<UInt64Type, u64, _>(values, array),
        other => Err((0, format!("{other} is not a whole number"))),
    }
}

/// Notes the flags of the last `rows` requests that a trace keeps.
fn append_flags(columns: &mut Columns, rows: usize, array: &dyn Array) -> Result<(), BadRow> {
    let mut bits: Vec<u8> = Vec::with_capacity(rows);
    extend::<UInt8Type>(&mut bits, array)?;
    if bits.iter().any(|bits| bits & flags::ALL != 0) {
        columns.flags.resize(columns.time_ns.len() - rows, 0);
        columns.flags.extend(bits.iter().map(|bits| bits & flags::ALL));
    }
    Ok(())
}

/// Appends a content column: a list of ids (or null) a row.
fn append_contents(columns: &mut Columns, array: &dyn Array) -> Result<(), BadRow> {
    let mut at = columns.content.len() as u64;
    if let Some(lists) = array.as_list_opt::<i32>() {
        append_ids(&mut columns.content, lists.values())?;
        // A null list has no values in files read from Parquet, so lengths suffice.
        for pair in lists.value_offsets().windows(2) {
            at += (pair[1] - pair[0]) as u64;
            columns.content_start.push(at);
        }
    } else if let Some(lists) = array.as_list_opt::<i64>() {
        append_ids(&mut columns.content, lists.values())?;
        for pair in lists.value_offsets().windows(2) {
            at += (pair[1] - pair[0]) as u64;
            columns.content_start.push(at);
        }
    }
    Ok(())
}

/// Appends content ids; a null one is unknown.
fn append_ids(content: &mut Vec<u32>, values: &dyn Array) -> Result<(), BadRow> {
    let Some(nulls) = values.nulls().filter(|nulls| nulls.null_count() > 0) else {
        return extend::<UInt32Type>(content, values);
    };
    let Some(ids) = values.as_any().downcast_ref::<UInt32Array>() else {
        return Err((0, "missing ids (null) need the type UInt32".to_owned()));
    };
    content.extend(ids.values().iter().zip(nulls).map(|(&id, known)| if known { id } else { NO_CONTENT }));
    Ok(())
}
