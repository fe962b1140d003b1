//! Zeroes written as any other bytes, for exports without a shorter way.

use std::io;

use crate::export::Look;
use crate::export::{Caller, Export, Writing};

pub(crate) static ZEROES: [u8; 256 * 1024] = [0; 256 * 1024];

/// Writes zeroes; durable at the end if that is asked for.
pub(crate) fn write(
    export: &dyn Export,
    offset: u64,
    length: u64,
    how: Writing,
    caller: &dyn Caller,
) -> io::Result<()> {
    let mut look = Look::new(caller);
    for at in (0..length).step_by(ZEROES.len()) {
        let bytes = (length - at).min(ZEROES.len() as u64) as usize;
        let last = at + bytes as u64 == length;
        look.at(bytes as u64)?;
        export.write(offset + at, &ZEROES[..bytes], Writing::default(), caller)?;
        if last && how.durable {
            export.flush()?;
        }
    }
    Ok(())
}
