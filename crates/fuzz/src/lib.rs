//! Fuzz targets: bytes that nobody thought of, for every parser and for both ends of a connection.
//!
//! A target takes any bytes. It must return: refusing them is right, a panic or a wrong answer is a finding. The tests
//! of this crate give each some hundred mutants of its seeds, on stable Rust. `make fuzz` lets libFuzzer look for new
//! branches. Checksums are not looked at there (`cfg(fuzzing)`), because a fuzzer would not get past them.

#![allow(missing_docs, reason = "a comment that repeats a name says nothing")]

mod configurations;
mod drives;
mod peers;
mod places;
mod traces;

use flashtwin_bits::SplitMix64;

pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Good inputs, to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

pub const ALL: [Target; 10] = [
    Target { name: "trace", run: traces::trace, seeds: traces::samples },
    Target { name: "columns", run: traces::columns, seeds: traces::tables },
    Target { name: "recording", run: traces::recording, seeds: traces::recordings },
    Target { name: "log-writes", run: drives::log_writes, seeds: drives::logs },
    Target { name: "image", run: drives::image, seeds: drives::edits },
    Target { name: "aged", run: drives::aged, seeds: drives::aged_drives },
    Target { name: "server", run: peers::server, seeds: peers::sessions },
    Target { name: "client", run: peers::client, seeds: peers::answers },
    Target { name: "system", run: configurations::system, seeds: configurations::systems },
    Target { name: "recipe", run: configurations::recipe, seeds: configurations::recipes },
];

/// A seed with some of its bytes changed, moved, repeated or left out, or crossed with another seed.
pub fn mutant(seeds: &[Vec<u8>], random: &mut SplitMix64) -> Vec<u8> {
    let mut below = |end: usize| if end == 0 { 0 } else { random.next() as usize % end };
    let mut bytes = seeds[below(seeds.len())].clone();
    for _ in 0..=below(4) {
        let (at, other) = (below(bytes.len()), below(bytes.len()));
        let (from, to) = (at.min(other), at.max(other).min(at.min(other) + 64));
        match below(8) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << below(8),
            1 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'0', b'9', b'\n'][below(8)],
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(from..to)),
            4 => {
                let piece = bytes[from..to].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => {
                let crossed = &seeds[below(seeds.len())];
                let begin = below(crossed.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&crossed[begin..]);
            }
            6 => {
                // A number at the edge of its range, in one of the widths that formats use.
                let number = [0, 1, u64::MAX, 1 << 31, 1 << 32, 1 << 63][below(6)].to_le_bytes();
                let width = [2, 4, 8][below(3)].min(bytes.len() - from.min(bytes.len()));
                bytes[from..from + width].copy_from_slice(&number[..width]);
            }
            _ => {
                let number = ["-1", "0", "18446744073709551616", "1e999", "nan", "\"", "[", ","][below(8)];
                bytes.splice(from..to.min(from + 4), number.bytes());
            }
        }
    }
    bytes
}
