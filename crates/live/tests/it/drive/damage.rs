//! Images are not trusted: damage is detected, or harmless.

use std::sync::Arc;

use flashtwin_bits::SplitMix64;
use flashtwin_live::Drive;
use flashtwin_live::drive::DriveOptions;
use flashtwin_live::store::fault::{Call, FaultMedium};

use crate::common::{counted, seed};
use crate::drive::oracle::{Client, Oracle};
use crate::drive::scene::{Shape, TIGHT, open};

fn used(system: &str, shape: &Shape, seed: u64) -> (Vec<u8>, Oracle) {
    let (drive, medium) = open(shape.image(system), &DriveOptions::default()).unwrap();
    let mut oracle = Oracle::zeroes(shape);
    Client::new(seed).steps(&drive, &mut oracle, 300).unwrap();
    oracle.flush(&drive).unwrap();
    (medium.bytes(), oracle)
}

fn epoch_of(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap())
}

fn find(bytes: &[u8], magic: &[u8]) -> Vec<(u64, usize)> {
    let places = (0..bytes.len() / 4096).map(|at| at * 4096).filter(|&at| bytes[at..].starts_with(magic));
    let mut found: Vec<(u64, usize)> = places.map(|at| (epoch_of(bytes, at), at)).collect();
    found.sort_unstable();
    found
}

/// Batches of the log behind the newest checkpoint, each with where its two copies are.
fn batches(bytes: &[u8]) -> Vec<[usize; 2]> {
    let newest = find(bytes, b"FTWCHECK").last().unwrap().0;
    let all = find(bytes, b"FTWBATCH").into_iter().filter(|&(epoch, _)| epoch == newest);
    let places: Vec<usize> = all.map(|(_, at)| at).collect();
    let (first, second) = places.split_at(places.len() / 2);
    first.iter().zip(second).map(|(&first, &second)| [first, second]).collect()
}

/// The non-zero parts of an image, without one copy of the last batch of the log: alone it looks torn by a cut.
fn written(bytes: &[u8]) -> Vec<usize> {
    let last = batches(bytes).last().map_or(0..0, |&[_, at]| {
        let length = u32::from_le_bytes(bytes[at + 32..at + 36].try_into().unwrap());
        at..at + (64 + length as usize).next_multiple_of(4096)
    });
    let places = bytes.iter().enumerate().filter(|(at, byte)| **byte != 0 && !last.contains(at));
    places.map(|(at, _)| at).collect()
}

fn mutate(bytes: &mut Vec<u8>, places: &[usize], random: &mut SplitMix64) {
    let mut below = |limit: usize| (random.next() % limit as u64) as usize;
    for _ in 0..1 + below(3) {
        let at = places[below(places.len())];
        if at >= bytes.len() / 512 * 512 {
            continue;
        }
        let sector = at / 512 * 512;
        match below(7) {
            0 => bytes[at] ^= 1 << below(8),
            1 => bytes[at] = below(256) as u8,
            2 => {
                let length = 4.min(bytes.len() - at);
                bytes[at..at + length].fill(0xff);
            }
            3 => bytes[sector..sector + 512].fill(0),
            4 => (sector..sector + 512).for_each(|at| bytes[at] = below(256) as u8),
            5 => {
                let other = places[below(places.len())].min(at) / 512 * 512;
                let copy = bytes[other..other + 512].to_vec();
                bytes[sector..sector + 512].copy_from_slice(&copy);
            }
            _ if below(4) == 0 => bytes.truncate(at),
            _ => bytes[at] = bytes[at].wrapping_add(1),
        }
    }
}

/// Each page reads as it should or is an error, unless the drive could not be opened at all; whether all is whole.
fn opened_right(bytes: Vec<u8>, oracle: &Oracle, read_only: bool) -> Result<bool, String> {
    let options = DriveOptions { read_only, ..DriveOptions::default() };
    let Ok((drive, _)) = open(bytes, &options) else { return Ok(false) };
    Ok(oracle.clone().read_all(&drive)? == 0)
}

fn damage_is_told(seed: u64, rounds: u64) {
    for (at, system) in
        ["conventional", "ca-ssd", "ca-ssd-inverted", "rr-ssd", "ds-ftl"].into_iter().enumerate()
    {
        let (bytes, oracle) = used(system, &TIGHT, 40 + seed + at as u64);
        let places = written(&bytes);
        // As often the tables as the data, which take more room.
        let (tables, data) = places.split_at(places.partition_point(|&at| at < 1 << 20));
        let mut random = SplitMix64(seed + at as u64);
        let (mut whole, mut told) = (0, 0);
        for round in 0..rounds {
            let mut damaged = bytes.clone();
            mutate(&mut damaged, if round % 2 == 0 { tables } else { data }, &mut random);
            let _ = Drive::check_on(Arc::new(FaultMedium::of(damaged.clone())), true);
            let _ = Drive::info_on(&FaultMedium::of(damaged.clone()));
            match opened_right(damaged, &oracle, round % 4 < 2) {
                Ok(true) => whole += 1,
                Ok(false) => told += 1,
                Err(error) => panic!("{system}, seed {seed}, round {round}: {error}"),
            }
        }
        counted(rounds as usize, "damaged images");
        assert!(
            whole > rounds / 20 && told > rounds / 20,
            "{system}: {whole} did not matter, {told} were told"
        );
    }
}

#[test]
fn damage_is_detected_or_does_not_matter() {
    damage_is_told(0, 140);
}

#[test]
#[ignore = "minutes"]
fn much_damage_is_detected_or_does_not_matter() {
    (seed()..seed() + 40).for_each(|seed| damage_is_told(seed, 400));
}

#[test]
fn page_with_a_damaged_place_is_read_from_a_copy() {
    let (bytes, oracle) = used("rr-ssd", &TIGHT, 7);
    let (mut copies, mut served) = (0, 0);
    for page in (1 << 20..bytes.len()).step_by(TIGHT.page_bytes as usize).filter(|&at| bytes[at] != 0) {
        let mut damaged = bytes.clone();
        damaged[page] ^= 1;
        let report = Drive::check_on(Arc::new(FaultMedium::of(damaged.clone())), true).unwrap();
        // A drive that makes no new copies meanwhile.
        let options = DriveOptions { read_only: true, ..DriveOptions::default() };
        let (drive, _) = open(damaged, &options).unwrap();
        let errors = oracle.clone().read_all(&drive).unwrap() as u64;
        assert_eq!(errors, report.unreadable_pages, "byte {page}: {:?}", report.problems);
        served += u64::from(report.notes.iter().any(|note| note.ends_with("another copy is whole")));
        copies = drive.stats().replica_pages;
    }
    // Each copy, and what it is one of.
    assert!(copies > 0 && served > copies, "{served} pages served, {copies} copies");
}

#[test]
fn damaged_checkpoint_is_replaced_by_the_last_one_and_the_log() {
    let (bytes, oracle) = used("ca-ssd", &TIGHT, 3);
    let (epoch, newest) = *find(&bytes, b"FTWCHECK").last().unwrap();
    assert!(epoch > 1, "there must be one before");
    let mut damaged = bytes.clone();
    damaged[newest + 4096 + 40] ^= 1;
    assert_eq!(opened_right(damaged.clone(), &oracle, true), Ok(true));
    let (drive, medium) = open(damaged, &DriveOptions::default()).unwrap();
    assert_eq!(drive.notes().len(), 2, "{:?}", drive.notes());
    drop(drive);
    let (drive, _) = open(medium.bytes(), &DriveOptions::default()).unwrap();
    assert!(drive.notes().is_empty(), "it has written another: {:?}", drive.notes());
}

#[test]
fn a_hole_in_the_log_is_no_torn_end() {
    let images = (8..40).map(|seed| used("conventional", &TIGHT, seed));
    let (bytes, oracle) = images.into_iter().find(|(bytes, _)| batches(bytes).len() > 1).unwrap();
    let newest = batches(&bytes);
    let damaged = |places: &[usize]| {
        let mut damaged = bytes.clone();
        places.iter().for_each(|at| damaged[at + 70] ^= 1);
        damaged
    };
    let error = open(damaged(&newest[0]), &DriveOptions::default()).err().unwrap();
    assert!(error.contains("log of epoch") && error.contains("no torn end"), "{error}");
    // Only the last batch may have been torn: its records are forgotten.
    let (drive, _) = open(damaged(newest.last().unwrap()), &DriveOptions::default()).unwrap();
    assert!(drive.notes()[0].contains("no copy of the last batch is whole"), "{:?}", drive.notes());
    // Of each batch one copy is enough.
    for copy in [0, 1] {
        let every: Vec<usize> = newest.iter().map(|batch| batch[copy]).collect();
        let damaged = damaged(&every);
        assert_eq!(opened_right(damaged.clone(), &oracle, copy == 0), Ok(true));
        let (drive, _) = open(damaged, &DriveOptions::default()).unwrap();
        assert_eq!(drive.notes().len(), newest.len(), "{:?}", drive.notes());
        assert!(drive.notes()[0].contains("one of the two copies is not whole"), "{:?}", drive.notes());
    }
    assert_eq!(opened_right(bytes.clone(), &oracle, false), Ok(true));
}

fn opened_unread(bytes: &[u8], places: Vec<usize>) -> Result<Drive, String> {
    let medium = Arc::new(FaultMedium::of(bytes.to_vec()));
    medium.fail_when(1, move |call| {
        let fails = matches!(call, Call::Read(offset) if places.contains(&(offset as usize)));
        fails.then_some(std::io::ErrorKind::Other)
    });
    let options = DriveOptions { read_only: true, ..DriveOptions::default() };
    Drive::open_on(medium, &options).map_err(|error| error.to_string())
}

#[test]
fn unreadable_tables_are_read_from_their_other_copy() {
    let (bytes, oracle) = used("ca-ssd", &TIGHT, 3);
    let places: Vec<usize> = find(&bytes, b"FTWCHECK").into_iter().map(|(_, at)| at).collect();
    let newest = *places.last().unwrap();
    for unread in [0, 64 << 10, newest, newest + 4096] {
        let drive = opened_unread(&bytes, vec![unread]).unwrap();
        assert!(!drive.notes().is_empty(), "byte {unread}");
        assert_eq!(oracle.clone().read_all(&drive), Ok(0), "byte {unread}");
    }
    for unread in [vec![0, 64 << 10], places] {
        let error = opened_unread(&bytes, unread).err().unwrap();
        assert!(error.contains("fails, as the test wants"), "{error}");
    }
}

#[test]
fn unreadable_log_is_read_from_its_other_copy() {
    let (bytes, oracle) = used("ca-ssd", &TIGHT, 12);
    let newest = batches(&bytes);
    for (copies, opens) in [(vec![0], true), (vec![1], true), (vec![0, 1], false)] {
        let opened = opened_unread(&bytes, copies.iter().map(|&copy| newest.last().unwrap()[copy]).collect());
        assert_eq!(opened.is_ok(), opens, "copies {copies:?}");
        let Ok(drive) = opened else { continue };
        assert_eq!(oracle.clone().read_all(&drive), Ok(0));
    }
}

#[test]
fn other_versions_and_other_files_are_refused_with_the_cure() {
    let bytes = TIGHT.image("conventional");
    let error_of = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut damaged = bytes.clone();
        change(&mut damaged);
        open(damaged, &DriveOptions::default()).err().unwrap()
    };
    let version = error_of(&|bytes| {
        bytes[8] = 3;
        bytes[(64 << 10) + 8] = 3;
    });
    assert!(version.contains("format 3, this program knows 2"), "{version}");
    let other = error_of(&|bytes| bytes[..128 << 10].fill(7));
    assert!(other.contains("not a drive of flashtwin"), "{other}");
    let short = error_of(&|bytes| bytes.truncate(900_000));
    assert!(short.contains("cut off"), "{short}");
    let tables = error_of(&|bytes| bytes[128 << 10..(128 << 10) + 8192].fill(0));
    assert!(tables.contains("checkpoints: neither of the two is whole"), "{tables}");
}
