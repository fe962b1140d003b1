//! Writes of the medium that fail: tried again, then elsewhere, and the drive goes on. Only a disk that is bad
//! everywhere, or full, ends writing.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::sync::Arc;

use flashtwin_bits::SplitMix64;
use flashtwin_live::drive::{DriveOptions, DriveStats};
use flashtwin_live::store::fault::{Call, FaultMedium};
use flashtwin_live::{Drive, Export, Writing};

use crate::common::seed;
use crate::drive::oracle::{Client, Oracle};
use crate::drive::scene::{SYSTEMS, Shape, TIGHT, WIDE, check};

/// Where the data of these drives begin.
const DATA_AT: u64 = 1 << 20;

/// Sessions of a client on a medium of which some calls fail; none of its requests may.
fn goes_on(
    system: &str,
    shape: Shape,
    seed: u64,
    fails: impl Fn(u64) -> Box<dyn FnMut(Call) -> bool + Send>,
) -> Result<Vec<DriveStats>, String> {
    let mut bytes = shape.image(system);
    let mut oracle = Oracle::zeroes(&shape);
    let mut found = Vec::new();
    for session in 0..4 {
        let medium = Arc::new(FaultMedium::of(bytes));
        let mut fails = fails(session);
        medium.fail_when(seed, move |call| fails(call).then_some(ErrorKind::Other));
        let drive = Drive::open_on(medium.clone(), &DriveOptions::default());
        let drive = drive.map_err(|error| error.to_string())?;
        oracle.opened(&drive)?;
        let mut client = Client::new(seed << 8 | session);
        for _ in 0..500 {
            client.step(&drive, &mut oracle)?.map_err(|error| format!("session {session}: {error}"))?;
        }
        drive.audit()?;
        if oracle.read_all(&drive)? > 0 || drive.read_only().is_some() {
            return Err(format!("{:?}, {:?}", drive.stats().store, drive.read_only()));
        }
        found.push(drive.stats());
        let ended = if session == 1 { drive.close() } else { drive.flush() };
        ended.map_err(|error| error.to_string())?;
        oracle.flushed();
        bytes = if session.is_multiple_of(2) { medium.bytes() } else { medium.after_cut(seed) };
        check(bytes.clone())?;
    }
    Ok(found)
}

#[test]
fn a_write_that_fails_once_is_tried_again() {
    for system in SYSTEMS {
        let every_third = |_| -> Box<dyn FnMut(Call) -> bool + Send> {
            let mut writes = 0;
            Box::new(move |call| {
                writes += u32::from(matches!(call, Call::Write(_)));
                matches!(call, Call::Write(_)) && writes % 3 == 1
            })
        };
        let found =
            goes_on(system, TIGHT, 5, every_third).unwrap_or_else(|error| panic!("{system}: {error}"));
        let all = |it: &DriveStats| it.store.retried_writes > 50 && it.store.replaced_pages == 0;
        assert!(found.iter().all(all), "{system}: {found:?}");
    }
}

fn bad_places(seeds: std::ops::Range<u64>) {
    let (mut replaced, mut retired) = (0, 0);
    for (system, seed) in SYSTEMS.into_iter().flat_map(|system| seeds.clone().map(move |seed| (system, seed)))
    {
        let shape = if seed.is_multiple_of(2) { WIDE } else { TIGHT };
        let mut random = SplitMix64(seed);
        let pages = shape.levels.iter().product::<u32>() * shape.blocks * shape.pages;
        let mut page = || DATA_AT + random.next() % u64::from(pages) * u64::from(shape.page_bytes);
        let bad: Arc<HashSet<u64>> = Arc::new((0..=seed % 5).map(|_| page()).collect());
        let fails = |session| -> Box<dyn FnMut(Call) -> bool + Send> {
            let bad = Arc::clone(&bad);
            // The last disk is whole again.
            Box::new(move |call| session < 3 && matches!(call, Call::Write(at) if bad.contains(&at)))
        };
        let found = goes_on(system, shape, seed, fails)
            .unwrap_or_else(|error| panic!("{system} on {shape:?}, seed {seed}: {error}"));
        replaced += found.iter().map(|it| it.store.replaced_pages).sum::<u64>();
        retired += found[3].retired_blocks;
    }
    assert!(replaced > 20 && retired > 2, "{replaced} pages lie elsewhere, {retired} blocks are retired");
}

#[test]
fn a_page_whose_place_is_bad_lies_elsewhere_and_its_block_is_retired() {
    bad_places(0..4);
}

#[test]
#[ignore = "a minute"]
fn many_bad_places_cost_nothing() {
    bad_places(seed()..seed() + 100);
}

#[test]
fn a_disk_that_is_bad_everywhere_ends_writing_with_the_cure() {
    let medium = Arc::new(FaultMedium::of(WIDE.image("conventional")));
    let drive = Drive::open_on(medium.clone(), &DriveOptions::default()).unwrap();
    drive.write(0, &[1; 8192], Writing::default(), &()).unwrap();
    medium.fail_when(1, |call| matches!(call, Call::Write(_)).then_some(ErrorKind::Other));
    let error = drive.write(4096, &[2; 4096], Writing::default(), &()).unwrap_err();
    let text = drive.read_only().unwrap();
    for said in ["no good place is left", "copy the image to another disk"] {
        assert!(text.contains(said) && error.to_string().contains(said), "{text}, {error}");
    }
    let mut page = [0; 4096];
    drive.read(0, &mut page, &()).unwrap();
    assert_eq!(page, [1; 4096]);
}
