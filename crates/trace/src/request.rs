//! The vocabulary of a request.

/// Marks an unknown content.
pub const NO_CONTENT: u32 = u32::MAX;

/// What a request asks for. The numbers are those of the canonical `op` column.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// The host wants the data.
    Read = 0,
    /// The host brings data.
    Write = 1,
    /// The host no longer needs the data (TRIM, UNMAP, deallocate).
    Trim = 2,
}

impl Op {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Op; 3] = [Op::Read, Op::Write, Op::Trim];

    /// The kind with this number, if there is one.
    pub fn from_number(number: u8) -> Option<Op> {
        Op::ALL.get(usize::from(number)).copied()
    }

    /// `read`, `write` or `trim`.
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
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
    /// What is asked.
    pub op: Op,
    /// First byte addressed, on the volume.
    pub offset_bytes: u64,
    /// Bytes addressed.
    pub length_bytes: u32,
}
