//! The canonical Parquet. The schema is written down in docs/trace-formats.md.

mod ahead;
mod appended;
mod decode;
mod digests;
mod growing;
mod metadata;
mod read;
mod schema;
mod sound;
mod source;
mod streamed;
mod temporary;
mod write;

pub(crate) use appended::Appended;
pub(crate) use digests::RowDigests;
pub use growing::{Recorded, Recording, recorded, recover_recording};
pub(crate) use metadata::{holes_in_json, json};
pub(crate) use read::open;
pub use sound::read_records;
pub(crate) use streamed::write_streamed;
pub(crate) use write::metadata as trace_metadata;
pub use write::write_parquet;

use super::{Reader, Row};
use crate::units::Units;

pub(crate) const ROW: Row = Row {
    name: "parquet",
    aliases: &["pq"],
    layout: "time_ns, volume, op, offset_bytes, length_bytes, content",
    units: Units::BASE,
    yields_to: None,
    reader: Reader::Parquet,
};

pub(crate) const MAGIC: &[u8] = b"PAR1";

/// Version of the schema; files of a later one are refused.
const SCHEMA_VERSION: u32 = 1;

const KEY_SCHEMA: &str = "flashtwin.schema";
const KEY_CHUNK_BYTES: &str = "flashtwin.chunk_bytes";
const KEY_SOURCE_NAME: &str = "flashtwin.source_name";
const KEY_SOURCE_FORMAT: &str = "flashtwin.source_format";
const KEY_VOLUME_NAMES: &str = "flashtwin.volume_names";
pub(crate) const KEY_QUALITY: &str = "flashtwin.quality";
const KEY_TRACE_DIGEST: &str = "flashtwin.trace_digest";
const KEY_HAS_DIGESTS: &str = "flashtwin.has_digests";
pub(crate) const KEY_HOLES: &str = "flashtwin.holes";
pub(crate) const KEY_ZERO_CONTENT: &str = "flashtwin.zero_content";
const KEY_ZERO_DIGEST: &str = "flashtwin.zero_digest";
/// The value of [`KEY_HAS_DIGESTS`] when the digests are a column of the file.
const INSIDE: &str = "inside";

const CONTENT: &str = "content";
const DIGEST: &str = "digest";
/// The column of a recorder that does not know which contents came before: a digest for every content.
const CONTENT_DIGEST: &str = "content_digest";
const DIGEST_BYTES: usize = 16;
const FLAGS: &str = "flags";
const STREAM: &str = "stream";
