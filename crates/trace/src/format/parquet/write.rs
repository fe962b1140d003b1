//! Writing the canonical Parquet.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{
    ByteArray, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};

use super::decode::DIGEST_ROWS;
use super::digests::{ByFirstAppearance, RowDigests};
use super::metadata::{holes_in_json, json};
use super::temporary::{Temporary, cannot_write};
use super::{
    CONTENT_DIGEST, DIGEST, DIGEST_BYTES, FLAGS, INSIDE, KEY_CHUNK_BYTES, KEY_HAS_DIGESTS, KEY_HOLES,
    KEY_QUALITY, KEY_SCHEMA, KEY_SOURCE_FORMAT, KEY_SOURCE_NAME, KEY_TRACE_DIGEST, KEY_VOLUME_NAMES,
    KEY_ZERO_CONTENT, SCHEMA_VERSION, STREAM,
};
use crate::error::TraceError;
use crate::progress::Progress;
use crate::request::{CHUNK_BYTES, NO_STREAM};
use crate::requests::Requests;
use crate::trace::Trace;

pub(super) const GROUP_ROWS: usize = 1 << 18;

// The columns of a file, in the order in which they are written; docs/trace-formats.md describes them.
const REQUEST_COLUMNS: &str = "
    required int64 time_ns;
    required int32 volume (INTEGER(32, false));
    required int32 op (INTEGER(8, false));
    required int64 offset_bytes (INTEGER(64, false));
    required int32 length_bytes (INTEGER(32, false));";
pub(super) const CONTENT_COLUMN: &str = "
    optional group content (LIST) { repeated group list { required int32 item (INTEGER(32, false)); } }";
pub(super) const DIGEST_COLUMN: &str = "
    required group digest (LIST) { repeated group list { required fixed_len_byte_array(16) item; } }";
pub(super) const FLAGS_COLUMN: &str = "
    required int32 flags (INTEGER(8, false));";
pub(super) const STREAM_COLUMN: &str = "
    optional int32 stream (INTEGER(16, false));";
pub(super) const CONTENT_DIGEST_COLUMN: &str = "
    optional group content_digest (LIST) { repeated group list { required fixed_len_byte_array(16) item; } }";

pub(super) fn schema(further: &[&str]) -> ParquetResult<TypePtr> {
    let further = further.concat();
    Ok(Arc::new(parse_message_type(&format!("message arrow_schema {{{REQUEST_COLUMNS}{further} }}"))?))
}

pub(crate) fn metadata(name: &str, format: &str, volume_names: &[String]) -> Vec<(&'static str, String)> {
    vec![
        (KEY_SCHEMA, SCHEMA_VERSION.to_string()),
        (KEY_CHUNK_BYTES, CHUNK_BYTES.to_string()),
        (KEY_SOURCE_NAME, name.to_owned()),
        (KEY_SOURCE_FORMAT, format.to_owned()),
        (KEY_VOLUME_NAMES, json(volume_names)),
    ]
}

/// Plain values under a light compression: the fastest to read.
pub(super) fn properties(metadata: Vec<(&str, String)>) -> WriterPropertiesBuilder {
    let pairs = metadata.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_created_by("flashtwin".to_owned())
        .set_key_value_metadata(Some(pairs))
        // Times rise slowly, so their differences are small numbers.
        .set_column_encoding(ColumnPath::from("time_ns"), Encoding::DELTA_BINARY_PACKED);
    for column in [DIGEST, CONTENT_DIGEST] {
        let column = ColumnPath::new([column, "list", "item"].map(str::to_owned).to_vec());
        // Digests are random: compressing them only costs time.
        properties = properties
            .set_column_compression(column.clone(), Compression::UNCOMPRESSED)
            .set_column_statistics_enabled(column, EnabledStatistics::None);
    }
    properties
}

/// Writes `trace` as canonical Parquet to `path`, with its digests when it has any. Equal traces give equal
/// bytes. The complete file gets its name in one step; temporary files of killed processes are removed.
///
/// # Errors
/// [`crate::ErrorCause::Io`] when the folder cannot be written to, [`crate::ErrorCause::Cancelled`] when `progress`
/// says so.
pub fn write_parquet(trace: &Trace, path: &Path, progress: &dyn Progress) -> Result<(), TraceError> {
    let has_digests = !trace.digests.is_empty();
    let mut metadata = metadata(&trace.name, trace.format.name(), &trace.volume_names);
    metadata.extend([
        (KEY_QUALITY, json(&trace.quality)),
        (KEY_TRACE_DIGEST, trace.digest()),
        (KEY_HAS_DIGESTS, if has_digests { INSIDE } else { "false" }.to_owned()),
    ]);
    if !trace.holes.is_empty() {
        metadata.push((KEY_HOLES, holes_in_json(&trace.holes)));
    }
    metadata.extend(trace.zero_content.map(|content| (KEY_ZERO_CONTENT, content.to_string())));
    let further = [
        if has_digests { DIGEST_COLUMN } else { "" },
        if trace.flags.is_empty() { "" } else { FLAGS_COLUMN },
        if trace.stream.is_empty() { "" } else { STREAM_COLUMN },
    ];
    let mut file = TraceFile::create(path, metadata, &further)?;
    let mut by_appearance = ByFirstAppearance::new(&trace.digests);
    for start in (0..trace.len()).step_by(GROUP_ROWS) {
        progress.update(start as u64, trace.len() as u64);
        if progress.cancelled() {
            return Err(TraceError::cancelled(&trace.name));
        }
        let run = trace.requests(start..trace.len().min(start + GROUP_ROWS));
        let digests = has_digests.then(|| by_appearance.digests_of(&run)).transpose();
        file.add(&run, digests.map_err(|why| cannot_write(path, &why))?.as_ref())?;
    }
    file.finish(Vec::new())
}

pub(super) struct TraceFile<'a> {
    path: &'a Path,
    temporary: Temporary,
    writer: SerializedFileWriter<File>,
}

impl<'a> TraceFile<'a> {
    pub(super) fn create(
        path: &'a Path,
        metadata: Vec<(&str, String)>,
        further: &[&str],
    ) -> Result<TraceFile<'a>, TraceError> {
        let (temporary, file) = Temporary::beside(path)?;
        let further = [&[CONTENT_COLUMN], further].concat();
        let properties = Arc::new(properties(metadata).build());
        let writer = schema(&further).and_then(|schema| SerializedFileWriter::new(file, schema, properties));
        let writer = writer.map_err(|error| cannot_write(path, &error))?;
        Ok(TraceFile { path, temporary, writer })
    }

    pub(super) fn add(&mut self, run: &Requests<'_>, digests: Option<&RowDigests>) -> Result<(), TraceError> {
        let written = write_group(&mut self.writer, run, digests);
        written.map_err(|error| cannot_write(self.path, &error))
    }

    pub(super) fn finish(mut self, metadata: Vec<(&str, String)>) -> Result<(), TraceError> {
        for (key, value) in metadata {
            self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        self.writer.close().map_err(|error| cannot_write(self.path, &error))?;
        self.temporary.finish()
    }
}

pub(super) fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    run: &Requests<'_>,
    digests: Option<&RowDigests>,
) -> ParquetResult<()> {
    let has = |name: &str| writer.schema_descr().columns().iter().any(|column| column.name() == name);
    let (has_flags, has_stream) = (has(FLAGS), has(STREAM));
    let mut group = writer.next_row_group()?;
    write_requests(&mut group, run)?;
    let contents: Vec<i32> = run.all_contents().iter().map(|&content| content as i32).collect();
    let lengths = (0..run.len()).map(|row| run.contents(row).len());
    let (definition, repetition) = levels(lengths, 2);
    write_column::<Int32Type, W>(&mut group, &contents, Some((&definition, Some(&repetition))))?;
    if let Some(new) = digests {
        write_digests(&mut group, new, 1)?;
    }
    if has_flags {
        write_flags(&mut group, run)?;
    }
    if has_stream {
        let streams = (0..run.len()).map(|row| run.stream_of(row));
        let definition: Vec<i16> = streams.clone().map(|stream| i16::from(stream != NO_STREAM)).collect();
        let values: Vec<i32> = streams.filter(|&stream| stream != NO_STREAM).map(i32::from).collect();
        write_column::<Int32Type, W>(&mut group, &values, Some((&definition, None)))?;
    }
    group.close()?;
    Ok(())
}

pub(super) fn write_requests<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    run: &Requests<'_>,
) -> ParquetResult<()> {
    let narrow = |values: &[u32]| values.iter().map(|&value| value as i32).collect::<Vec<_>>();
    let offsets: Vec<i64> = run.offset_bytes.iter().map(|&offset| offset as i64).collect();
    let ops: Vec<i32> = run.op.iter().map(|&op| op as i32).collect();
    write_column::<Int64Type, W>(group, run.time_ns, None)?;
    write_column::<Int32Type, W>(group, &narrow(run.volume), None)?;
    write_column::<Int32Type, W>(group, &ops, None)?;
    write_column::<Int64Type, W>(group, &offsets, None)?;
    write_column::<Int32Type, W>(group, &narrow(run.length_bytes), None)
}

pub(super) fn write_flags<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    run: &Requests<'_>,
) -> ParquetResult<()> {
    let flags: Vec<i32> = (0..run.len()).map(|row| i32::from(run.flags_of(row))).collect();
    write_column::<Int32Type, W>(group, &flags, None)
}

/// Writes the column of digests. Lists may be missing where `item_level` is 2, not where it is 1; see [`levels`].
pub(super) fn write_digests<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    new: &RowDigests,
    item_level: i16,
) -> ParquetResult<()> {
    let mut column = next_column(group)?;
    let mut rest = &new.digests[..];
    // Few at a time, because the library has 40 bytes for each digest and a count of references.
    for counts in new.counts.chunks(DIGEST_ROWS) {
        let (few, behind) = rest.split_at(counts.iter().sum());
        rest = behind;
        let bytes = Bytes::from(few.concat());
        let starts = (0..bytes.len()).step_by(DIGEST_BYTES);
        let value = |start| ByteArray::from(bytes.slice(start..start + DIGEST_BYTES)).into();
        let values: Vec<FixedLenByteArray> = starts.map(value).collect();
        let (definition, repetition) = levels(counts.iter().copied(), item_level);
        column.typed::<FixedLenByteArrayType>().write_batch(&values, Some(&definition), Some(&repetition))?;
    }
    column.close()
}

/// Definition and repetition levels of lists of these lengths. An item has the definition level `item_level`: 1, or 2
/// in a column whose lists may be missing, as an empty one then is.
fn levels(lengths: impl Iterator<Item = usize>, item_level: i16) -> (Vec<i16>, Vec<i16>) {
    let (mut definition, mut repetition) = (Vec::new(), Vec::new());
    for length in lengths {
        definition.push(if length == 0 { 0 } else { item_level });
        repetition.push(0);
        definition.extend((1..length).map(|_| item_level));
        repetition.extend((1..length).map(|_| 1));
    }
    (definition, repetition)
}

fn write_column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<(&[i16], Option<&[i16]>)>,
) -> ParquetResult<()> {
    let (definition, repetition) = levels.unzip();
    let mut column = next_column(group)?;
    column.typed::<T>().write_batch(values, definition, repetition.flatten())?;
    column.close()
}

fn next_column<'a, W: Write + Send>(
    group: &'a mut SerializedRowGroupWriter<'_, W>,
) -> ParquetResult<SerializedColumnWriter<'a>> {
    group.next_column()?.ok_or_else(|| ParquetError::General("the schema has no such column".to_owned()))
}

#[cfg(test)]
pub(super) fn encode(groups: &[crate::columns::Columns]) -> ParquetResult<Vec<u8>> {
    let properties = Arc::new(properties(Vec::new()).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema(&[CONTENT_COLUMN])?, properties)?;
    for columns in groups {
        write_group(&mut writer, &columns.as_run(), None)?;
    }
    writer.into_inner()
}
