//! First closed, first collected (also called LRU or cyclic cleaning).
//!
//! Its write amplification under uniform random writes has a closed form with the Lambert
//! W function (Desnoyers, ACM TOS 2014), which makes it the simulator's calibration point.

use std::collections::VecDeque;

use flashtwin_nand::Geometry;

use super::VictimSelection;
use crate::flash::blocks::BlockTable;

pub(super) struct Fifo {
    queues: Vec<VecDeque<u32>>,
    geometry: Geometry,
}

impl Fifo {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self { queues: vec![VecDeque::new(); geometry.planes() as usize], geometry: geometry.clone() }
    }
}

impl VictimSelection for Fifo {
    fn closed(&mut self, block: u32, _valid: u32) {
        self.queues[self.geometry.plane_of_block(block) as usize].push_back(block);
    }

    fn invalidated(&mut self, _block: u32, _valid: u32) {}

    fn withdrawn(&mut self, block: u32, _valid: u32) {
        self.queues[self.geometry.plane_of_block(block) as usize].retain(|&other| other != block);
    }

    fn choose(&mut self, plane: u32, _blocks: &BlockTable) -> Option<u32> {
        self.queues[plane as usize].pop_front()
    }
}
