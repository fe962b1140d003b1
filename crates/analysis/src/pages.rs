//! Dense numbers for the pages that a sample of a trace touches.

use std::ops::Range;

use flashtwin_trace::{NumberedPage, Requests};

use crate::sample::Sample;

/// In requests.
const AHEAD: usize = 12;
pub(crate) const NO_PAGE: u32 = u32::MAX;

/// Numbers pages from 0 in order of first appearance, those that a sample keeps.
pub(crate) struct PageTable {
    table: flashtwin_trace::PageTable,
    sample: Sample,
}

impl PageTable {
    pub(crate) fn new(sample: Sample) -> PageTable {
        PageTable { table: flashtwin_trace::PageTable::default(), sample }
    }

    /// The most bytes for these pages in runs of neighbours: 137 a slot while it grows, and six neighbours share one.
    pub(crate) fn bytes(pages: f64, runs: f64) -> f64 {
        (pages / 6.0 + runs) * 137.0
    }

    pub(crate) fn len(&self) -> u32 {
        self.table.len()
    }

    /// Whether 32 bits were too few for some page.
    pub(crate) fn is_full(&self) -> bool {
        self.table.is_full()
    }

    /// Appends the number of every page of the `wanted` requests, in order; [`NO_PAGE`] outside the sample. A number
    /// equal to that of pages numbered before it is a first appearance.
    pub(crate) fn number(
        &mut self,
        requests: &Requests<'_>,
        page_bytes: u32,
        wanted: impl Fn(usize) -> bool,
        ids: &mut Vec<u32>,
    ) {
        let chosen = (0..requests.len()).filter(|&index| wanted(index));
        let mut ahead = chosen.clone().skip(AHEAD);
        for index in chosen {
            if let Some(later) = ahead.next() {
                self.table.ask_for(requests.volume[later], requests.pages(later, page_bytes).start);
            }
            let pages = requests.pages(index, page_bytes);
            self.each(requests.volume[index], pages, |page| ids.push(page.map_or(NO_PAGE, |page| page.id)));
        }
    }

    /// Shows `visit` the kept pages of a run, ascending, without those beyond 2^32 - 2 ([`PageTable::is_full`]).
    #[inline]
    pub(crate) fn run(&mut self, volume: u32, pages: Range<u64>, mut visit: impl FnMut(NumberedPage)) {
        self.each(volume, pages, |page| {
            if let Some(page) = page {
                visit(page);
            }
        });
    }

    #[inline]
    fn each(&mut self, volume: u32, pages: Range<u64>, mut visit: impl FnMut(Option<NumberedPage>)) {
        if self.sample.is_all() {
            return self.table.each(volume, pages, visit);
        }
        // Only sampled pages get a slot, or long requests would take as much memory as without the sample.
        for page in pages {
            let kept = self.sample.keeps_page(volume, page);
            visit(if kept { self.page(volume, page, true) } else { None });
        }
    }

    /// Gives the page a number if it has none and `create` says so, whether the sample keeps it or not.
    pub(crate) fn page(&mut self, volume: u32, page: u64, create: bool) -> Option<NumberedPage> {
        self.table.page(volume, page, create)
    }

    pub(crate) fn count_unless(&self, taken: impl Fn(u32, u64) -> bool) -> u64 {
        self.table.count_unless(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_takes_memory_for_what_it_keeps_only() {
        let mut table = PageTable::new(Sample::new(0.001, 7));
        table.run(0, 0..10_000_000, |_| {});
        assert!(table.len() > 9_000 && table.table.bytes() <= 1 << 20, "{} bytes", table.table.bytes());
    }

    #[test]
    fn shows_only_the_pages_of_the_sample() {
        let sample = Sample::new(0.25, 7);
        let mut table = PageTable::new(sample);
        let mut shown = 0;
        table.run(3, 0..10_000, |page| {
            assert!(page.new);
            shown += 1;
        });
        let kept = (0..10_000).filter(|&page| sample.keeps_page(3, page)).count();
        assert_eq!(shown, kept);
        assert_eq!(table.len() as usize, kept);
        // Binomial: 2,500 expected, standard deviation 43.
        assert!(kept.abs_diff(2500) < 200, "{kept}");
    }
}
