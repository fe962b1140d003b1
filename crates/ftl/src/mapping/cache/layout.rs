//! Which page of the tables an entry is in.

use flashtwin_nand::Geometry;

use crate::config::{Entries as Capacity, FtlConfig, MappingForm};
use flashtwin_bits::mix;

/// Bytes of an entry: a page number; in the secondary table also a reference count. The RAM figures
/// count the same.
const PRIMARY_BYTES: u32 = 4;
const SECONDARY_BYTES: u32 = 6;
/// A fingerprint (SHA-1) and the VPN that it leads to.
const FINGERPRINT_BYTES: u32 = 24;

/// The tables cut into pages: first the primary one, LPN -> PPN or VPN, then the secondary one,
/// VPN -> PPNs. An LPN's page follows from its address in the host's address space, as in DFTL; pages
/// in which no LPN of the footprint has an entry do not exist. The PPNs of replicas lie with the entry
/// of their VPN as if they took no room. Last, where it is on flash as well, the fingerprint store: a
/// fingerprint's page follows from the fingerprint, so that neighbours in time are no neighbours there.
pub(crate) struct Layout {
    of_lpn: Vec<u32>,
    primary_pages: u32,
    vpns_per_page: u32,
    secondary_pages: u32,
    fingerprint_pages: u32,
}

impl Layout {
    /// Tables for a footprint whose LPNs have these addresses, ascending.
    pub(crate) fn new(
        config: &FtlConfig,
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
            of_lpn.push(pages - 1);
        }
        let secondary_pages = match config.mapping {
            MappingForm::Page => 0,
            MappingForm::Content => vpns.div_ceil(vpns_per_page),
        };
        let fingerprint_pages = Self::fingerprint_pages(config, geometry, u64::from(vpns)) as u32;
        Self { of_lpn, primary_pages: pages, vpns_per_page, secondary_pages, fingerprint_pages }
    }

    /// Pages of the fingerprint store, with an entry for each of so many contents or as many as it may have.
    fn fingerprint_pages(config: &FtlConfig, geometry: &Geometry, contents: u64) -> u64 {
        if !config.pages_fingerprints() {
            return 0;
        }
        let entries = match config.dedup.fingerprint_entries {
            Capacity::Unlimited => contents,
            Capacity::Limited(few) => contents.min(u64::from(few)),
        };
        entries.div_ceil(u64::from((geometry.page_bytes / FINGERPRINT_BYTES).max(1)))
    }

    /// Pages of the tables of a device that is full, at most, where addresses have no gaps.
    pub(crate) fn most_pages(config: &FtlConfig, geometry: &Geometry) -> u64 {
        let entries = geometry.pages() + 1;
        let pages = |bytes: u32| entries.div_ceil(u64::from((geometry.page_bytes / bytes).max(1)));
        let fingerprints = Self::fingerprint_pages(config, geometry, entries);
        match config.mapping {
            MappingForm::Page => pages(PRIMARY_BYTES),
            MappingForm::Content => pages(PRIMARY_BYTES) + pages(SECONDARY_BYTES) + fingerprints,
        }
    }

    pub(crate) fn pages(&self) -> u32 {
        self.primary_pages + self.secondary_pages + self.fingerprint_pages
    }

    #[inline]
    pub(crate) fn of_lpn(&self, lpn: u32) -> u32 {
        self.of_lpn[lpn as usize]
    }

    #[inline]
    pub(crate) fn of_vpn(&self, vpn: u32) -> u32 {
        self.primary_pages + vpn / self.vpns_per_page
    }

    /// The page of a content's fingerprint; `None` where the store is in RAM.
    #[inline]
    pub(crate) fn of_fingerprint(&self, content: u32) -> Option<u32> {
        let pages = u64::from(self.fingerprint_pages);
        let place = || (u128::from(mix(u64::from(content) + 1)) * u128::from(pages)) >> 64;
        (pages > 0).then(|| self.primary_pages + self.secondary_pages + place() as u32)
    }

    /// The entries of a page: LPNs, VPNs, or fingerprints.
    pub(crate) fn entries(&self, page: u32) -> Entries {
        match page.checked_sub(self.primary_pages) {
            Some(page) if page >= self.secondary_pages => Entries::Fingerprints,
            Some(page) => Entries::Vpns(page * self.vpns_per_page..(page + 1) * self.vpns_per_page),
            None => {
                let from = |page: u32| self.of_lpn.partition_point(|&other| other < page) as u32;
                Entries::Lpns(from(page)..from(page + 1))
            }
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.of_lpn.len() as u64 * 4
    }
}

/// What a page of the tables has entries for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entries {
    Lpns(std::ops::Range<u32>),
    Vpns(std::ops::Range<u32>),
    /// Those of the contents whose page it is ([`Layout::of_fingerprint`]).
    Fingerprints,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::geometry;

    #[test]
    fn an_lpn_lies_in_the_page_of_its_address_and_a_vpn_in_that_of_its_number() {
        // Pages of 64 bytes: 16 LPNs, or 10 VPNs.
        let geometry = geometry([1, 1, 1, 1, 4, 4]);
        let addresses = [0, 1, 15, 16, 160, 175, 176];
        let content = FtlConfig { mapping: MappingForm::Content, ..FtlConfig::default() };
        let layout = Layout::new(&content, &geometry, addresses.into_iter());
        assert_eq!((0..7).map(|lpn| layout.of_lpn(lpn)).collect::<Vec<_>>(), [0, 0, 0, 1, 2, 2, 3]);
        assert_eq!([0, 9, 10].map(|vpn| layout.of_vpn(vpn)), [4, 4, 5]);
        assert_eq!(layout.pages(), 5);
        assert_eq!(layout.entries(2), Entries::Lpns(4..6));
        assert_eq!(layout.entries(4), Entries::Vpns(0..10));
        let page_map = Layout::new(&FtlConfig::default(), &geometry, addresses.into_iter());
        assert_eq!(page_map.pages(), 4);
        // A device of 16 pages: two pages for LPNs, the second for the page kept back; two for VPNs.
        assert_eq!(Layout::most_pages(&FtlConfig::default(), &geometry), 2);
        assert_eq!(Layout::most_pages(&content, &geometry), 4);
        assert_eq!(layout.of_fingerprint(3), None);
    }

    #[test]
    fn fingerprints_lie_anywhere_behind_the_other_tables() {
        // Two fingerprints of 24 bytes a page of 64; 401 contents at most, so 201 pages.
        let geometry = geometry([1, 1, 1, 1, 40, 16]);
        let mut config = FtlConfig { mapping: MappingForm::Content, ..FtlConfig::default() };
        config.mapping_cache.bytes = crate::CacheBytes::Limited(64);
        config.mapping_cache.fingerprints = true;
        let layout = Layout::new(&config, &geometry, (0..400u32).map(u64::from));
        let first = 400u32.div_ceil(16) + 401u32.div_ceil(10);
        assert_eq!(layout.pages(), first + 201);
        let pages: Vec<u32> = (0..4_000).map(|content| layout.of_fingerprint(content).unwrap()).collect();
        assert!(pages.iter().all(|page| (first..first + 201).contains(page)));
        let of_first = pages.iter().filter(|&&page| page == first).count();
        assert!((5..45).contains(&of_first), "{of_first} of 4,000 in one of 201 pages");
        assert_eq!(layout.entries(first), Entries::Fingerprints);
        config.dedup.fingerprint_entries = Capacity::Limited(10);
        assert_eq!(Layout::new(&config, &geometry, (0..400u32).map(u64::from)).pages(), first + 5);
    }
}
