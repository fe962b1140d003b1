//! How much memory a drive takes, known before it is paid for.

use flashtwin_bits::{MemoryLimits, memory_limits};
use flashtwin_nand::Geometry;
use flashtwin_sim::memory;

use crate::store::{DriveError, System};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableBytes {
    /// When it is opened and holds nothing.
    pub(crate) empty: u64,
    /// With different data in all logical pages.
    pub(crate) full: u64,
}

pub(crate) fn tables(system: &System, geometry: &Geometry, logical_pages: u32) -> TableBytes {
    let (pages, blocks, logical) = (geometry.pages(), geometry.blocks(), u64::from(logical_pages));
    let aware = system.ftl.looks_at_contents();
    // For each page its spare bytes and its log entry; for each block its counters in the drive, in
    // the controller and from the log; for each logical page its place and content.
    let empty = pages * (12 + 4) + blocks * (8 + 14 + 40) + logical * if aware { 4 + 12 } else { 4 };
    let contents = if aware { logical } else { 0 };
    let controller = memory::tables(&system.ftl, geometry, logical, contents).touched_bytes;
    // An owner a page; a digest and its index entry a content; a log entry a logical page.
    let full = empty + controller + pages * 4 + contents * 40 + logical * 24;
    TableBytes { empty, full }
}

pub(crate) fn may_be_made(system: &System, geometry: &Geometry, pages: u32) -> Result<(), DriveError> {
    refuse(tables(system, geometry, pages).full, memory_limits(), |needed, left| {
        let size = u64::from(pages) * u64::from(geometry.page_bytes);
        format!(
            "a drive of {size} bytes takes {needed} of memory for its tables once it is full, {left} are left: make it \
             smaller, or its pages larger (nand.page_bytes)"
        )
    })
}

pub(crate) fn may_be_opened(system: &System, geometry: &Geometry, pages: u32) -> Result<(), DriveError> {
    let machine = "use a machine with more";
    refuse(tables(system, geometry, pages).empty, memory_limits(), |needed, left| {
        format!(
            "opening the drive takes at least {needed} of memory for its tables, {left} are left: {machine}"
        )
    })
}

fn refuse(
    needed_bytes: u64,
    limits: MemoryLimits,
    text: impl FnOnce(String, String) -> String,
) -> Result<(), DriveError> {
    let left = [limits.memory_bytes, limits.address_space_bytes].into_iter().flatten().min();
    let gb = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
    match left.filter(|&left| left < needed_bytes) {
        Some(left) => Err(DriveError::Config(text(gb(needed_bytes), gb(left)))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Drive;
    use crate::drive::{CreateOptions, DriveOptions, Plan};
    use crate::export::{Export, Writing};
    use crate::store::fault::FaultMedium;

    #[test]
    fn a_drive_takes_what_was_said_before() {
        for system in ["conventional", "ca-ssd", "ca-ssd-inverted", "rr-ssd", "ds-ftl"] {
            let sets = [("nand.channels", "2"), ("nand.chips_per_channel", "1"), ("nand.page_bytes", "512")];
            let sets = sets.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
            let options = CreateOptions { sets, ..CreateOptions::default() };
            let plan = Plan::new(system, 2 << 20, &options).unwrap();
            let medium = FaultMedium::new(plan.medium_bytes() as usize);
            plan.write(&medium).unwrap();
            let geometry = plan.system().geometry().unwrap();
            let said = tables(plan.system(), &geometry, 4096);
            let drive = Drive::open_on(std::sync::Arc::new(medium), &DriveOptions::default()).unwrap();
            for page in 0..4096_u64 {
                let mut bytes = [0; 512];
                bytes[..8].copy_from_slice(&page.to_le_bytes());
                drive.write(page * 512, &bytes, Writing::default(), &()).unwrap();
            }
            let counted = drive.stats().table_bytes;
            // Only the tables that stay are counted; log entries are freed when the drive is open.
            assert!(counted < said.full && said.empty < said.full, "{system}: {counted} bytes, {said:?}");
            assert!(said.full < 4 * counted, "{system}: {counted} bytes, {said:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_figures() {
        let limits = MemoryLimits { address_space_bytes: None, memory_bytes: Some(2_000_000_000) };
        let text = |needed, left| format!("{needed} of {left}");
        assert!(refuse(2_000_000_000, limits, text).is_ok());
        let error = refuse(2_100_000_000, limits, text).unwrap_err().to_string();
        assert_eq!(error, "2.1 GB of 2.0 GB");
        let limits = MemoryLimits { address_space_bytes: Some(1_000_000_000), ..limits };
        assert_eq!(refuse(2_000_000_000, limits, text).unwrap_err().to_string(), "2.0 GB of 1.0 GB");
    }
}
