//! Power cuts: nothing acknowledged is lost, nothing is invented, and the drive goes on.

use flashtwin_live::drive::{DriveOptions, Omission};
use flashtwin_live::{Drive, Export};

use crate::drive::scene::{Host, SINGLE, SYSTEMS, Shape, TIGHT, Truth, WIDE, check, open, read_all};

/// A run that loses power at a step.
struct Run {
    shape: Shape,
    seed: u64,
    operations: u32,
    omission: Option<Omission>,
}

impl Run {
    fn options(&self) -> DriveOptions {
        DriveOptions { omission: self.omission, ..DriveOptions::default() }
    }

    /// Runs until the power fails at a step; returns the medium, and the allowed data. `None` if
    /// the power lasted.
    fn until(&self, image: &[u8], step: u64) -> Result<Option<(Vec<u8>, Truth)>, String> {
        let medium = std::sync::Arc::new(flashtwin_live::store::fault::FaultMedium::of(image.to_vec()));
        medium.cut_after(step);
        let mut truth = Truth::zeroes(&self.shape);
        let drive = Drive::open_on(medium.clone(), &self.options()).map_err(|error| error.to_string());
        if let Ok(drive) = drive {
            let mut host = Host::new(self.seed);
            for _ in 0..self.operations {
                match host.step(&drive, &mut truth) {
                    Ok(()) => {}
                    Err(error) if medium.is_cut() && !error.starts_with("WRONG") => break,
                    Err(error) => return Err(error),
                }
            }
        }
        let cut = medium.is_cut();
        Ok(cut.then(|| (medium.after_cut(self.seed ^ step << 8), truth)))
    }

    /// Steps of the run without a cut.
    fn steps(&self, image: &[u8]) -> u64 {
        let (drive, medium) = open(image.to_vec(), &self.options()).unwrap();
        let mut truth = Truth::zeroes(&self.shape);
        let mut host = Host::new(self.seed);
        for _ in 0..self.operations {
            host.step(&drive, &mut truth).unwrap();
        }
        medium.steps()
    }

    /// Cuts at a step, opens the drive, perhaps with another cut while it is being opened, and looks at everything.
    fn survives(&self, image: &[u8], step: u64) -> Result<(), String> {
        let Some((mut bytes, mut truth)) = self.until(image, step)? else { return Ok(()) };
        if step.is_multiple_of(3) {
            let medium = std::sync::Arc::new(flashtwin_live::store::fault::FaultMedium::of(bytes));
            medium.cut_after(step % 5);
            let _ = Drive::open_on(medium.clone(), &self.options());
            bytes = medium.after_cut(step);
        }
        check(bytes.clone())?;
        let (drive, medium) = open(bytes, &self.options())?;
        if let Some(why) = drive.read_only() {
            return Err(format!("read only: {why}"));
        }
        drive.audit()?;
        truth = read_all(&drive, &truth)?;
        let mut host = Host::new(self.seed ^ 0xabc);
        for _ in 0..30 {
            host.step(&drive, &mut truth)?;
        }
        drive.audit()?;
        drive.flush().map_err(|error| error.to_string())?;
        let truth = Truth::of(truth.now, truth.page_bytes);
        let (drive, _) = open(medium.bytes(), &self.options())?;
        read_all(&drive, &truth).map(|_| ())
    }
}

fn every_step(system: &str, shape: Shape, seed: u64, operations: u32) {
    let run = Run { shape, seed, operations, omission: None };
    let image = shape.image(system);
    for step in 0..run.steps(&image) {
        run.survives(&image, step)
            .unwrap_or_else(|error| panic!("{system}, seed {seed}, step {step}: {error}"));
    }
}

fn some_steps(system: &str, shape: Shape, seed: u64, operations: u32, cuts: u64) {
    let run = Run { shape, seed, operations, omission: None };
    let image = shape.image(system);
    let steps = run.steps(&image);
    let mut random = flashtwin_bits::SplitMix64(seed);
    for _ in 0..cuts {
        let step = random.next() % steps;
        run.survives(&image, step)
            .unwrap_or_else(|error| panic!("{system}, seed {seed}, step {step}: {error}"));
    }
}

#[test]
fn cut_at_any_step_of_a_short_run_loses_no_flushed_data() {
    for system in SYSTEMS {
        every_step(system, TIGHT, 5, 60);
    }
    every_step("ca-ssd", SINGLE, 6, 60);
}

#[test]
fn cuts_at_random_steps_of_long_runs_lose_no_flushed_data() {
    for (at, system) in SYSTEMS.into_iter().enumerate() {
        some_steps(system, TIGHT, 10 + at as u64, 900, 25);
        some_steps(system, SINGLE, 30 + at as u64, 700, 15);
        some_steps(system, WIDE, 50 + at as u64, 700, 10);
    }
}

#[test]
#[ignore = "a thousand cuts a system, minutes"]
fn a_thousand_cuts_a_system_lose_nothing_that_was_flushed() {
    for (at, system) in SYSTEMS.into_iter().enumerate() {
        for seed in 0..10 {
            some_steps(system, TIGHT, 1000 * at as u64 + seed, 800, 60);
            some_steps(system, SINGLE, 2000 * at as u64 + seed, 500, 20);
            some_steps(system, WIDE, 3000 * at as u64 + seed, 500, 20);
        }
    }
}

/// A medium whose syncs do nothing for data is detected: no page ever reads as data never written
/// to it.
#[test]
fn data_that_the_medium_did_not_keep_are_told_and_not_made_up() {
    for system in ["conventional", "ca-ssd", "rr-ssd"] {
        let run = Run { shape: TIGHT, seed: 4, operations: 300, omission: Some(Omission::DataSync) };
        let image = TIGHT.image(system);
        let (mut refused, mut told) = (0, 0);
        for step in (0..run.steps(&image)).step_by(5) {
            let Ok(Some((bytes, truth))) = run.until(&image, step) else { continue };
            let Ok((drive, _)) = open(bytes, &DriveOptions::default()) else {
                refused += 1;
                continue;
            };
            told += u32::from(drive.notes().iter().any(|note| note.contains("newest page of an open block")));
            let mut page = vec![0; truth.page_bytes];
            for at in 0..truth.now.len() / truth.page_bytes {
                let read = drive.read((at * truth.page_bytes) as u64, &mut page, &());
                assert!(
                    read.is_err() || truth.allows(at, &page),
                    "{system}, step {step}: page {at} is made up"
                );
            }
        }
        assert!(told > 0, "{system}: {refused} were refused, nobody was told of any other");
    }
}

/// A rule that is broken on purpose is seen to be broken; the message of the first cut that shows it.
fn caught(system: &str, omission: Omission) -> Option<String> {
    (0..6).find_map(|seed| {
        let run = Run { shape: TIGHT, seed, operations: 300, omission: Some(omission) };
        let image = TIGHT.image(system);
        let steps = run.steps(&image);
        (0..steps).step_by(7).find_map(|step| run.survives(&image, step).err())
    })
}

#[test]
fn each_rule_that_is_broken_on_purpose_is_caught() {
    for system in ["conventional", "ca-ssd"] {
        for omission in [
            Omission::LogSync,
            Omission::DataSync,
            Omission::EraseBarrier,
            Omission::CountDownFirst,
            Omission::Tombstone,
        ] {
            assert!(caught(system, omission).is_some(), "{system}: nobody saw {omission:?}");
        }
    }
}
