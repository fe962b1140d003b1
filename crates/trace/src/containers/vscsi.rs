//! Binary vSCSI records, as CloudPhysics and VMware's vscsiStats wrote them. They become lines of the text format.
//!
//! Version 1: serial number, length, segments (32 bits each), command, version (16), block, microseconds (64).
//! Version 2: command, version, serial number, length, segments, block, microseconds, response time.
//!
//! Source: libCacheSim, libCacheSim/traceReader/customizedReader/vscsi.h.

use std::io::{self, Write as _};

use super::{Origin, Reader, bytes_at, made, peek, read_record};

struct Layout {
    version: u16,
    record_bytes: usize,
    command_at: usize,
    version_at: usize,
    length_at: usize,
    block_at: usize,
    time_us_at: usize,
}

const LAYOUTS: [Layout; 2] = [
    Layout {
        version: 1,
        record_bytes: 32,
        command_at: 12,
        version_at: 14,
        length_at: 4,
        block_at: 16,
        time_us_at: 24,
    },
    Layout {
        version: 2,
        record_bytes: 40,
        command_at: 0,
        version_at: 2,
        length_at: 8,
        block_at: 16,
        time_us_at: 24,
    },
];

/// Records that must all be of the version.
const LOOKED_AT: usize = 32;

fn layout(head: &[u8]) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| {
        let mut records = head.chunks_exact(layout.record_bytes).take(LOOKED_AT);
        records.len() >= 2
            && records.all(|record| {
                let command = u16::from_le_bytes(bytes_at(record, layout.command_at));
                command <= 0xff
                    && u16::from_le_bytes(bytes_at(record, layout.version_at)) >> 8 == layout.version
            })
    })
}

pub(super) fn fits(head: &[u8]) -> bool {
    layout(head).is_some()
}

pub(super) fn open(mut reader: Reader, _: &Origin) -> io::Result<Reader> {
    let head = peek(&mut reader, 2 * LAYOUTS[1].record_bytes)?;
    let layout = layout(&head).ok_or(io::ErrorKind::InvalidData)?;
    Ok(made(move |text| {
        let mut record = [0; 40];
        let record = &mut record[..layout.record_bytes];
        if !read_record(&mut reader, record)? {
            return Ok(());
        }
        let time_us = u64::from_le_bytes(bytes_at(record, layout.time_us_at));
        let command = u16::from_le_bytes(bytes_at(record, layout.command_at));
        let length = u32::from_le_bytes(bytes_at(record, layout.length_at));
        let block = u64::from_le_bytes(bytes_at(record, layout.block_at));
        let (seconds, part) = (time_us / 1_000_000, time_us % 1_000_000);
        writeln!(text, "{},{seconds}.{part:06},{command:x},{length},{block}", layout.version)
    }))
}
