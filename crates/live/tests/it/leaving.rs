//! Clients that leave with many open requests delay no others; and the memory of all clients
//! together while they are there. A process of its own, so that its memory is the server's.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::*;
use flashtwin_live::drive::{CreateOptions, DriveOptions};
use flashtwin_live::nbd::ServerOptions;
use flashtwin_live::{Drive, Export, Writing};

const SIZE: u64 = 64 << 20;
const CLIENTS: usize = 64;
const LARGE: u32 = 32 << 20;
/// Working off what the clients left takes minutes; a busy machine is not that slow.
const SOON: Duration = Duration::from_secs(10);

/// A drive of which every second page holds something that no other does.
fn drive(folder: &Folder) -> Arc<Drive> {
    let path = folder.join("drive.img");
    Drive::create(&path, "ca-ssd", SIZE, &CreateOptions::default()).unwrap();
    let drive = Drive::open(&path, &DriveOptions::default()).unwrap();
    for page in (0..SIZE / 4096).step_by(2) {
        let mut bytes = [7; 4096];
        bytes[..8].copy_from_slice(&page.to_le_bytes());
        drive.write(page * 4096, &bytes, Writing::default(), &()).unwrap();
    }
    Arc::new(drive)
}

/// Sends requests as long as the server reads them; the rest is left out.
fn send(client: &UnixStream, requests: &[u8]) {
    client.set_nonblocking(true).unwrap();
    let mut at = 0;
    while let Ok(bytes) = { client }.write(&requests[at..]) {
        at += bytes;
        if at == requests.len() {
            break;
        }
    }
    assert!(at >= 28 * 100 || at == requests.len(), "{at} bytes were taken");
}

fn queue(command: u16, flags: u16, length: u32, count: u64) -> Vec<u8> {
    let at = |cookie: u64| cookie % (SIZE / u64::from(length)) * u64::from(length);
    (0..count).flat_map(|cookie| request(command, flags, cookie, at(cookie), length)).collect()
}

/// Asks for a page again and again until told to stop; the longest time that it took.
fn longest_read(client: &UnixStream, stop: &AtomicBool) -> Duration {
    let mut longest = Duration::ZERO;
    while !stop.load(Relaxed) {
        let began = Instant::now();
        assert_eq!(read(client, 0, 4096)[0], 0);
        longest = longest.max(began.elapsed());
        thread::sleep(Duration::from_millis(2));
    }
    longest
}

#[test]
fn leaving_clients_delay_no_others_and_memory_is_bounded() {
    let folder = Folder::new();
    let options = ServerOptions { connections_max: CLIENTS + 1, ..ServerOptions::default() };
    // The limits that `docs/record.md` promises.
    let promised = (options.connection_bytes_max() * CLIENTS) as u64 + (48 << 20);
    let served = serve(drive(&folder), options);
    let other = go(&served.socket, false);
    assert_eq!(read(&other, 0, 4096)[0], 0);
    let before = resident_bytes();
    for (what, requests) in [
        ("large reads", queue(0, 0, LARGE, 556)),
        ("reads that fit", queue(0, 0, 256 << 10, 556)),
        ("block status", queue(STATUS, 0, SIZE as u32, 556)),
        ("zeroes that take room", queue(ZEROES, 2, SIZE as u32, 556)),
        ("trims", queue(TRIM, 0, SIZE as u32, 556)),
    ] {
        let clients: Vec<UnixStream> = (0..CLIENTS).map(|_| go(&served.socket, true)).collect();
        clients.iter().for_each(|client| send(client, &requests));
        let mut most = 0;
        let until = Instant::now() + Duration::from_millis(1_500);
        while Instant::now() < until {
            most = most.max(resident_bytes().saturating_sub(before));
            thread::sleep(Duration::from_millis(20));
        }
        let stop = AtomicBool::new(false);
        let (longest, let_in, ended) = thread::scope(|scope| {
            let reader = scope.spawn(|| longest_read(&other, &stop));
            thread::sleep(Duration::from_millis(50));
            drop(clients);
            let left = Instant::now();
            // Until the server has seen that they left, there is no room for another.
            let is_let_in = || {
                let next = UnixStream::connect(&served.socket);
                next.is_ok_and(|next| { &next }.read_exact(&mut [0; 18]).is_ok())
            };
            while !is_let_in() && left.elapsed() < SOON {
                thread::sleep(Duration::from_millis(1));
            }
            let let_in = left.elapsed();
            while served.server.figures().connections > 1 && left.elapsed() < Duration::from_secs(20) {
                thread::sleep(Duration::from_millis(1));
            }
            let ended = left.elapsed();
            thread::sleep(Duration::from_millis(20));
            stop.store(true, Relaxed);
            (reader.join(), let_in, ended)
        });
        let longest = longest.unwrap();
        assert!(let_in < SOON && ended < SOON, "{what}: {let_in:?}, {ended:?}");
        assert!(longest < SOON, "{what}: {longest:?}");
        assert!(most < promised, "{what}: {most} bytes, {promised} are promised");
    }
}
