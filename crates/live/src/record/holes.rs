//! Holes of a target when its recording begins.

use flashtwin_trace::Holes;

use crate::export::Export;

/// Bytes behind the last run count as data.
const RUNS_MAX: usize = 1 << 20;
/// The longest ones: each footer of a recording has all of them.
const HOLES_MAX: usize = 1 << 14;
/// A hole that reaches the end is extended to a multiple of this, so that the last page of any size can be a hole.
const PAGE_BYTES_MAX: u64 = 1 << 20;

pub(super) fn of(target: &dyn Export) -> Holes {
    let size = target.size_bytes();
    let (mut at, mut runs, mut all) = (0, 0, Holes::default());
    while at < size && runs < RUNS_MAX {
        let Ok(extents) = target.extents(at, size - at, RUNS_MAX - runs, &()) else { break };
        let before = at;
        for extent in extents {
            let end = (at + extent.length_bytes).min(size);
            if extent.hole {
                all.add(0, at..if end == size { end.next_multiple_of(PAGE_BYTES_MAX) } else { end });
            }
            at = end;
            runs += 1;
        }
        if at == before {
            break;
        }
    }
    longest(all, HOLES_MAX)
}

fn longest(all: Holes, most: usize) -> Holes {
    if all.len() <= most {
        return all;
    }
    let mut by_length: Vec<_> = all.iter().collect();
    by_length.sort_by_key(|(_, range)| std::cmp::Reverse(range.end - range.start));
    let mut holes = Holes::default();
    for (volume, range) in by_length.into_iter().take(most) {
        holes.add(volume, range);
    }
    holes
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::export::{Caller, Extent, Writing};

    /// Pages with and without data, reported `at_once` runs at a time; its bytes cannot be read.
    struct Pages {
        data: Vec<bool>,
        at_once: usize,
    }

    impl Export for Pages {
        fn size_bytes(&self) -> u64 {
            self.data.len() as u64 * 4096
        }

        fn read(&self, _: u64, _: &mut [u8], _: &dyn Caller) -> io::Result<()> {
            unreachable!()
        }

        fn write(&self, _: u64, _: &[u8], _: Writing, _: &dyn Caller) -> io::Result<()> {
            unreachable!()
        }

        fn flush(&self) -> io::Result<()> {
            unreachable!()
        }

        fn trim(&self, _: u64, _: u64, _: Writing, _: &dyn Caller) -> io::Result<()> {
            unreachable!()
        }

        fn write_zeroes(&self, _: u64, _: u64, _: Writing, _: &dyn Caller) -> io::Result<()> {
            unreachable!()
        }

        fn extents(
            &self,
            offset: u64,
            length: u64,
            runs_max: usize,
            _: &dyn Caller,
        ) -> io::Result<Vec<Extent>> {
            let pages = &self.data[(offset / 4096) as usize..((offset + length) / 4096) as usize];
            let run =
                |run: &[bool]| Extent { length_bytes: run.len() as u64 * 4096, hole: !run[0], zero: !run[0] };
            Ok(pages.chunk_by(|a, b| a == b).map(run).take(self.at_once.min(runs_max)).collect())
        }
    }

    #[test]
    fn holes_are_found_however_many_are_told_at_a_time() {
        let data = [false, false, true, false, true, true, false].to_vec();
        for at_once in 1..6 {
            let holes = of(&Pages { data: data.clone(), at_once });
            let found: Vec<_> = holes.iter().map(|(_, range)| range).collect();
            assert_eq!(found, [0..8192, 12288..16384, 24576..1 << 20], "the last one goes on behind the end");
        }
        assert!(of(&Pages { data: vec![true; 9], at_once: 4 }).is_empty());
        assert!(of(&Pages { data, at_once: 0 }).is_empty(), "who tells nothing is not asked for ever");
    }

    #[test]
    fn of_too_many_the_longest_are_kept() {
        let mut all = Holes::default();
        for number in 0..100_u64 {
            all.add(0, number * 1000..number * 1000 + 1 + (number * 37) % 100);
        }
        let kept = longest(all.clone(), 10);
        let shortest = kept.iter().map(|(_, range)| range.end - range.start).min();
        assert_eq!((kept.len(), shortest), (10, Some(91)));
        assert_eq!(longest(all.clone(), 100), all);
    }
}
