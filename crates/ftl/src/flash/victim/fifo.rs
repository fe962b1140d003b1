//! First closed, first collected (also called LRU, or cyclic). Its write amplification under uniform random writes has
//! a closed form (Desnoyers, ACM TOS 2014), the simulator's calibration point.

use std::collections::VecDeque;

use flashtwin_bits::By;
use flashtwin_nand::{Block, Geometry, Plane};

use super::VictimSelection;
use crate::flash::block_table::BlockTable;

#[derive(Clone)]
pub(super) struct Fifo {
    queues: By<Plane, Vec<VecDeque<Block>>>,
    geometry: Geometry,
}

impl Fifo {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            queues: By::new(vec![VecDeque::new(); geometry.planes() as usize]),
            geometry: geometry.clone(),
        }
    }
}

impl VictimSelection for Fifo {
    fn closed(&mut self, block: Block, _valid: u32) {
        self.queues[self.geometry.plane_of_block(block)].push_back(block);
    }

    fn invalidated(&mut self, _block: Block, _valid: u32) {}

    fn withdrawn(&mut self, block: Block, _valid: u32) {
        self.queues[self.geometry.plane_of_block(block)].retain(|&other| other != block);
    }

    fn choose(&mut self, plane: Plane, _blocks: &BlockTable) -> Option<Block> {
        self.queues[plane].pop_front()
    }
}

flashtwin_bits::state!(Fifo { queues } kept { geometry });
