//! A policy from outside, which sees the blocks of the plane as a table. What changes is kept here.

use flashtwin_bits::By;
use flashtwin_nand::{Block, Geometry, Plane};

use super::VictimSelection;
use crate::flash::block_table::BlockTable;
use crate::foreign::{Foreign, ForeignName, Rule};

const NOT_CLOSED: u64 = 0;

#[derive(Clone)]
pub(super) struct ForeignVictim {
    rule: Rule,
    geometry: Geometry,
    /// The number of each block's closing in its plane, from 1.
    closed: By<Block, Vec<u64>>,
    /// The number of each block's last change since its plane first looked for a victim; 0 before.
    changed: By<Block, Vec<u64>>,
    /// How many blocks the plane had closed at the last change.
    closings_at: By<Block, Vec<u64>>,
    closings: By<Plane, Vec<u64>>,
    changes: By<Plane, Vec<u64>>,
    armed: By<Plane, Vec<bool>>,
}

impl ForeignVictim {
    pub(super) fn new(name: ForeignName, foreign: &Foreign, geometry: &Geometry) -> Self {
        let (blocks, planes) = (geometry.block_index_len(), geometry.planes() as usize);
        Self {
            rule: foreign.rule("victim", name, &[geometry.blocks_per_plane as usize; 5]),
            geometry: geometry.clone(),
            closed: By::new(vec![NOT_CLOSED; blocks]),
            changed: By::new(vec![0; blocks]),
            closings_at: By::new(vec![0; blocks]),
            closings: By::new(vec![0; planes]),
            changes: By::new(vec![0; planes]),
            armed: By::new(vec![false; planes]),
        }
    }

    #[inline]
    fn change(&mut self, plane: Plane, block: Block) {
        self.closings_at[block] = self.closings[plane];
        self.changes[plane] += u64::from(self.armed[plane]);
        self.changed[block] = self.changes[plane];
    }
}

impl VictimSelection for ForeignVictim {
    fn closed(&mut self, block: Block, _valid: u32) {
        let plane = self.geometry.plane_of_block(block);
        self.closings[plane] += 1;
        self.closed[block] = self.closings[plane];
        self.change(plane, block);
    }

    #[inline]
    fn invalidated(&mut self, block: Block, _valid: u32) {
        self.change(self.geometry.plane_of_block(block), block);
    }

    fn withdrawn(&mut self, block: Block, _valid: u32) {
        self.closed[block] = NOT_CLOSED;
    }

    fn choose(&mut self, plane: Plane, blocks: &BlockTable) -> Option<Block> {
        self.armed[plane] = true;
        let Self { rule, geometry, closed, changed, closings_at, closings, .. } = self;
        let of = |block| geometry.block_index_of(plane, block);
        if (0..geometry.blocks_per_plane).all(|block| closed[of(block)] == NOT_CLOSED) {
            return None;
        }
        rule.fill((0..geometry.blocks_per_plane).map(of).map(|block| {
            let (valid, erases) = (i64::from(blocks.valid(block)), i64::from(blocks.erases(block)));
            // + 1: also the block that was closed last has an age.
            let age = closings[plane] - closings_at[block] + 1;
            [valid, erases, closed[block] as i64, changed[block] as i64, age as i64]
        }));
        let count = i64::from(geometry.blocks_per_plane);
        let is_closed = |answer| (0..count).contains(&answer) && closed[of(answer as u32)] != NOT_CLOSED;
        let expected = "a block whose `closed` is not 0, or -1 for none";
        let victim = of(rule.choice(plane.index() as i64, expected, is_closed)? as u32);
        self.closed[victim] = NOT_CLOSED;
        Some(victim)
    }
}

flashtwin_bits::state!(ForeignVictim { rule, closed, changed, closings_at, closings, changes, armed } kept { geometry });
