//! Units of the numbers in a text.

use crate::error::{ErrorCause, TraceError, quoted};

/// What the numbers of a text count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Units {
    /// Nanoseconds of a unit of time.
    pub time_ns: u64,
    /// Bytes of a unit of offsets.
    pub offset_bytes: u64,
    /// Bytes of a unit of lengths.
    pub length_bytes: u64,
}

impl Units {
    pub(crate) const BASE: Units = Units::new(1, 1, 1);

    pub(crate) const fn new(time_ns: u64, offset_bytes: u64, length_bytes: u64) -> Units {
        Units { time_ns, offset_bytes, length_bytes }
    }
}

/// Nanoseconds of a unit of time, by its name.
pub fn time_unit_ns(name: &str) -> Result<u64, TraceError> {
    match name {
        "s" => Ok(1_000_000_000),
        "ms" => Ok(1_000_000),
        "us" => Ok(1_000),
        "ns" => Ok(1),
        "100ns" | "ticks" => Ok(100),
        _ => Err(TraceError::new(
            ErrorCause::Argument,
            "time_unit",
            format!("{} is no unit of time", quoted(name)),
            "use s, ms, us, ns, or 100ns (also called ticks)",
        )),
    }
}
