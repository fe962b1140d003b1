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
#[derive(Debug, Serialize, JsonSchema)]
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
        let config = &resolved.config;
        let (parts, totals) = parts(resolved, sizes);
        let page_bytes = u64::from(config.nand.page_bytes);
        let directory = paging.map(|paging| paging.pages * NUMBER_BYTES);
        let cache = paging.and_then(|paging| match config.ftl.mapping_cache.bytes {
            CacheBytes::Unlimited => None,
            CacheBytes::Limited(bytes) => Some((bytes / page_bytes).min(paging.pages) * page_bytes),
        });
        let total = match cache {
            Some(cache) => parts.total() - parts.paged(config.ftl.mapping_cache.fingerprints) + cache,
            None => parts.total(),
        };
        Ram {
            lpn_to_ppn_bytes: parts.lpn_to_ppn,
            lpn_to_vpn_bytes: parts.lpn_to_vpn,
            vpn_to_ppn_bytes: parts.vpn_to_ppn,
            fingerprint_store_bytes: parts.fingerprints,
            replica_lists_bytes: parts.replicas,
            inverse_tables_bytes: parts.inverse,
            filter_bytes: parts.filters,
            twin_lists_bytes: parts.twins,
            partition_bytes: parts.partitions,
            write_cache_bytes: u64::from(config.engine.write_cache_pages) * page_bytes,
            priority_lists_bytes: parts.recency,
            mapping_cache_bytes: cache,
            table_directory_bytes: directory,
            total_bytes: total + directory.unwrap_or(0),
            page_map_bytes: sizes.mapped_lpns * NUMBER_BYTES,
            two_level_total_bytes: totals.map(|totals| totals.0),
            inverted_total_bytes: totals.map(|totals| totals.1),
        }
    }
}

/// The tables of the form that ran, and the totals of the two-level and the inverted form where contents are mapped.
fn parts(resolved: &Resolved, sizes: &TableSizes) -> (Parts, Option<(u64, u64)>) {
    let ftl = &resolved.config.ftl;
    let (two_level, inverted) = (two_level(resolved, sizes), inverted(sizes));
    let (parts, totals) = match (ftl.mapping, ftl.dedup.tables) {
        (Mapping::Page, _) => (
            Parts {
                lpn_to_ppn: sizes.mapped_lpns * NUMBER_BYTES,
                filters: sizes.filter_bytes,
                // The secondary map: a number a page, and its length a list.
                twins: sizes.twin_pages * NUMBER_BYTES + sizes.twin_lists * COUNT_BYTES,
                ..Parts::default()
            },
            None,
        ),
        (Mapping::Content, TableKind::TwoLevel) => (two_level, Some((two_level.total(), inverted.total()))),
        (Mapping::Content, TableKind::Inverted) => (inverted, Some((two_level.total(), inverted.total()))),
    };
    (Parts { partitions: sizes.partition_bytes, ..parts }, totals)
}

/// Bytes table by table.
#[derive(Clone, Copy, Default)]
struct Parts {
    lpn_to_ppn: u64,
    lpn_to_vpn: u64,
    vpn_to_ppn: u64,
    fingerprints: u64,
    replicas: u64,
    inverse: u64,
    filters: u64,
    twins: u64,
    partitions: u64,
    recency: u64,
}

impl Parts {
    /// Bytes of tables that a mapping cache holds pages of, with or without the fingerprint store.
    fn paged(self, fingerprints: bool) -> u64 {
        let store = if fingerprints { self.fingerprints } else { 0 };
        self.lpn_to_ppn + self.lpn_to_vpn + self.vpn_to_ppn + store
    }

    fn total(self) -> u64 {
        self.lpn_to_ppn
            + self.lpn_to_vpn
            + self.vpn_to_ppn
            + self.fingerprints
            + self.replicas
            + self.inverse
            + self.filters
            + self.twins
            + self.partitions
            + self.recency
    }
}

fn two_level(resolved: &Resolved, sizes: &TableSizes) -> Parts {
    // Replication keeps of each content a bit a chip and a counter of log2(chips) bits (RR-SSD paper III.B: MV and
    // VPC). The paper has them in the fingerprint store; here they are with the VPN, of which there may be more than
    // fingerprints: an evicted fingerprint takes neither with it.
    let chips = u64::from(resolved.device.geometry.chips());
    let profile = match resolved.config.ftl.replication.policy.counts_popularity() {
        false => 0,
        true => (chips + u64::from(chips.next_power_of_two().ilog2())).div_ceil(8),
    };
    Parts {
        lpn_to_vpn: sizes.mapped_lpns * NUMBER_BYTES,
        vpn_to_ppn: sizes.vpns * (NUMBER_BYTES + COUNT_BYTES),
        fingerprints: sizes.fingerprints * (FINGERPRINT_BYTES + NUMBER_BYTES),
        replicas: sizes.replicas * NUMBER_BYTES + sizes.vpns * profile,
        recency: sizes.listed_pages * PLACE_BYTES,
        ..Parts::default()
    }
}

/// LPT: a number an LPN. HPT: a hash and a number an entry. iLPT: a number an LPN on some list, and
/// one a page for its list. iHPT: for each entry of the HPT a page's number and the entry's address
/// (paper 4.1: as many entries as the HPT; with 16 bytes of MD5 the paper's 28 bytes an entry).
fn inverted(sizes: &TableSizes) -> Parts {
    Parts {
        lpn_to_ppn: sizes.mapped_lpns * NUMBER_BYTES,
        fingerprints: sizes.fingerprints * (FINGERPRINT_BYTES + NUMBER_BYTES),
        inverse: (sizes.mapped_lpns + sizes.vpns + 2 * sizes.fingerprints) * NUMBER_BYTES,
        ..Parts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::resolve;

    #[test]
    fn a_cache_stands_in_for_the_tables_that_it_holds_pages_of() {
        let sizes =
            TableSizes { mapped_lpns: 10_000, vpns: 4000, fingerprints: 100, ..TableSizes::default() };
        let paging = PagingSizes { pages: 16, ..PagingSizes::default() };
        let of = |bytes: &str| {
            let sets = [("mapping_cache.bytes".to_owned(), bytes.to_owned())];
            Ram::of(&resolve("ca-ssd", &sets).unwrap(), &sizes, Some(&paging))
        };
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
        let sets = [("mapping_cache.bytes", "24000"), ("mapping_cache.fingerprints", "true")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let with_store = Ram::of(&resolve("ca-ssd", &sets).unwrap(), &sizes, Some(&paging));
        assert_eq!((with_store.total_bytes, with_store.fingerprint_store_bytes), (20480 + 64, 2400));
    }

    #[test]
    fn chips_and_counter_of_a_content_are_stored_by_vpn() {
        let sizes = TableSizes { vpns: 143_000, fingerprints: 1000, replicas: 50, ..TableSizes::default() };
        let of = |system: &str| Ram::of(&resolve(system, &[]).unwrap(), &sizes, None);
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
        let of = |system| Ram::of(&resolve(system, &[]).unwrap(), &sizes, None);
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
