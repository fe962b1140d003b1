//! Hex digests of lines: one for every 4 KB, or one for every 512-byte sector. All of a file have the same width.

use super::collect::Collector;
use super::fields::{Bad, Complaint, Field, Fields, SECTOR_BYTES};
use crate::request::CHUNK_BYTES;

/// Hex digits of an MD5, which most recorders used.
const DIGITS: usize = 32;
/// Of other digests of 64 to 256 bits: a 64-bit hash, SHA-1, Tiger, SHA-224, SHA-256.
const OTHER_DIGITS: [usize; 5] = [16, 40, 48, 56, 64];
const SECTORS_A_CHUNK: usize = CHUNK_BYTES as usize / SECTOR_BYTES as usize;

/// Reads the digests of a file, whose width its first line shows.
#[derive(Default)]
pub(crate) struct DigestReader {
    digits: Option<usize>,
}

impl DigestReader {
    /// The digests of a request of `length` bytes, which end the line; checks their number and digits.
    #[inline]
    pub(crate) fn read<'a>(&mut self, fields: &mut Fields<'a, false>, length: u32) -> Result<&'a [u8], Bad> {
        let at = fields.at;
        let digits = if length == 0 && fields.ended() { &[] } else { fields.word(Field::DIGEST)? };
        fields.end()?;
        let chunks = length.div_ceil(CHUNK_BYTES) as usize;
        let sectors = length as usize / SECTOR_BYTES as usize;
        let fits = |width: usize| digits.len() == chunks * width || digits.len() == sectors * width;
        if self.digits.is_none() && length > 0 {
            self.digits = [DIGITS].into_iter().chain(OTHER_DIGITS).find(|&width| fits(width));
        }
        let width = self.digits.unwrap_or(DIGITS);
        if !fits(width) {
            let complaint = if digits.iter().all(u8::is_ascii_hexdigit) {
                Complaint::DigestLength { digits: digits.len(), pages: chunks as u64, width }
            } else {
                Complaint::NotA(Field::DIGEST)
            };
            return Err(Bad::new(at, complaint));
        }
        let bad = digits.iter().fold(0, |bad, &digit| bad | nibble(digit) & 0x80);
        if bad == 0 { Ok(digits) } else { Err(Bad::new(at, Complaint::NotA(Field::DIGEST))) }
    }

    /// Adds the contents of a request of `length` bytes, whose digests have been read.
    #[inline]
    pub(crate) fn add(&self, sink: &mut Collector, digits: &[u8], length: u32) {
        let chunks = length.div_ceil(CHUNK_BYTES) as usize;
        if digits.len() == chunks * DIGITS && self.digits == Some(DIGITS) {
            for digest in digits.as_chunks::<DIGITS>().0 {
                sink.content(&decode::<DIGITS, { DIGITS / 2 }>(digest));
            }
            return;
        }
        let width = self.digits.unwrap_or(DIGITS);
        // One digest a sector: all of them together identify the page.
        let digests_a_page = if digits.len() == chunks * width { 1 } else { SECTORS_A_CHUNK };
        for page in digits.chunks(digests_a_page * width) {
            let bytes: Vec<u8> = page.as_chunks::<2>().0.iter().flat_map(decode::<2, 1>).collect();
            sink.content(&bytes);
        }
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
fn decode<const N: usize, const HALF: usize>(digits: &[u8; N]) -> [u8; HALF] {
    let nibbles = digits.map(nibble);
    std::array::from_fn(|i| nibbles[2 * i] << 4 | nibbles[2 * i + 1])
}
