//! How long the replication phase takes (RR-SSD paper, Table I).

use flashtwin_ftl::{FlashOp, OpKind};
use flashtwin_nand::NandDevice;

/// Duration of the same copies, one after another and with all chips at work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PhaseTime {
    /// One operation at a time.
    pub(crate) serial_ns: u64,
    /// Every die and every channel at work, each operation as soon as its die and channel
    /// are free, a program not before its data has been read.
    pub(crate) parallel_ns: u64,
}

/// Times the operations of one replication phase on a device that does nothing else.
pub(crate) fn phase_time(ops: &[FlashOp], device: &NandDevice) -> PhaseTime {
    let g = &device.geometry;
    let t = &device.timing;
    let mut dies = vec![0u64; g.dies() as usize];
    let mut channels = vec![0u64; g.channels as usize];
    let (mut serial_ns, mut data_ready) = (0, 0);
    for op in ops {
        let plane = g.plane(op.ppn);
        let die = (plane / g.planes_per_die) as usize;
        let channel = g.channel_of_chip(g.chip_of_plane(plane)) as usize;
        match op.kind {
            OpKind::Read => {
                let sensed = dies[die].max(channels[channel]) + t.command_ns + t.read_ns;
                let done = sensed.max(channels[channel]) + t.transfer_ns;
                (dies[die], channels[channel], data_ready) = (done, done, done);
                serial_ns += t.command_ns + t.read_ns + t.transfer_ns;
            }
            OpKind::Program => {
                let sent = dies[die].max(channels[channel]).max(data_ready) + t.command_ns + t.transfer_ns;
                channels[channel] = sent;
                dies[die] = sent + t.program_ns;
                serial_ns += t.command_ns + t.transfer_ns + t.program_ns;
            }
            OpKind::Erase => {
                dies[die] += t.command_ns + t.erase_ns;
                serial_ns += t.command_ns + t.erase_ns;
            }
        }
    }
    PhaseTime { serial_ns, parallel_ns: dies.into_iter().max().unwrap_or(0) }
}
