//! Pages that a controller takes over from another: their state, and the lists that it refuses.

use crate::controller::Controller;
use flashtwin_nand::Ppn;

use super::driver::geometry;
use crate::dedup::TableKind;
use crate::image::PageImage;
use crate::{Content, Ftl, FtlConfig, Host, LoadView, Lpn, Mapping, NO_CONTENT, ReplicationPolicy};

const PAGES: u32 = 6;
const CONTENTS: u32 = 10;
const IDLE: [u32; 1] = [0];

fn controller(config: &FtlConfig) -> Ftl {
    Ftl::new(config, &geometry([1, 1, 1, 1, 12, 8]), PAGES, CONTENTS, 1)
}

fn write(ftl: &mut Ftl, lpn: u32, content: u32) -> Option<Ppn> {
    let page = Host { lpn: Lpn::new(lpn), address: u64::from(lpn), content: Content::new(content) };
    let outcome = ftl.write(page, true, &LoadView::new(&IDLE, &IDLE), &mut Vec::new()).unwrap();
    outcome.program.map(|program| program.0)
}

/// A controller to be told the pages of a drive on which `PAGES` pages were programmed, and their places.
fn restoring(config: &FtlConfig) -> (crate::Restoring, Vec<Ppn>) {
    let mut before = controller(config);
    let places = (0..PAGES).map(|lpn| write(&mut before, lpn, lpn).unwrap()).collect();
    (controller(config).restore(&before.block_images()).unwrap(), places)
}

fn held(lpn: u32, content: u32, home: Ppn) -> PageImage<'static> {
    PageImage { lpn: Lpn::new(lpn), content: Content::new(content), home, replicas: &[] }
}

fn page_map() -> FtlConfig {
    FtlConfig::default()
}

fn content_map() -> FtlConfig {
    FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() }
}

fn inverted_map() -> FtlConfig {
    let mut config = content_map();
    config.dedup.tables = TableKind::Inverted;
    config
}

#[test]
fn unknown_and_repeated_logical_pages_are_refused() {
    for config in [page_map(), content_map(), inverted_map()] {
        for (lpn, words) in [
            (5, "LPN 5 is mapped twice"),
            (6, "there is no LPN 6: the drive has 6"),
            (7, "there is no LPN 7: the drive has 6"),
        ] {
            let (mut to, places) = restoring(&config);
            to.page(held(5, 0, places[0])).unwrap();
            let error = to.page(held(lpn, 1, places[1])).unwrap_err();
            assert_eq!(error.to_string(), words, "{:?}", config.mapping);
            if config.mapping == Mapping::Content {
                let (mut to, places) = restoring(&config);
                to.page(held(5, 0, places[0])).unwrap();
                assert_eq!(to.reference(Lpn::new(lpn), places[0]).unwrap_err().to_string(), words);
            }
        }
    }
}

#[test]
fn what_a_system_does_not_do_is_refused() {
    let (mut to, places) = restoring(&page_map());
    to.page(held(0, 0, places[0])).unwrap();
    let error = to.reference(Lpn::new(1), places[0]).unwrap_err().to_string();
    assert!(error.contains("LPN 1 shares its page with another"), "{error}");
    for config in [page_map(), content_map()] {
        let (mut to, places) = restoring(&config);
        let copied = PageImage { replicas: &places[1..2], ..held(0, 0, places[0]) };
        let error = to.page(copied).unwrap_err().to_string();
        assert!(error.contains("LPN 0 has copies, which"), "{error}");
    }
    let (mut to, places) = restoring(&content_map());
    let error = to.page(held(0, CONTENTS, places[0])).unwrap_err().to_string();
    assert_eq!(error, "LPN 0 holds content 10, and there is none");
    let (mut to, places) = restoring(&inverted_map());
    let copied = PageImage { replicas: &places[1..2], ..held(0, 1, places[0]) };
    for (page, words) in [(held(0, CONTENTS, places[0]), "10 with 0 copies"), (copied, "1 with 1 copies")] {
        assert_eq!(to.page(page).unwrap_err().to_string(), format!("LPN 0 holds content {words}"));
    }
    let error = to.reference(Lpn::new(2), places[3]).unwrap_err().to_string();
    assert_eq!(error, "LPN 2 lies in a page that nobody owns");
    let replicating = {
        let mut config = content_map();
        config.replication.policy = ReplicationPolicy::OnLine;
        config
    };
    let (mut to, places) = restoring(&replicating);
    to.page(PageImage { replicas: &places[1..2], ..held(0, 0, places[0]) }).unwrap();
    let error = to.reference(Lpn::new(1), places[1]).unwrap_err().to_string();
    assert_eq!(error, "LPN 1 lies in a page that is no first copy");
}

#[test]
fn contents_taken_over_are_found_when_they_are_written_again() {
    let (mut to, places) = restoring(&content_map());
    to.page(held(0, 3, places[0])).unwrap();
    // The same content in a page of its own, as where a store had forgotten it: the first is known.
    to.page(held(1, 3, places[1])).unwrap();
    to.page(held(2, CONTENTS - 1, places[2])).unwrap();
    let mut ftl = to.finish().unwrap();
    assert_eq!(ftl.table_sizes().fingerprints, 2);
    assert_eq!((write(&mut ftl, 4, 3), write(&mut ftl, 5, CONTENTS - 1)), (None, None));
    let place = |lpn| ftl.copies_of(Lpn::new(lpn)).map(|copies| copies.0);
    assert_eq!([4, 5, 1, 3].map(place), [Some(places[0]), Some(places[2]), Some(places[1]), None]);
    assert!(write(&mut ftl, 3, 4).is_some(), "nobody holds it");
    ftl.audit().unwrap();
    let (mut to, places) = restoring(&page_map());
    to.page(PageImage { content: NO_CONTENT, ..held(0, 0, places[0]) }).unwrap();
    assert!(write(&mut to.finish().unwrap(), 1, 0).is_some());
}
