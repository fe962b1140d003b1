//! UTF-16, with a byte-order mark or without: text that Windows wrote.

use std::io::{self, Read as _};

use super::{Origin, Reader, made};

/// Characters that must all be ASCII where there is no byte-order mark.
const LOOKED_AT: usize = 32;
const PIECE_BYTES: u64 = 1 << 14;

/// The place of the low byte in each unit.
fn low_byte(head: &[u8]) -> Option<usize> {
    let pairs = head.as_chunks::<2>().0;
    let text = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    let all_ascii = |low: usize| {
        pairs.len() >= LOOKED_AT
            && pairs[..LOOKED_AT].iter().all(|pair| pair[1 - low] == 0 && text(pair[low]))
    };
    match head {
        [0xff, 0xfe, ..] => Some(0),
        [0xfe, 0xff, ..] => Some(1),
        _ => [0, 1].into_iter().find(|&low| all_ascii(low)),
    }
}

pub(super) fn fits(head: &[u8]) -> bool {
    low_byte(head).is_some()
}

pub(super) fn open(mut reader: Reader, _: &Origin) -> io::Result<Reader> {
    let big = low_byte(&super::peek(&mut reader, 2 * LOOKED_AT)?) == Some(1);
    let unit = if big { u16::from_be_bytes } else { u16::from_le_bytes };
    let mut bytes: Vec<u8> = Vec::new();
    Ok(made(move |text| {
        let read = reader.by_ref().take(PIECE_BYTES).read_to_end(&mut bytes)? as u64;
        let mut units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|&pair| unit(pair)).collect();
        if read == PIECE_BYTES && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
            units.pop();
        }
        for character in char::decode_utf16(units.iter().copied()) {
            let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
            text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        bytes.drain(..2 * units.len());
        // Half a surrogate pair stays for the next piece, half a unit is the end of a file that was cut.
        if read == 0 && !bytes.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }))
}
