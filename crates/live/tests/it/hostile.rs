//! Clients that mean harm, or are broken: they get an error or nothing, others are served, memory stays bounded.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::*;
use flashtwin_bits::SplitMix64;
use flashtwin_live::nbd::{ServerOptions, Tls};
use flashtwin_live::{Export, MemoryExport, Operation};

const SIZE: u64 = 64 << 20;

fn memory(options: ServerOptions) -> Served {
    serve(Arc::new(MemoryExport::new(SIZE)), options)
}

fn noise(seed: u64, count: usize) -> Vec<u8> {
    let mut random = SplitMix64(seed);
    (0..count).map(|_| random.next() as u8).collect()
}

fn is_served(served: &Served) -> bool {
    let client = go(&served.socket, true);
    put(&client, &[&request(READ, 0, 1, 0, 4096)]);
    get_vec(&client, 28 + 4096).len() == 28 + 4096
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn noise_ends_the_connection_and_nothing_else() {
    let served = memory(ServerOptions { handshake: Duration::from_millis(300), ..Default::default() });
    for seed in 0..60 {
        let length = 1 + (seed as usize * 37) % 3000;
        let client = if seed % 3 == 0 { go(&served.socket, seed % 2 == 0) } else { connect(&served.socket) };
        if seed % 3 == 1 {
            greet(&client);
        }
        let _ = (&client).write_all(&noise(seed, length));
        let _ = client.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        let _ = (&client).read_to_end(&mut rest);
    }
    assert!(is_served(&served));
    wait_until("all have gone", || served.server.figures().connections == 0);
}

#[test]
fn every_cut_of_a_good_conversation_is_survived() {
    let served = memory(ServerOptions::default());
    let mut good = vec![0, 0, 0, 3];
    good.extend(option(8, &[]));
    good.extend(option(7, &named("")));
    good.extend(request(WRITE, 0, 1, 0, 100));
    good.extend([1; 100]);
    good.extend(request(READ, 0, 2, 0, 100));
    for cut in 0..good.len() {
        let client = connect(&served.socket);
        put(&client, &[&good[..cut]]);
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = (&client).read_to_end(&mut rest);
        assert!(rest.len() < 500);
    }
    let client = go(&served.socket, false);
    assert_eq!(read(&client, 0, 100), [1; 100], "the whole one was carried out");
}

#[test]
fn promises_of_many_bytes_take_no_memory() {
    let served = memory(ServerOptions::default());
    let client = connect(&served.socket);
    greet(&client);
    put(&client, &[b"IHAVEOPT", &[0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff]]);
    assert!(is_closed(&client));
    // A write of 4 GiB ends the connection, because the server does not read that much to discard it.
    let client = go(&served.socket, false);
    put(&client, &[&request(WRITE, 0, 5, 0, u32::MAX)]);
    let (error, cookie) = simple(&client);
    assert!(error != 0 && cookie == 5 && is_closed(&client));
    assert!(is_served(&served));
}

#[test]
fn options_have_an_end() {
    let served = memory(ServerOptions::default());
    let client = connect(&served.socket);
    greet(&client);
    let ended = (0..100_000).any(|_| {
        let mut head = [0; 20];
        let asked = (&client).write_all(&option(4711, &[])).and_then(|()| (&client).read_exact(&mut head));
        if asked.is_ok() {
            get_vec(&client, u32::from_be_bytes(head[16..].try_into().unwrap()) as usize);
        }
        asked.is_err()
    });
    assert!(ended);
}

#[test]
fn whoever_dawdles_in_the_handshake_is_sent_away() {
    let served = memory(ServerOptions { handshake: Duration::from_millis(200), ..Default::default() });
    let silent = connect(&served.socket);
    get::<18>(&silent);
    let begun = Instant::now();
    assert!(is_closed(&silent));
    // A byte now and then does not help.
    let slow = connect(&served.socket);
    let mut sent = 0;
    for byte in [0, 0, 0, 3].into_iter().chain(option(7, &named(""))) {
        thread::sleep(Duration::from_millis(30));
        if (&slow).write_all(&[byte]).is_err() {
            break;
        }
        sent += 1;
    }
    assert!(sent < 30, "{sent} bytes were taken");
    assert!(begun.elapsed() < Duration::from_secs(10));
    let client = go(&served.socket, false);
    thread::sleep(Duration::from_millis(400));
    assert_eq!(read(&client, 0, 1), [0]);
}

#[test]
fn whoever_dawdles_in_the_handshake_of_tls_is_sent_away() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls");
    let tls = Some(Tls::from_folder(&folder).unwrap());
    let served = memory(ServerOptions { tls, handshake: Duration::from_millis(200), ..Default::default() });
    let client = connect(&served.socket);
    greet(&client);
    put(&client, &[&option(5, &[])]);
    assert_eq!(answer(&client), (5, 1, vec![]));
    assert!(is_closed(&client));
}

#[test]
fn ten_thousand_connections_take_the_place_of_a_few() {
    let served = memory(ServerOptions {
        connections_max: 8,
        handshake: Duration::from_millis(500),
        ..Default::default()
    });
    let first = go(&served.socket, false);
    let (mut held, mut made) = (Vec::new(), 1);
    for number in 0..10_000 {
        let Ok(stream) = UnixStream::connect(&served.socket) else { continue };
        made += 1;
        if number % 100 == 0 {
            held.push(stream);
        }
    }
    assert_eq!(read(&first, 0, 1), [0], "who is there is served");
    let all = || {
        let figures = served.server.figures();
        figures.connections_in_all + figures.connections_refused
    };
    wait_until("nobody waits to be let in", || all() == made);
    let figures = served.server.figures();
    assert!(figures.connections <= 8 && figures.connections_refused > 5_000, "{figures:?}");
    drop(held);
    wait_until("they are gone", || served.server.figures().connections == 1);
    assert!(is_served(&served));
}

#[test]
fn whoever_does_not_read_holds_what_was_promised_and_no_more() {
    let options = ServerOptions { in_flight_bytes_max: 32 << 20, requests_max: 8, ..Default::default() };
    let mut served = memory(ServerOptions { farewell: Duration::from_millis(200), ..options });
    let before = resident_bytes();
    let client = go(&served.socket, false);
    client.set_nonblocking(true).unwrap();
    // 16 GB of replies asked for, none taken.
    let asked: Vec<u8> = (0..2000).flat_map(|cookie| request(READ, 0, cookie, 0, 8 << 20)).collect();
    let mut at = 0;
    let begun = Instant::now();
    while at < asked.len() && begun.elapsed() < Duration::from_secs(2) {
        match (&client).write(&asked[at..]) {
            Ok(count) => at += count,
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 100 << 20, "{grown} bytes");
    assert!(is_served(&served), "others do not wait for it");
    let begun = Instant::now();
    served.server.stop().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn the_end_waits_for_what_was_begun_and_flushes() {
    let (gate, inside) = (Arc::new((Mutex::new(false), Condvar::new())), Arc::new(AtomicBool::new(false)));
    let (its_gate, its_inside) = (Arc::clone(&gate), Arc::clone(&inside));
    let before = move |operation, _| {
        if operation == Operation::Write {
            its_inside.store(true, Ordering::Relaxed);
            drop(its_gate.1.wait_while(its_gate.0.lock().unwrap(), |open| !*open));
        }
    };
    let export = Arc::new(Watched { inner: MemoryExport::new(SIZE), before });
    let mut served = serve(Arc::clone(&export) as Arc<dyn Export>, ServerOptions::default());
    let client = go(&served.socket, false);
    put(&client, &[&request(WRITE, 0, 6, 0, 3), b"abc"]);
    wait_until("the write has begun", || inside.load(Ordering::Relaxed));
    let socket = served.socket.clone();
    let stopping = thread::spawn(move || served.server.stop());
    wait_until("nobody is let in any more", || UnixStream::connect(&socket).is_err());
    assert!(!stopping.is_finished(), "a write is still under way");
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    assert_eq!(simple(&client), (0, 6), "it is answered all the same");
    stopping.join().unwrap().unwrap();
    assert!(is_closed(&client));
    let mut bytes = [0; 3];
    export.inner.read(0, &mut bytes, &()).unwrap();
    assert_eq!((&bytes, export.inner.flushes()), (b"abc", 1));
}
