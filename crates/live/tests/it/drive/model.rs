//! Against a plain row of bytes, with restarts at any time.

use flashtwin_bits::SplitMix64;
use flashtwin_live::drive::{DriveOptions, Omission};
use flashtwin_live::{Drive, Export};

use crate::drive::oracle::{Client, Oracle};
use crate::drive::scene::{SINGLE, SYSTEMS, Shape, TIGHT, WIDE, check, open};

/// Does `steps` operations, opening the drive anew now and then; returns the number of erases.
fn run(system: &str, shape: &Shape, seed: u64, steps: u32) -> Result<u64, String> {
    let mut bytes = shape.image(system);
    let mut oracle = Oracle::zeroes(shape);
    let mut client = Client::new(seed);
    let mut restarts = SplitMix64(seed ^ 1);
    let mut erases = 0;
    let mut left = steps;
    while left > 0 {
        let (drive, medium) = open(bytes, &DriveOptions::default())?;
        if let Some(why) = drive.read_only() {
            return Err(why);
        }
        oracle.opened(&drive)?;
        let mut session = left.min(1 + (restarts.next() % 400) as u32);
        left -= session;
        while session > 0 {
            let some = session.min(64);
            client.steps(&drive, &mut oracle, some)?;
            drive.audit()?;
            session -= some;
        }
        oracle.read_all(&drive)?;
        erases += drive.stats().controller.erases;
        end(drive, restarts.next(), &mut oracle)?;
        bytes = medium.bytes();
        check(bytes.clone())?;
    }
    Ok(erases)
}

fn end(drive: Drive, how: u64, oracle: &mut Oracle) -> Result<(), String> {
    let ended = if how.is_multiple_of(2) { drive.close() } else { drive.flush() };
    oracle.flushed();
    ended.map_err(|error| error.to_string())
}

fn each_system(seed: u64, steps: [u32; 3]) {
    for (at, system) in SYSTEMS.into_iter().enumerate() {
        for (shape, steps) in [TIGHT, SINGLE, WIDE].into_iter().zip(steps) {
            // One chip has no place for copies, one channel none for spread duplicates: they are served all the same.
            let erases = run(system, &shape, seed + at as u64, steps);
            let erases = erases.unwrap_or_else(|error| panic!("{system} on {shape:?}: {error}"));
            assert!(erases > 5, "{system} on {shape:?}: {erases} erases are no pressure");
        }
    }
}

#[test]
fn each_system_reads_as_a_plain_row_of_bytes_would() {
    each_system(100, [900, 500, 1_200]);
}

#[test]
#[ignore = "a minute"]
fn each_system_reads_as_a_plain_row_of_bytes_would_for_long() {
    each_system(crate::common::seed() + 1000, [2_500, 1_200, 1_200]);
}

#[test]
fn pages_whose_digests_collide_keep_their_bytes() {
    let collide = DriveOptions { omission: Some(Omission::Collision), ..DriveOptions::default() };
    let trusting = DriveOptions { compare_duplicates: false, ..collide.clone() };
    for system in ["ca-ssd", "ca-ssd-inverted", "caftl", "rr-ssd", "ds-ftl"] {
        for seed in 0..3 {
            // An outside check does not know the planted digests: only the drive is asked.
            let kept = plain(system, seed, &collide);
            kept.unwrap_or_else(|error| panic!("{system}: {error}"));
        }
        let lost = (0..3).find_map(|seed| plain(system, seed, &trusting).err());
        assert!(
            lost.is_some() || system == "ds-ftl",
            "{system} took different pages for equal and nobody saw"
        );
    }
}

fn plain(system: &str, seed: u64, options: &DriveOptions) -> Result<(), String> {
    let mut oracle = Oracle::zeroes(&TIGHT);
    let mut client = Client::new(seed);
    let mut bytes = TIGHT.image(system);
    for _ in 0..3 {
        let (drive, medium) = open(bytes, options)?;
        oracle.opened(&drive)?;
        client.steps(&drive, &mut oracle, 400)?;
        oracle.flushed();
        drive.close().map_err(|error| error.to_string())?;
        bytes = medium.bytes();
    }
    Ok(())
}
