//! A trace that can be handed on: what it is like for a drive stays, what it is about goes.

use std::sync::Arc;

use crate::digest::Digests;
use crate::error::{ErrorCause, TraceError};
use crate::holes::Holes;
use crate::quality::Quality;
use crate::request::Op;
use crate::trace::Trace;

/// Volumes are shifted by multiples of this, so that no alignment of pages, blocks or erase units changes.
const SHIFT_UNIT_BYTES: u64 = 1 << 30;
/// A volume is shifted by 1 to this many units.
const SHIFTS: u64 = 1 << 16;
const NAME: &str = "anonymous";

impl Trace {
    /// The trace with digests replaced by their keyed BLAKE3, each volume's addresses shifted by a multiple of 1 GiB that
    /// follows from the key, and names replaced by numbers. Times count from the first request already. Skipped lines
    /// are counted, not quoted. Who has the key can test a guess, so it must be kept secret or forgotten.
    ///
    /// # Errors
    /// [`ErrorCause::Argument`] when a shifted address passes 2^63.
    pub fn anonymize(&self, key: &[u8; 32]) -> Result<Trace, TraceError> {
        let shifts: Vec<u64> = self.volume_names.iter().map(|name| shift_bytes(key, name)).collect();
        let mut shifted = self.clone();
        for (row, offset) in Arc::make_mut(&mut shifted.offset_bytes).iter_mut().enumerate() {
            // A flush has no address.
            if self.op[row] != Op::Flush {
                *offset += shifts[self.volume[row] as usize];
                if *offset > i64::MAX as u64 - u64::from(self.length_bytes[row]) {
                    let what =
                        format!("request {} ends too far from the volume's beginning to be shifted", row + 1);
                    let cure = "check the unit of offsets (the format)";
                    return Err(TraceError::new(ErrorCause::Argument, &self.name, what, cure));
                }
            }
        }
        let mut holes = Holes::default();
        for (volume, range) in self.holes.iter() {
            let shift = shifts[volume as usize];
            holes.add(volume, range.start.saturating_add(shift)..range.end.saturating_add(shift));
        }
        let keyed = |digest: &[u8; 16]| first_bytes(&blake3::keyed_hash(key, digest));
        let quality = Quality { bad_lines: Vec::new(), ..self.quality.clone() };
        Ok(Trace {
            name: NAME.to_owned(),
            digests: Digests::new(self.digests.iter().map(keyed).collect()),
            holes: holes.into(),
            volume_names: numbered(&self.volume_names),
            quality,
            ..shifted
        })
    }
}

fn shift_bytes(key: &[u8; 32], volume: &str) -> u64 {
    // Another key than that of digests, which may be names as well.
    let key = blake3::keyed_hash(key, b"shift of a volume");
    let hash = blake3::keyed_hash(key.as_bytes(), volume.as_bytes());
    let drawn = u128::from_le_bytes(first_bytes(&hash)) % u128::from(SHIFTS);
    (drawn as u64 + 1) * SHIFT_UNIT_BYTES
}

fn first_bytes(hash: &blake3::Hash) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    bytes
}

/// Numbers in the order of the names, all as long as the last, so that tables keep their order.
fn numbered(names: &[String]) -> Vec<String> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&volume| &names[volume]);
    let digits = names.len().saturating_sub(1).to_string().len();
    let mut numbers = vec![String::new(); names.len()];
    for (number, volume) in order.into_iter().enumerate() {
        numbers[volume] = format!("{number:0digits$}");
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;
    use crate::trace::TraceBuilder;

    #[test]
    fn digests_names_and_addresses_depend_on_the_key() {
        let mut named = TraceBuilder::new("payroll");
        for (volume, content) in [(3, 1), (1, 2), (3, 1)] {
            let request =
                Request { time_ns: 0, volume, op: Op::Write, offset_bytes: 512, length_bytes: 4096 };
            named.push(request, &[content]);
        }
        let digests = Digests::new(vec![[1; 16], [2; 16]]);
        let mut named = Trace { digests, ..named.build().unwrap() };
        let [one, same, other] = [1, 1, 2].map(|key| named.anonymize(&[key; 32]).unwrap());
        assert_eq!(one, same);
        assert_ne!(one.digests, other.digests);
        assert_eq!(one.digests.bytes[0], blake3::keyed_hash(&[1; 32], &[1; 16]).as_bytes()[..16]);
        assert_eq!((one.name.as_str(), one.volume_names.concat().as_str()), ("anonymous", "01"));
        let [first, second, third] = [0, 1, 2].map(|row| one.offset_bytes[row] - 512);
        assert!(first == third && first != second && first % SHIFT_UNIT_BYTES == 0 && first > 0);
        std::sync::Arc::make_mut(&mut named.offset_bytes)[1] = i64::MAX as u64 - 4096;
        let error = named.anonymize(&[0; 32]).unwrap_err().to_string();
        assert!(error.starts_with("payroll: request 2 ends too far"), "{error}");
    }
}
