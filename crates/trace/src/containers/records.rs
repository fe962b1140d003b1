//! Binary records without a magic number, known by what they hold.

use std::io::{self, Write as _};

use super::{Origin, Reader, bytes_at, made, read_record};

pub(crate) const ORACLE_GENERAL: &str = "oraclegeneral";

const ORACLE_RECORD_BYTES: usize = 24;
/// Fewer records tell nothing.
const LEAST_RECORDS: usize = 4;

/// oracleGeneral of libCacheSim: seconds (32 bits), object (64), bytes (32), number of the record that has the object
/// next, or -1 (64). Times do not run backwards, and each record is followed by the one of its object that it names.
pub(super) fn is_oracle_general(head: &[u8]) -> bool {
    let records: Vec<&[u8]> = head.chunks_exact(ORACLE_RECORD_BYTES).collect();
    let object = |record: &[u8]| u64::from_le_bytes(bytes_at(record, 4));
    let follows = |(number, record): (usize, &&[u8])| match i64::from_le_bytes(bytes_at(record, 16)) {
        -1 | i64::MAX => true,
        next => usize::try_from(next).is_ok_and(|next| {
            next > number
                && next >> 40 == 0
                && records.get(next).is_none_or(|later| object(later) == object(record))
        }),
    };
    records.len() >= LEAST_RECORDS
        && records.is_sorted_by_key(|record| u32::from_le_bytes(bytes_at(record, 0)))
        && records.iter().all(|record| (1..1 << 30).contains(&u32::from_le_bytes(bytes_at(record, 12))))
        && records.iter().enumerate().all(follows)
}

/// Each record as a line, where it is asked for.
pub(super) fn open_oracle_general(mut reader: Reader, origin: &Origin) -> io::Result<Reader> {
    if origin.format.is_none_or(|format| format.name() != ORACLE_GENERAL) {
        let what =
            "this is oracleGeneral of libCacheSim, which numbers objects and has no operations".to_owned();
        let cure = "if its objects are pages of 4,096 bytes, read each access as a read of one: --format oraclegeneral \
                    (--offset-unit says other bytes of an object)";
        return Err(io::Error::other(origin.refusal(what, cure)));
    }
    let mut record = [0; ORACLE_RECORD_BYTES];
    Ok(made(move |text| {
        if !read_record(&mut reader, &mut record)? {
            return Ok(());
        }
        let [seconds, bytes] = [0, 12].map(|at| u32::from_le_bytes(bytes_at(&record, at)));
        let object = u64::from_le_bytes(bytes_at(&record, 4));
        writeln!(text, "{ORACLE_GENERAL} {seconds} {object} {bytes}")
    }))
}

/// vSCSI records of CloudPhysics: the place of the command (16 bits) in records of both versions, the version behind it.
pub(super) fn is_vscsi(head: &[u8]) -> bool {
    [(1, 32, 12), (2, 40, 0)].iter().any(|&(version, record_bytes, command_at)| {
        let mut records = head.chunks_exact(record_bytes);
        let is_record = |record| {
            let [command, high, _, found] = bytes_at(record, command_at);
            command != 0 && high == 0 && found == version
        };
        records.len() >= LEAST_RECORDS && records.all(is_record)
    })
}
