//! Clients that stall, or ask for much, do not keep the others from being served.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::*;
use flashtwin_live::drive::{CreateOptions, DriveOptions, Plan};
use flashtwin_live::nbd::ServerOptions;
use flashtwin_live::store::Medium;
use flashtwin_live::store::fault::FaultMedium;
use flashtwin_live::{Caller, Drive, Export, MemoryExport, Writing};

const SIZE: u64 = 64 << 20;
const LONG: u32 = 32 << 20;

/// Reads whose replies nobody takes, and writes of which half a piece comes.
fn stall(served: &Served, count: u64) -> Vec<UnixStream> {
    let clients: Vec<UnixStream> = (0..count).map(|number| go(&served.socket, number % 4 == 0)).collect();
    for (number, client) in (0..).zip(&clients) {
        match number % 4 {
            0 | 1 => (0..4).for_each(|cookie| put(client, &[&request(READ, 0, cookie, 0, LONG)])),
            2 => (0..64).for_each(|cookie| put(client, &[&request(READ, 0, cookie, 0, 1 << 20)])),
            _ => put(client, &[&request(WRITE, 0, 1, SIZE / 2, LONG), &vec![9; 512 << 10]]),
        }
    }
    clients
}

#[test]
fn clients_that_stall_delay_nobody() {
    let options = ServerOptions { farewell: Duration::from_millis(100), ..ServerOptions::default() };
    let promised = (63 * options.connection_bytes_max()) as u64 + (48 << 20);
    let served = serve(Arc::new(MemoryExport::new(SIZE)), options);
    let before = resident_bytes();
    let stalled = stall(&served, 62);
    for structured in [false, true] {
        let client = go(&served.socket, structured);
        for length in [4096, 256 << 10, 1 << 20, LONG] {
            // An answer that never came would end the test by the stream's patience.
            put(&client, &[&request(WRITE, 0, 7, 0, length), &vec![length as u8 | 1; length as usize]]);
            if structured {
                assert_eq!(get::<20>(&client)[4..8], [0, 1, 0, 0]);
            } else {
                assert_eq!(simple(&client), (0, 7));
                assert_eq!(read(&client, 0, length), vec![length as u8 | 1; length as usize]);
            }
        }
    }
    // The last of the others may be gone already.
    assert!(served.server.figures().connections >= 62, "they are still there");
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < promised, "{grown} bytes");
    drop(stalled);
}

#[test]
fn whoever_stalls_loses_the_connection_and_whoever_rests_does_not() {
    let stalled = Duration::from_millis(200);
    let served =
        serve(Arc::new(MemoryExport::new(SIZE)), ServerOptions { stalled, ..ServerOptions::default() });
    let resting = go(&served.socket, false);
    assert_eq!(read(&resting, 0, 1), [0]);
    let half = go(&served.socket, false);
    put(&half, &[&request(READ, 0, 1, 0, 512)[..9]]);
    let clients = stall(&served, 8);
    let begun = Instant::now();
    while served.server.figures().connections > 1 {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", served.server.figures());
        thread::sleep(Duration::from_millis(5));
    }
    assert!(begun.elapsed() > stalled / 2);
    assert!(is_closed(&half) && { &clients[3] }.write_all(&[0; 1 << 20]).is_err());
    assert_eq!(read(&resting, 0, 1), [0]);
}

#[test]
fn long_requests_are_whole_and_their_errors_are_told() {
    let export = Arc::new(Damaged(MemoryExport::new(SIZE)));
    let served = serve(Arc::clone(&export) as Arc<dyn Export>, ServerOptions::default());
    let (plain, structured) = (go(&served.socket, false), go(&served.socket, true));
    let bytes: Vec<u8> = (0..3 << 20).map(|at: u32| (at / 4096) as u8 ^ at as u8).collect();
    assert_eq!(write(&plain, 0, 5000, &bytes), 0);
    assert!(read(&plain, 5000, 3 << 20) == bytes);
    put(&structured, &[&request(READ, 0, 5, 5000, 3 << 20)]);
    let (mut at, mut is_last) = (5000, false);
    while !is_last {
        let head: [u8; 20] = get(&structured);
        assert_eq!(head[..4], [0x66, 0x8e, 0x33, 0xef]);
        assert_eq!((head[7], &head[8..16]), (1, &5_u64.to_be_bytes()[..]), "data of this request");
        is_last = head[5] == 1;
        assert_eq!(u64::from_be_bytes(get(&structured)), at);
        let count = u32::from_be_bytes(head[16..].try_into().unwrap()) as usize - 8;
        let from = at as usize - 5000;
        assert!(get_vec(&structured, count) == bytes[from..from + count]);
        at += count as u64;
    }
    assert_eq!(at, 5000 + (3 << 20));
    // One of its pieces cannot be read or written. The connection goes on.
    let bad = BAD - (2 << 20);
    assert_eq!(ask(&plain, READ, 0, bad, 4 << 20), 5);
    assert_eq!(write(&plain, 0, bad, &vec![1; 4 << 20]), 5);
    assert_eq!(write(&plain, 0, SIZE - 1, &vec![1; 4 << 20]), 28, "it is beyond the end");
    assert_eq!(write(&plain, 0, u64::MAX - 9, &vec![1; 4 << 20]), 28, "its end is beyond 2^64");
    put(&structured, &[&request(READ, 4, 6, 0, 4 << 20)]);
    let head: [u8; 20] = get(&structured);
    assert_eq!(
        (&head[4..8], get::<6>(&structured)),
        (&[0, 1, 128, 1][..], [0, 0, 0, 75, 0, 0]),
        "in one chunk"
    );
    assert_eq!(read(&plain, 5000, 100), bytes[..100]);
}

const BAD: u64 = SIZE / 2;

struct Damaged(MemoryExport);

impl Damaged {
    fn meets(offset: u64, length: usize) -> std::io::Result<()> {
        let is_bad = (offset..offset + length as u64).contains(&BAD);
        if is_bad { Err(std::io::ErrorKind::InvalidData.into()) } else { Ok(()) }
    }
}

impl Export for Damaged {
    fn size_bytes(&self) -> u64 {
        SIZE
    }
    fn read(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> std::io::Result<()> {
        Self::meets(offset, into.len()).and_then(|()| self.0.read(offset, into, caller))
    }
    fn write(&self, offset: u64, bytes: &[u8], how: Writing, caller: &dyn Caller) -> std::io::Result<()> {
        Self::meets(offset, bytes.len()).and_then(|()| self.0.write(offset, bytes, how, caller))
    }
    fn flush(&self) -> std::io::Result<()> {
        self.0.flush()
    }
    fn trim(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> std::io::Result<()> {
        self.0.trim(offset, length, how, caller)
    }
    fn write_zeroes(
        &self,
        offset: u64,
        length: u64,
        how: Writing,
        caller: &dyn Caller,
    ) -> std::io::Result<()> {
        self.0.write_zeroes(offset, length, how, caller)
    }
}

/// Counts writes, each of which takes its time.
struct Slow {
    inner: FaultMedium,
    writes: AtomicU64,
}

impl Medium for Slow {
    fn size_bytes(&self) -> std::io::Result<u64> {
        self.inner.size_bytes()
    }
    fn read_at(&self, into: &mut [u8], offset: u64) -> std::io::Result<()> {
        self.inner.read_at(into, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        self.writes.fetch_add(1, Relaxed);
        thread::sleep(Duration::from_micros(50));
        self.inner.write_at(bytes, offset)
    }
    fn sync(&self) -> std::io::Result<()> {
        self.inner.sync()
    }
}

struct Connection(u64);

impl Caller for Connection {
    fn has_left(&self) -> bool {
        false
    }
    fn connection(&self) -> u64 {
        self.0
    }
}

/// In writes of the medium, as a busy machine has no reliable times.
#[test]
fn clients_that_write_zeroes_leave_readers_their_turn() {
    const WRITERS: u64 = 6;
    let plan = Plan::new("conventional", 16 << 20, &CreateOptions::default()).unwrap();
    let medium = FaultMedium::new(plan.medium_bytes() as usize);
    plan.write(&medium).unwrap();
    let medium = Arc::new(Slow { inner: medium, writes: AtomicU64::new(0) });
    let drive = Drive::open_on(Arc::clone(&medium) as _, &DriveOptions::default()).unwrap();
    let (ended, zeroes) = (AtomicBool::new(false), Writing { keep_room: true, ..Writing::default() });
    thread::scope(|scope| {
        for number in 1..=WRITERS {
            // Each with requests under way in two threads.
            for _ in 0..2 {
                let (drive, ended) = (&drive, &ended);
                scope.spawn(move || {
                    while !ended.load(Relaxed) {
                        drive.write_zeroes(0, 8 << 20, zeroes, &Connection(number)).unwrap();
                    }
                });
            }
        }
        while medium.writes.load(Relaxed) < 1_000 {
            thread::yield_now();
        }
        let (reader, mut bytes) = (Connection(99), vec![1; 1 << 20]);
        for pages in [1, 64, 256, 1, 256] {
            let before = medium.writes.load(Relaxed);
            drive.read(8 << 20, &mut bytes[..pages * 4096], &reader).unwrap();
            let passed = medium.writes.load(Relaxed) - before;
            // For each 64 pages read, the 100 ms of a round, and a turn of 64 pages of each writer with its tables.
            let fair = (100_000 / 50 + 2 * 64 * WRITERS) * pages.div_ceil(64) as u64;
            assert!(passed <= fair, "{passed} pages were written during a read of {pages}");
        }
        ended.store(true, Relaxed);
    });
}
