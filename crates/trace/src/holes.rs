//! Holes: bytes known to be unwritten when a trace begins. A recorder can ask its target (`SEEK_HOLE`, an NBD server's
//! block status). A drive has no page for them, so a read is answered without flash. A trace alone cannot show holes: a
//! page that is read before it is written may have been written long ago.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges of bytes that hold nothing when a trace begins, by volume number. Ranges of one volume neither overlap nor touch,
/// so that they count the distinct pages of long requests as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holes {
    /// Beginning and end of each range, by volume; the last volume has one.
    volumes: Vec<BTreeMap<u64, u64>>,
}

impl Holes {
    pub(crate) const NONE: &'static Holes = &Holes { volumes: Vec::new() };

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.volumes.is_empty()
    }

    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.volumes.iter().map(BTreeMap::len).sum()
    }

    /// Bytes of all ranges.
    pub fn bytes(&self) -> u64 {
        self.iter().map(|(_, range)| range.end - range.start).sum()
    }

    /// Volume and bytes of each range, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Range<u64>)> + '_ {
        (0u32..)
            .zip(&self.volumes)
            .flat_map(|(volume, ranges)| ranges.iter().map(move |(&start, &end)| (volume, start..end)))
    }

    /// Whether all of these bytes hold nothing. An empty range does.
    pub fn cover(&self, volume: u32, bytes: &Range<u64>) -> bool {
        let before =
            self.volumes.get(volume as usize).and_then(|ranges| ranges.range(..=bytes.start).next_back());
        bytes.is_empty() || before.is_some_and(|(_, &end)| end >= bytes.end)
    }

    /// These bytes hold nothing, too.
    pub fn add(&mut self, volume: u32, bytes: Range<u64>) {
        if self.cover(volume, &bytes) {
            return;
        }
        if self.volumes.len() <= volume as usize {
            self.volumes.resize(volume as usize + 1, BTreeMap::new());
        }
        let ranges = &mut self.volumes[volume as usize];
        let mut joined = bytes;
        // Ranges that it overlaps or touches are merged with it.
        while let Some((&start, &end)) = ranges.range(..=joined.end).next_back()
            && end >= joined.start
        {
            ranges.remove(&start);
            joined = joined.start.min(start)..joined.end.max(end);
        }
        ranges.insert(joined.start, joined.end);
    }

    /// These bytes hold something.
    pub fn remove(&mut self, volume: u32, bytes: &Range<u64>) {
        let Some(ranges) = self.volumes.get_mut(volume as usize).filter(|_| !bytes.is_empty()) else {
            return;
        };
        while let Some((&start, &end)) = ranges.range(..bytes.end).next_back()
            && end > bytes.start
        {
            ranges.remove(&start);
            if end > bytes.end {
                ranges.insert(bytes.end, end);
            }
            if start < bytes.start {
                ranges.insert(start, bytes.start);
            }
        }
        while self.volumes.last().is_some_and(BTreeMap::is_empty) {
            self.volumes.pop();
        }
    }

    /// The same with volume `numbers(volume)` in the place of each volume; without those that have none.
    pub(crate) fn renumbered(&self, numbers: impl Fn(u32) -> Option<u32>) -> Holes {
        let mut holes = Holes::default();
        for (volume, range) in self.iter() {
            if let Some(number) = numbers(volume) {
                holes.add(number, range);
            }
        }
        holes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashtwin_bits::SplitMix64;

    #[test]
    fn ranges_are_a_set_of_bytes() {
        // Against a plain set: bytes 0 to 39 of three volumes.
        let mut draw = SplitMix64(3);
        for _ in 0..200 {
            let (mut holes, mut bytes) = (Holes::default(), [[false; 40]; 3]);
            for _ in 0..25 {
                let (volume, start) = (draw.next() as usize % 3, draw.next() % 40);
                let end = start + draw.next() % (41 - start);
                let add = draw.next().is_multiple_of(2);
                let range = start..end;
                if add {
                    holes.add(volume as u32, range)
                } else {
                    holes.remove(volume as u32, &range)
                }
                bytes[volume][start as usize..end as usize].fill(add);
                let mut listed = [[false; 40]; 3];
                let mut last = None;
                for (volume, range) in holes.iter() {
                    let apart = last.is_none_or(|(before, end)| volume > before || range.start > end);
                    assert!(apart && range.start < range.end, "ranges are joined, and none is empty");
                    last = Some((volume, range.end));
                    listed[volume as usize][range.start as usize..range.end as usize].fill(true);
                }
                assert_eq!(listed, bytes);
                assert_eq!(holes.is_empty(), bytes.iter().flatten().all(|hole| !hole));
                assert_eq!(holes.bytes(), bytes.iter().flatten().filter(|hole| **hole).count() as u64);
                let (start, volume) = (draw.next() % 40, draw.next() as usize % 3);
                let range = start..start + draw.next() % (41 - start);
                let all = bytes[volume][range.start as usize..range.end as usize].iter().all(|hole| *hole);
                assert_eq!(holes.cover(volume as u32, &range), all, "{range:?}");
            }
        }
    }
}
