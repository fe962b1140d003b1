//! Page writes of the host that bring a plane a content again (DS-FTL paper, Fig. 4 and 11). They count versions of one
//! logical page, most of which are invalid in the end.

use flashtwin_bits::{By, HugeSlice};
use flashtwin_nand::Plane;

use crate::flash::counters::PlaneWrites;
use crate::ids::Content;

#[derive(Clone)]
pub(crate) struct WrittenContents {
    /// For each content and 64 planes two words, a bit a plane: written once at least, and more than once.
    marks: HugeSlice<[u64; 2]>,
    /// Pairs of words of a content.
    words: usize,
    pages: By<Plane, Vec<u64>>,
    contents: By<Plane, Vec<u64>>,
    repeated: By<Plane, Vec<u64>>,
}

impl WrittenContents {
    pub(crate) fn new(contents: u32, planes: u32) -> Self {
        let words = planes.div_ceil(u64::BITS) as usize;
        let none = || By::new(vec![0; planes as usize]);
        Self {
            marks: HugeSlice::filled([0; 2], contents as usize * words),
            words,
            pages: none(),
            contents: none(),
            repeated: none(),
        }
    }

    pub(crate) fn bytes(contents: u64, planes: u32) -> u64 {
        contents * u64::from(planes.div_ceil(u64::BITS)) * size_of::<[u64; 2]>() as u64
    }

    pub(crate) fn note(&mut self, plane: Plane, content: Content) {
        let (word, bit) = (plane.index() / u64::BITS as usize, plane.number() % u64::BITS);
        let [once, more] = &mut self.marks[content.index() * self.words + word];
        let [known, repeated] = [*once >> bit & 1, *more >> bit & 1];
        self.pages[plane] += 1;
        self.contents[plane] += 1 - known;
        self.repeated[plane] += known & (1 - repeated);
        *once |= 1 << bit;
        *more |= known << bit;
    }

    pub(crate) fn clear(&mut self) {
        self.marks.fill([0; 2]);
        [&mut self.pages, &mut self.contents, &mut self.repeated]
            .into_iter()
            .for_each(|counts| counts.fill(0));
    }

    pub(crate) fn planes(&self) -> By<Plane, Vec<PlaneWrites>> {
        let counts = self.pages.iter().zip(self.contents.iter()).zip(self.repeated.iter());
        let row = |((&pages, &contents), &repeated)| PlaneWrites { pages, contents, repeated };
        By::new(counts.map(row).collect())
    }
}

flashtwin_bits::state!(WrittenContents { marks, pages, contents, repeated } kept { words });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_new_to_a_plane_once() {
        // 70 planes take two words a content.
        let mut written = WrittenContents::new(3, 70);
        let plane = Plane::new;
        for (at, content) in [(0, 2), (0, 2), (69, 2), (69, 0), (0, 2), (64, 2), (0, 1)] {
            written.note(plane(at), Content::new(content));
        }
        let at = |written: &WrittenContents, plane: u32| {
            let PlaneWrites { pages, contents, repeated } = written.planes()[Plane::new(plane)];
            (pages, contents, repeated)
        };
        let expected = [(4, 2, 1), (1, 1, 0), (2, 2, 0), (0, 0, 0)];
        assert_eq!([0, 64, 69, 5].map(|plane| at(&written, plane)), expected);
        written.clear();
        written.note(plane(0), Content::new(2));
        assert_eq!([0, 69].map(|plane| at(&written, plane)), [(1, 1, 0), (0, 0, 0)]);
    }
}
