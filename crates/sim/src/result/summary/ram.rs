//! Controller RAM of the mapping tables, for each scheme.

use flashtwin_ftl::dedup::TableKind;
use flashtwin_ftl::{CacheBytes, Mapping, PagingSizes, TableSizes};
use schemars::JsonSchema;
use serde::Serialize;

use crate::resolve::Resolved;

/// Bytes of a fingerprint (RR-SSD paper IV.B.6: 20 bytes; SHA-1).
const FINGERPRINT_BYTES: u64 = 20;
/// Bytes of a page number in a table.
const NUMBER_BYTES: u64 = 4;
/// Bytes of a page's place in priority-LRU: its number, its two neighbours, its class.
const PLACE_BYTES: u64 = 3 * NUMBER_BYTES + 1;
/// Bytes of a reference count.
const COUNT_BYTES: u64 = 2;

/// Table bytes at the end of the run ([definitions](model.md#definitions)). The two-level scheme is
/// RR-SSD's (paper III.B), the inverted one CA-SSD's (paper 4.1: LPT, iLPT, HPT, iHPT). The parts
/// are those of the scheme that ran. The totals of both schemes and of a page map are given for
/// every system.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Ram {
    /// From logical to physical pages.
    lpn_to_ppn_bytes: u64,
    /// From logical pages to contents.
    lpn_to_vpn_bytes: u64,
    /// From contents to physical pages, with reference counts.
    vpn_to_ppn_bytes: u64,
    /// Fingerprints with the numbers of their contents.
    fingerprint_store_bytes: u64,
    /// Further copies, and replication's entry of each content.
    replica_lists_bytes: u64,
    /// The inverse tables of the inverted scheme.
    inverse_tables_bytes: u64,
    /// The channels' filters.
    filter_bytes: u64,
    /// Lists of duplicate pages.
    twin_lists_bytes: u64,
    /// Statistics of the partitions.
    partition_bytes: u64,
    /// Pages of the write cache.
    write_cache_bytes: u64,
    /// Pages of the read cache.
    read_cache_bytes: u64,
    /// The lists of priority-LRU.
    priority_lists_bytes: u64,
    /// The mapping cache, which the total counts instead of the tables in it; `null` when
    /// unlimited.
    mapping_cache_bytes: Option<u64>,
    /// Flash addresses of the mapping-table pages; `null` while all tables are in RAM.
    table_directory_bytes: Option<u64>,
    /// All tables of this system, in its own scheme.
    total_bytes: u64,
    /// A plain page map.
    page_map_bytes: u64,
    /// The two-level scheme of a content-addressed system, for comparison; `null` for page maps.
    two_level_total_bytes: Option<u64>,
    /// The inverted scheme of a content-addressed system, for comparison; `null` for page maps.
    inverted_total_bytes: Option<u64>,
}

impl Ram {
    pub(super) fn of(resolved: &Resolved, sizes: &TableSizes, paging: Option<&PagingSizes>) -> Ram {
        let (ftl, page_bytes) = (&resolved.config.ftl, u64::from(resolved.config.nand.page_bytes));
        let (two_level, inverted) = (two_level(resolved, sizes), inverted(sizes));
        let totals =
            (ftl.mapping == Mapping::Content).then(|| (two_level.all_tables(), inverted.all_tables()));
        let mut ram = match (ftl.mapping, ftl.dedup.tables) {
            (Mapping::Page, _) => page_map(sizes),
            (Mapping::Content, TableKind::TwoLevel) => two_level,
            (Mapping::Content, TableKind::Inverted) => inverted,
        };
        ram.partition_bytes = sizes.partition_bytes;
        ram.write_cache_bytes = u64::from(resolved.config.engine.write_cache_pages) * page_bytes;
        ram.read_cache_bytes = u64::from(resolved.config.engine.read_cache_pages) * page_bytes;
        ram.page_map_bytes = sizes.mapped_lpns * NUMBER_BYTES;
        (ram.two_level_total_bytes, ram.inverted_total_bytes) = totals.unzip();
        ram.table_directory_bytes = paging.map(|paging| paging.pages * NUMBER_BYTES);
        ram.mapping_cache_bytes = paging.and_then(|paging| match ftl.mapping_cache.bytes {
            CacheBytes::Unlimited => None,
            CacheBytes::Limited(bytes) => Some((bytes / page_bytes).min(paging.pages) * page_bytes),
        });
        let total = match ram.mapping_cache_bytes {
            Some(cache) => ram.all_tables() - ram.paged(ftl.mapping_cache.fingerprints) + cache,
            None => ram.all_tables(),
        };
        ram.total_bytes = total + ram.table_directory_bytes.unwrap_or(0);
        ram
    }

    fn paged(&self, fingerprints: bool) -> u64 {
        let store = if fingerprints { self.fingerprint_store_bytes } else { 0 };
        self.lpn_to_ppn_bytes + self.lpn_to_vpn_bytes + self.vpn_to_ppn_bytes + store
    }

    fn all_tables(&self) -> u64 {
        self.paged(true)
            + self.replica_lists_bytes
            + self.inverse_tables_bytes
            + self.filter_bytes
            + self.twin_lists_bytes
            + self.partition_bytes
            + self.priority_lists_bytes
    }
}

fn page_map(sizes: &TableSizes) -> Ram {
    Ram {
        lpn_to_ppn_bytes: sizes.mapped_lpns * NUMBER_BYTES,
        filter_bytes: sizes.filter_bytes,
        // The secondary map: a number a page, and its length a list.
        twin_lists_bytes: sizes.twin_pages * NUMBER_BYTES + sizes.twin_lists * COUNT_BYTES,
        ..Ram::default()
    }
}

fn two_level(resolved: &Resolved, sizes: &TableSizes) -> Ram {
    // Replication keeps of each content a bit a chip and a counter of log2(chips) bits (RR-SSD paper III.B: MV and
    // VPC). The paper has them in the fingerprint store; here they are with the VPN, of which there may be more than
    // fingerprints: an evicted fingerprint takes neither with it.
    let chips = u64::from(resolved.device.geometry.chips());
    let profile = match resolved.config.ftl.replication.policy.counts_popularity() {
        false => 0,
        true => (chips + u64::from(chips.next_power_of_two().ilog2())).div_ceil(8),
    };
    Ram {
        lpn_to_vpn_bytes: sizes.mapped_lpns * NUMBER_BYTES,
        vpn_to_ppn_bytes: sizes.vpns * (NUMBER_BYTES + COUNT_BYTES),
        fingerprint_store_bytes: sizes.fingerprints * (FINGERPRINT_BYTES + NUMBER_BYTES),
        replica_lists_bytes: sizes.replicas * NUMBER_BYTES + sizes.vpns * profile,
        priority_lists_bytes: sizes.listed_pages * PLACE_BYTES,
        ..Ram::default()
    }
}

/// LPT: a number an LPN. HPT: a hash and a number an entry. iLPT: a number an LPN on some list, and
/// one a page for its list. iHPT: for each entry of the HPT a page's number and the entry's address
/// (paper 4.1: as many entries as the HPT; with 16 bytes of MD5 the paper's 28 bytes an entry).
fn inverted(sizes: &TableSizes) -> Ram {
    Ram {
        lpn_to_ppn_bytes: sizes.mapped_lpns * NUMBER_BYTES,
        fingerprint_store_bytes: sizes.fingerprints * (FINGERPRINT_BYTES + NUMBER_BYTES),
        inverse_tables_bytes: (sizes.mapped_lpns + sizes.vpns + 2 * sizes.fingerprints) * NUMBER_BYTES,
        ..Ram::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::tests::preset;

    #[test]
    fn a_cache_stands_in_for_the_tables_that_it_holds_pages_of() {
        let sizes =
            TableSizes { mapped_lpns: 10_000, vpns: 4000, fingerprints: 100, ..TableSizes::default() };
        let paging = PagingSizes { pages: 16, ..PagingSizes::default() };
        let with = |sets: &[(&str, &str)]| Ram::of(&preset("ca-ssd", sets).unwrap(), &sizes, Some(&paging));
        let of = |bytes: &str| with(&[("mapping_cache.bytes", bytes)]);
        // Five whole pages, 64 bytes of directory, and the fingerprints.
        let small = of("24000");
        assert_eq!((small.mapping_cache_bytes, small.table_directory_bytes), (Some(20480), Some(64)));
        assert_eq!(small.total_bytes, 20480 + 64 + 2400);
        assert_eq!((small.lpn_to_vpn_bytes, small.vpn_to_ppn_bytes), (40_000, 24_000));
        // No more is used than there is.
        assert_eq!(of("1000000").mapping_cache_bytes, Some(16 * 4096));
        let unlimited = of("unlimited");
        assert_eq!(unlimited.mapping_cache_bytes, None);
        assert_eq!(unlimited.total_bytes, 40_000 + 24_000 + 64 + 2400);
        // The store may be among them.
        let with_store = with(&[("mapping_cache.bytes", "24000"), ("mapping_cache.fingerprints", "true")]);
        assert_eq!((with_store.total_bytes, with_store.fingerprint_store_bytes), (20480 + 64, 2400));
    }

    #[test]
    fn chips_and_counter_of_a_content_are_stored_by_vpn() {
        let sizes = TableSizes { vpns: 143_000, fingerprints: 1000, replicas: 50, ..TableSizes::default() };
        let of = |system: &str| Ram::of(&preset(system, &[]).unwrap(), &sizes, None);
        // 64 chips: 64 bits and 6, in 9 bytes.
        for system in ["rr-ssd", "rr-ssd-online"] {
            assert_eq!(of(system).fingerprint_store_bytes, 24_000);
            assert_eq!(of(system).replica_lists_bytes, 4 * 50 + 9 * 143_000);
            assert_eq!(of(system).total_bytes, 24_000 + 4 * 50 + (6 + 9) * 143_000);
        }
        assert_eq!(of("pblru").replica_lists_bytes, 4 * 50);
    }

    #[test]
    fn both_totals_stand_side_by_side_whichever_form_runs() {
        let sizes = TableSizes { mapped_lpns: 1000, vpns: 400, fingerprints: 100, ..TableSizes::default() };
        let of = |system| Ram::of(&preset(system, &[]).unwrap(), &sizes, None);
        let (two_level, inverted, page) = (of("ca-ssd"), of("ca-ssd-inverted"), of("conventional"));
        for form in [&two_level, &inverted] {
            assert_eq!(form.two_level_total_bytes, Some(4000 + 2400 + 2400));
            assert_eq!(form.inverted_total_bytes, Some(4000 + 2400 + 4000 + 1600 + 800));
            assert_eq!(form.page_map_bytes, 4000);
        }
        assert_eq!(Some(two_level.total_bytes), two_level.two_level_total_bytes);
        assert_eq!(Some(inverted.total_bytes), inverted.inverted_total_bytes);
        assert_eq!(inverted.inverse_tables_bytes, 4000 + 1600 + 800);
        assert_eq!((page.total_bytes, page.inverted_total_bytes), (4000, None));
    }
}
