//! The vocabulary of a request.

/// Bytes of a request that one recorded content covers, in every text format.
pub const CHUNK_BYTES: u32 = 4096;

/// Marks an unknown content.
pub const NO_CONTENT: u32 = u32::MAX;

/// Marks a request of no stream.
pub const NO_STREAM: u16 = u16::MAX;

/// Operation of a request. The numbers are those of the canonical `op` column.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// The host wants the data.
    Read = 0,
    /// The host brings data.
    Write = 1,
    /// The host no longer needs the data (TRIM, UNMAP, deallocate).
    Trim = 2,
    /// Asks for an answer when earlier writes survive a power cut (NVMe Flush, fsync). It addresses no bytes.
    Flush = 3,
}

impl Op {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Op; Op::COUNT] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

    /// Number of kinds, for arrays indexed by `op as usize`.
    pub const COUNT: usize = 4;

    /// The kind with this number, if there is one.
    pub fn from_number(number: u8) -> Option<Op> {
        Op::ALL.get(usize::from(number)).copied()
    }

    /// Whether it asks for data or brings some: a read or a write.
    #[inline]
    pub fn moves_data(self) -> bool {
        matches!(self, Op::Read | Op::Write)
    }

    /// `read`, `write`, `trim` or `flush`.
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
        }
    }
}

/// One request, as a trace holds it but for its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival, in nanoseconds.
    pub time_ns: i64,
    /// The volume (disk, ASU, device) addressed.
    pub volume: u32,
    /// Operation.
    pub op: Op,
    /// First byte addressed, on the volume; 0 of a flush.
    pub offset_bytes: u64,
    /// Bytes addressed; 0 of a flush, and of nothing else.
    pub length_bytes: u32,
}
