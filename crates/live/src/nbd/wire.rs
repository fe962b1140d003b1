//! The numbers of the protocol, as doc/proto.md of the NBD project names them. All integers travel big-endian.

use std::io;

pub(crate) const GREETING: u64 = 0x4e42_444d_4147_4943; // NBDMAGIC
pub(crate) const OPTION: u64 = 0x4948_4156_454f_5054; // IHAVEOPT
pub(crate) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
pub(crate) const REQUEST: u32 = 0x2560_9513;
pub(crate) const SIMPLE_REPLY: u32 = 0x6744_6698;
pub(crate) const CHUNK: u32 = 0x668e_33ef;

pub(crate) const REQUEST_BYTES: usize = 28;

pub(crate) const FIXED_NEWSTYLE: u32 = 1;
pub(crate) const NO_ZEROES: u32 = 2;

pub(crate) mod option {
    pub(crate) const EXPORT_NAME: u32 = 1;
    pub(crate) const ABORT: u32 = 2;
    pub(crate) const LIST: u32 = 3;
    pub(crate) const STARTTLS: u32 = 5;
    pub(crate) const INFO: u32 = 6;
    pub(crate) const GO: u32 = 7;
    pub(crate) const STRUCTURED_REPLY: u32 = 8;
    pub(crate) const LIST_META_CONTEXT: u32 = 9;
    pub(crate) const SET_META_CONTEXT: u32 = 10;
}

pub(crate) mod answer {
    pub(crate) const ACK: u32 = 1;
    pub(crate) const SERVER: u32 = 2;
    pub(crate) const INFO: u32 = 3;
    pub(crate) const META_CONTEXT: u32 = 4;
    pub(crate) const ERROR: u32 = 1 << 31;
    pub(crate) const UNSUPPORTED: u32 = ERROR | 1;
    pub(crate) const INVALID: u32 = ERROR | 3;
    pub(crate) const TLS_REQUIRED: u32 = ERROR | 5;
    pub(crate) const UNKNOWN: u32 = ERROR | 6;
}

pub(crate) mod info {
    pub(crate) const EXPORT: u16 = 0;
    pub(crate) const NAME: u16 = 1;
    pub(crate) const DESCRIPTION: u16 = 2;
    pub(crate) const BLOCK_SIZE: u16 = 3;
}

pub(crate) mod can {
    pub(crate) const HAS_FLAGS: u16 = 1;
    pub(crate) const READ_ONLY: u16 = 1 << 1;
    pub(crate) const FLUSH: u16 = 1 << 2;
    pub(crate) const FUA: u16 = 1 << 3;
    pub(crate) const TRIM: u16 = 1 << 5;
    pub(crate) const WRITE_ZEROES: u16 = 1 << 6;
    pub(crate) const DF: u16 = 1 << 7;
    pub(crate) const MULTI_CONN: u16 = 1 << 8;
    pub(crate) const FAST_ZERO: u16 = 1 << 11;
}

pub(crate) mod command {
    pub(crate) const READ: u16 = 0;
    pub(crate) const WRITE: u16 = 1;
    pub(crate) const DISCONNECT: u16 = 2;
    pub(crate) const FLUSH: u16 = 3;
    pub(crate) const TRIM: u16 = 4;
    pub(crate) const WRITE_ZEROES: u16 = 6;
    pub(crate) const BLOCK_STATUS: u16 = 7;
}

pub(crate) mod flag {
    pub(crate) const FUA: u16 = 1;
    pub(crate) const NO_HOLE: u16 = 1 << 1;
    pub(crate) const DF: u16 = 1 << 2;
    pub(crate) const REQ_ONE: u16 = 1 << 3;
    pub(crate) const FAST_ZERO: u16 = 1 << 4;
}

pub(crate) mod chunk {
    pub(crate) const DONE: u16 = 1;
    pub(crate) const NONE: u16 = 0;
    pub(crate) const OFFSET_DATA: u16 = 1;
    pub(crate) const BLOCK_STATUS: u16 = 5;
    pub(crate) const ERROR: u16 = 1 << 15 | 1;
}

/// The only metadata context, its number, and the flags of its runs.
pub(crate) const ALLOCATION: &str = "base:allocation";
pub(crate) const ALLOCATION_ID: u32 = 1;
pub(crate) const RUN_HOLE: u32 = 1;
pub(crate) const RUN_ZERO: u32 = 2;

pub(crate) mod error {
    pub(crate) const PERMISSION: u32 = 1;
    pub(crate) const IO: u32 = 5;
    pub(crate) const NO_MEMORY: u32 = 12;
    pub(crate) const INVALID: u32 = 22;
    pub(crate) const NO_SPACE: u32 = 28;
    pub(crate) const OVERFLOW: u32 = 75;
    pub(crate) const NOT_SUPPORTED: u32 = 95;
    pub(crate) const SHUTDOWN: u32 = 108;
}

pub(crate) fn error_of(error: &io::Error) -> u32 {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            error::NO_SPACE
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => error::PERMISSION,
        io::ErrorKind::Unsupported => error::NOT_SUPPORTED,
        io::ErrorKind::InvalidInput => error::INVALID,
        io::ErrorKind::OutOfMemory => error::NO_MEMORY,
        _ => error::IO,
    }
}

pub(crate) fn error_from(number: u32) -> io::Error {
    let kind = match number {
        error::PERMISSION => io::ErrorKind::PermissionDenied,
        error::NO_MEMORY => io::ErrorKind::OutOfMemory,
        error::INVALID | error::OVERFLOW => io::ErrorKind::InvalidInput,
        error::NO_SPACE => io::ErrorKind::StorageFull,
        error::NOT_SUPPORTED => io::ErrorKind::Unsupported,
        error::SHUTDOWN => io::ErrorKind::NotConnected,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, format!("the server answered with error {number}"))
}

pub(crate) fn joined<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let (mut bytes, mut at) = ([0; N], 0);
    for part in parts {
        bytes[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    bytes
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) flags: u16,
    pub(crate) command: u16,
    pub(crate) cookie: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl Request {
    pub(crate) fn from_bytes(bytes: &[u8; REQUEST_BYTES]) -> Option<Request> {
        let mut at = Numbers(bytes);
        (at.u32()? == REQUEST).then_some(())?;
        Some(Request {
            flags: at.u16()?,
            command: at.u16()?,
            cookie: at.u64()?,
            offset: at.u64()?,
            length: at.u32()?,
        })
    }

    pub(crate) fn to_bytes(self) -> [u8; REQUEST_BYTES] {
        let [magic, length] = [REQUEST, self.length].map(u32::to_be_bytes);
        let [flags, command] = [self.flags, self.command].map(u16::to_be_bytes);
        let [cookie, offset] = [self.cookie, self.offset].map(u64::to_be_bytes);
        joined(&[&magic, &flags, &command, &cookie, &offset, &length])
    }
}

/// Takes integers off the front of untrusted bytes; `None` when there are too few.
pub(crate) struct Numbers<'a>(pub(crate) &'a [u8]);

impl<'a> Numbers<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let length = self.u32()?;
        std::str::from_utf8(self.bytes(usize::try_from(length).ok()?)?).ok()
    }
}
