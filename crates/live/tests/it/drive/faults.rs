//! Single calls of the medium fail: the drive must answer with an error or with the right bytes,
//! and must have all flushed data when it is opened again.

use std::io::ErrorKind;
use std::sync::Arc;

use flashtwin_bits::SplitMix64;
use flashtwin_live::drive::{DriveOptions, Omission, Plan};
use flashtwin_live::store::fault::{Call, FaultMedium};
use flashtwin_live::{Drive, Export, Writing};

use crate::common::{counted, seed};
use crate::drive::oracle::{Client, Oracle};
use crate::drive::scene::{SINGLE, SYSTEMS, Shape, TIGHT, WIDE};

#[test]
fn these_tests_know_every_system_that_can_be_served() {
    let served = |name: &&str| Plan::new(name, 64 << 20, &Default::default()).is_ok();
    let mut found: Vec<&str> = flashtwin_sim::system_names().into_iter().filter(served).collect();
    let mut known = SYSTEMS.to_vec();
    found.sort_unstable();
    known.sort_unstable();
    assert_eq!(found, known);
}

/// Failure rates: one in this many calls, or none.
#[derive(Debug, Clone, Copy, Default)]
struct Rates {
    reads: u64,
    writes: u64,
    syncs: u64,
}

const FULL: ErrorKind = ErrorKind::StorageFull;

impl Rates {
    fn plan(self, seed: u64) -> impl FnMut(Call) -> Option<ErrorKind> + Send + 'static {
        let mut random = SplitMix64(seed ^ 0xfa17);
        move |call| {
            let one_in = match call {
                Call::Read(_) => self.reads,
                Call::Write(_) => self.writes,
                Call::Sync => self.syncs,
            };
            let fails = one_in > 0 && random.next().is_multiple_of(one_in);
            let kind = if random.next().is_multiple_of(2) { FULL } else { ErrorKind::Other };
            fails.then_some(if matches!(call, Call::Read(_)) { ErrorKind::Other } else { kind })
        }
    }
}

#[derive(Debug, Default)]
struct Outcome {
    failed: u64,
    errors: u64,
    right_after_failure: u64,
}

struct Run<'a> {
    system: &'a str,
    shape: Shape,
    seed: u64,
    rates: Rates,
    omission: Option<Omission>,
}

impl Run<'_> {
    fn go(&self, sessions: u64) -> Result<Outcome, String> {
        let mut bytes = self.shape.image(self.system);
        let mut oracle = Oracle::zeroes(&self.shape);
        let mut outcome = Outcome::default();
        let options = DriveOptions { omission: self.omission, ..DriveOptions::default() };
        for session in 0..sessions {
            let seed = self.seed << 8 | session;
            if session % 3 == 2 {
                bytes = self.opened_in_vain(bytes, seed, &options);
            }
            let medium = Arc::new(FaultMedium::of(bytes));
            let drive = Drive::open_on(medium.clone(), &options).map_err(|error| error.to_string())?;
            if let Some(why) = drive.read_only() {
                return Err(format!("it is read only: {why}"));
            }
            let unreadable = oracle.read_all(&drive)? as u64;
            if unreadable > 0 && self.rates.reads == 0 {
                return Err(format!("{unreadable} pages cannot be read after the drive was opened again"));
            }
            medium.fail_when(seed, self.rates.plan(seed));
            self.session(&drive, &mut oracle, seed, &mut outcome)?;
            medium.mend();
            drop(drive);
            bytes = if session.is_multiple_of(2) { medium.bytes() } else { medium.after_cut(seed) };
            oracle.restart();
        }
        outcome.errors = oracle.errors;
        Ok(outcome)
    }

    /// The medium after an attempt to open the drive during which calls failed.
    fn opened_in_vain(&self, bytes: Vec<u8>, seed: u64, options: &DriveOptions) -> Vec<u8> {
        let medium = Arc::new(FaultMedium::of(bytes));
        let often = Rates { writes: 3, syncs: 2, reads: if self.rates.reads > 0 { 9 } else { 0 } };
        medium.fail_when(seed, often.plan(seed));
        drop(Drive::open_on(medium.clone(), options));
        if seed.is_multiple_of(2) { medium.bytes() } else { medium.after_cut(seed) }
    }

    fn session(
        &self,
        drive: &Drive,
        oracle: &mut Oracle,
        seed: u64,
        outcome: &mut Outcome,
    ) -> Result<(), String> {
        let mut client = Client::new(seed);
        for _ in 0..400 {
            let _ = client.step(drive, oracle)?;
            if drive.read_only().is_some() {
                break;
            }
        }
        let Some(why) = drive.read_only() else { return Ok(()) };
        outcome.failed += 1;
        let page = vec![7; oracle.page_bytes];
        let Err(error) = drive.write(0, &page, Writing::default(), &()) else {
            return Err(format!("it takes writes, and is read only: {why}"));
        };
        let told_full = error.kind() == FULL;
        if told_full != why.contains("no storage space") && !why.contains("fails, as the test wants") {
            return Err(format!("{error} is told for {why}"));
        }
        let before = oracle.right;
        for _ in 0..60 {
            let _ = client.step(drive, oracle)?;
        }
        oracle.read_all(drive)?;
        outcome.right_after_failure += oracle.right - before;
        Ok(())
    }
}

const WRITES: Rates = Rates { reads: 0, writes: 400, syncs: 150 };
const READS: Rates = Rates { reads: 30, writes: 400, syncs: 0 };

fn everything(seeds: std::ops::Range<u64>, sessions: u64) {
    for system in SYSTEMS {
        for (shape, rates) in
            [(TIGHT, WRITES), (SINGLE, WRITES), (WIDE, WRITES), (TIGHT, READS), (WIDE, READS)]
        {
            let each = seeds.clone().map(|seed| {
                let outcome = Run { system, shape, seed, rates, omission: None }.go(sessions);
                outcome
                    .unwrap_or_else(|error| panic!("{system} on {shape:?}, {rates:?}, seed {seed}: {error}"))
            });
            let all: Vec<Outcome> = each.collect();
            counted(all.len() * sessions as usize, "sessions with failing calls");
            let sum = |of: fn(&Outcome) -> u64| all.iter().map(of).sum::<u64>();
            assert!(sum(|it| it.failed) > 0 && sum(|it| it.errors) > 0, "{system}: {all:?}");
            assert!(
                sum(|it| it.right_after_failure) > 50,
                "{system}: {all:?}: what is whole is still served"
            );
        }
    }
}

#[test]
fn whatever_fails_no_system_hands_out_a_wrong_byte() {
    everything(0..1, 6);
}

#[test]
#[ignore = "minutes"]
fn no_system_returns_a_wrong_byte_when_calls_fail() {
    everything(seed()..seed() + 50, 8);
}

/// Tests the tests: a page that counts as programmed when it is ordered is read with its old data.
#[test]
fn a_page_read_before_it_is_programmed_is_noticed() {
    let mut caught = 0;
    for system in SYSTEMS {
        let omission = Some(Omission::OrderedAsProgrammed);
        let wrong = (0..40).find_map(|seed| {
            let run = Run { system, shape: TIGHT, seed, rates: WRITES, omission };
            run.go(6).err()
        });
        caught += u32::from(wrong.is_some_and(|error| error.contains("WRONG")));
    }
    assert_eq!(caught, SYSTEMS.len() as u32);
}
