//! Which page of the tables an entry is in.

use flashtwin_nand::{Block, Geometry};

use crate::dedup::Entries;
use crate::ids::{Content, Lpn, TablePage, Vpn};
use flashtwin_bits::{By, mix};

/// Bytes of an entry, as in the RAM figures: a page number; in the secondary table also a reference count.
const PRIMARY_BYTES: u32 = 4;
const SECONDARY_BYTES: u32 = 6;
/// A fingerprint (SHA-1) and the VPN that it leads to.
const FINGERPRINT_BYTES: u32 = 24;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) two_levels: bool,
    /// Entries of the fingerprint store, where that is on flash as well.
    pub(crate) fingerprints: Option<Entries>,
}

impl Shape {
    pub(crate) fn most_blocks(self, geometry: &Geometry) -> u32 {
        PlanePool::blocks(Layout::most_pages(self, geometry), geometry)
    }
}

/// The tables cut into pages: the primary one (LPN -> PPN or VPN), the secondary one (VPN -> PPNs), then the
/// fingerprint store, if it is on flash. An LPN's page follows from its address, as in DFTL. Pages without an LPN of
/// the footprint do not exist. PPNs of replicas take no room. A fingerprint's page follows from the fingerprint.
#[derive(Clone)]
pub(crate) struct Layout {
    of_lpn: By<Lpn, Vec<TablePage>>,
    primary_pages: u32,
    vpns_per_page: u32,
    secondary_pages: u32,
    fingerprint_pages: u32,
}

impl Layout {
    pub(crate) fn new(
        shape: Shape,
        geometry: &Geometry,
        addresses: impl ExactSizeIterator<Item = u64>,
    ) -> Self {
        let per_page = u64::from((geometry.page_bytes / PRIMARY_BYTES).max(1));
        let vpns_per_page = (geometry.page_bytes / SECONDARY_BYTES).max(1);
        // One VPN more than there are LPNs: a content comes before that which it replaces goes.
        let vpns = addresses.len() as u32 + 1;
        let (mut of_lpn, mut pages, mut last) = (Vec::with_capacity(addresses.len()), 0u32, None);
        for address in addresses {
            if last != Some(address / per_page) {
                (last, pages) = (Some(address / per_page), pages + 1);
            }
            of_lpn.push(TablePage::new(pages - 1));
        }
        let secondary_pages = if shape.two_levels { vpns.div_ceil(vpns_per_page) } else { 0 };
        let fingerprint_pages = Self::fingerprint_pages(shape, geometry, u64::from(vpns)) as u32;
        Self {
            of_lpn: By::new(of_lpn),
            primary_pages: pages,
            vpns_per_page,
            secondary_pages,
            fingerprint_pages,
        }
    }

    fn fingerprint_pages(shape: Shape, geometry: &Geometry, contents: u64) -> u64 {
        let entries = match shape.fingerprints {
            None => return 0,
            Some(Entries::Unlimited) => contents,
            Some(Entries::Limited(few)) => contents.min(u64::from(few)),
        };
        entries.div_ceil(u64::from((geometry.page_bytes / FINGERPRINT_BYTES).max(1)))
    }

    /// Pages of the tables of a device that is full, at most, where addresses have no gaps.
    pub(crate) fn most_pages(shape: Shape, geometry: &Geometry) -> u64 {
        let entries = geometry.pages() + 1;
        let pages = |bytes: u32| entries.div_ceil(u64::from((geometry.page_bytes / bytes).max(1)));
        let secondary = if shape.two_levels { pages(SECONDARY_BYTES) } else { 0 };
        pages(PRIMARY_BYTES) + secondary + Self::fingerprint_pages(shape, geometry, entries)
    }

    pub(crate) fn pages(&self) -> u32 {
        self.primary_pages + self.secondary_pages + self.fingerprint_pages
    }

    pub(super) fn all_pages(&self) -> impl Iterator<Item = TablePage> + use<> {
        TablePage::each(0..self.pages())
    }

    #[inline]
    pub(crate) fn of_lpn(&self, lpn: Lpn) -> TablePage {
        self.of_lpn[lpn]
    }

    #[inline]
    pub(crate) fn of_vpn(&self, vpn: Vpn) -> TablePage {
        TablePage::new(self.primary_pages + vpn.number() / self.vpns_per_page)
    }

    #[inline]
    pub(crate) fn of_fingerprint(&self, content: Content) -> Option<TablePage> {
        let pages = u64::from(self.fingerprint_pages);
        let place = || (u128::from(mix(u64::from(content.number()) + 1)) * u128::from(pages)) >> 64;
        (pages > 0).then(|| TablePage::new(self.primary_pages + self.secondary_pages + place() as u32))
    }

    pub(crate) fn entries(&self, page: TablePage) -> EntriesOf {
        match page.number().checked_sub(self.primary_pages) {
            Some(page) if page >= self.secondary_pages => EntriesOf::Fingerprints,
            Some(page) => EntriesOf::Vpns(page * self.vpns_per_page..(page + 1) * self.vpns_per_page),
            None => {
                let from = |page: u32| self.of_lpn.partition_point(|other| other.number() < page) as u32;
                EntriesOf::Lpns(from(page.number())..from(page.number() + 1))
            }
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.of_lpn.len() as u64 * 4
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntriesOf {
    Lpns(std::ops::Range<u32>),
    Vpns(std::ops::Range<u32>),
    Fingerprints,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct PlanePool {
    pub(super) open: Option<Block>,
    /// Filled blocks, the oldest first.
    pub(super) full: Vec<Block>,
}

impl PlanePool {
    /// Blocks of each plane for `pages` table pages: twice their size, and one to collect with.
    pub(crate) fn blocks(pages: u64, geometry: &Geometry) -> u32 {
        let a_plane = pages.div_ceil(u64::from(geometry.planes()));
        let blocks = a_plane.div_ceil(u64::from(geometry.pages_per_block));
        u32::try_from(2 * blocks + 1).unwrap_or(u32::MAX / 4)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Block> {
        self.full.iter().copied().chain(self.open)
    }
}

flashtwin_bits::state!(value PlanePool { open, full });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::geometry;

    #[test]
    fn lpn_pages_follow_addresses_and_vpn_pages_numbers() {
        // Pages of 64 bytes: 16 LPNs, or 10 VPNs.
        let geometry = geometry([1, 1, 1, 1, 4, 4]);
        let addresses = [0, 1, 15, 16, 160, 175, 176];
        let primary = Shape { two_levels: false, fingerprints: None };
        let both = Shape { two_levels: true, ..primary };
        let layout = Layout::new(both, &geometry, addresses.into_iter());
        assert_eq!(
            (0..7).map(|lpn| layout.of_lpn(Lpn::new(lpn)).number()).collect::<Vec<_>>(),
            [0, 0, 0, 1, 2, 2, 3]
        );
        assert_eq!([0, 9, 10].map(|vpn| layout.of_vpn(Vpn::new(vpn)).number()), [4, 4, 5]);
        assert_eq!((layout.pages(), layout.bytes()), (5, 7 * 4));
        assert_eq!(layout.entries(TablePage::new(2)), EntriesOf::Lpns(4..6));
        assert_eq!(layout.entries(TablePage::new(4)), EntriesOf::Vpns(0..10));
        let page_map = Layout::new(primary, &geometry, addresses.into_iter());
        assert_eq!(page_map.pages(), 4);
        // A device of 16 pages: two pages for LPNs, the second for the page kept back; two for VPNs.
        assert_eq!(Layout::most_pages(primary, &geometry), 2);
        assert_eq!(Layout::most_pages(both, &geometry), 4);
        assert_eq!(layout.of_fingerprint(Content::new(3)), None);
    }

    #[test]
    fn fingerprints_lie_anywhere_behind_the_other_tables() {
        // Two fingerprints of 24 bytes a page of 64; 401 contents at most, so 201 pages.
        let geometry = geometry([1, 1, 1, 1, 40, 16]);
        let all = Shape { two_levels: true, fingerprints: Some(Entries::Unlimited) };
        let layout = Layout::new(all, &geometry, (0..400u32).map(u64::from));
        let first = 400u32.div_ceil(16) + 401u32.div_ceil(10);
        assert_eq!(layout.pages(), first + 201);
        let pages: Vec<u32> = (0..4_000)
            .map(|content| layout.of_fingerprint(Content::new(content)).unwrap().number())
            .collect();
        assert_ne!(pages[0], first, "the first content is no exception");
        assert!(pages.iter().all(|page| (first..first + 201).contains(page)));
        let of_first = pages.iter().filter(|&&page| page == first).count();
        assert!((5..45).contains(&of_first), "{of_first} of 4,000 in one of 201 pages");
        assert_eq!(layout.entries(TablePage::new(first)), EntriesOf::Fingerprints);
        let few = Shape { fingerprints: Some(Entries::Limited(10)), ..all };
        assert_eq!(Layout::new(few, &geometry, (0..400u32).map(u64::from)).pages(), first + 5);
    }

    #[test]
    fn translation_pages_take_twice_their_blocks_and_one_more() {
        let geometry = geometry([1, 1, 1, 2, 40, 4]);
        // On two planes, four pages a block.
        assert_eq!([1, 8, 9, 17].map(|pages| PlanePool::blocks(pages, &geometry)), [3, 3, 5, 7]);
        let more_than_there_are = PlanePool::blocks(1 << 40, &geometry);
        assert!(more_than_there_are > 1 << 24, "{more_than_there_are} blocks might be there");
    }
}
