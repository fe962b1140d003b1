//! Victim selection compared with a scan over all blocks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::driver::{Driver, Options, Workload};
use crate::BlockTable;
use crate::flash::block_table::BlockState;
use crate::flash::blocks::Blocks;
use crate::flash::victim::{VictimPolicy, VictimSelection};
use flashtwin_nand::{Block, Geometry, Plane};

/// Hands every call on, and compares every choice with the slow way.
#[derive(Clone)]
struct Compared {
    policy: VictimPolicy,
    inner: Box<dyn VictimSelection>,
    geometry: Geometry,
    closed: HashMap<Block, u64>,
    /// When each closed block was closed or lost a page, by blocks closed in its plane.
    changed: HashMap<Block, u64>,
    clock: u64,
    planes: HashMap<Plane, u64>,
    choices: Arc<Mutex<u64>>,
}

flashtwin_bits::state!(Compared { inner } kept { policy, geometry, closed, changed, clock, planes, choices });

impl VictimSelection for Compared {
    fn closed(&mut self, block: Block, valid: u32) {
        self.clock += 1;
        self.closed.insert(block, self.clock);
        let now = self.planes.entry(self.geometry.plane_of_block(block)).or_insert(0);
        *now += 1;
        self.changed.insert(block, *now);
        self.inner.closed(block, valid);
    }

    fn invalidated(&mut self, block: Block, valid: u32) {
        self.changed.insert(block, self.planes[&self.geometry.plane_of_block(block)]);
        self.inner.invalidated(block, valid);
    }

    fn withdrawn(&mut self, block: Block, valid: u32) {
        self.inner.withdrawn(block, valid);
    }

    fn choose(&mut self, plane: Plane, blocks: &BlockTable) -> Option<Block> {
        let found = self.inner.choose(plane, blocks);
        let candidates = (0..self.geometry.blocks_per_plane)
            .map(|block| self.geometry.block_index_of(plane, block))
            .filter(|&block| blocks.state(block) == BlockState::Closed);
        match self.policy {
            VictimPolicy::Greedy => {
                let least = candidates.map(|block| blocks.valid(block)).min();
                assert_eq!(found.map(|block| blocks.valid(block)), least);
            }
            VictimPolicy::Fifo => {
                assert_eq!(found, candidates.min_by_key(|block| self.closed[block]));
            }
            VictimPolicy::CostBenefit => {
                let score = |block: Block| {
                    let share = f64::from(blocks.valid(block)) / f64::from(self.geometry.pages_per_block);
                    let age = (self.planes[&plane] - self.changed[&block] + 1) as f64;
                    if share == 0.0 { f64::INFINITY } else { age * (1.0 - share) / (2.0 * share) }
                };
                let best = candidates.map(score).max_by(f64::total_cmp);
                match (found.map(score), best) {
                    (Some(found), Some(best)) => assert!(found == best || found >= best * (1.0 - 1e-9)),
                    (found, best) => assert_eq!(found, best),
                }
            }
            // A policy without a reference of its own takes one of the blocks, if there is one.
            other => {
                let full = self.geometry.pages_per_block;
                let any = candidates.map(|block| blocks.valid(block)).min();
                assert_eq!(found.is_some(), any.is_some());
                // Of those drawn, a wholly valid one is taken only when all blocks are.
                let draws = matches!(other, VictimPolicy::DChoices | VictimPolicy::Random);
                assert!(!draws || found.is_none_or(|block| blocks.valid(block) < full) || any == Some(full));
            }
        }
        if let Some(block) = found {
            assert_eq!(blocks.state(block), BlockState::Closed);
            *self.choices.lock().unwrap() += 1;
        }
        found
    }
}

#[test]
fn victims_are_those_that_a_scan_finds() {
    for seed in 0..120 {
        let mut options = Options::draw(seed);
        options.config.mapping_cache = crate::MappingCacheConfig::default();
        let mut driver = Driver::new(&options);
        let geometry = driver.geometry().clone();
        let policy = options.config.gc.victim;
        let choices = Arc::new(Mutex::new(0));
        let compared = Compared {
            policy,
            inner: policy.build(options.config.gc.choices, &geometry, seed, &options.config.foreign),
            geometry: geometry.clone(),
            closed: HashMap::new(),
            changed: HashMap::new(),
            clock: 0,
            planes: HashMap::new(),
            choices: Arc::clone(&choices),
        };
        driver.ftl.flash.blocks =
            Blocks::new(&geometry, &options.config.partition, &options.config.wear, Box::new(compared));
        let mut workload = Workload::new(&options);
        for _ in 0..options.steps {
            driver.serve(workload.next()).unwrap();
        }
        driver.ftl.audit().unwrap();
        let counters = driver.ftl.counters();
        let erases = counters.erases - counters.wear.blocks_levelled;
        assert!(*choices.lock().unwrap() >= erases, "seed {seed}");
    }
}
