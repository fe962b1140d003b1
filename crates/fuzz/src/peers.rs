//! Both ends of a connection: a hostile client, and a hostile server.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use flashtwin_live::nbd::{Address, NbdExport, Server, ServerOptions, Uri};
use flashtwin_live::{Export, MemoryExport, Writing};

use crate::places::scratch;

const PATIENCE: Duration = Duration::from_secs(20);
/// What a server says first: two numbers, and what it can do.
const GREETING: &[u8; 16] = b"NBDMAGICIHAVEOPT";

/// The socket of a server that runs as long as this process.
fn socket() -> &'static PathBuf {
    static SERVED: OnceLock<(Server, PathBuf)> = OnceLock::new();
    let (_, socket) = SERVED.get_or_init(|| {
        let socket = scratch("server.sock");
        let export = Arc::new(MemoryExport::new(1 << 20));
        let server = Server::start(export, &Address::Unix(socket.clone()), ServerOptions::default());
        (server.expect("a socket in the folder for temporary files"), socket)
    });
    socket
}

/// What a client sends: the server answers or lets go, and is there for the next one.
pub(crate) fn server(bytes: &[u8]) {
    let mut client = UnixStream::connect(socket()).expect("the server listens");
    client.set_read_timeout(Some(PATIENCE)).expect("a time is set");
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
                let hangs =
                    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut);
                assert!(!hangs, "the server neither answers nor lets go");
                break;
            }
        }
    }
}

/// A client that takes the default export, writes, reads, flushes and leaves.
pub(crate) fn sessions() -> Vec<Vec<u8>> {
    let option = |number: u32, data: &[u8]| {
        [&b"IHAVEOPT"[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
    };
    let request = |kind: u16, offset: u64, length: u32| {
        [
            &0x2560_9513_u32.to_be_bytes()[..],
            &[0, 0],
            &kind.to_be_bytes(),
            &[0; 8],
            &offset.to_be_bytes(),
            &length.to_be_bytes(),
        ]
        .concat()
    };
    let flags = 3_u32.to_be_bytes();
    let go = option(7, &[0, 0, 0, 0, 0, 0]);
    let write = [request(1, 4096, 512), vec![5; 512]].concat();
    let rest = [
        write,
        request(0, 4096, 512),
        request(3, 0, 0),
        request(4, 0, 4096),
        request(6, 0, 8192),
        request(2, 0, 0),
    ];
    vec![
        [&flags[..], &go, &rest.concat()].concat(),
        [&flags[..], &option(3, &[]), &option(8, &[]), &go, &request(0, 0, 1 << 20)].concat(),
        [&flags[..], &option(1, &[])].concat(),
    ]
}

/// What a server says, whatever it is asked: the client gets answers or an error, and does not wait for ever.
pub(crate) fn client(bytes: &[u8]) {
    let path = scratch("client.sock");
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("a socket in the folder for temporary files");
    let said = bytes.to_vec();
    let hostile = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the client connects");
        let _ = stream.write_all(&said).and_then(|()| stream.shutdown(Shutdown::Write));
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let mut heard = [0; 1 << 12];
        while matches!(stream.read(&mut heard), Ok(more) if more > 0) {}
    });
    if let Ok(export) = NbdExport::connect(&Uri { address: Address::Unix(path), export: String::new() }) {
        let mut page = [0; 512];
        let _ = export.read(0, &mut page, &());
        let _ = export.write(0, &page, Writing::default(), &());
        let _ = export.extents(0, 4096, 4, &());
        let _ = export.flush();
    }
    hostile.join().expect("the client lets go");
}

/// What our own server says to a client that does the same.
pub(crate) fn answers() -> Vec<Vec<u8>> {
    let mut said = Vec::new();
    for session in sessions() {
        let mut stream = UnixStream::connect(socket()).expect("the server listens");
        stream.write_all(&session).and_then(|()| stream.shutdown(Shutdown::Write)).expect("the server hears");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("the server answers");
        said.push(answer);
    }
    said
}
