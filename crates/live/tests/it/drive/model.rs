//! Against a plain row of bytes, with restarts at any time.

use flashtwin_bits::SplitMix64;
use flashtwin_live::drive::{DriveOptions, Omission};
use flashtwin_live::{Drive, Export};

use crate::drive::scene::{Host, SINGLE, SYSTEMS, Shape, TIGHT, Truth, WIDE, check, open, read_all};

/// Does `steps` operations, opening the drive anew now and then; returns the number of erases.
fn run(system: &str, shape: &Shape, seed: u64, steps: u32, options: &DriveOptions) -> Result<u64, String> {
    let mut bytes = shape.image(system);
    let mut truth = Truth::zeroes(shape);
    let mut host = Host::new(seed);
    let mut restarts = SplitMix64(seed ^ 1);
    let mut erases = 0;
    let mut left = steps;
    while left > 0 {
        let (drive, medium) = open(bytes, options)?;
        if let Some(why) = drive.read_only() {
            return Err(why);
        }
        truth = read_all(&drive, &truth)?;
        let until = left.saturating_sub(1 + (restarts.next() % 400) as u32);
        while left > until {
            left -= 1;
            host.step(&drive, &mut truth)?;
            if left.is_multiple_of(64) {
                drive.audit()?;
            }
        }
        drive.audit()?;
        truth = read_all(&drive, &Truth::of(truth.now, truth.page_bytes))?;
        erases += drive.stats().controller.erases;
        end(drive, restarts.next())?;
        bytes = medium.bytes();
        check(bytes.clone())?;
    }
    Ok(erases)
}

/// Closes a drive, or leaves it with all writes flushed.
fn end(drive: Drive, how: u64) -> Result<(), String> {
    let ended = if how.is_multiple_of(2) { drive.close() } else { drive.flush() };
    ended.map_err(|error| error.to_string())
}

#[test]
fn each_system_reads_as_a_plain_row_of_bytes_would() {
    for (at, system) in SYSTEMS.into_iter().enumerate() {
        for (shape, steps) in [(TIGHT, 2_500), (SINGLE, 1_200), (WIDE, 1_200)] {
            // One chip has no place for copies, one channel none for twins: they are served all the same.
            let erases = run(system, &shape, 100 + at as u64, steps, &DriveOptions::default());
            let erases = erases.unwrap_or_else(|error| panic!("{system} on {shape:?}: {error}"));
            assert!(erases > 20, "{system} on {shape:?}: {erases} erases are no pressure");
        }
    }
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
    let mut truth = Truth::zeroes(&TIGHT);
    let mut host = Host::new(seed);
    let mut bytes = TIGHT.image(system);
    for _ in 0..3 {
        let (drive, medium) = open(bytes, options)?;
        truth = read_all(&drive, &Truth::of(truth.now, truth.page_bytes))?;
        for _ in 0..400 {
            host.step(&drive, &mut truth)?;
        }
        drive.close().map_err(|error| error.to_string())?;
        bytes = medium.bytes();
    }
    Ok(())
}
