//! Which chip serves a read. One policy a file; one row registers its name.

mod any_chip;
mod home;
mod replicas;

use crate::policies::policies;
use flashtwin_nand::{Geometry, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::loads::LoadView;
use crate::op::ReadTarget;

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

/// Which chip serves a read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedirectionConfig {
    /// Which of the copies is read.
    pub policy: RedirectionPolicy,
}

policies! {
    /// Which of the copies is read.
    pub enum RedirectionPolicy;
    pub fn build() -> Box<dyn Redirection>;

    /// Always the home copy.
    #[default]
    Home => Box::new(home::Home);
    /// The copy on the chip with the lowest load (RR-SSD paper III.B).
    Replicas => Box::new(replicas::Replicas);
    /// Any chip of the device, as if each held everything: the upper bound of read
    /// redirection (RR-SSD paper, Ideal-All-Chip Replication).
    AnyChip => Box::new(any_chip::AnyChip);
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashtwin_nand::{Chip, NandDevice, Plane, device_toml};

    #[test]
    fn each_policy_reads_where_it_says() {
        let g = NandDevice::from_toml(device_toml("ds-ftl").unwrap()).unwrap().geometry;
        let plane = |chip: u32| Plane::new(chip * g.planes_per_chip());
        let page = |chip| g.ppn(plane(chip), 0, 0);
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
        let copy = RedirectionPolicy::Replicas.build().choose(
            page(3),
            &[g.ppn(Plane::new(plane(9).number() + 1), 0, 0)],
            &by_unit,
            &g,
        );
        assert!(copy.redirected, "2 before 5, whatever the chips");
        let any = choose(RedirectionPolicy::AnyChip, &[]);
        assert_eq!((g.chip_of_plane(any.plane), any.ppn, any.redirected), (Chip::new(7), page(3), true));
    }
}
