//! Operations by their words: the one vocabulary of all readers.
//!
//! Words count as a whole and in either case: names such as `write` or `discard`, also behind a prefix (`REQ_OP_WRITE`,
//! `IRP_MJ_READ`); the letters of blktrace (RWBS); opcodes of SCSI and NVMe in hex. Numbers and `true`
//! mean something else in every tool, so that only the user's own words give them a meaning.
//!
//! A command to write zeroes (`REQ_OP_WRITE_ZEROES`, `WZ`) is a trim: it moves no data, the pages read as zeroes, and
//! Linux lets the drive deallocate unless the caller forbids that, which no trace records.
//!
//! Source: blk_fill_rwbs in the kernel's kernel/trace/blktrace.c, include/linux/blk_types.h; SCSI Block Commands (SBC-4);
//! NVM Command Set Specification 1.0, figure "Opcodes for NVM Commands".

use crate::error::{ErrorCause, TraceError, quoted};
use crate::request::Op;

/// What a word of a trace asks for. `FWFS`, for example, is a flush, then a durable write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// Whether a flush comes before the request.
    pub flush_first: bool,
    /// The request; `None` of a command that neither moves nor drops data.
    pub op: Option<Op>,
    /// Whether the request is to be on the medium before it is answered (FUA).
    pub durable: bool,
}

impl Operation {
    const NONE: Operation = Operation { flush_first: false, op: None, durable: false };

    pub(crate) const fn plain(op: Op) -> Operation {
        Operation { op: Some(op), ..Operation::NONE }
    }
}

pub(crate) const READ: Operation = Operation::plain(Op::Read);
pub(crate) const WRITE: Operation = Operation::plain(Op::Write);
const TRIM: Operation = Operation::plain(Op::Trim);
pub(crate) const FLUSH: Operation = Operation::plain(Op::Flush);

const PREFIXES: [&[u8]; 5] = [b"req_op_", b"irp_mj_", b"nvme_cmd_", b"bio_", b"spdk_bdev_io_type_"];

/// Names without prefix, and without the length of a SCSI command (`READ(10)`).
const NAMES: [(Operation, &[&[u8]]); 4] = [
    (READ, &[b"read", b"rd"]),
    (WRITE, &[b"write", b"wr", b"write_same", b"write_verify", b"zone_append"]),
    (
        TRIM,
        &[
            b"t",
            b"trim",
            b"discard",
            b"unmap",
            b"erase",
            b"secure_erase",
            b"deallocate",
            b"dsm",
            b"delete",
            b"write_zeroes",
        ],
    ),
    (
        FLUSH,
        &[b"flush", b"sync", b"fsync", b"fdatasync", b"datasync", b"flush_buffers", b"synchronize_cache"],
    ),
];

/// SCSI's, except as noted. 0x00 and 0x08 are missing, because SCSI and NVMe disagree on them.
const OPCODES: [(Operation, &[&[u8]]); 4] = [
    // NVMe: 02.
    (READ, &[b"28", b"88", b"a8", b"02", b"2"]),
    // NVMe: 01. 2e, 8e and ae verify, 41 and 93 write the same block many times.
    (WRITE, &[b"0a", b"a", b"2a", b"8a", b"aa", b"2e", b"8e", b"ae", b"41", b"93", b"01", b"1"]),
    // NVMe: 09.
    (TRIM, &[b"42", b"09", b"9"]),
    (FLUSH, &[b"35", b"91"]),
];

/// Words of the user, which win over the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    own: Vec<(Vec<u8>, Operation)>,
}

/// Longer words are no operations.
const WORD_BYTES_MAX: usize = 40;

impl Vocabulary {
    /// Adds words, each with a word that is known, or with `none`: such lines are passed over.
    pub fn with<'a>(
        mut self,
        words: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Vocabulary, TraceError> {
        for (word, meaning) in words {
            let operation = match meaning {
                "none" => Some(Operation::NONE),
                _ => Vocabulary::default().operation(meaning.as_bytes()),
            };
            let Some(operation) = operation else {
                let what = format!("{} stands for {}, which is no operation", quoted(word), quoted(meaning));
                let cure = "give read, write, trim, flush, or none for lines to be passed over";
                return Err(TraceError::new(ErrorCause::Argument, "op_words", what, cure));
            };
            self.own.push((word.trim().to_ascii_lowercase().into_bytes(), operation));
        }
        Ok(self)
    }

    /// Adds the numbers of the canonical column `op`.
    #[must_use]
    pub fn with_numbers(mut self) -> Vocabulary {
        self.own.extend(Op::ALL.map(|op| ((op as u8).to_string().into_bytes(), Operation::plain(op))));
        self
    }

    /// Whether no word of the user's own is in it.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.own.is_empty()
    }

    /// The operation that a word stands for.
    #[inline]
    pub fn operation(&self, word: &[u8]) -> Option<Operation> {
        if !self.own.is_empty()
            && let Some((_, operation)) = self.own.iter().find(|(own, _)| own.eq_ignore_ascii_case(word))
        {
            return Some(*operation);
        }
        match word {
            [b'R' | b'r'] | b"Read" => Some(READ),
            [b'W' | b'w'] | b"Write" => Some(WRITE),
            _ => rwbs(word).or_else(|| named(word)),
        }
    }

    /// The operations of distinct words; an error lists all that are unknown.
    pub fn operations(&self, words: &[String]) -> Result<Vec<Operation>, TraceError> {
        let of = |word: &String| self.operation(word.trim().as_bytes());
        let unknown: Vec<String> =
            words.iter().filter(|word| of(word).is_none()).map(|word| quoted(word)).collect();
        let Some(first) = words.iter().find(|word| of(word).is_none()) else {
            return Ok(words.iter().filter_map(of).collect());
        };
        let what = format!("{} is no operation: expected {KNOWN}", unknown.join(", "));
        Err(TraceError::new(ErrorCause::Malformed, "op", what, cure(first)))
    }
}

pub(crate) const KNOWN: &str = "read, write, trim, discard, flush, sync, the letters of blktrace (R, WS, FWFS), \
     REQ_OP_..., IRP_MJ_..., opcodes of SCSI or NVMe such as 0x2a";

pub(crate) fn cure(word: &str) -> String {
    format!("say what it stands for: --op-words '{}=write' (or read, trim, flush, none)", word.trim())
}

/// The letters of blktrace: F for a flush before, the kind, then any of F (forced unit access), A, S, M, U, B.
#[inline]
fn rwbs(word: &[u8]) -> Option<Operation> {
    let (flush_first, main) = match word {
        [b'F' | b'f', main @ ..] => (true, main),
        _ => (false, word),
    };
    let (op, flags) = match main {
        [b'W' | b'w', b'Z' | b'z', flags @ ..] => (Some(Op::Trim), flags),
        [b'R' | b'r', flags @ ..] => (Some(Op::Read), flags),
        [b'W' | b'w', flags @ ..] => (Some(Op::Write), flags),
        [b'D' | b'd', b'E' | b'e', flags @ ..] | [b'D' | b'd', flags @ ..] => (Some(Op::Trim), flags),
        [b'Z' | b'z', b'A' | b'a', flags @ ..] => (Some(Op::Write), flags),
        [b'Z' | b'z', b'R' | b'r' | b'F' | b'f' | b'O' | b'o' | b'C' | b'c', flags @ ..] => (None, flags),
        [b'N' | b'n', flags @ ..] => (None, flags),
        flags if flush_first => (None, flags),
        _ => return None,
    };
    let mut seen = 0u32;
    for flag in flags {
        let bit = 1u32.checked_shl(u32::from((flag | 0x20).wrapping_sub(b'a')))?;
        let known = matches!(flag | 0x20, b'f' | b'a' | b's' | b'm' | b'u' | b'b');
        if !known || seen & bit != 0 {
            return None;
        }
        seen |= bit;
    }
    match op {
        None if flush_first => Some(FLUSH),
        _ => Some(Operation { flush_first, op, durable: seen & FORCED != 0 }),
    }
}

const FORCED: u32 = 1 << (b'f' - b'a');

fn named(word: &[u8]) -> Option<Operation> {
    let mut room = [0; WORD_BYTES_MAX];
    let name = room.get_mut(..word.len())?;
    name.copy_from_slice(word);
    name.make_ascii_lowercase();
    name.iter_mut().filter(|byte| matches!(byte, b'-' | b' ')).for_each(|byte| *byte = b'_');
    let name = &*name;
    let find = |table: &[(Operation, &[&[u8]])], name: &[u8]| {
        table.iter().find(|(_, names)| names.contains(&name)).map(|&(operation, _)| operation)
    };
    if let Some(opcode) = name.strip_prefix(b"0x") {
        return find(&OPCODES, opcode);
    }
    let name = PREFIXES.iter().find_map(|prefix| name.strip_prefix(*prefix)).unwrap_or(name);
    let lengths: [&[u8]; 8] = [b"(6)", b"(10)", b"(12)", b"(16)", b"_6", b"_10", b"_12", b"_16"];
    let name = lengths.iter().find_map(|length| name.strip_suffix(*length)).unwrap_or(name);
    find(&NAMES, name)
}
