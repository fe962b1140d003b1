//! How loaded chips and units are, as allocation and redirection see it.

use flashtwin_bits::By;
use flashtwin_ftl::{LoadView, Unit};
use flashtwin_nand::Chip;

use super::suspension::Suspension;
use super::unit::UnitState;
use crate::config::LoadMeasure;

/// Waits are given in units of 64 ns, so that the longest fits into 32 bits (4.6 minutes).
const WAIT_SHIFT: u32 = 6;

#[derive(Clone)]
pub(super) struct Loads {
    measure: LoadMeasure,
    chip_queue: By<Chip, Vec<u32>>,
    unit_queue: By<Unit, Vec<u32>>,
    chip_reads: By<Chip, Vec<u32>>,
    unit_reads: By<Unit, Vec<u32>>,
    chip_wait: Vec<u32>,
    unit_wait: Vec<u32>,
    read_ns: u64,
}

impl Loads {
    pub(super) fn new(measure: LoadMeasure, chips: usize, units: usize, read_ns: u64) -> Self {
        let when = |wanted: bool, count: usize| vec![0; if wanted { count } else { 0 }];
        let (reads, waits) = (measure != LoadMeasure::QueueLength, measure == LoadMeasure::ExpectedWait);
        Self {
            measure,
            chip_queue: By::new(vec![0; chips]),
            unit_queue: By::new(vec![0; units]),
            chip_reads: By::new(when(reads, chips)),
            unit_reads: By::new(when(reads, units)),
            chip_wait: when(waits, chips),
            unit_wait: when(waits, units),
            read_ns,
        }
    }

    pub(super) fn chips(&self) -> usize {
        self.chip_queue.len()
    }

    #[inline]
    pub(super) fn queue_length(&self, chip: Chip) -> u32 {
        self.chip_queue[chip]
    }

    pub(super) fn queue_lengths(&self) -> &By<Chip, Vec<u32>> {
        &self.chip_queue
    }

    #[inline]
    pub(super) fn up(&mut self, unit: Unit, chip: Chip, read: bool) {
        self.chip_queue[chip] += 1;
        self.unit_queue[unit] += 1;
        if read && self.measure != LoadMeasure::QueueLength {
            self.chip_reads[chip] += 1;
            self.unit_reads[unit] += 1;
        }
    }

    #[inline]
    pub(super) fn down(&mut self, unit: Unit, chip: Chip, read: bool) {
        self.chip_queue[chip] -= 1;
        self.unit_queue[unit] -= 1;
        if read && self.measure != LoadMeasure::QueueLength {
            self.chip_reads[chip] -= 1;
            self.unit_reads[unit] -= 1;
        }
    }

    #[inline]
    pub(super) fn view(&mut self, units: &[UnitState], suspension: &Suspension, now_ns: u64) -> LoadView<'_> {
        let view = match self.measure {
            LoadMeasure::QueueLength => LoadView::new(&self.chip_queue, &self.unit_queue),
            LoadMeasure::ReadsWaiting => LoadView::new(&self.chip_reads, &self.unit_reads),
            LoadMeasure::ExpectedWait => {
                self.expect(units, suspension, now_ns);
                let waits = LoadView::new(&self.chip_wait, &self.unit_wait);
                LoadView { units_decide: true, ..waits }
            }
        };
        view.at(now_ns)
    }

    /// The rest of the operation in service, and the reads already waiting. A chip is as good as its best unit.
    fn expect(&mut self, units: &[UnitState], suspension: &Suspension, now_ns: u64) {
        let waits = self.unit_wait.iter_mut().zip(units).zip(&*self.unit_reads);
        for ((wait, unit), &reads) in waits {
            let (rest_ns, waiting) = match unit.in_service() {
                Some(read) => (suspension.wait_ns(unit, now_ns), reads - u32::from(read)),
                None => (0, reads),
            };
            let wait_ns = rest_ns + u64::from(waiting) * self.read_ns;
            *wait = ((wait_ns + (1 << WAIT_SHIFT) - 1) >> WAIT_SHIFT).min(u64::from(u32::MAX)) as u32;
        }
        let per_chip = self.unit_wait.len() / self.chip_wait.len();
        if per_chip == 1 {
            return self.chip_wait.copy_from_slice(&self.unit_wait);
        }
        for (chip, units) in self.chip_wait.iter_mut().zip(self.unit_wait.chunks(per_chip)) {
            *chip = units.iter().copied().min().unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::unit::Stage;
    use super::*;
    use crate::config::{EngineConfig, Suspend};
    use flashtwin_nand::Channel;

    /// Two chips of two dies; the first die of chip 0 erases, those of chip 1 serve a few reads.
    fn scene(measure: LoadMeasure) -> (Loads, Vec<UnitState>) {
        let mut units: Vec<UnitState> =
            (0..4).map(|unit| UnitState::new(Chip::new(unit / 2), Channel::new(0))).collect();
        (units[0].stage, units[0].busy_until_ns) = (Stage::Busy, 3_800_000);
        (units[2].stage, units[2].busy_until_ns, units[2].reading) = (Stage::Sensing, 70_000, true);
        let mut loads = Loads::new(measure, 2, 4, 83_000);
        loads.up(Unit::new(0), Chip::new(0), false);
        (0..3).for_each(|_| loads.up(Unit::new(2), Chip::new(1), true));
        loads.up(Unit::new(3), Chip::new(1), true);
        (loads, units)
    }

    fn none() -> Suspension {
        Suspension::new(&EngineConfig::default(), 1)
    }

    #[test]
    fn each_measure_counts_what_it_says() {
        let (mut loads, units) = scene(LoadMeasure::QueueLength);
        let view = loads.view(&units, &none(), 10_000);
        assert_eq!((*view.chip, *view.unit, view.units_decide), (&[1, 4][..], &[1, 0, 3, 1][..], false));
        let (mut loads, units) = scene(LoadMeasure::ReadsWaiting);
        let view = loads.view(&units, &none(), 10_000);
        assert_eq!((*view.chip, *view.unit), (&[0, 4][..], &[0, 0, 3, 1][..]));
    }

    #[test]
    fn expected_wait_is_the_rest_of_service_and_reads_ahead() {
        let (mut loads, units) = scene(LoadMeasure::ExpectedWait);
        let view = loads.view(&units, &none(), 10_000);
        let waits = [3_790_000, 0, 60_000 + 2 * 83_000, 83_000].map(|ns: u32| ns.div_ceil(64));
        assert_eq!(*view.unit, waits);
        assert_eq!(*view.chip, [0, waits[3]], "a chip is as good as its best die");
        assert!(view.units_decide);
        // Late by a wait for the channel: the expected time is over.
        assert_eq!(loads.view(&units, &none(), 5_000_000).unit[Unit::new(0)], 0);
    }

    #[test]
    fn what_leaves_is_no_load() {
        let (mut loads, units) = scene(LoadMeasure::ExpectedWait);
        loads.down(Unit::new(3), Chip::new(1), true);
        assert_eq!(loads.view(&units, &none(), 10_000).unit[Unit::new(3)], 0);
        assert_eq!(*loads.chip_queue, [1, 3]);
        let (mut loads, units) = scene(LoadMeasure::ReadsWaiting);
        loads.down(Unit::new(3), Chip::new(1), true);
        let view = loads.view(&units, &none(), 10_000);
        assert_eq!((*view.chip, *view.unit), (&[0, 3][..], &[0, 0, 3, 0][..]));
    }

    #[test]
    fn what_can_be_stopped_is_waited_for_no_longer_than_that_takes() {
        let (mut loads, mut units) = scene(LoadMeasure::ExpectedWait);
        units[0].suspendable = true;
        let config = EngineConfig { suspend: Suspend::Erase, suspend_us: 20.0, ..EngineConfig::default() };
        let suspension = Suspension::new(&config, 1);
        assert_eq!(loads.view(&units, &suspension, 10_000).unit[Unit::new(0)], 20_000u32.div_ceil(64));
        assert_eq!(loads.view(&units, &suspension, 3_799_936).unit[Unit::new(0)], 1);
    }
}
