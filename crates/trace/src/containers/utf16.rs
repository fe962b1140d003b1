//! UTF-16, with a byte-order mark or without: text that Windows wrote.

use std::io::{self, BufRead};

use super::{Origin, Reader, made};

/// Characters that must all be ASCII where there is no byte-order mark.
const LOOKED_AT: usize = 32;

pub(super) fn is_little(head: &[u8]) -> bool {
    head.starts_with(b"\xff\xfe") || is_ascii(head, |pair| [pair[0], pair[1]])
}

pub(super) fn is_big(head: &[u8]) -> bool {
    head.starts_with(b"\xfe\xff") || is_ascii(head, |pair| [pair[1], pair[0]])
}

fn is_ascii(head: &[u8], low_and_high: impl Fn([u8; 2]) -> [u8; 2]) -> bool {
    let pairs = head.as_chunks::<2>().0;
    let text = |low: u8| matches!(low, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    let fits = |&pair: &[u8; 2]| low_and_high(pair)[1] == 0 && text(low_and_high(pair)[0]);
    pairs.len() >= LOOKED_AT && pairs.iter().take(LOOKED_AT).all(fits)
}

pub(super) fn open_little(reader: Reader, _: &Origin) -> io::Result<Reader> {
    Ok(decoded(reader, u16::from_le_bytes))
}

pub(super) fn open_big(reader: Reader, _: &Origin) -> io::Result<Reader> {
    Ok(decoded(reader, u16::from_be_bytes))
}

/// Half a character of a surrogate pair or of a unit stays for the next piece.
fn decoded(mut reader: Reader, unit: fn([u8; 2]) -> u16) -> Reader {
    let mut bytes: Vec<u8> = Vec::new();
    let mut begun = false;
    made(move |text| {
        loop {
            let more = reader.fill_buf()?;
            let (count, ended) = (more.len(), more.is_empty());
            bytes.extend_from_slice(more);
            reader.consume(count);
            let mut units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|&pair| unit(pair)).collect();
            if !ended && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
                units.pop();
            }
            let mark = usize::from(!std::mem::replace(&mut begun, true) && units.first() == Some(&0xfeff));
            let characters = char::decode_utf16(units[mark..].iter().copied());
            let characters: String =
                characters.map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            text.extend_from_slice(characters.as_bytes());
            bytes.drain(..2 * units.len());
            if ended && !bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if ended || !characters.is_empty() {
                return Ok(());
            }
        }
    })
}
