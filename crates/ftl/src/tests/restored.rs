//! A controller rebuilt from the flash contents of another one works correctly.

use crate::controller::Controller;
use flashtwin_nand::Geometry;

use crate::config::FtlConfig;
use crate::ids::{Content, Lpn, NO_CONTENT};
use crate::image::{BlockUse, PageImage};
use crate::loads::LoadView;
use crate::op::{Host, NO_JOB};
use crate::replication::ReplicationPolicy;
use crate::rng::Rng;
use crate::{BlockImage, Ftl, Mapping};

pub(super) const PAGES: u32 = 60;
pub(super) const CONTENTS: u32 = 300;

pub(super) fn geometry() -> Geometry {
    super::driver::geometry([2, 2, 1, 1, 9, 4])
}

pub(super) fn configs() -> Vec<FtlConfig> {
    let mut page = FtlConfig::default();
    page.gc.victim = crate::victim::VictimPolicy::Fifo;
    page.gc.step_pages = 1;
    let content = FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() };
    let mut inverted = content.clone();
    inverted.dedup.tables = crate::dedup::TableKind::Inverted;
    let mut spreading = FtlConfig::default();
    spreading.spread.policy = crate::spread::SpreadPolicy::Duplicates;
    let replicating = ReplicationPolicy::ALL.into_iter().map(|policy| {
        let mut config = content.clone();
        (config.replication.policy, config.replication.alpha) = (policy, 0.5);
        config
    });
    [page, inverted, spreading].into_iter().chain(replicating).collect()
}

pub(super) fn work(ftl: &mut Ftl, rng: &mut Rng, steps: u32, aware: bool) {
    let idle = [0; 4];
    let loads = LoadView::new(&idle, &idle);
    let mut ops = Vec::new();
    for step in 0..steps {
        let lpn = Lpn::new(rng.below(PAGES));
        if step % 50 == 49 {
            ftl.end_period(&mut ops).unwrap();
        }
        match rng.below(8) {
            0 => ftl.trim(lpn),
            1..4 => {
                ftl.read(lpn, &loads).unwrap();
            }
            _ => {
                let content = if aware { Content::new(rng.below(CONTENTS)) } else { NO_CONTENT };
                let page = Host { lpn, address: u64::from(lpn.number()), content };
                ftl.write(page, true, &loads, &mut ops).unwrap();
            }
        }
        ftl.begin_jobs(&mut ops).unwrap();
        let mut at = 0;
        while at < ops.len() {
            let job = ops[at].job;
            at += 1;
            if job != NO_JOB {
                ftl.job_done(job, &loads, &mut ops).unwrap();
            }
        }
        ops.clear();
    }
}

/// Rebuilds a controller from what a drive would have kept: blocks, and each page with its copies and content.
pub(super) fn restored(
    config: &FtlConfig,
    geometry: &Geometry,
    from: &Ftl,
    blocks: &[BlockImage],
) -> Result<Ftl, String> {
    let told = |error: crate::RestoreError| error.to_string();
    let mut to = Ftl::new(config, geometry, PAGES, CONTENTS, 1).restore(blocks).map_err(told)?;
    let mut seen = Vec::new();
    for lpn in Lpn::each(0..PAGES) {
        let Some((home, replicas)) = from.copies_of(lpn) else { continue };
        if seen.contains(&home) {
            to.reference(lpn, home).map_err(told)?;
            continue;
        }
        seen.push(home);
        let content = if config.looks_at_contents() { Content::new(seen.len() as u32) } else { NO_CONTENT };
        to.page(PageImage { lpn, content, home, replicas }).map_err(told)?;
    }
    to.finish().map_err(told)
}

fn assert_valid_and_open(ftl: &Ftl) {
    let geometry = ftl.flash.geometry();
    let copies: std::collections::HashSet<_> = Lpn::each(0..PAGES)
        .filter_map(|lpn| ftl.copies_of(lpn))
        .flat_map(|(home, replicas)| replicas.iter().copied().chain([home]))
        .collect();
    let images = ftl.block_images();
    for image in &images {
        let pages = (0..geometry.pages_per_block).map(|page| geometry.page_of_block(image.block, page));
        pages.for_each(|ppn| assert_eq!(ftl.is_valid(ppn), copies.contains(&ppn), "{ppn}"));
    }
    let open = |image: &BlockImage| match image.used {
        BlockUse::Open(kind) => Some((image.block, kind)),
        _ => None,
    };
    let mut listed: Vec<_> = images.iter().filter_map(open).collect();
    let mut found: Vec<_> = geometry.all_planes().flat_map(|plane| ftl.open_blocks(plane)).collect();
    listed.sort_by_key(|entry| entry.0);
    found.sort_by_key(|entry| entry.0);
    assert_eq!(found, listed);
}

#[test]
fn a_controller_goes_on_where_another_left_off() {
    let geometry = geometry();
    for (at, config) in configs().into_iter().enumerate() {
        config.check(&geometry).unwrap();
        let mut rng = Rng::stream(at as u64, "restored");
        let mut ftl = Ftl::new(&config, &geometry, PAGES, CONTENTS, 1);
        let mut collected = 0;
        for round in 0..20 {
            work(&mut ftl, &mut rng, 100 + round, config.looks_at_contents());
            let blocks = ftl.block_images();
            collected +=
                blocks.iter().filter(|image| matches!(image.used, BlockUse::Collected { .. })).count();
            let next = restored(&config, &geometry, &ftl, &blocks).unwrap();
            next.audit().unwrap();
            let sorted = |mut images: Vec<BlockImage>| {
                images.sort_by_key(|image| image.block);
                images
            };
            assert_eq!(sorted(next.block_images()), sorted(blocks), "config {at}");
            for lpn in Lpn::each(0..PAGES) {
                let copies = ftl.copies_of(lpn);
                assert_eq!(next.copies_of(lpn), copies, "config {at}");
                assert_eq!(next.home_of(lpn), copies.map(|(home, _)| home));
            }
            let sizes = [&next, &ftl].map(Ftl::table_sizes);
            assert_eq!(sizes[0].fingerprints, sizes[1].fingerprints, "config {at}");
            assert_eq!(next.chip_erases(), ftl.chip_erases(), "config {at}");
            assert_valid_and_open(&next);
            ftl = next;
        }
        assert!(ftl.wear().iter().any(|&(erases, _)| erases > 3), "config {at}: no pressure");
        assert!(collected > 0 || at > 0, "config {at}: no block was ever left half collected");
    }
}

#[test]
fn what_contradicts_itself_is_refused() {
    let geometry = geometry();
    let config = FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() };
    let mut ftl = Ftl::new(&config, &geometry, PAGES, CONTENTS, 1);
    work(&mut ftl, &mut Rng::stream(1, "restored"), 500, true);
    let blocks = ftl.block_images();
    let refused = |change: &dyn Fn(&mut Vec<BlockImage>), words: &str| {
        let mut wrong = blocks.clone();
        change(&mut wrong);
        let error = restored(&config, &geometry, &ftl, &wrong).err().unwrap_or_default();
        assert!(error.contains(words), "{error:?}, expected {words}");
    };
    refused(&|blocks| blocks.extend_from_within(..1), "listed twice");
    refused(&|blocks| blocks[0].written = 9, "pages written");
    refused(&|blocks| blocks[0].block = flashtwin_nand::Block::new(1 << 20), "there is no block");
    refused(&|blocks| blocks.retain(|image| image.used != BlockUse::Closed), "is not programmed");
    let open = |image: &BlockImage| matches!(image.used, BlockUse::Open(_));
    let kind = blocks.iter().find(|image| open(image)).unwrap().used;
    refused(
        &|blocks| {
            let closed = blocks.iter_mut().filter(|image| !open(image) && image.written == 4);
            closed.for_each(|image| (image.used, image.written) = (kind, 3));
        },
        "second open block",
    );
}

#[test]
fn partitions_and_tables_on_flash_are_not_restored() {
    let geometry = geometry();
    let refused = |config: &FtlConfig| {
        let restoring = Ftl::new(config, &geometry, PAGES, CONTENTS, 1).restore(&[]);
        restoring.err().map(|error| error.to_string())
    };
    assert_eq!(refused(&FtlConfig::default()), None);
    let mut partitioned = FtlConfig::default();
    partitioned.partition.policy = crate::PartitionPolicy::Offline;
    let mut paging = FtlConfig::default();
    paging.mapping_cache.checkpoint_s = 1.0;
    for config in [partitioned, paging] {
        let error = refused(&config).unwrap();
        assert!(error.contains("cannot be restored"), "{error}");
    }
}
