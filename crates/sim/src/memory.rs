//! How much memory a replay takes, known before it is paid for.
//!
//! Tables of physical pages and blocks are as long as the device; untouched parts take only address space. Those of
//! logical pages and contents are as long as the trace makes them and are touched all over.

use flashtwin_bits::MemoryLimits;
use flashtwin_ftl::{Ftl, FtlConfig};
use flashtwin_nand::Geometry;

use crate::error::ConfigError;
use crate::metrics::VOLUME_BYTES;
use crate::resolve::Resolved;

/// Bytes of the largest tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableBytes {
    /// Address space.
    pub reserved_bytes: u64,
    /// Memory that every trace touches.
    pub touched_bytes: u64,
}

/// Tables of controller and engine for `footprint` logical pages and `contents` contents.
pub fn tables(config: &FtlConfig, geometry: &Geometry, footprint: u64, contents: u64) -> TableBytes {
    let (controller, trace) = Ftl::table_bytes(config, geometry, footprint, contents);
    let device = controller + geometry.block_index_len() as u64 * 2;
    TableBytes { reserved_bytes: device + trace, touched_bytes: trace }
}

/// For logical pages, contents and volumes.
pub(crate) fn check(
    resolved: &Resolved,
    (footprint, contents, volumes): (u64, u64, u64),
    limits: MemoryLimits,
) -> Result<(), ConfigError> {
    let geometry = &resolved.device.geometry;
    let mut needed =
        TableBytes { reserved_bytes: volumes * VOLUME_BYTES, touched_bytes: volumes * VOLUME_BYTES };
    let mirror = resolved.mirror();
    for drive in mirror.iter().chain([resolved]) {
        let more = tables(&drive.config.ftl, geometry, footprint, contents);
        needed.reserved_bytes += more.reserved_bytes;
        needed.touched_bytes += more.touched_bytes;
    }
    let TableBytes { reserved_bytes, touched_bytes } = needed;
    let (name, gb) = (&resolved.config.name, |bytes: u64| bytes as f64 / 1e9);
    if let Some(left) = limits.address_space_bytes.filter(|&left| reserved_bytes > left) {
        return Err(ConfigError(format!(
            "the tables of '{name}' on a device of {} pages take {:.1} GB of address space, this process may take {:.1} \
             GB more: raise the limit (ulimit -v), or take a smaller device (nand.blocks_per_plane and the like)",
            geometry.pages(),
            gb(reserved_bytes),
            gb(left),
        )));
    }
    match limits.memory_bytes.filter(|&left| touched_bytes > left) {
        None => Ok(()),
        Some(left) => Err(ConfigError(format!(
            "the tables of '{name}' take {:.1} GB of memory (logical pages: {footprint}, contents: {contents}, volumes: \
             {volumes}), {:.1} GB are left: take a part of the trace, larger pages (nand.page_bytes), or a machine with more",
            gb(touched_bytes),
            gb(left),
        ))),
    }
}

#[cfg(test)]
mod tests {
    use flashtwin_bits::memory_limits;

    use super::*;
    use crate::resolve::resolve;

    #[test]
    fn each_form_of_table_takes_what_its_entries_take() {
        let check = |name: &str, page_bytes: u64, of_trace: &dyn Fn(u64) -> u64| {
            let resolved = resolve(name, &[]).unwrap();
            let geometry = resolved.device.geometry;
            let TableBytes { reserved_bytes, touched_bytes } =
                tables(&resolved.config.ftl, &geometry, 1_000, 300);
            let device =
                geometry.page_index_len() as u64 * page_bytes + geometry.block_index_len() as u64 * 18;
            assert_eq!(reserved_bytes - touched_bytes, device, "{name}");
            assert_eq!(touched_bytes, of_trace(geometry.channels.into()), "{name}");
        };
        check("conventional", 4, &|_| 8_000);
        check("ds-ftl", 4, &|channels| 24_000 + 300 * (64 + 8 * channels));
        check("ca-ssd", 4, &|_| 4_000 + 300 * 22);
        check("ca-ssd-inverted", 12, &|_| 12_000 + 300 * 5);
    }

    #[test]
    fn one_byte_too_few_is_refused_with_the_figure_and_the_cure() {
        let resolved = resolve("conventional", &[]).unwrap();
        let needed = tables(&resolved.config.ftl, &resolved.device.geometry, 200_000_000, 0);
        let with_volumes = |volumes, address_space_bytes, memory_bytes| {
            let limits = MemoryLimits { address_space_bytes, memory_bytes };
            check(&resolved, (200_000_000, 0, volumes), limits).map_err(|error| error.0)
        };
        let with = |space, memory| with_volumes(0, space, memory);
        let (space, memory) = (needed.reserved_bytes, needed.touched_bytes);
        assert_eq!(memory, 1_600_000_000);
        assert_eq!(with(None, None), Ok(()));
        assert_eq!(with(Some(space), Some(memory)), Ok(()));
        let error = with(Some(space - 1), Some(memory)).unwrap_err();
        assert!(error.contains("GB more: raise the limit (ulimit -v)"), "{error}");
        assert!(with(Some(1_500_000_000), None).unwrap_err().contains("this process may take 1.5 GB more"));
        let error = with(Some(space), Some(memory - 1)).unwrap_err();
        let figures = "1.6 GB of memory (logical pages: 200000000, contents: 0, volumes: 0), 1.6 GB are left";
        assert!(error.contains(figures), "{error}");
        let mirrored = [("replay.mirror".into(), "conventional".into())];
        let [alone, both] = [&[][..], &mirrored].map(|sets| resolve("rr-ssd", sets).unwrap());
        let own = tables(&alone.config.ftl, &alone.device.geometry, 200_000_000, 0);
        let space = Some(own.reserved_bytes + needed.reserved_bytes);
        let with = |drive: &Resolved, memory_bytes| {
            let limits = MemoryLimits { address_space_bytes: space, memory_bytes: Some(memory_bytes) };
            check(drive, (200_000_000, 0, 0), limits).is_ok()
        };
        assert!(with(&alone, own.touched_bytes) && !with(&both, own.touched_bytes + memory - 1));
        assert!(with(&both, own.touched_bytes + memory));
        let error = with_volumes(100_000, None, Some(memory)).unwrap_err();
        assert!(
            error.contains(
                "2.1 GB of memory (logical pages: 200000000, contents: 0, volumes: 100000), 1.6 GB"
            ),
            "{error}"
        );
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
        let error = check(&resolve("conventional", &[]).unwrap(), (all, 0, 1), memory_limits()).unwrap_err();
        // Where the process is limited, the smaller of the two bounds speaks.
        let bound = if memory_limits().address_space_bytes.is_some() {
            "GB of address space"
        } else {
            "GB of memory"
        };
        assert!(error.0.contains(bound), "{error}");
    }
}
