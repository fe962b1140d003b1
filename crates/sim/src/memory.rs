//! How much memory a replay takes, known before it is paid for.
//!
//! Tables of physical pages and blocks are as long as the device; what is never touched of them takes
//! address space and no memory. Tables of logical pages and contents are as long as the trace makes them and
//! are touched all over.

use flashtwin_ftl::dedup::TableForm;
use flashtwin_ftl::spread::SpreadPolicy;
use flashtwin_ftl::{FtlConfig, MappingForm};
use flashtwin_nand::Geometry;

use crate::error::ConfigError;
use crate::resolve::Resolved;

/// Bytes of the largest tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableBytes {
    /// Address space.
    pub reserved_bytes: u64,
    /// Memory that is written to whatever the trace does.
    pub touched_bytes: u64,
}

/// What the system gives to this process: bytes of address space and of memory that are left, where it
/// tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Of address space, where it is limited.
    pub address_space_bytes: Option<u64>,
    /// Of memory.
    pub memory_bytes: Option<u64>,
}

/// The tables of a controller and its engine on a device, for so many logical pages and contents.
pub fn tables(config: &FtlConfig, geometry: &Geometry, footprint: u64, contents: u64) -> TableBytes {
    let (blocks, pages) = (geometry.block_index_len() as u64, geometry.page_index_len() as u64);
    // A page's owner; a block's counts, its reads and erases under way, its write pointer.
    let mut device = pages * 4 + blocks * (8 + 8 + 2);
    let trace = match (config.mapping, config.dedup.tables) {
        (MappingForm::Page, _) => {
            let spreads = config.spread.policy == SpreadPolicy::Duplicates;
            let channels = u64::from(geometry.channels);
            footprint * if spreads { 8 + 16 } else { 8 }
                + if spreads { contents * (64 + 8 * channels) } else { 0 }
        }
        (MappingForm::Content, TableForm::TwoLevel) => footprint * 4 + contents * (16 + 1 + 4 + 1),
        (MappingForm::Content, TableForm::Inverted) => {
            device += pages * 8;
            footprint * 12 + contents * (4 + 1)
        }
    };
    TableBytes { reserved_bytes: device + trace, touched_bytes: trace }
}

/// Refuses a replay whose tables cannot be had.
///
/// # Errors
/// [`ConfigError`] with the figures and the cure.
pub(crate) fn check(resolved: &Resolved, footprint: u64, contents: u64) -> Result<(), ConfigError> {
    check_against(resolved, footprint, contents, limits())
}

fn check_against(
    resolved: &Resolved,
    footprint: u64,
    contents: u64,
    limits: Limits,
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

/// The limits of this process.
#[cfg(target_os = "linux")]
pub fn limits() -> Limits {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let used_pages = text("/proc/self/statm");
    let used: Option<u64> = used_pages.split_whitespace().next().and_then(|pages| pages.parse().ok());
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: it writes one struct, which is ours.
    let told = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } == 0;
    let limited = told && limit.rlim_cur != libc::RLIM_INFINITY;
    let available = text("/proc/meminfo");
    let available = available.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: Option<u64> = available.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    Limits {
        address_space_bytes: used
            .filter(|_| limited)
            .map(|pages| limit.rlim_cur.saturating_sub(pages * 4096)),
        memory_bytes: kib.map(|kib| kib * 1024),
    }
}

/// Other systems report no limits.
#[cfg(not(target_os = "linux"))]
pub fn limits() -> Limits {
    Limits::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::resolve;

    #[test]
    fn what_does_not_fit_is_refused_with_the_figures_and_the_cure() {
        let resolved = resolve("ca-ssd-inverted", &[]).unwrap();
        let geometry = &resolved.device.geometry;
        let needed = tables(&resolved.config.ftl, geometry, 1_000, 500);
        assert!(needed.reserved_bytes > 12 * geometry.pages(), "owners and lists of LPNs");
        assert_eq!(needed.touched_bytes, 1_000 * 12 + 500 * 5);
        let with = |address_space_bytes, memory_bytes| {
            let limits = Limits { address_space_bytes, memory_bytes };
            check_against(&resolved, 1_000, 500, limits).map_err(|error| error.0)
        };
        assert_eq!(with(None, None), Ok(()));
        assert_eq!(with(Some(needed.reserved_bytes), Some(needed.touched_bytes)), Ok(()));
        let error = with(Some(1_500_000_000), None).unwrap_err();
        assert!(error.contains("this process may take 1.5 GB more: raise the limit (ulimit -v)"), "{error}");
        let error = with(None, Some(100)).unwrap_err();
        assert!(error.contains("1000 logical pages and 500 contents"), "{error}");
    }

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
    fn one_byte_too_few_is_refused_with_the_figure() {
        let resolved = resolve("conventional", &[]).unwrap();
        let needed = tables(&resolved.config.ftl, &resolved.device.geometry, 200_000_000, 0);
        let with = |address_space_bytes, memory_bytes| {
            let limits = Limits { address_space_bytes, memory_bytes };
            check_against(&resolved, 200_000_000, 0, limits).map_err(|error| error.0)
        };
        let (space, memory) = (needed.reserved_bytes, needed.touched_bytes);
        assert_eq!(memory, 1_600_000_000);
        assert_eq!(with(Some(space), Some(memory)), Ok(()));
        assert!(with(Some(space - 1), Some(memory)).unwrap_err().contains("of address space"));
        let error = with(Some(space), Some(memory - 1)).unwrap_err();
        assert!(error.contains("take 1.6 GB of memory, 1.6 GB are left"), "{error}");
    }

    /// What a line of a file of the system says, in KiB.
    #[cfg(target_os = "linux")]
    fn kib_of(path: &str, name: &str) -> u64 {
        let text = std::fs::read_to_string(path).unwrap();
        let rest = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn more_memory_than_the_machine_has_is_refused() {
        let left = limits().memory_bytes.unwrap();
        let all = kib_of("/proc/meminfo", "MemTotal:") * 1024;
        assert!(left <= all && left > all / 1000, "{left} of {all}");
        let error = check(&resolve("conventional", &[]).unwrap(), all, 0).unwrap_err();
        // Where the process is limited, the smaller of the two bounds speaks.
        let bound =
            if limits().address_space_bytes.is_some() { "GB of address space" } else { "GB of memory" };
        assert!(error.0.contains(bound), "{error}");
    }

    /// The address space of a process that runs this test alone.
    #[cfg(target_os = "linux")]
    const LIMIT_KIB: u64 = 3_000_000;

    #[test]
    #[cfg(target_os = "linux")]
    fn address_space_is_limited_where_the_system_says_so_and_what_is_used_of_it_counts() {
        if std::env::var_os("FLASHTWIN_TEST_LIMITED").is_none() {
            let own = "memory::tests::address_space_is_limited_where_the_system_says_so_and_what_is_used_of_it_counts";
            let done = std::process::Command::new("sh")
                .args(["-c", "ulimit -v \"$1\" && exec \"$0\" --exact \"$2\""])
                .arg(std::env::current_exe().unwrap())
                .args([&LIMIT_KIB.to_string(), own])
                .env("FLASHTWIN_TEST_LIMITED", "yes")
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            assert!(done.status.success() && text.contains("1 passed"), "{text}");
            return;
        }
        let much: Vec<u8> = Vec::with_capacity(1 << 30);
        let used = kib_of("/proc/self/status", "VmSize:") * 1024;
        let left = limits().address_space_bytes.unwrap();
        assert!(used > 1 << 30 && much.is_empty());
        assert!(left.abs_diff(LIMIT_KIB * 1024 - used) < 1 << 24, "{left} beside {used}");
    }

    #[test]
    fn this_process_may_run_the_default_system() {
        check(&resolve("conventional", &[]).unwrap(), 1_000_000, 0).unwrap();
    }
}
