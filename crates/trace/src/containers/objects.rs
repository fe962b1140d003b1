//! oracleGeneral, the binary format of libCacheSim: records of 24 bytes, without any magic number. They become lines of
//! the text format `oraclegeneral`.
//!
//! A record has seconds (32 bits), object id (64), size (32), and the number of the record that has the object next, or
//! -1 (64).
//!
//! Source: libCacheSim, libCacheSim/traceReader/customizedReader/oracle/oracleGeneralBin.h.

use std::io::{self, Write as _};

use super::{Origin, Reader, bytes_at, made, read_record};

pub(super) const NAME: &str = "oracleGeneral";

const RECORD_BYTES: usize = 24;
/// Fewer records tell nothing.
const LEAST_RECORDS: usize = 4;
const LAST_USES: [i64; 2] = [-1, i64::MAX];

struct Record {
    seconds: u32,
    object: u64,
    bytes: u32,
    next: i64,
}

fn record(bytes: &[u8]) -> Record {
    Record {
        seconds: u32::from_le_bytes(bytes_at(bytes, 0)),
        object: u64::from_le_bytes(bytes_at(bytes, 4)),
        bytes: u32::from_le_bytes(bytes_at(bytes, 12)),
        next: i64::from_le_bytes(bytes_at(bytes, 16)),
    }
}

/// Whether times do not run backwards, sizes are some, and each record is followed by the one of its object that it names.
pub(super) fn fits(head: &[u8]) -> bool {
    let records: Vec<Record> = head.chunks_exact(RECORD_BYTES).map(record).collect();
    let follows = |(number, record): (usize, &Record)| {
        LAST_USES.contains(&record.next)
            || usize::try_from(record.next).is_ok_and(|next| {
                next > number
                    && next >> 40 == 0
                    && records.get(next).is_none_or(|later| later.object == record.object)
            })
    };
    records.len() >= LEAST_RECORDS
        && records.is_sorted_by_key(|record| record.seconds)
        && records.iter().all(|record| (1..1 << 30).contains(&record.bytes))
        && records.iter().enumerate().all(follows)
}

/// The first line names the columns, so that no other text is taken for it.
pub(super) fn open(mut reader: Reader, _: &Origin) -> io::Result<Reader> {
    let mut begun = false;
    Ok(made(move |text| {
        if !std::mem::replace(&mut begun, true) {
            text.extend_from_slice(b"oracleGeneral: time_s object size_bytes\n");
        }
        let mut bytes = [0; RECORD_BYTES];
        if read_record(&mut reader, &mut bytes)? {
            let Record { seconds, object, bytes, .. } = record(&bytes);
            writeln!(text, "{seconds} {object} {bytes}")?;
        }
        Ok(())
    }))
}
