//! Retired blocks: the controller goes on with the others, as long as they can hold its data.

use std::collections::BTreeMap;

use flashtwin_nand::{Block, Plane};

use super::restored::{CONTENTS, PAGES, configs, geometry, restored, work};
use crate::Ftl;
use crate::controller::Controller;
use crate::image::BlockUse;
use crate::rng::Rng;

fn retired(ftl: &Ftl) -> BTreeMap<Block, u32> {
    let images = ftl.block_images();
    let retired = images.iter().filter(|image| image.used == BlockUse::Retired);
    retired.map(|image| (image.block, image.erases)).collect()
}

#[test]
fn a_controller_goes_on_without_the_blocks_it_retired() {
    let geometry = geometry();
    for (at, config) in configs().into_iter().enumerate() {
        let mut rng = Rng::stream(at as u64, "retired");
        let mut ftl = Ftl::new(&config, &geometry, PAGES, CONTENTS, 1);
        let mut before = BTreeMap::new();
        for _ in 0..40 {
            work(&mut ftl, &mut rng, 100, config.looks_at_contents());
            for _ in 0..1 + rng.below(3) {
                let plane = Plane::new(rng.below(geometry.planes()));
                ftl.retire(geometry.block_index_of(plane, rng.below(9)), PAGES.into());
            }
            // Copying collects, so blocks are retired between two copies.
            ftl.end_period(&mut Vec::new()).unwrap();
            work(&mut ftl, &mut rng, 100, config.looks_at_contents());
            ftl.audit().unwrap();
            let now = retired(&ftl);
            assert_eq!(ftl.retired_blocks(), now.len() as u64);
            for (block, erases) in &before {
                assert_eq!(now.get(block), Some(erases), "config {at}: block {block} was used again");
                assert!(ftl.is_retired(*block));
            }
            before = now;
            let next = restored(&config, &geometry, &ftl, &ftl.block_images()).unwrap();
            assert_eq!(retired(&next), before, "config {at}");
            next.audit().unwrap();
            ftl = next;
        }
        // 4 planes hold 24 pages of data each, together one less than 96: 60 must go in.
        assert!((3..=8).contains(&before.len()), "config {at}: {before:?}");
    }
}

#[test]
fn erased_block_is_retired_at_once_others_at_their_erase() {
    let geometry = geometry();
    let mut ftl = Ftl::new(&configs()[0], &geometry, PAGES, CONTENTS, 1);
    work(&mut ftl, &mut Rng::stream(1, "retired"), 2_000, false);
    let find = |ftl: &Ftl, used: BlockUse| {
        let images = ftl.block_images();
        images.iter().find(|image| image.used == used).map(|image| image.block).unwrap()
    };
    let free = find(&ftl, BlockUse::Free);
    ftl.retire(free, PAGES.into());
    assert!(ftl.is_retired(free));
    let closed = find(&ftl, BlockUse::Closed);
    ftl.retire(closed, PAGES.into());
    assert!(!ftl.is_retired(closed) && ftl.retired_blocks() == 1);
    work(&mut ftl, &mut Rng::stream(2, "retired"), 2_000, false);
    assert!(ftl.is_retired(closed) && ftl.retired_blocks() == 2);
    // Nobody can do without more blocks than the pages leave over.
    let full = geometry.pages();
    ftl.retire(find(&ftl, BlockUse::Free), full);
    work(&mut ftl, &mut Rng::stream(3, "retired"), 2_000, false);
    assert_eq!(ftl.retired_blocks(), 2);
}
