//! Hex digests of lines: one MD5 for every 4 KB, or one for every 512-byte sector.

use super::collect::Collector;
use super::fields::{Bad, Complaint, Field, Fields, SECTOR_BYTES};
use crate::request::CHUNK_BYTES;

const DIGITS: usize = 32;

/// The digests of a request of `length` bytes, which end the line; checks their number and digits.
#[inline]
pub(crate) fn digests<'a>(fields: &mut Fields<'a, false>, length: u32) -> Result<&'a [u8], Bad> {
    let at = fields.at;
    let digits = if length == 0 && fields.ended() { &[] } else { fields.word(Field::DIGEST)? };
    fields.end()?;
    let chunks = length.div_ceil(CHUNK_BYTES) as usize;
    let sectors = length as usize / SECTOR_BYTES as usize;
    if digits.len() != chunks * DIGITS && digits.len() != sectors * DIGITS {
        let complaint = if digits.iter().all(u8::is_ascii_hexdigit) {
            Complaint::DigestLength { digits: digits.len(), chunks: chunks as u64 }
        } else {
            Complaint::NotA(Field::DIGEST)
        };
        return Err(Bad::new(at, complaint));
    }
    let bad = digits.iter().fold(0, |bad, &digit| bad | nibble(digit) & 0x80);
    if bad == 0 { Ok(digits) } else { Err(Bad::new(at, Complaint::NotA(Field::DIGEST))) }
}

/// Adds the contents of a request of `length` bytes, whose digests have been checked.
#[inline]
pub(crate) fn add_contents(sink: &mut Collector, digits: &[u8], length: u32) {
    let chunks = length.div_ceil(CHUNK_BYTES) as usize;
    if digits.len() == chunks * DIGITS {
        for digest in digits.as_chunks::<DIGITS>().0 {
            sink.content(&decode(digest));
        }
        return;
    }
    // One digest a sector: all of them together identify the page.
    let sectors_a_chunk = CHUNK_BYTES as usize / SECTOR_BYTES as usize;
    let mut page = [0; CHUNK_BYTES as usize / SECTOR_BYTES as usize * DIGITS / 2];
    for chunk in digits.chunks(sectors_a_chunk * DIGITS) {
        let mut filled = 0;
        for digest in chunk.as_chunks::<DIGITS>().0 {
            page[filled..filled + DIGITS / 2].copy_from_slice(&decode(digest));
            filled += DIGITS / 2;
        }
        sink.content(&page[..filled]);
    }
}

/// Value of a hex digit; 0x80 for anything else. Without branches, so that it is done 16 at a time.
#[inline]
fn nibble(digit: u8) -> u8 {
    let decimal = digit.wrapping_sub(b'0');
    let letter = (digit | 0x20).wrapping_sub(b'a');
    if decimal < 10 {
        decimal
    } else if letter < 6 {
        letter + 10
    } else {
        0x80
    }
}

#[inline]
fn decode(digits: &[u8; DIGITS]) -> [u8; DIGITS / 2] {
    let nibbles = digits.map(nibble);
    std::array::from_fn(|i| nibbles[2 * i] << 4 | nibbles[2 * i + 1])
}
