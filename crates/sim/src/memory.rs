//! How much memory a replay takes, known before it is paid for.
//!
//! Tables of physical pages and blocks are as long as the device; their untouched parts take
//! address space and no memory. Tables of logical pages and contents are as long as the trace makes
//! them and are touched all over.

use flashtwin_bits::{MemoryLimits, memory_limits};
use flashtwin_ftl::{Ftl, FtlConfig};
use flashtwin_nand::Geometry;

use crate::error::ConfigError;
use crate::resolve::Resolved;

/// Bytes of the largest tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableBytes {
    /// Address space.
    pub reserved_bytes: u64,
    /// Memory that every trace touches.
    pub touched_bytes: u64,
}

/// The tables of a controller and its engine on a device, for `footprint` logical pages and
/// `contents` contents.
pub fn tables(config: &FtlConfig, geometry: &Geometry, footprint: u64, contents: u64) -> TableBytes {
    let (controller, trace) = Ftl::table_bytes(config, geometry, footprint, contents);
    // The engine's write pointer of each block.
    let device = controller + geometry.block_index_len() as u64 * 2;
    TableBytes { reserved_bytes: device + trace, touched_bytes: trace }
}

pub(crate) fn check(resolved: &Resolved, footprint: u64, contents: u64) -> Result<(), ConfigError> {
    check_against(resolved, footprint, contents, memory_limits())
}

fn check_against(
    resolved: &Resolved,
    footprint: u64,
    contents: u64,
    limits: MemoryLimits,
) -> Result<(), ConfigError> {
    let geometry = &resolved.device.geometry;
    let needed = tables(&resolved.config.ftl, geometry, footprint, contents);
    let gb = |bytes: u64| bytes as f64 / 1e9;
    if let Some(left) = limits.address_space_bytes.filter(|&left| needed.reserved_bytes > left) {
        return Err(ConfigError(format!(
            "the tables of '{}' on a device of {} pages take {:.1} GB of address space, this process may take {:.1} GB \
             more: raise the limit (ulimit -v), or take a smaller device (nand.blocks_per_plane and the like)",
            resolved.config.name,
            geometry.pages(),
            gb(needed.reserved_bytes),
            gb(left),
        )));
    }
    if let Some(left) = limits.memory_bytes.filter(|&left| needed.touched_bytes > left) {
        return Err(ConfigError(format!(
            "the tables of '{}' for {footprint} logical pages and {contents} contents take {:.1} GB of memory, \
             {:.1} GB are left: take a part of the trace, larger pages (nand.page_bytes), or a machine with more",
            resolved.config.name,
            gb(needed.touched_bytes),
            gb(left),
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::resolve;

    #[test]
    fn each_form_of_table_takes_what_its_entries_take() {
        let sizes = |name: &str| {
            let resolved = resolve(name, &[]).unwrap();
            let geometry = resolved.device.geometry;
            let found = tables(&resolved.config.ftl, &geometry, 1_000, 300);
            let (pages, blocks) = (geometry.page_index_len() as u64, geometry.block_index_len() as u64);
            (
                found.reserved_bytes - found.touched_bytes,
                found.touched_bytes,
                pages,
                blocks,
                geometry.channels,
            )
        };
        let (device, trace, pages, blocks, _) = sizes("conventional");
        assert_eq!((device, trace), (4 * pages + 18 * blocks, 8_000));
        let (device, trace, pages, blocks, channels) = sizes("ds-ftl");
        assert_eq!((device, trace), (4 * pages + 18 * blocks, 24_000 + 300 * (64 + 8 * u64::from(channels))));
        let (device, trace, pages, blocks, _) = sizes("ca-ssd");
        assert_eq!((device, trace), (4 * pages + 18 * blocks, 4_000 + 300 * 22));
        let (device, trace, pages, blocks, _) = sizes("ca-ssd-inverted");
        assert_eq!((device, trace), (12 * pages + 18 * blocks, 12_000 + 300 * 5));
    }

    #[test]
    fn one_byte_too_few_is_refused_with_the_figure_and_the_cure() {
        let resolved = resolve("conventional", &[]).unwrap();
        let needed = tables(&resolved.config.ftl, &resolved.device.geometry, 200_000_000, 0);
        let with = |address_space_bytes, memory_bytes| {
            let limits = MemoryLimits { address_space_bytes, memory_bytes };
            check_against(&resolved, 200_000_000, 0, limits).map_err(|error| error.0)
        };
        let (space, memory) = (needed.reserved_bytes, needed.touched_bytes);
        assert_eq!(memory, 1_600_000_000);
        assert_eq!(with(None, None), Ok(()));
        assert_eq!(with(Some(space), Some(memory)), Ok(()));
        let error = with(Some(space - 1), Some(memory)).unwrap_err();
        assert!(error.contains("GB more: raise the limit (ulimit -v)"), "{error}");
        assert!(with(Some(1_500_000_000), None).unwrap_err().contains("this process may take 1.5 GB more"));
        let error = with(Some(space), Some(memory - 1)).unwrap_err();
        let figures = "for 200000000 logical pages and 0 contents take 1.6 GB of memory, 1.6 GB are left";
        assert!(error.contains(figures), "{error}");
    }

    /// The value of a line in a system file, in KiB.
    #[cfg(target_os = "linux")]
    fn kib_of(path: &str, name: &str) -> u64 {
        let text = std::fs::read_to_string(path).unwrap();
        let rest = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn more_memory_than_the_machine_has_is_refused() {
        let left = memory_limits().memory_bytes.unwrap();
        let all = kib_of("/proc/meminfo", "MemTotal:") * 1024;
        assert!(left <= all && left > all / 1000, "{left} of {all}");
        let error = check(&resolve("conventional", &[]).unwrap(), all, 0).unwrap_err();
        // Where the process is limited, the smaller of the two bounds speaks.
        let bound = if memory_limits().address_space_bytes.is_some() {
            "GB of address space"
        } else {
            "GB of memory"
        };
        assert!(error.0.contains(bound), "{error}");
    }

    #[test]
    fn this_process_may_run_the_default_system() {
        check(&resolve("conventional", &[]).unwrap(), 1_000_000, 0).unwrap();
    }
}
