//! Content metadata of a canonical Parquet file: its holes, and the id of the zero content.

use super::metadata::{Metadata, malformed};
use super::{DIGEST_BYTES, KEY_HOLES, KEY_ZERO_CONTENT, KEY_ZERO_DIGEST};
use crate::digest::{bytes_of_hex, fold};
use crate::error::{TraceError, quoted};
use crate::holes::Holes;
use crate::request::NO_CONTENT;

/// Holes as metadata: `[[volume, offset_bytes, length_bytes], ...]`.
pub(super) fn holes_in_json(holes: &Holes) -> serde_json::Result<String> {
    let listed = holes.iter().map(|(volume, range)| (volume, range.start, range.end - range.start));
    serde_json::to_string(&listed.collect::<Vec<_>>())
}

/// Metadata of contents.
#[derive(Debug, Default)]
pub(super) struct ContentMetadata {
    /// By the numbers that the file has for volumes.
    pub(super) holes: Holes,
    /// The content of zeroes, by the number that the file has for it.
    pub(super) zero_content: Option<u32>,
    /// The digest of a page of zeroes.
    pub(super) zero_digest: Option<[u8; 16]>,
}

impl ContentMetadata {
    /// Reads the metadata of `file`; missing entries are unknown.
    pub(super) fn of(file: &str, metadata: &Metadata) -> Result<ContentMetadata, TraceError> {
        let wrong = |key: &str, expected: &str| {
            let value = metadata.get(key).unwrap_or_default();
            malformed(file, format!("metadata {key}: {} is not {expected}", quoted(value)))
        };
        let mut known = ContentMetadata::default();
        if let Some(json) = metadata.get(KEY_HOLES) {
            known.holes =
                holes(json).ok_or_else(|| wrong(KEY_HOLES, "a list of [volume, offset, length]"))?;
        }
        if let Some(number) = metadata.get(KEY_ZERO_CONTENT) {
            let content = number.parse().ok().filter(|&content| content != NO_CONTENT);
            known.zero_content =
                Some(content.ok_or_else(|| wrong(KEY_ZERO_CONTENT, "the number of a content"))?);
        }
        if let Some(hex) = metadata.get(KEY_ZERO_DIGEST) {
            let bytes = bytes_of_hex(hex).filter(|bytes| bytes.len() >= DIGEST_BYTES as usize);
            known.zero_digest = Some(fold(&bytes.ok_or_else(|| wrong(KEY_ZERO_DIGEST, "a digest in hex"))?));
        }
        Ok(known)
    }
}

fn holes(json: &str) -> Option<Holes> {
    let mut holes = Holes::default();
    for (volume, offset, length) in serde_json::from_str::<Vec<(u32, u64, u64)>>(json).ok()? {
        let end = offset.checked_add(length).filter(|&end| end <= i64::MAX as u64)?;
        holes.add(volume, offset..end);
    }
    Some(holes)
}
