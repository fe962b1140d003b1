//! Writes without a clock: the write amplification of a drive under a pattern, from any earlier state.

use flashtwin_ftl::{Cause, Content, Ftl, Host, Lpn};
use flashtwin_nand::FlashArray;
use flashtwin_trace::{NO_CONTENT, Progress};

use crate::error::{ConfigError, SimError, stop_if_asked};
use crate::preload::{LOOK_EVERY, Loader};
use crate::resolve::Resolved;

/// A drive to which pages are written one after the other, as fast as the controller decides.
///
/// The controller is a replay's; only the clock and the work in idle time are missing. Pages have no contents.
pub struct Overwriting {
    ftl: Ftl,
    flash: FlashArray,
    resolved: Resolved,
    pages: u32,
}

/// Cost of a lot of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overwritten {
    /// Pages that the host wrote.
    pub host_pages: u64,
    /// Pages programmed for any cause.
    pub programs: u64,
    /// Pages read by collection.
    pub gc_reads: u64,
    /// Blocks erased.
    pub erases: u64,
}

impl Overwriting {
    /// An erased drive of which the host uses `pages` pages.
    ///
    /// # Errors
    /// [`ConfigError`] where the drive has no room for them, or its system looks at contents.
    pub fn new(resolved: &Resolved, pages: u32) -> Result<Self, SimError> {
        let (config, geometry) = (&resolved.config, &resolved.device.geometry);
        let capacity = Ftl::capacity_pages(&config.ftl, geometry);
        if u64::from(pages) > capacity {
            return Err(ConfigError(format!(
                "{pages} pages are to be written, and '{}' holds {capacity}: set nand.blocks_per_plane higher",
                config.device
            ))
            .into());
        }
        if config.ftl.looks_at_contents() {
            return Err(ConfigError(format!(
                "'{}' looks at contents, and pages that are written without a clock have none: choose a system that \
                 does not, such as conventional",
                config.name
            ))
            .into());
        }
        let mut ftl = Ftl::new(&config.ftl, geometry, pages, 0, config.seed);
        ftl.holds_at_most(&config.ftl, pages);
        let flash = FlashArray::new(geometry);
        Ok(Self { ftl, flash, resolved: resolved.clone(), pages })
    }

    /// Writes these pages, in this order.
    ///
    /// # Errors
    /// [`ConfigError`] for a page outside the drive; a controller error; [`SimError::Interrupted`].
    pub fn write(&mut self, lpns: &[u32], progress: &dyn Progress) -> Result<Overwritten, SimError> {
        let before = *self.ftl.counters();
        let mut loader = Loader::new(&mut self.ftl, &mut self.flash, &self.resolved);
        for (at, &lpn) in lpns.iter().enumerate() {
            if at % LOOK_EVERY as usize == 0 {
                stop_if_asked(progress)?;
            }
            if lpn >= self.pages {
                return Err(ConfigError(format!(
                    "page {lpn} is not one of the drive's {} pages",
                    self.pages
                ))
                .into());
            }
            let page =
                Host { lpn: Lpn::new(lpn), address: u64::from(lpn), content: Content::new(NO_CONTENT) };
            loader.write(page)?;
        }
        let now = self.ftl.counters().since(&before);
        Ok(Overwritten {
            host_pages: lpns.len() as u64,
            programs: now.programs.iter().sum(),
            gc_reads: now.reads[Cause::Gc as usize],
            erases: now.erases,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::tests::preset;

    fn small(victim: &str) -> Resolved {
        let sets = [
            ("nand.channels", "1"),
            ("nand.chips_per_channel", "1"),
            ("nand.dies_per_chip", "1"),
            ("nand.planes_per_die", "1"),
            ("nand.blocks_per_plane", "400"),
            ("nand.pages_per_block", "64"),
            ("ftl.gc.victim", victim),
            ("ftl.wear.policy", "none"),
            ("ftl.gc.start", "0.006"),
            ("ftl.gc.stop", "0.006"),
        ];
        preset("conventional", &sets).unwrap()
    }

    /// A + W0(-A e^-A) by iteration: the amplification of FIFO collection with physical by used space `a`.
    fn closed_form(a: f64) -> f64 {
        let valid = (0..200).fold(0.5, |valid: f64, _| (-a * (1.0 - valid)).exp());
        1.0 / (1.0 - valid)
    }

    #[test]
    fn uniform_writes_amplify_as_the_closed_form_says() {
        let resolved = small("fifo");
        let pages = 400 * 64 * 8 / 10;
        let mut drive = Overwriting::new(&resolved, pages).unwrap();
        let all: Vec<u32> = (0..pages).collect();
        drive.write(&all, &()).unwrap();
        let mut rng = flashtwin_ftl::Rng::stream(3, "test");
        let mut random = |times: u32| -> Vec<u32> { (0..times * pages).map(|_| rng.below(pages)).collect() };
        drive.write(&random(4), &()).unwrap();
        let found = drive.write(&random(4), &()).unwrap();
        let amplification = found.programs as f64 / found.host_pages as f64;
        let expected = closed_form(400.0 * 64.0 / f64::from(pages));
        // Blocks that are kept free are not there for data: the drive is a little fuller than it says.
        assert!((amplification / expected - 1.0).abs() < 0.06, "{amplification} {expected}");
        assert_eq!(found.gc_reads + found.host_pages, found.programs);
    }

    #[test]
    fn sequential_writes_do_not_amplify() {
        let resolved = small("greedy");
        let pages = 400 * 64 * 8 / 10;
        let mut drive = Overwriting::new(&resolved, pages).unwrap();
        let all: Vec<u32> = (0..pages).collect();
        for _ in 0..3 {
            let found = drive.write(&all, &()).unwrap();
            assert!(found.programs <= found.host_pages + found.host_pages / 100, "{found:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let resolved = small("greedy");
        assert!(
            Overwriting::new(&resolved, 400 * 64).err().unwrap().to_string().contains("blocks_per_plane")
        );
        let looking = Overwriting::new(&preset("ca-ssd", &[]).unwrap(), 10).err().unwrap();
        assert!(looking.to_string().starts_with("'ca-ssd' looks at contents"), "{looking}");
        let mut drive = Overwriting::new(&resolved, 10).unwrap();
        assert!(drive.write(&[10], &()).unwrap_err().to_string().contains("page 10"));
    }
}
