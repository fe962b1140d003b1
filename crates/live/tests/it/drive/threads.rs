//! Several threads at once, each with pages of its own, and power that goes while they work.

use std::sync::Arc;

use flashtwin_bits::SplitMix64;
use flashtwin_live::drive::DriveOptions;
use flashtwin_live::store::fault::{Call, FaultMedium};
use flashtwin_live::{Drive, Export, Writing};

use crate::drive::scene::{SYSTEMS, TIGHT, check, open};

const THREADS: usize = 4;

/// A thread's pages: their data at its last answered flush, and later writes.
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
fn threads_read_their_writes_and_keep_flushed_ones_after_a_cut() {
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
        // Power may also go in this last flush.
        let whole = !medium.is_cut() && drive.flush().is_ok();
        assert!(whole || medium.is_cut(), "{system}, round {round}: a flush failed with power on");
        if whole {
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

/// Writes and checks the pages of one thread; a page may have one value, or several after failed
/// writes.
fn work_on(drive: &Drive, thread: usize, seed: u64, count: usize) -> Result<u32, String> {
    let mut random = SplitMix64(seed ^ (thread as u64) << 32);
    let pages: Vec<usize> = (thread..TIGHT.logical as usize).step_by(THREADS).collect();
    let mut may: Given = vec![vec![0]; pages.len()];
    let mut right = 0;
    for _ in 0..count {
        let at = random.next() as usize % pages.len();
        let offset = pages[at] as u64 * u64::from(TIGHT.page_bytes);
        match random.next() % 8 {
            0 => drop(drive.flush()),
            1..5 => {
                let mut bytes = page(0);
                if drive.read(offset, &mut bytes, &()).is_err() {
                    continue;
                }
                may[at].retain(|&value| bytes == page(value));
                if may[at].is_empty() {
                    return Err(format!("page {} reads {}, which it was not given", pages[at], bytes[0]));
                }
                right += 1;
            }
            _ => {
                let value = random.next() as u8 % 40;
                let done = drive.write(offset, &page(value), Writing::default(), &());
                if done.is_ok() {
                    may[at].clear();
                }
                may[at].push(value);
            }
        }
    }
    Ok(right)
}

#[test]
fn threads_read_what_they_wrote_or_an_error_while_calls_fail() {
    let mut stopped = 0;
    for (round, system) in SYSTEMS.into_iter().cycle().take(60).enumerate() {
        let medium = Arc::new(FaultMedium::of(TIGHT.image(system)));
        let drive = Drive::open_on(medium.clone(), &DriveOptions::default()).unwrap();
        let mut random = SplitMix64(round as u64);
        medium.fail_when(round as u64, move |call| {
            let one_in = if matches!(call, Call::Read(_)) { 50 } else { 300 };
            random.next().is_multiple_of(one_in).then_some(std::io::ErrorKind::StorageFull)
        });
        let right: u32 = std::thread::scope(|scope| {
            let start = |thread| {
                let drive = &drive;
                scope.spawn(move || work_on(drive, thread, round as u64, 400))
            };
            let threads: Vec<_> = (0..THREADS).map(start).collect();
            let outcomes = threads.into_iter().map(|thread| thread.join().unwrap());
            outcomes
                .sum::<Result<u32, String>>()
                .unwrap_or_else(|error| panic!("{system}, round {round}: {error}"))
        });
        assert!(right > 100, "{system}, round {round}: {right} reads");
        stopped += u32::from(drive.read_only().is_some());
    }
    assert!(stopped > 30, "{stopped} drives met a write that failed");
}
