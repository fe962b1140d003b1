use super::*;
use crate::flash::victim::VictimPolicy;
use crate::tests::geometry;

#[test]
fn each_count_that_is_not_that_of_the_owners_is_noticed() {
    let (plane, block) = (Plane::new(0), Block::new(0));
    let noticed = |damage: &dyn Fn(&mut Blocks), words: &str| {
        let geometry = geometry([1, 1, 1, 1, 6, 4]);
        let victims = VictimPolicy::Fifo.build(1, &geometry, 1, &Default::default());
        let mut blocks = Blocks::new(&geometry, &PartitionConfig::default(), &WearConfig::default(), victims);
        (0..2).for_each(|_| assert!(blocks.program(plane, Stream::host(0), Owner::new(7)).is_some()));
        blocks.audit().unwrap();
        damage(&mut blocks);
        let error = blocks.audit().unwrap_err();
        assert!(error.contains(words), "{error:?}, expected {words}");
    };
    noticed(&|blocks| blocks.table.words[block] -= 1, "counts 1 valid pages, 2 have owners");
    noticed(&|blocks| blocks.table.words[block] -= 1 << 16, "a page beyond the write pointer 1 is owned");
    noticed(&|blocks| blocks.planes[plane].fresh = 2, "lists 4 free blocks, 5 are erased");
    noticed(&|blocks| blocks.planes[plane].valid_pages += 1, "counts 3 valid pages, 2 have owners");
}
