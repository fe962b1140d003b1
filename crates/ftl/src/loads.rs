//! The chips' loads as the controller sees them when it decides, and how places are compared by them.

use flashtwin_bits::By;
use flashtwin_nand::{Chip, Geometry, Plane};

use crate::ids::Unit;

/// Loads of chips and of the units within them.
#[derive(Debug, Clone, Copy)]
pub struct LoadView<'a> {
    /// Load of each chip.
    pub chip: By<Chip, &'a [u32]>,
    /// Load of each unit (chip, die or plane, by the engine's concurrency). Units of one chip are neighbours.
    pub unit: By<Unit, &'a [u32]>,
    /// Whether the unit's load decides between places, and not the chip's.
    pub units_decide: bool,
    /// Time of these loads in ns from any origin, never decreasing; 0 without a clock. Predictions decay with it.
    pub now_ns: u64,
}

impl<'a> LoadView<'a> {
    /// Loads of chips, which decide, and of their units, which decide among equals.
    pub fn new(chip: &'a [u32], unit: &'a [u32]) -> Self {
        Self { chip: By::new(chip), unit: By::new(unit), units_decide: false, now_ns: 0 }
    }

    /// The same loads, seen at a time.
    #[inline]
    #[must_use]
    pub fn at(self, now_ns: u64) -> Self {
        Self { now_ns, ..self }
    }

    /// Units in a chip.
    #[inline]
    pub fn units_per_chip(&self) -> usize {
        self.unit.len() / self.chip.len()
    }

    #[inline]
    pub(crate) fn of_units(&self, chip: Chip) -> &'a [u32] {
        let units = self.units_per_chip();
        let first = chip.index() * units;
        let all: &'a [u32] = *self.unit;
        &all[first..first + units]
    }

    /// Loads of the chip and of the unit that would serve a page of `plane`, the one that decides first.
    #[inline]
    pub(crate) fn of_plane(&self, plane: Plane, geometry: &Geometry) -> (u32, u32) {
        let chip = self.chip[geometry.chip_of_plane(plane)];
        let unit = self.of_unit(plane, geometry);
        if self.units_decide { (unit, chip) } else { (chip, unit) }
    }

    #[inline]
    pub(crate) fn of_unit(&self, plane: Plane, geometry: &Geometry) -> u32 {
        let planes_per_unit = geometry.planes_per_chip() as usize / self.units_per_chip();
        self.unit[Unit::new((plane.index() / planes_per_unit) as u32)]
    }
}

/// Index of the smallest value, the first one at or after `start` (cyclically) among equals. An idle one ends the
/// search, so on a device that is not overloaded the first look is the last.
#[inline]
pub(crate) fn lowest_from(values: &[u32], start: usize) -> usize {
    let mut best = start;
    let mut lowest = values[start];
    for at in (start + 1..values.len()).chain(0..start) {
        if lowest == 0 {
            break;
        }
        if values[at] < lowest {
            lowest = values[at];
            best = at;
        }
    }
    best
}
