//! How long the replication phase takes (RR-SSD paper, Table I).

use flashtwin_ftl::{FlashOp, OpKind};
use flashtwin_nand::NandDevice;

/// Duration of the same copies, one after another and with all chips at work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PhaseTime {
    pub(crate) serial_ns: u64,
    /// The work of the busiest die or channel, because no order is faster, and with many copies one comes close.
    pub(crate) parallel_ns: u64,
}

pub(crate) fn phase_time(ops: &[FlashOp], device: &NandDevice) -> PhaseTime {
    let g = &device.geometry;
    let t = &device.timing;
    let mut dies = vec![0u64; g.dies() as usize];
    let mut channels = vec![0u64; g.channels as usize];
    let mut serial_ns = 0;
    for op in ops {
        let plane = g.plane(op.ppn);
        let (array_ns, data_ns) = match op.kind {
            OpKind::Read => (t.read_ns, t.transfer_ns),
            OpKind::Program => (t.program_ns, t.transfer_ns),
            OpKind::Erase => (t.erase_ns, 0),
        };
        let bus_ns = t.command_ns + data_ns;
        // A die's register is in use while its data travel.
        dies[(plane.number() / g.planes_per_die) as usize] += bus_ns + array_ns;
        channels[g.channel_of_chip(g.chip_of_plane(plane)).index()] += bus_ns;
        serial_ns += bus_ns + array_ns;
    }
    let parallel_ns = dies.into_iter().chain(channels).max().unwrap_or(0);
    PhaseTime { serial_ns, parallel_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashtwin_ftl::{Cause, NO_JOB};
    use flashtwin_nand::{NO_PPN, Plane, device_toml};

    #[test]
    fn copies_between_chips_overlap_but_not_on_one_die() {
        let device = NandDevice::from_toml(device_toml("rr-ssd").unwrap()).unwrap();
        let g = &device.geometry;
        let copy = |from: u32, to: u32, page: u32| {
            let place = |chip: u32| g.ppn(Plane::new(chip * g.planes_per_chip()), 0, page);
            let op = |kind, ppn| FlashOp {
                kind,
                ppn,
                source: NO_PPN,
                cause: Cause::Replica,
                urgent: false,
                job: NO_JOB,
            };
            [op(OpKind::Read, place(from)), op(OpKind::Program, place(to))]
        };
        // 200 ns of command, 75 us or 400 us, 8,525 ns of data.
        let (read, program) = (200 + 75_000 + 8_525, 200 + 400_000 + 8_525);
        let spread = phase_time(&[copy(0, 1, 0), copy(2, 3, 0)].concat(), &device);
        assert_eq!(spread, PhaseTime { serial_ns: 2 * (read + program), parallel_ns: program });
        let crowded = phase_time(&[copy(0, 1, 0), copy(2, 1, 1)].concat(), &device);
        assert_eq!(crowded, PhaseTime { serial_ns: 2 * (read + program), parallel_ns: 2 * program });
        assert_eq!(phase_time(&[], &device), PhaseTime::default());
        // A slow channel is busier than any die.
        let mut slow = device.clone();
        slow.timing.transfer_ns = 1_000_000;
        let chips = [0, g.chips() - 1].map(|chip| g.channel_of_chip(flashtwin_nand::Chip::new(chip)));
        assert!(chips[0] != chips[1]);
        let on_first: Vec<u32> = (0..g.chips())
            .filter(|&chip| g.channel_of_chip(flashtwin_nand::Chip::new(chip)) == chips[0])
            .take(3)
            .collect();
        let reads: Vec<FlashOp> = on_first.iter().map(|&chip| copy(chip, chip, 0)[0]).collect();
        let time = phase_time(&reads, &slow);
        assert_eq!(time, PhaseTime { serial_ns: 3 * (1_000_200 + 75_000), parallel_ns: 3 * 1_000_200 });
    }
}
