//! Another server's export, so that it can be served or recorded on the way.
//!
//! Once the connection fails, all requests fail, because unflushed writes may be lost and a new one would hide it.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::address::Uri;
use super::offer::PIECE_BYTES;
use super::socket::Stream;
use super::wire::{self, Numbers, Request, answer, can, command, flag, info, option};
use crate::export::{self, Caller, Export, Look, Writing};
use crate::locks::lock;

const HANDSHAKE: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: u32 = 64 * 1024;
/// If the server does not say.
const REQUEST_BYTES_MAX: u32 = 32 << 20;

type Reply = io::Result<Vec<u8>>;

struct Waiting {
    bytes: usize,
    sender: SyncSender<Reply>,
}

/// By cookie; `None` when there will be no replies any more.
type Waitings = Mutex<Option<HashMap<u64, Waiting>>>;

pub struct NbdExport {
    stream: Arc<Stream>,
    output: Mutex<()>,
    waitings: Arc<Waitings>,
    cookie: AtomicU64,
    reader: Option<JoinHandle<()>>,
    export_info: ExportInfo,
}

#[derive(Clone, Copy, Debug)]
struct ExportInfo {
    size_bytes: u64,
    flags: u16,
    preferred_block_bytes: u32,
    request_bytes_max: u32,
}

impl NbdExport {
    pub fn connect(uri: &Uri) -> io::Result<NbdExport> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", uri.address.uri(&uri.export)))
        };
        let stream = Stream::connect(&uri.address).map_err(named)?;
        stream.set_patience(Some(HANDSHAKE))?;
        let export_info = greet(&stream, &uri.export).map_err(named)?;
        stream.set_patience(None)?;
        let stream = Arc::new(stream);
        let waitings = Arc::new(Mutex::new(Some(HashMap::new())));
        let (its_stream, its_waitings) = (Arc::clone(&stream), Arc::clone(&waitings));
        let reader = thread::Builder::new()
            .name("nbd-replies".to_owned())
            .spawn(move || read_replies(&its_stream, &its_waitings))?;
        let reader = Some(reader);
        Ok(NbdExport {
            stream,
            output: Mutex::new(()),
            waitings,
            cookie: AtomicU64::new(0),
            reader,
            export_info,
        })
    }

    fn can(&self, flag: u16) -> bool {
        self.export_info.flags & flag != 0
    }

    /// Sends a request under a cookie of its own. Its reply brings `bytes`.
    fn ask(&self, request: Request, payload: &[u8], bytes: usize) -> Reply {
        let lost = || io::Error::new(io::ErrorKind::NotConnected, "the connection to the server is lost");
        let cookie = self.cookie.fetch_add(1, Relaxed);
        let (sender, receiver) = sync_channel(1);
        lock(&self.waitings).as_mut().ok_or_else(lost)?.insert(cookie, Waiting { bytes, sender });
        self.send(&Request { cookie, ..request }, payload)?;
        receiver.recv().map_err(|_| lost())?
    }

    fn send(&self, request: &Request, payload: &[u8]) -> io::Result<()> {
        let _turn = lock(&self.output);
        let mut stream = &*self.stream;
        let sent = if payload.len() <= 64 * 1024 {
            stream.write_all(&[&request.to_bytes()[..], payload].concat())
        } else {
            stream.write_all(&request.to_bytes()).and_then(|()| stream.write_all(payload))
        };
        if sent.is_err() {
            // The rest of the request cannot follow. The thread that reads replies wakes all callers.
            self.stream.shutdown(Shutdown::Both);
        }
        sent
    }

    fn change(&self, command: u16, offset: u64, length: u64, how: Writing) -> io::Result<()> {
        let mut flags = if how.durable && self.can(can::FUA) { flag::FUA } else { 0 };
        if command == command::WRITE_ZEROES {
            flags |= if how.keep_room { flag::NO_HOLE } else { 0 };
            flags |= if how.only_if_fast { flag::FAST_ZERO } else { 0 };
        }
        // The largest multiple of any block that a request can name.
        let most = 1_u64 << 31;
        for at in (0..length).step_by(1 << 31) {
            let piece = most.min(length - at) as u32;
            self.ask(request(command, flags, offset + at, piece), &[], 0)?;
        }
        self.settle(how)
    }

    fn settle(&self, how: Writing) -> io::Result<()> {
        if how.durable && !self.can(can::FUA) { self.flush() } else { Ok(()) }
    }
}

fn request(command: u16, flags: u16, offset: u64, length: u32) -> Request {
    Request { flags, command, cookie: 0, offset, length }
}

impl Drop for NbdExport {
    fn drop(&mut self) {
        // A server that is gone needs no farewell.
        let _ = self.send(&request(command::DISCONNECT, 0, 0, 0), &[]);
        self.stream.shutdown(Shutdown::Both);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Export for NbdExport {
    fn size_bytes(&self) -> u64 {
        self.export_info.size_bytes
    }

    fn preferred_block_bytes(&self) -> u32 {
        self.export_info.preferred_block_bytes
    }

    fn read_only(&self) -> Option<String> {
        self.can(can::READ_ONLY).then(|| "the other server takes no writes".to_owned())
    }

    fn read(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> io::Result<()> {
        let (mut at, mut look) = (offset, Look::new(caller));
        // The reply is held beside `into`.
        for piece in into.chunks_mut((self.export_info.request_bytes_max as usize).min(PIECE_BYTES)) {
            look.at(piece.len() as u64)?;
            let length = piece.len() as u32;
            piece.copy_from_slice(&self.ask(request(command::READ, 0, at, length), &[], piece.len())?);
            at += u64::from(length);
        }
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8], how: Writing, caller: &dyn Caller) -> io::Result<()> {
        let flags = if how.durable && self.can(can::FUA) { flag::FUA } else { 0 };
        let (mut at, mut look) = (offset, Look::new(caller));
        for piece in bytes.chunks(self.export_info.request_bytes_max as usize) {
            look.at(piece.len() as u64)?;
            self.ask(request(command::WRITE, flags, at, piece.len() as u32), piece, 0)?;
            at += piece.len() as u64;
        }
        self.settle(how)
    }

    fn flush(&self) -> io::Result<()> {
        // A server without flush has no volatile data, or does not announce it.
        if !self.can(can::FLUSH) {
            return Ok(());
        }
        self.ask(request(command::FLUSH, 0, 0, 0), &[], 0).map(drop)
    }

    fn trim(&self, offset: u64, length: u64, how: Writing, _caller: &dyn Caller) -> io::Result<()> {
        if self.can(can::TRIM) { self.change(command::TRIM, offset, length, how) } else { self.settle(how) }
    }

    fn write_zeroes(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()> {
        if how.only_if_fast && !(self.can(can::WRITE_ZEROES) && self.can(can::FAST_ZERO)) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if self.can(can::WRITE_ZEROES) {
            return self.change(command::WRITE_ZEROES, offset, length, how);
        }
        export::write_zeroes(self, offset, length, how, caller)
    }
}

fn read_replies(stream: &Stream, waitings: &Waitings) {
    let mut stream = stream;
    let mut input = io::BufReader::with_capacity(64 * 1024, &mut stream);
    let _ = (|| -> io::Result<()> {
        loop {
            let mut head = [0; 16];
            input.read_exact(&mut head)?;
            let mut head = Numbers(&head);
            let (Some(wire::SIMPLE_REPLY), Some(error), Some(cookie)) = (head.u32(), head.u32(), head.u64())
            else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            let waiting = lock(waitings).as_mut().and_then(|waitings| waitings.remove(&cookie));
            let Some(waiting) = waiting else { return Err(io::ErrorKind::InvalidData.into()) };
            let reply = if error == 0 {
                let mut bytes = vec![0; waiting.bytes];
                input.read_exact(&mut bytes)?;
                Ok(bytes)
            } else {
                Err(wire::error_from(error))
            };
            let _ = waiting.sender.send(reply);
        }
    })();
    stream.shutdown(Shutdown::Both);
    // Closing their channels wakes the callers that still wait.
    drop(lock(waitings).take());
}

fn greet(stream: &Stream, export: &str) -> io::Result<ExportInfo> {
    let mut stream = stream;
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting)?;
    let mut at = Numbers(&greeting);
    let (Some(wire::GREETING), Some(wire::OPTION), Some(flags)) = (at.u64(), at.u64(), at.u16()) else {
        return Err(wrong("what listens there is no NBD server that knows newstyle"));
    };
    if u32::from(flags) & wire::FIXED_NEWSTYLE == 0 {
        return Err(wrong("the server does not know fixed newstyle"));
    }
    let [name_bytes, flags] =
        [export.len() as u32, wire::FIXED_NEWSTYLE | u32::from(flags) & wire::NO_ZEROES]
            .map(u32::to_be_bytes);
    let items = [1, info::BLOCK_SIZE].map(u16::to_be_bytes).concat();
    let data = [&name_bytes, export.as_bytes(), &items[..]].concat();
    let head = [option::GO, data.len() as u32].map(u32::to_be_bytes).concat();
    let asked = [&flags[..], &wire::OPTION.to_be_bytes(), &head, &data].concat();
    stream.write_all(&asked)?;
    let mut export_info = ExportInfo {
        size_bytes: 0,
        flags: 0,
        preferred_block_bytes: 4096,
        request_bytes_max: REQUEST_BYTES_MAX,
    };
    let mut known = false;
    loop {
        let (kind, data) = read_answer(stream)?;
        let mut at = Numbers(&data);
        match kind {
            answer::ACK if known => return Ok(export_info),
            answer::INFO => match at.u16() {
                Some(info::EXPORT) => {
                    let (Some(size), Some(flags)) = (at.u64(), at.u16()) else {
                        return Err(wrong("a short answer"));
                    };
                    (export_info.size_bytes, export_info.flags) = (size, flags);
                    known = true;
                }
                Some(info::BLOCK_SIZE) => take_sizes(&mut export_info, &mut at)?,
                _ => {}
            },
            kind if kind & answer::ERROR != 0 => {
                let why = String::from_utf8_lossy(&data);
                let cause = match kind {
                    answer::UNKNOWN => "there is no export of this name",
                    answer::UNSUPPORTED => "the server does not know the option GO",
                    _ => "the server refuses the export",
                };
                return Err(wrong(
                    if why.is_empty() { cause.to_owned() } else { format!("{cause} ({why})") }.as_str(),
                ));
            }
            _ => return Err(wrong("an answer that was not asked for")),
        }
    }
}

fn take_sizes(export_info: &mut ExportInfo, at: &mut Numbers<'_>) -> io::Result<()> {
    let (Some(least), Some(preferred), Some(most)) = (at.u32(), at.u32(), at.u32()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a short answer"));
    };
    if least > 4096 {
        let message = format!("the server takes blocks of {least} bytes only, at most 4096 were expected");
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    if preferred.is_power_of_two() {
        export_info.preferred_block_bytes = preferred.clamp(512, 1 << 20);
    }
    export_info.request_bytes_max = most.clamp(4096, REQUEST_BYTES_MAX) & !4095;
    Ok(())
}

fn read_answer(mut stream: &Stream) -> io::Result<(u32, Vec<u8>)> {
    let mut head = [0; 20];
    stream.read_exact(&mut head)?;
    let mut head = Numbers(&head);
    let (Some(wire::OPTION_REPLY), Some(option::GO), Some(kind), Some(length)) =
        (head.u64(), head.u32(), head.u32(), head.u32())
    else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no answer to what was asked"));
    };
    if length > ANSWER_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer of many bytes"));
    }
    let mut data = vec![0; length as usize];
    stream.read_exact(&mut data)?;
    Ok((kind, data))
}
