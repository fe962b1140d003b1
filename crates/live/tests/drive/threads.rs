//! Several threads at once, each with pages of its own, and power that goes while they work.

use std::sync::Arc;

use flashtwin_bits::SplitMix64;
use flashtwin_live::drive::DriveOptions;
use flashtwin_live::store::fault::FaultMedium;
use flashtwin_live::{Drive, Export, Writing};

use crate::scene::{TIGHT, check, open};

const THREADS: usize = 4;

/// What a thread's pages held when its last flush was answered, and what they were given since.
type Given = Vec<Vec<u8>>;

fn page(value: u8) -> Vec<u8> {
    vec![value; TIGHT.page_bytes as usize]
}

/// Writes, reads and flushes until power goes; each page holds one byte's value over and over.
fn work(drive: &Drive, thread: usize, seed: u64, count: usize) -> Result<Given, String> {
    let mut random = SplitMix64(seed ^ thread as u64);
    let pages: Vec<usize> = (thread..TIGHT.logical as usize).step_by(THREADS).collect();
    let mut given: Given = vec![vec![0]; pages.len()];
    for _ in 0..count {
        let at = random.next() as usize % pages.len();
        let offset = pages[at] as u64 * u64::from(TIGHT.page_bytes);
        let done = match random.next() % 8 {
            0 => drive.flush().map(|()| {
                given.iter_mut().for_each(|values| *values = values.split_off(values.len() - 1));
            }),
            1..3 => {
                let mut bytes = page(0);
                let read = drive.read(offset, &mut bytes, &());
                if read.is_ok() && bytes != page(*given[at].last().unwrap()) {
                    return Err(format!("page {} reads {}, was given {:?}", pages[at], bytes[0], given[at]));
                }
                read
            }
            _ => {
                let value = random.next() as u8 % 40;
                given[at].push(value);
                drive.write(offset, &page(value), Writing::default(), &())
            }
        };
        if done.is_err() {
            break;
        }
    }
    Ok(given)
}

#[test]
fn threads_read_what_they_wrote_and_find_what_they_flushed_after_a_cut() {
    for (round, system) in ["conventional", "ca-ssd", "rr-ssd-online", "caftl", "ds-ftl"]
        .into_iter()
        .cycle()
        .take(40)
        .enumerate()
    {
        let medium = Arc::new(FaultMedium::of(TIGHT.image(system)));
        let drive = Drive::open_on(medium.clone(), &DriveOptions::default()).unwrap();
        medium.cut_after(if round < 5 { u64::MAX } else { 97 * round as u64 });
        let given: Vec<Given> = std::thread::scope(|scope| {
            let start = |thread| {
                let drive = &drive;
                scope.spawn(move || work(drive, thread, round as u64, 300))
            };
            let threads: Vec<_> = (0..THREADS).map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
        });
        let whole = !medium.is_cut();
        if whole {
            drive.flush().unwrap();
            drive.audit().unwrap();
        }
        drop(drive);
        let bytes = medium.after_cut(round as u64);
        check(bytes.clone()).unwrap_or_else(|error| panic!("{system}, round {round}: {error}"));
        let (drive, _) = open(bytes, &DriveOptions::default()).unwrap();
        for lpn in 0..TIGHT.logical as usize {
            let mut bytes = page(1);
            drive.read(lpn as u64 * u64::from(TIGHT.page_bytes), &mut bytes, &()).unwrap();
            let values = &given[lpn % THREADS][lpn / THREADS];
            let allowed = if whole { &values[values.len() - 1..] } else { &values[..] };
            let right = allowed.iter().any(|&value| bytes == page(value));
            assert!(right, "{system}, round {round}: page {lpn} reads {}, may be {allowed:?}", bytes[0]);
        }
    }
}
