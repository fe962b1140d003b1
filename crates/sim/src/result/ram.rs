//! The controller RAM that each form of the mapping tables would take.

use flashtwin_ftl::{MappingForm, ReplicationPolicy, TableSizes};
use serde_json::{Value, json};

use crate::resolve::Resolved;

/// Bytes of a fingerprint (RR-SSD paper IV.B.6: 20 bytes; SHA-1).
const FINGERPRINT_BYTES: u64 = 20;
/// Bytes of a page number in a table.
const NUMBER_BYTES: u64 = 4;
/// Bytes of a reference count.
const COUNT_BYTES: u64 = 2;

/// Table bytes at the end of the run. The two-level form is RR-SSD's (paper III.B), the
/// inverted form CA-SSD's (paper 4.1: LPT, iLPT, HPT, iHPT); a page map is given for
/// comparison whatever the system.
pub(crate) fn ram(resolved: &Resolved, sizes: &TableSizes) -> Value {
    let config = &resolved.config;
    let page_map = sizes.mapped_lpns * NUMBER_BYTES;
    if config.ftl.mapping == MappingForm::Page {
        // The secondary map: a number a page, and its length a list.
        let twins = sizes.twin_pages * NUMBER_BYTES + sizes.twin_lists * COUNT_BYTES;
        return json!({
            "lpn_to_ppn_bytes": page_map, "lpn_to_vpn_bytes": 0, "vpn_to_ppn_bytes": 0,
            "fingerprint_store_bytes": 0, "replica_lists_bytes": 0,
            "filter_bytes": sizes.filter_bytes, "twin_lists_bytes": twins,
            "total_bytes": page_map + sizes.filter_bytes + twins, "page_map_bytes": page_map, "inverted_total_bytes": null,
        });
    }
    // Replication adds to each fingerprint a bit a chip and a counter of log2(chips) bits.
    let chips = u64::from(resolved.device.geometry.chips());
    let profile = match config.ftl.replication.policy {
        ReplicationPolicy::None => 0,
        ReplicationPolicy::EndOfPeriod | ReplicationPolicy::OnLine => {
            (chips + u64::from(chips.next_power_of_two().ilog2())).div_ceil(8)
        }
    };
    let first = sizes.mapped_lpns * NUMBER_BYTES;
    let second = sizes.vpns * (NUMBER_BYTES + COUNT_BYTES);
    let fingerprints = sizes.fingerprints * (FINGERPRINT_BYTES + NUMBER_BYTES + profile);
    let lists = sizes.replicas * NUMBER_BYTES;
    // LPT and iLPT hold a number per logical page, HPT a hash and a number per fingerprint,
    // iHPT a number and the address of the HPT's entry per content.
    let inverted = 2 * sizes.mapped_lpns * NUMBER_BYTES
        + sizes.fingerprints * (FINGERPRINT_BYTES + NUMBER_BYTES)
        + sizes.vpns * 2 * NUMBER_BYTES;
    json!({
        "lpn_to_ppn_bytes": 0, "lpn_to_vpn_bytes": first, "vpn_to_ppn_bytes": second,
        "fingerprint_store_bytes": fingerprints, "replica_lists_bytes": lists,
        "filter_bytes": 0, "twin_lists_bytes": 0,
        "total_bytes": first + second + fingerprints + lists,
        "page_map_bytes": page_map, "inverted_total_bytes": inverted,
    })
}
