//! Places of the medium that cannot be written. Those of data are the swarm's.

use std::io::ErrorKind;
use std::sync::Arc;

use flashtwin_live::drive::DriveOptions;
use flashtwin_live::store::fault::{Call, FaultMedium};
use flashtwin_live::{Drive, Export, Writing};

use crate::drive::oracle::{Client, Oracle};
use crate::drive::scene::{WIDE, open};

fn opened(system: &str) -> (Drive, Arc<FaultMedium>, Oracle) {
    let medium = Arc::new(FaultMedium::of(WIDE.image(system)));
    let drive = Drive::open_on(medium.clone(), &DriveOptions::default()).unwrap();
    let mut oracle = Oracle::zeroes(&WIDE);
    oracle.write_all(&drive, 1).unwrap();
    oracle.flush(&drive).unwrap();
    (drive, medium, oracle)
}

/// Writes and flushes until the drive has begun the other half of its log twice, or ends writing.
fn go_on(drive: &Drive, oracle: &mut Oracle) -> Option<String> {
    let (mut client, began) = (Client::new(3), drive.stats().store.checkpoints);
    while drive.stats().store.checkpoints < began + 3 && drive.read_only().is_none() {
        let _ = client.step(drive, oracle).unwrap();
        let _ = oracle.flush(drive);
    }
    drive.read_only()
}

fn tables_at() -> [u64; 3] {
    let image = FaultMedium::of(WIDE.image("ca-ssd"));
    let checkpoints = 128 << 10;
    let log_bytes = 64 << 10;
    let log = checkpoints + 2 * (Drive::info_on(&image).unwrap().most_recovery_bytes - 4 * log_bytes);
    [checkpoints, log, log + 2 * log_bytes]
}

#[test]
fn a_log_with_a_bad_place_goes_on_with_its_other_copy() {
    let [_, log, copy] = tables_at();
    for at in [log, copy] {
        let (drive, medium, mut oracle) = opened("ca-ssd");
        // Both halves of the log, behind the batch that is there.
        [at, at + (64 << 10)].into_iter().for_each(|half| medium.wear_out(half + 12288..half + 12800));
        assert_eq!(go_on(&drive, &mut oracle), None);
        let store = drive.stats().store;
        assert!(store.lone_batches > 1 && store.checkpoints > store.lone_batches, "{store:?}");
        drop(drive);
        let (drive, _) = open(medium.after_cut(1), &DriveOptions::default()).unwrap();
        assert_eq!(oracle.opened(&drive), Ok(()));
    }
}

#[test]
fn a_table_without_a_good_place_ends_writing_with_the_cure() {
    let [checkpoints, log, copy] = tables_at();
    for (name, worn) in [
        ("the checkpoint", [checkpoints..log, checkpoints..log]),
        ("the log", [log..log + (128 << 10), copy..copy + (128 << 10)]),
    ] {
        let (drive, medium, mut oracle) = opened("ca-ssd");
        worn.into_iter().for_each(|place| medium.wear_out(place));
        let why = go_on(&drive, &mut oracle).unwrap();
        assert!(why.contains(name) && why.contains("copy the image to another disk"), "{why}");
        assert_eq!(oracle.read_all(&drive), Ok(0), "{name}");
        drop(drive);
        // What is worn out now is the place of the checkpoint that opening it writes.
        let medium = Arc::new(FaultMedium::of(medium.after_cut(1)));
        medium.wear_out(checkpoints..log);
        let drive = Drive::open_on(medium.clone(), &DriveOptions::default()).unwrap();
        let why = drive.read_only().unwrap();
        assert!(why.contains("the checkpoint") && why.contains("copy the image to another disk"), "{why}");
        oracle.opened(&drive).unwrap();
        medium.mend();
        let (drive, _) = open(medium.bytes(), &DriveOptions::default()).unwrap();
        assert_eq!((oracle.opened(&drive), drive.read_only()), (Ok(()), None));
    }
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
