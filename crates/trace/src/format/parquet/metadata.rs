//! The key-value metadata of a canonical Parquet file.

use parquet::file::metadata::ParquetMetaData;
use serde::Serialize;

use super::{DIGEST_BYTES, KEY_HOLES, KEY_ZERO_CONTENT, KEY_ZERO_DIGEST};
use crate::digest::{bytes_of_hex, fold};
use crate::error::{ErrorCause, TraceError, quoted};
use crate::holes::Holes;
use crate::request::NO_CONTENT;

const SCHEMA_CURE: &str =
    "write the columns as docs/trace-formats.md lists them, or make the file with `flashtwin trace convert`";

pub(super) fn malformed(name: &str, what: impl Into<String>) -> TraceError {
    TraceError::new(ErrorCause::Malformed, name, what, SCHEMA_CURE)
}

pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Holes as metadata: `[[volume, offset_bytes, length_bytes], ...]`.
pub(crate) fn holes_in_json(holes: &Holes) -> String {
    let listed = holes.iter().map(|(volume, range)| (volume, range.start, range.end - range.start));
    json(&listed.collect::<Vec<_>>())
}

fn holes_of_json(json: &str) -> Option<Holes> {
    let mut holes = Holes::default();
    for (volume, offset, length) in serde_json::from_str::<Vec<(u32, u64, u64)>>(json).ok()? {
        let end = offset.checked_add(length).filter(|&end| end <= i64::MAX as u64)?;
        holes.add(volume, offset..end);
    }
    Some(holes)
}

pub(super) struct Metadata(Vec<(String, String)>);

impl Metadata {
    pub(super) fn of(metadata: &ParquetMetaData) -> Metadata {
        let pairs = metadata.file_metadata().key_value_metadata().into_iter().flatten();
        Metadata(pairs.filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?))).collect())
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Default)]
pub(super) struct ContentMetadata {
    /// By the numbers that the file has for volumes.
    pub(super) holes: Holes,
    /// The content of zeroes, by the number that the file has for it.
    pub(super) zero_content: Option<u32>,
    pub(super) zero_digest: Option<[u8; 16]>,
}

impl ContentMetadata {
    pub(super) fn of(file: &str, metadata: &Metadata) -> Result<ContentMetadata, TraceError> {
        let wrong = |key: &str, expected: &str| {
            let value = metadata.get(key).unwrap_or_default();
            malformed(file, format!("metadata {key}: {} is not {expected}", quoted(value)))
        };
        let mut known = ContentMetadata::default();
        if let Some(json) = metadata.get(KEY_HOLES) {
            known.holes =
                holes_of_json(json).ok_or_else(|| wrong(KEY_HOLES, "a list of [volume, offset, length]"))?;
        }
        if let Some(number) = metadata.get(KEY_ZERO_CONTENT) {
            let content = number.parse().ok().filter(|&content| content != NO_CONTENT);
            known.zero_content =
                Some(content.ok_or_else(|| wrong(KEY_ZERO_CONTENT, "the number of a content"))?);
        }
        if let Some(hex) = metadata.get(KEY_ZERO_DIGEST) {
            let bytes = bytes_of_hex(hex).filter(|bytes| bytes.len() >= DIGEST_BYTES);
            known.zero_digest = Some(fold(&bytes.ok_or_else(|| wrong(KEY_ZERO_DIGEST, "a digest in hex"))?));
        }
        Ok(known)
    }
}
