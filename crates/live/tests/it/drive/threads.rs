//! Several threads at once, each with pages of its own, and power that goes while they work.

use std::sync::Arc;

use flashtwin_bits::SplitMix64;
use flashtwin_live::drive::DriveOptions;
use flashtwin_live::store::fault::{Call, FaultMedium};
use flashtwin_live::{Drive, Export, Writing};

use crate::drive::scene::{SYSTEMS, TIGHT, check, open};

const THREADS: usize = 4;

/// A thread's pages: for each the values that it may have now, and those that it may have after a cut.
struct Pages {
    now: Vec<Vec<u8>>,
    kept: Vec<Vec<u8>>,
    right: u32,
}

fn page(value: u8) -> Vec<u8> {
    vec![value; TIGHT.page_bytes as usize]
}

/// Writes, reads and flushes the pages of one thread, each of one value; ends at the first error if it `stops`.
fn work(drive: &Drive, thread: usize, seed: u64, count: usize, stops: bool) -> Result<Pages, String> {
    let mut random = SplitMix64(seed ^ (thread as u64) << 32);
    let lpns: Vec<usize> = (thread..TIGHT.logical as usize).step_by(THREADS).collect();
    let zeroes = vec![vec![0]; lpns.len()];
    let mut pages = Pages { now: zeroes.clone(), kept: zeroes, right: 0 };
    for _ in 0..count {
        let at = random.next() as usize % lpns.len();
        let offset = lpns[at] as u64 * u64::from(TIGHT.page_bytes);
        let now = &mut pages.now[at];
        let done = match random.next() % 8 {
            0 => drive.flush().map(|()| pages.kept.clone_from(&pages.now)),
            1..4 => {
                let mut bytes = page(0);
                let read = drive.read(offset, &mut bytes, &());
                if read.is_ok() {
                    now.retain(|&value| bytes == page(value));
                    if now.is_empty() {
                        return Err(format!("page {} reads {}, which it was not given", lpns[at], bytes[0]));
                    }
                    pages.right += 1;
                }
                read
            }
            _ => {
                let value = random.next() as u8 % 40;
                let done = drive.write(offset, &page(value), Writing::default(), &());
                if done.is_ok() {
                    now.clear();
                }
                now.push(value);
                pages.kept[at].push(value);
                done
            }
        };
        if stops && done.is_err() {
            break;
        }
    }
    Ok(pages)
}

fn work_together(drive: &Drive, seed: u64, count: usize, stops: bool) -> Result<Vec<Pages>, String> {
    std::thread::scope(|scope| {
        let start = |thread| scope.spawn(move || work(drive, thread, seed, count, stops));
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn cuts(rounds: std::ops::Range<usize>) {
    let systems = ["conventional", "ca-ssd", "rr-ssd-online", "caftl", "ds-ftl"];
    for (round, system) in rounds.zip(systems.into_iter().cycle()) {
        let medium = Arc::new(FaultMedium::of(TIGHT.image(system)));
        let drive = Drive::open_on(medium.clone(), &DriveOptions::default()).unwrap();
        medium.cut_after(if round < 5 { u64::MAX } else { 97 * round as u64 });
        let threads = work_together(&drive, round as u64, 300, true).unwrap();
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
            let pages = &threads[lpn % THREADS];
            let allowed = if whole { &pages.now[lpn / THREADS] } else { &pages.kept[lpn / THREADS] };
            let right = allowed.iter().any(|&value| bytes == page(value));
            assert!(right, "{system}, round {round}: page {lpn} reads {}, may be {allowed:?}", bytes[0]);
        }
    }
}

#[test]
fn threads_read_their_writes_and_keep_flushed_ones_after_a_cut() {
    cuts(0..14);
}

#[test]
#[ignore = "seconds"]
fn threads_keep_flushed_writes_after_many_cuts() {
    cuts(14..54);
}

fn failures(rounds: std::ops::Range<usize>) {
    let (mut stopped, most) = (0, rounds.len());
    for (round, system) in rounds.zip(SYSTEMS.into_iter().cycle()) {
        let medium = Arc::new(FaultMedium::of(TIGHT.image(system)));
        let drive = Drive::open_on(medium.clone(), &DriveOptions::default()).unwrap();
        let mut random = SplitMix64(round as u64);
        medium.fail_when(round as u64, move |call| {
            let one_in = if matches!(call, Call::Read(_)) { 50 } else { 300 };
            random.next().is_multiple_of(one_in).then_some(std::io::ErrorKind::StorageFull)
        });
        let threads = work_together(&drive, round as u64, 400, false)
            .unwrap_or_else(|error| panic!("{system}, round {round}: {error}"));
        let right: u32 = threads.iter().map(|pages| pages.right).sum();
        assert!(right > 100, "{system}, round {round}: {right} reads");
        stopped += usize::from(drive.read_only().is_some());
    }
    assert!(stopped > most / 2, "{stopped} drives met a write that failed");
}

#[test]
fn threads_read_what_they_wrote_or_an_error_while_calls_fail() {
    failures(0..20);
}

#[test]
#[ignore = "seconds"]
fn threads_read_what_they_wrote_or_an_error_while_many_calls_fail() {
    failures(20..80);
}
