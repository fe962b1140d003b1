use std::sync::Arc;

use flashtwin_live::drive::{CheckReport, DriveOptions};
use flashtwin_live::store::fault::{Call, FaultMedium};
use flashtwin_live::{Drive, Export, Writing};

use crate::drive::oracle::{Client, Oracle, page_of};
use crate::drive::scene::{TIGHT, open};

/// Where the data of these drives begin: at a multiple of 1 MiB, the first behind their tables.
const DATA_AT: u64 = 1 << 20;

fn report(bytes: Vec<u8>) -> Result<CheckReport, String> {
    Drive::check_on(Arc::new(FaultMedium::of(bytes)), true).map_err(|error| error.to_string())
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
