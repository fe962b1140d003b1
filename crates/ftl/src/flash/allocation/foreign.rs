//! A policy from outside, which sees the loads of the chips.

use flashtwin_nand::{Geometry, Plane};

use super::Allocation;
use crate::foreign::{Foreign, ForeignName, Rule};
use crate::loads::LoadView;

#[derive(Clone)]
pub(super) struct ForeignAllocation {
    rule: Rule,
    planes: i64,
}

impl ForeignAllocation {
    pub(super) fn new(name: ForeignName, foreign: &Foreign, geometry: &Geometry) -> Self {
        let rule = foreign.rule("allocation", name, &[geometry.chips() as usize]);
        Self { rule, planes: i64::from(geometry.planes()) }
    }
}

impl Allocation for ForeignAllocation {
    fn plane(&mut self, address: u64, loads: &LoadView<'_>) -> Plane {
        self.rule.fill(loads.chip.iter().map(|&load| [i64::from(load)]));
        let planes = self.planes;
        let is_plane = |answer| (0..planes).contains(&answer);
        let expected = "a plane of the drive, from 0 to one less than `drive.planes`";
        // After a failure the run ends soon, wherever the page lies.
        Plane::new(self.rule.answer(address as i64, expected, is_plane).unwrap_or_default() as u32)
    }

    fn wants_address(&self) -> bool {
        true
    }
}

flashtwin_bits::state!(ForeignAllocation { rule } kept { planes });
