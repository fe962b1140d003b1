use std::sync::Arc;

use flashtwin_bits::SplitMix64;
use flashtwin_live::drive::{CheckReport, DriveOptions, Omission};
use flashtwin_live::store::fault::{Call, FaultMedium};
use flashtwin_live::{Drive, Export, Writing};

use crate::common::seed;
use crate::drive::oracle::{Client, Oracle, page_of};
use crate::drive::scene::{SYSTEMS, Shape, TIGHT, WIDE, open};

/// Where the data of these drives begin: at a multiple of 1 MiB, the first behind their tables.
const DATA_AT: u64 = 1 << 20;

fn report(bytes: Vec<u8>) -> Result<CheckReport, String> {
    Drive::check_on(Arc::new(FaultMedium::of(bytes)), true).map_err(|error| error.to_string())
}

#[derive(Debug)]
struct Outcome {
    damaged: u64,
    errors: u64,
    lost: u64,
    retired: u64,
    repaired: u64,
}

/// Every write must succeed and every read be right or an error. Once all pages were written again there are no errors.
fn goes_on(
    system: &str,
    shape: Shape,
    seed: u64,
    damaged_pages: u64,
    options: &DriveOptions,
) -> Result<Outcome, String> {
    let mut oracle = Oracle::zeroes(&shape);
    let mut client = Client::new(seed);
    let mut random = SplitMix64(seed ^ 0xda);
    let (drive, medium) = open(shape.image(system), &DriveOptions::default())?;
    client.steps(&drive, &mut oracle, 300)?;
    drive.flush().map_err(|error| error.to_string())?;
    drop(drive);
    let bytes = medium.bytes();
    let pages = (bytes.len() as u64 - DATA_AT) / u64::from(shape.page_bytes);
    let damage = |medium: &FaultMedium, random: &mut SplitMix64| {
        // Now and then neighbours, which share a block.
        let run = if random.next().is_multiple_of(3) { 4 } else { 1 };
        let first = random.next() % pages;
        for page in first..(first + run).min(pages) {
            let within = random.next() % u64::from(shape.page_bytes);
            medium.damage(DATA_AT + page * u64::from(shape.page_bytes) + within, |byte| *byte ^= 0x5a);
        }
    };
    let medium = Arc::new(FaultMedium::of(bytes));
    (0..damaged_pages).for_each(|_| damage(&medium, &mut random));
    let drive = Drive::open_on(medium.clone(), options).map_err(|error| error.to_string())?;
    // The damage may hit a flushed page, which then reads as an error and cannot be partly written.
    for step in 0..900 {
        if step % 200 == 199 {
            damage(&medium, &mut random);
        }
        let _ = client.step(&drive, &mut oracle)?;
        if let Some(why) = drive.read_only() {
            return Err(format!("it stopped: {why}"));
        }
    }
    drive.audit()?;
    oracle.read_all(&drive)?;
    drive.flush().map_err(|error| error.to_string())?;
    let (stats, errors) = (drive.stats(), oracle.errors);
    let bytes = medium.bytes();
    let report = report(bytes.clone())?;
    if report.retired_blocks != stats.retired_blocks {
        return Err(format!(
            "{} retired blocks are known of {}",
            report.retired_blocks, stats.retired_blocks
        ));
    }
    let (again, medium) = open(bytes, &DriveOptions::default())?;
    // Copies that had given way may be back, and some of them may be lost.
    let as_known = again.stats().lost_pages == stats.lost_pages || again.stats().replica_pages > 0;
    if !as_known || again.stats().retired_blocks != stats.retired_blocks {
        return Err(format!("{:?} after {stats:?}", again.stats()));
    }
    let unreadable = oracle.read_all(&again)? as u64;
    if unreadable != report.unreadable_pages {
        return Err(format!("{unreadable} pages cannot be read, {} are told", report.unreadable_pages));
    }
    let told: u64 = report.unreadable.iter().map(|run| run.length_bytes / u64::from(shape.page_bytes)).sum();
    if told != unreadable {
        return Err(format!("{unreadable} pages cannot be read, {told} are listed"));
    }
    oracle.write_all(&again, seed)?;
    match oracle.read_all(&again)? {
        0 if again.stats().lost_pages == 0 => {}
        left => {
            return Err(format!("{left} pages cannot be read after all were written: {:?}", again.stats()));
        }
    }
    again.close().map_err(|error| error.to_string())?;
    let report = self::report(medium.bytes())?;
    if let Some(problem) = report.problems.iter().find(|problem| problem.contains("cannot be read")) {
        return Err(format!("after all was written: {problem}"));
    }
    Ok(Outcome {
        damaged: stats.store.damaged_pages,
        errors,
        lost: stats.lost_pages,
        retired: stats.retired_blocks,
        repaired: stats.store.repaired_pages,
    })
}

fn everything(seeds: std::ops::Range<u64>) {
    let mut all = Vec::new();
    for system in SYSTEMS {
        for shape in [TIGHT, WIDE] {
            for seed in seeds.clone() {
                let outcome = goes_on(system, shape, seed, 1 + seed % 12, &DriveOptions::default());
                all.push(
                    outcome.unwrap_or_else(|error| panic!("{system} on {shape:?}, seed {seed}: {error}")),
                );
            }
        }
    }
    let sum = |of: fn(&Outcome) -> u64| all.iter().map(of).sum::<u64>();
    assert!(sum(|it| it.damaged) > 50 && sum(|it| it.errors) > 50, "{all:?}");
    assert!(sum(|it| it.lost) > 5 && sum(|it| it.retired) > 0, "{all:?}");
    assert!(sum(|it| it.repaired) > 0, "{all:?}: copies are there to be read");
}

#[test]
fn a_damaged_page_costs_itself_and_the_drive_goes_on() {
    everything(0..3);
}

#[test]
#[ignore = "a minute"]
fn many_damaged_pages_cost_themselves_and_the_drive_goes_on() {
    everything(seed()..seed() + 100);
}

/// The tests themselves: a page that is moved as if it could be read is found out.
#[test]
fn damaged_data_that_are_moved_as_whole_are_noticed() {
    let options = DriveOptions { omission: Some(Omission::LostAsWhole), ..DriveOptions::default() };
    for system in SYSTEMS {
        let wrong = (0..60).find_map(|seed| goes_on(system, TIGHT, seed, 8, &options).err());
        assert!(wrong.is_some_and(|error| error.contains("WRONG")), "{system}: nobody saw");
    }
}

/// Fills a drive with a different content in each page, so that the damaged page is known.
fn filled(system: &str) -> (Vec<u8>, u64) {
    let (drive, medium) = open(TIGHT.image(system), &DriveOptions::default()).unwrap();
    let page_bytes = u64::from(TIGHT.page_bytes);
    for page in 0..u64::from(TIGHT.logical) {
        drive.write(page * page_bytes, &page_of(page, page_bytes as usize), Writing::default(), &()).unwrap();
    }
    drive.close().unwrap();
    let bytes = medium.bytes();
    let wanted = page_of(5, page_bytes as usize);
    let place = (DATA_AT as usize..bytes.len()).step_by(page_bytes as usize);
    let at = place.clone().find(|&at| bytes[at..at + page_bytes as usize] == wanted).unwrap();
    (bytes, at as u64)
}

#[test]
fn check_lists_what_of_the_drive_cannot_be_read() {
    let (mut bytes, at) = filled("conventional");
    bytes[at as usize + 7] ^= 1;
    let found = report(bytes.clone()).unwrap();
    assert_eq!(found.unreadable_pages, 1);
    let expected = "bytes 5120 to 6143 of the drive cannot be read until they are written or trimmed";
    assert!(found.problems[0].contains(expected), "{:?}", found.problems);
    assert!(found.problems[0].contains(&format!("byte {at} of the medium")), "{:?}", found.problems);
    let (drive, medium) = open(bytes, &DriveOptions::default()).unwrap();
    let mut page = vec![1; 1024];
    assert_eq!(drive.read(5120, &mut page, &()).unwrap_err().kind(), std::io::ErrorKind::InvalidData);
    assert!(drive.write(5632, &[1; 512], Writing::default(), &()).is_err(), "what would the rest be?");
    assert_eq!(drive.read_only(), None);
    drive.trim(5120, 1024, Writing::default(), &()).unwrap();
    drive.read(5120, &mut page, &()).unwrap();
    assert_eq!(page, [0; 1024]);
    drive.close().unwrap();
    assert_eq!(report(medium.bytes()).unwrap().problems, [""; 0]);
}

#[test]
fn a_content_whose_page_is_damaged_is_written_anew() {
    for system in ["ca-ssd", "ca-ssd-inverted", "caftl", "rr-ssd"] {
        let (mut bytes, at) = filled(system);
        bytes[at as usize] ^= 1;
        let (drive, medium) = open(bytes, &DriveOptions::default()).unwrap();
        let content = page_of(5, 1024);
        drive.write(30 * 1024, &content, Writing::default(), &()).unwrap();
        let mut page = vec![1; 1024];
        drive.read(30 * 1024, &mut page, &()).unwrap();
        assert_eq!(page, content, "{system}");
        assert!(drive.read(5120, &mut page, &()).is_err());
        assert_eq!(drive.stats().store.collisions, 0, "{system}");
        drive.flush().unwrap();
        let (drive, _) = open(medium.bytes(), &DriveOptions::default()).unwrap();
        drive.read(30 * 1024, &mut page, &()).unwrap();
        assert_eq!(page, content, "{system}");
    }
}

#[test]
fn a_page_that_is_read_at_the_second_try_is_not_lost() {
    let (bytes, _) = filled("conventional");
    let (drive, medium) = open(bytes, &DriveOptions::default()).unwrap();
    let mut calls = 0;
    medium.fail_when(1, move |call| {
        calls += u32::from(matches!(call, Call::Read(_)));
        (matches!(call, Call::Read(_)) && calls % 2 == 1).then_some(std::io::ErrorKind::Other)
    });
    let mut client = Client::new(3);
    let mut oracle = Oracle::zeroes(&TIGHT);
    oracle.write_all(&drive, 9).unwrap();
    for _ in 0..600 {
        let _ = client.step(&drive, &mut oracle).unwrap();
    }
    let store = drive.stats().store;
    assert_eq!((store.damaged_pages, drive.stats().lost_pages), (0, 0));
    assert!(drive.stats().controller.erases > 20);
}
