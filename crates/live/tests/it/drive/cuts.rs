//! Power cuts: nothing acknowledged is lost, nothing is invented, and the drive goes on.

use std::sync::Arc;

use flashtwin_live::drive::{DriveOptions, Omission};
use flashtwin_live::store::fault::FaultMedium;
use flashtwin_live::{Drive, Export};

use crate::common::counted;
use crate::drive::oracle::{Client, Oracle};
use crate::drive::scene::{SINGLE, SYSTEMS, Shape, TIGHT, check, open};

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

    /// Returns the medium and the allowed data; `None` if the power lasted.
    fn until(&self, image: &[u8], step: u64) -> Result<Option<(Vec<u8>, Oracle)>, String> {
        let medium = Arc::new(FaultMedium::of(image.to_vec()));
        medium.cut_after(step);
        let mut oracle = Oracle::zeroes(&self.shape);
        if let Ok(drive) = Drive::open_on(medium.clone(), &self.options()) {
            let mut client = Client::new(self.seed);
            for _ in 0..self.operations {
                match client.step(&drive, &mut oracle)? {
                    Err(_) if medium.is_cut() => break,
                    done => done?,
                }
            }
        }
        let cut = medium.is_cut();
        Ok(cut.then(|| (medium.after_cut(self.seed ^ step << 8), oracle)))
    }

    fn steps(&self, image: &[u8]) -> u64 {
        let (drive, medium) = open(image.to_vec(), &self.options()).unwrap();
        let mut oracle = Oracle::zeroes(&self.shape);
        Client::new(self.seed).steps(&drive, &mut oracle, self.operations).unwrap();
        medium.steps()
    }

    /// Cuts at a step, opens the drive, perhaps with another cut while it is being opened, and looks at everything.
    fn survives(&self, image: &[u8], step: u64) -> Result<(), String> {
        let Some((mut bytes, mut oracle)) = self.until(image, step)? else { return Ok(()) };
        if step.is_multiple_of(3) {
            let medium = Arc::new(FaultMedium::of(bytes));
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
        oracle.opened(&drive)?;
        Client::new(self.seed ^ 0xabc).steps(&drive, &mut oracle, 30)?;
        drive.audit()?;
        oracle.flush(&drive)?;
        let (drive, _) = open(medium.bytes(), &self.options())?;
        oracle.opened(&drive)
    }
}

/// Every step of these runs; the swarm cuts others at some.
#[test]
fn cut_at_any_step_of_a_short_run_loses_no_flushed_data() {
    for (system, shape) in SYSTEMS.into_iter().map(|system| (system, TIGHT)).chain([("ca-ssd", SINGLE)]) {
        let run = Run { shape, seed: 5, operations: 60, omission: None };
        let image = shape.image(system);
        let steps = run.steps(&image);
        for step in 0..steps {
            run.survives(&image, step).unwrap_or_else(|error| panic!("{system}, step {step}: {error}"));
        }
        counted(steps as usize, "power cuts");
    }
}

/// A medium whose syncs do nothing for data is detected: no page ever reads as data never written to it.
#[test]
fn data_that_the_medium_did_not_keep_are_told_and_not_made_up() {
    for system in ["conventional", "ca-ssd", "rr-ssd"] {
        let run = Run { shape: TIGHT, seed: 4, operations: 300, omission: Some(Omission::DataSync) };
        let image = TIGHT.image(system);
        let (mut refused, mut told) = (0, 0);
        for step in (0..run.steps(&image)).step_by(5) {
            let Ok(Some((bytes, mut oracle))) = run.until(&image, step) else { continue };
            let Ok((drive, _)) = open(bytes, &DriveOptions::default()) else {
                refused += 1;
                continue;
            };
            told += u32::from(drive.notes().iter().any(|note| note.contains("newest page of an open block")));
            oracle.restart();
            oracle.read_all(&drive).unwrap_or_else(|error| panic!("{system}, step {step}: {error}"));
        }
        assert!(told > 0, "{system}: {refused} were refused, nobody was told of any other");
    }
}
