//! Any bytes as what a client sends to a network block device: the server answers or lets go, and is there for the next one.

#![no_main]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use flashtwin_live::MemoryExport;
use flashtwin_live::nbd::{Address, Server, ServerOptions};
use libfuzzer_sys::fuzz_target;

/// What a server says first: two numbers, and what it can do.
const GREETING: &[u8; 16] = b"NBDMAGICIHAVEOPT";

/// The socket of a server that runs as long as this process.
fn socket() -> &'static PathBuf {
    static SERVED: OnceLock<(Server, PathBuf)> = OnceLock::new();
    let (_, socket) = SERVED.get_or_init(|| {
        let socket = std::env::temp_dir().join(format!("flashtwin-fuzz-{}.sock", std::process::id()));
        let export = Arc::new(MemoryExport::new(1 << 20));
        let server = Server::start(export, &Address::Unix(socket.clone()), ServerOptions::default());
        (server.expect("a socket in the folder for temporary files"), socket)
    });
    socket
}

fuzz_target!(|bytes: &[u8]| {
    let mut client = UnixStream::connect(socket()).expect("the server listens");
    client.set_read_timeout(Some(Duration::from_secs(5))).expect("a time is set");
    let mut greeting = [0; 18];
    client.read_exact(&mut greeting).expect("the server greets");
    assert_eq!(&greeting[..16], GREETING);
    // The server may have gone already.
    let _ = client.write_all(bytes).and_then(|()| client.shutdown(Shutdown::Write));
    let mut answer = [0; 1 << 16];
    loop {
        match client.read(&mut answer) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                let hangs = matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut);
                assert!(!hangs, "the server neither answers nor lets go");
                break;
            }
        }
    }
});
