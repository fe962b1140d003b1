//! Which chip serves a read. One policy a file; one row registers its name.

mod any_chip;
mod home;
mod replicas;

use flashtwin_nand::{Geometry, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blocks::is_page;
use crate::error::FtlError;
use crate::ftl::Ftl;
use crate::op::{LoadView, ReadTarget};

/// Chooses where a read is served, when it arrives.
pub trait Redirection: Send {
    /// `home` is the content's first copy, `replicas` its further ones. Equal loads are
    /// decided for the home copy.
    fn choose(&self, home: Ppn, replicas: &[Ppn], loads: &LoadView<'_>, geometry: &Geometry) -> ReadTarget;

    /// Whether a further copy may be read instead of the first one.
    fn reads_replicas(&self) -> bool {
        false
    }
}

/// Which of the copies is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RedirectionPolicy {
    /// Always the home copy.
    #[default]
    Home,
    /// The copy on the chip with the lowest load (RR-SSD paper III.B).
    Replicas,
    /// Any chip of the device, as if each held everything: the upper bound of read
    /// redirection (RR-SSD paper, Ideal-All-Chip Replication).
    AnyChip,
}

impl RedirectionPolicy {
    /// Builds the policy.
    pub fn build(self) -> Box<dyn Redirection> {
        match self {
            Self::Home => Box::new(home::Home),
            Self::Replicas => Box::new(replicas::Replicas),
            Self::AnyChip => Box::new(any_chip::AnyChip),
        }
    }
}

/// Loads of the chip and of the unit that would serve a page of `plane`, the one that decides first.
#[inline]
pub(crate) fn load_of(plane: u32, loads: &LoadView<'_>, geometry: &Geometry) -> (u32, u32) {
    let chip = loads.chip[(plane / geometry.planes_per_chip()) as usize];
    let unit = unit_load(plane, loads, geometry);
    if loads.units_decide { (unit, chip) } else { (chip, unit) }
}

/// Load of the unit that would serve a page of `plane`.
#[inline]
fn unit_load(plane: u32, loads: &LoadView<'_>, geometry: &Geometry) -> u32 {
    let planes_per_unit = geometry.planes_per_chip() as usize / loads.units_per_chip();
    loads.unit[plane as usize / planes_per_unit]
}

impl Ftl {
    /// Where a logical page would be read now if only the copies that are `there` counted, and the name
    /// of its data; `None` if none is that the redirection may choose. Tables run ahead of the flash:
    /// for a driver that does not read from RAM what is still on its way.
    ///
    /// # Errors
    /// [`FtlError::Broken`] when verification is on and finds the tables wrong.
    pub fn locate_among(
        &self,
        lpn: u32,
        loads: &LoadView<'_>,
        there: &dyn Fn(Ppn) -> bool,
    ) -> Result<Option<(ReadTarget, u64)>, FtlError> {
        let (home, replicas) = self.places_of(lpn);
        if !is_page(home) {
            return Ok(None);
        }
        let replicas: Vec<Ppn> = replicas.iter().copied().filter(|&ppn| there(ppn)).collect();
        let geometry = &self.blocks.geometry;
        let target = match replicas.split_first() {
            Some((&first, others)) if !there(home) && self.redirection.reads_replicas() => {
                ReadTarget { redirected: true, ..self.redirection.choose(first, others, loads, geometry) }
            }
            _ => self.redirection.choose(home, &replicas, loads, geometry),
        };
        if !there(target.ppn) {
            return Ok(None);
        }
        if let Some(checker) = &self.checker {
            checker.host_read(lpn, target.ppn)?;
        }
        Ok(Some((target, self.data_name(lpn, target.ppn))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashtwin_nand::{NandDevice, device_toml};

    #[test]
    fn each_policy_reads_where_it_says() {
        let g = NandDevice::from_toml(device_toml("ds-ftl").unwrap()).unwrap().geometry;
        let page = |chip: u32| g.ppn(chip * g.planes_per_chip(), 0, 0);
        let mut chip = [5; 16];
        chip[7] = 1;
        chip[9] = 2;
        let unit: Vec<u32> = chip.iter().flat_map(|&load| [load, load / 2]).collect();
        let loads = LoadView::new(&chip, &unit);
        let choose = |policy: RedirectionPolicy, replicas: &[Ppn]| {
            policy.build().choose(page(3), replicas, &loads, &g)
        };
        let home = choose(RedirectionPolicy::Home, &[page(9)]);
        assert_eq!((home.ppn, home.redirected), (page(3), false));
        let copy = choose(RedirectionPolicy::Replicas, &[page(4), page(9)]);
        assert_eq!((copy.ppn, copy.redirected), (page(9), true));
        let tie = choose(RedirectionPolicy::Replicas, &[page(4)]);
        assert_eq!((tie.ppn, tie.redirected), (page(3), false), "equal loads stay at home");
        let by_unit = LoadView { units_decide: true, ..loads };
        let copy = RedirectionPolicy::Replicas.build().choose(page(3), &[page(9) + 1], &by_unit, &g);
        assert!(copy.redirected, "2 before 5, whatever the chips");
        let any = choose(RedirectionPolicy::AnyChip, &[]);
        assert_eq!((g.chip_of_plane(any.plane), any.ppn, any.redirected), (7, page(3), true));
    }
}
