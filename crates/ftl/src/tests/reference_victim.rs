//! Victim selection compared with a scan over all blocks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::driver::{Driver, Options, Step, Workload};
use crate::BlockTable;
use crate::blocks::{Blocks, State};
use crate::victim::{VictimPolicy, VictimSelection};
use flashtwin_nand::Geometry;

/// Hands every call on, and compares every choice with the slow way.
struct Compared {
    policy: VictimPolicy,
    inner: Box<dyn VictimSelection>,
    geometry: Geometry,
    /// When each closed block was closed.
    closed: HashMap<u32, u64>,
    clock: u64,
    choices: Arc<Mutex<u64>>,
}

impl VictimSelection for Compared {
    fn closed(&mut self, block: u32, valid: u32) {
        self.clock += 1;
        self.closed.insert(block, self.clock);
        self.inner.closed(block, valid);
    }

    fn invalidated(&mut self, block: u32, valid: u32) {
        self.inner.invalidated(block, valid);
    }

    fn choose(&mut self, plane: u32, blocks: &BlockTable) -> Option<u32> {
        let found = self.inner.choose(plane, blocks);
        let candidates = (0..self.geometry.blocks_per_plane)
            .map(|block| self.geometry.block_index_of(plane, block))
            .filter(|&block| blocks.state(block) == State::Closed);
        match self.policy {
            VictimPolicy::Greedy => {
                let least = candidates.map(|block| blocks.valid(block)).min();
                assert_eq!(found.map(|block| blocks.valid(block)), least);
            }
            VictimPolicy::Fifo => {
                assert_eq!(found, candidates.min_by_key(|block| self.closed[block]));
            }
        }
        if let Some(block) = found {
            assert_eq!(blocks.state(block), State::Closed);
            *self.choices.lock().unwrap() += 1;
        }
        found
    }
}

#[test]
fn victims_are_those_that_a_scan_finds() {
    for seed in 0..120 {
        let options = Options::draw(seed);
        let mut driver = Driver::new(&options);
        let geometry = driver.ftl.blocks.geometry.clone();
        let policy = options.config.gc.victim;
        let choices = Arc::new(Mutex::new(0));
        let compared = Compared {
            policy,
            inner: policy.build(&geometry),
            geometry: geometry.clone(),
            closed: HashMap::new(),
            clock: 0,
            choices: Arc::clone(&choices),
        };
        driver.ftl.blocks = Blocks::new(&geometry, Box::new(compared));
        let mut workload = Workload::new(&options);
        for _ in 0..options.steps {
            match workload.next() {
                Step::Write { lpn, content, partial } => drop(driver.write(lpn, content, partial).unwrap()),
                Step::Read { lpn } => drop(driver.read(lpn).unwrap()),
                Step::Trim { lpn } => driver.ftl.trim(lpn),
                Step::EndPeriod => driver.end_period().unwrap(),
            }
        }
        driver.ftl.audit().unwrap();
        let erases = driver.ftl.counters().erases;
        assert!(*choices.lock().unwrap() >= erases, "seed {seed}");
    }
}
