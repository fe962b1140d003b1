//! How a file was read: format, units, choices.

use schemars::JsonSchema;
use serde::Serialize;

use crate::options::Format;
use crate::units::Units;

/// How a trace was read, in words and as data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReadAs {
    /// All of it in a line.
    pub text: String,
    /// The format.
    pub format: String,
    /// Nanoseconds of a unit of the times; 0 if they are dates or times of day.
    pub time_unit_ns: u64,
    /// Bytes of a unit of the offsets.
    pub offset_unit_bytes: u64,
    /// Bytes of a unit of the lengths.
    pub length_unit_bytes: u64,
    /// Choices that the file does not settle.
    pub notes: Vec<String>,
}

impl ReadAs {
    /// Of a trace with so many volumes, if that is known.
    pub fn new(format: Format, volumes: Option<usize>, notes: &[String]) -> ReadAs {
        let Units { time_ns, offset_bytes, length_bytes } = format.units();
        let time = match time_ns {
            0 => "as dates".to_owned(),
            1_000_000_000 => "s".to_owned(),
            1_000_000 => "ms".to_owned(),
            1_000 => "us".to_owned(),
            1 => "ns".to_owned(),
            _ => format!("{time_ns} ns"),
        };
        let bytes = |unit: u64| match unit {
            1 => "bytes".to_owned(),
            _ => format!("units of {unit} bytes"),
        };
        let extent = match offset_bytes == length_bytes {
            true => format!("offset and length in {}", bytes(offset_bytes)),
            false => format!("offset in {}, length in {}", bytes(offset_bytes), bytes(length_bytes)),
        };
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let volumes = volumes.map(|count| format!(", {count} volume{}", plural(count))).unwrap_or_default();
        let choices: String = notes.iter().map(|choice| format!("; {choice}")).collect();
        let text = format!("{format}, time {time}, {extent}{volumes}{choices}");
        ReadAs {
            text,
            format: format.name().to_owned(),
            time_unit_ns: time_ns,
            offset_unit_bytes: offset_bytes,
            length_unit_bytes: length_bytes,
            notes: notes.to_vec(),
        }
    }
}
