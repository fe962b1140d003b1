//! Options of the wa-simulator.

use flashtwin_settings::SettingError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SSDs to simulate. One page size gets the whole grid of partitions and over-provisionings, others
/// a smaller one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WaOptions {
    /// Page size of the whole grid, in bytes; a power of two, for example 16384.
    #[schemars(range(min = 512, max = 16_777_216))]
    pub page_bytes: u32,
    /// Numbers of partitions at that page size (2 to 24 in the paper). For example `[1, 8]`.
    #[schemars(inner(range(min = 1, max = 256)))]
    pub partitions: Vec<u32>,
    /// Over-provisioning at that page size, in percent (7 to 100 in the paper). For example `[7]`.
    #[schemars(inner(range(min = 1, max = 1_000)))]
    pub over_provisioning_percent: Vec<u32>,
    /// Other page sizes, in bytes, powers of two; those below the trace's granularity are left out.
    /// For example `[16384]`.
    #[schemars(inner(range(min = 512, max = 16_777_216)))]
    pub other_page_bytes: Vec<u32>,
    /// Numbers of partitions at the other page sizes. For example `[2]`.
    #[schemars(inner(range(min = 1, max = 256)))]
    pub other_partitions: Vec<u32>,
    /// Over-provisioning at the other page sizes, in percent. For example `[28]`.
    #[schemars(inner(range(min = 1, max = 1_000)))]
    pub other_over_provisioning_percent: Vec<u32>,
    /// Limits of the update frequency ratio f_r; each adds the partitions that it needs, at every
    /// page size (2, 2.5, 3 and 5 in section 4.2 of the paper). Also in the table `partitions`. For
    /// example `[2.5, 5.0]`.
    #[schemars(inner(range(min = 1.0, max = 1_000_000.0)))]
    pub frequency_ratios: Vec<f64>,
    /// Pages of a block (128 and 256 in the paper). For example `[256]`.
    #[schemars(inner(range(min = 1, max = 32_767)))]
    pub block_pages: Vec<u32>,
}

impl Default for WaOptions {
    fn default() -> WaOptions {
        WaOptions {
            page_bytes: 4096,
            partitions: vec![1, 2, 4, 8, 12, 16, 24],
            over_provisioning_percent: vec![7, 28, 50],
            other_page_bytes: (9..=16).map(|power| 1 << power).collect(),
            other_partitions: vec![2, 8, 16],
            other_over_provisioning_percent: vec![7],
            frequency_ratios: vec![2.0, 3.0],
            block_pages: vec![128],
        }
    }
}

impl WaOptions {
    /// Checks that involve several keys; `simulated_max` SSDs may be simulated at one page size.
    pub(crate) fn check(&self, simulated_max: usize) -> Result<(), SettingError> {
        let powers = "a power of two, such as 4096";
        if !self.page_bytes.is_power_of_two() {
            return Err(SettingError::value("wa.page_bytes", self.page_bytes, powers));
        }
        if let Some(other) = self.other_page_bytes.iter().find(|bytes| !bytes.is_power_of_two()) {
            return Err(SettingError::value("a size of wa.other_page_bytes", other, powers));
        }
        for (page, partitions, over_provisioning) in [
            ("", &self.partitions, &self.over_provisioning_percent),
            ("other_", &self.other_partitions, &self.other_over_provisioning_percent),
        ] {
            let ways = partitions.len() + self.frequency_ratios.len();
            let simulated = self.block_pages.len() * over_provisioning.len() * ways;
            if simulated > simulated_max {
                return Err(SettingError(format!(
                    "wa.{page}partitions, wa.frequency_ratios, wa.{page}over_provisioning_percent and wa.block_pages \
                     make {simulated} SSDs to simulate: expected {simulated_max} at most; shorten one of them"
                )));
            }
        }
        Ok(())
    }

    /// Ascending, for a trace of this granularity.
    pub(crate) fn page_sizes(&self, sector_bytes: u32) -> Vec<u32> {
        let others = self.other_page_bytes.iter().copied().filter(|&bytes| bytes >= sector_bytes);
        let mut sizes: Vec<u32> = others.chain([self.page_bytes.max(1)]).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    pub(super) fn partitions_at(&self, page_bytes: u32) -> &[u32] {
        if page_bytes == self.page_bytes { &self.partitions } else { &self.other_partitions }
    }

    pub(super) fn over_provisioning_percent_at(&self, page_bytes: u32) -> &[u32] {
        match page_bytes == self.page_bytes {
            true => &self.over_provisioning_percent,
            false => &self.other_over_provisioning_percent,
        }
    }
}
