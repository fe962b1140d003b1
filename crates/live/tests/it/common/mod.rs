//! A client of the protocol written by hand, so that a mistake in the server's numbers is not made twice.
#![allow(dead_code, reason = "each test uses a part")]

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use flashtwin_live::nbd::{Address, Server, ServerOptions};
use flashtwin_live::{Caller, Export, MemoryExport, Operation, Writing};

pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ft-live-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Where the seeds of a long random test begin. `FLASHTWIN_SEED`, any text such as a commit, chooses others.
pub(crate) fn seed() -> u64 {
    let text = std::env::var("FLASHTWIN_SEED").unwrap_or_default();
    text.bytes().fold(100, |seed, byte| (seed * 31 + u64::from(byte)) % 1_000_000)
}

/// Says what a random test tried, for the study `reliability`.
#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
pub(crate) fn counted(number: usize, what: &str) {
    println!("counted {number} {what}");
}

pub(crate) fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

pub(crate) struct Watched<F> {
    pub(crate) inner: MemoryExport,
    pub(crate) before: F,
}

impl<F: Fn(Operation, u64) + Send + Sync> Export for Watched<F> {
    fn size_bytes(&self) -> u64 {
        self.inner.size_bytes()
    }
    fn read(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> io::Result<()> {
        (self.before)(Operation::Read, offset);
        self.inner.read(offset, into, caller)
    }
    fn write(&self, offset: u64, bytes: &[u8], how: Writing, caller: &dyn Caller) -> io::Result<()> {
        (self.before)(Operation::Write, offset);
        self.inner.write(offset, bytes, how, caller)
    }
    fn flush(&self) -> io::Result<()> {
        (self.before)(Operation::Flush, 0);
        self.inner.flush()
    }
    fn trim(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()> {
        self.inner.trim(offset, length, how, caller)
    }
    fn write_zeroes(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()> {
        self.inner.write_zeroes(offset, length, how, caller)
    }
}

pub(crate) struct Served {
    pub(crate) server: Server,
    pub(crate) socket: PathBuf,
    pub(crate) folder: Folder,
}

pub(crate) fn serve(export: Arc<dyn Export>, options: ServerOptions) -> Served {
    let folder = Folder::new();
    let socket = folder.join("s");
    let server = Server::start(export, &Address::Unix(socket.clone()), options).unwrap();
    Served { server, socket, folder }
}

pub(crate) fn connect(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).unwrap();
    // A test that waits in vain must fail.
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

pub(crate) fn get<const N: usize>(mut stream: &UnixStream) -> [u8; N] {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

pub(crate) fn get_vec(mut stream: &UnixStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

pub(crate) fn put(mut stream: &UnixStream, parts: &[&[u8]]) {
    stream.write_all(&parts.concat()).unwrap();
}

pub(crate) fn is_closed(mut stream: &UnixStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

pub(crate) fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [b"IHAVEOPT", &number.to_be_bytes()[..], &(data.len() as u32).to_be_bytes(), data].concat()
}

pub(crate) fn answer(stream: &UnixStream) -> (u32, u32, Vec<u8>) {
    assert_eq!(get::<8>(stream), [0x00, 0x03, 0xe8, 0x89, 0x04, 0x55, 0x65, 0xa9]);
    let [option, kind, length] = [(); 3].map(|()| u32::from_be_bytes(get(stream)));
    (option, kind, get_vec(stream, length as usize))
}

pub(crate) fn greet(stream: &UnixStream) {
    assert_eq!(get::<18>(stream), *b"NBDMAGICIHAVEOPT\x00\x03");
    put(stream, &[&[0, 0, 0, 3]]);
}

/// The data of `GO` and `INFO` for an export, asking for nothing in particular.
pub(crate) fn named(name: &str) -> Vec<u8> {
    [&(name.len() as u32).to_be_bytes()[..], name.as_bytes(), &[0, 0]].concat()
}

/// Goes into transmission; structured replies and the context of allocation if wanted.
pub(crate) fn go(socket: &Path, structured: bool) -> UnixStream {
    let stream = connect(socket);
    greet(&stream);
    if structured {
        put(&stream, &[&option(8, &[])]);
        assert_eq!(answer(&stream), (8, 1, vec![]));
        let data = [&[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 15][..], b"base:allocation"].concat();
        put(&stream, &[&option(10, &data)]);
        let (_, kind, found) = answer(&stream);
        assert_eq!((kind, &found[..]), (4, &[&[0, 0, 0, 1][..], b"base:allocation"].concat()[..]));
        assert_eq!(answer(&stream), (10, 1, vec![]));
    }
    put(&stream, &[&option(7, &named(""))]);
    loop {
        match answer(&stream) {
            (7, 3, _) => {}
            other => {
                assert_eq!(other, (7, 1, vec![]));
                return stream;
            }
        }
    }
}

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const DISC: u16 = 2;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const TRIM: u16 = 4;
pub(crate) const ZEROES: u16 = 6;
pub(crate) const STATUS: u16 = 7;

pub(crate) fn request(command: u16, flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    [
        &[0x25, 0x60, 0x95, 0x13][..],
        &flags.to_be_bytes(),
        &command.to_be_bytes(),
        &cookie.to_be_bytes(),
        &offset.to_be_bytes(),
        &length.to_be_bytes(),
    ]
    .concat()
}

pub(crate) fn simple(stream: &UnixStream) -> (u32, u64) {
    assert_eq!(get::<4>(stream), [0x67, 0x44, 0x66, 0x98]);
    (u32::from_be_bytes(get(stream)), u64::from_be_bytes(get(stream)))
}

pub(crate) fn ask(stream: &UnixStream, command: u16, flags: u16, offset: u64, length: u32) -> u32 {
    put(stream, &[&request(command, flags, 77, offset, length)]);
    let (error, cookie) = simple(stream);
    assert_eq!(cookie, 77);
    error
}

pub(crate) fn write(stream: &UnixStream, flags: u16, offset: u64, bytes: &[u8]) -> u32 {
    put(stream, &[&request(WRITE, flags, 78, offset, bytes.len() as u32), bytes]);
    let (error, cookie) = simple(stream);
    assert_eq!(cookie, 78);
    error
}

pub(crate) fn read(stream: &UnixStream, offset: u64, length: u32) -> Vec<u8> {
    assert_eq!(ask(stream, READ, 0, offset, length), 0);
    get_vec(stream, length as usize)
}
