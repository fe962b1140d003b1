//! The transmission phase: requests in, replies out, in order of completion.
//!
//! Threads take turns at reading. A thread releases the input when it has read a request, and carries the request out
//! itself. If all are busy the connection gets another, up to a limit, so that one always listens.
//!
//! A thread keeps some memory from request to request. A larger request borrows from its connection's own budget before
//! its payload is read, and a long one is carried out in pieces ([`super::long`]). So a client that is slow to send or
//! to read takes memory from no other. When the client has left, begun work ends soon and no more is begun.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::budget::Budget;
use super::handshake::Agreed;
use super::offer::{INPUT_BYTES, KEPT_BYTES, Offer, PIECE_BYTES};
use super::pieces::Piece;
use super::socket::Stream;
use super::wire::{self, REQUEST_BYTES, Request, chunk, command, error, flag, joined};
use crate::export::{Caller, Extent, Writing};
use crate::figures::{Counters, Operation};
use crate::locks::lock;

const STACK_BYTES: usize = 1 << 20;
/// Room before the bytes of a read for the head of the reply, so that both go out at once.
const HEAD_BYTES: usize = 32;
const RUNS_MAX: usize = 1024;

pub(crate) struct Terms<'a> {
    pub(crate) offer: Offer<'a>,
    pub(crate) agreed: Agreed,
    /// Of the connection, from 1 on.
    pub(crate) number: u64,
    pub(crate) counters: &'a Counters,
    /// Requests that come after it is set are answered with an error.
    pub(crate) stopping: &'a AtomicBool,
}

/// Serves a client until it disconnects or breaks the protocol; begun requests are finished first.
pub(crate) fn serve(stream: &Stream, terms: &Terms<'_>) {
    let connection = Connection {
        stream,
        terms,
        input: Mutex::new(Input { buffer: vec![0; INPUT_BYTES], start: 0, end: 0, ended: false }),
        output: Mutex::new(()),
        budget: Budget::new(terms.offer.options.in_flight_bytes_max),
        kept_bytes: KEPT_BYTES / terms.offer.options.requests_max,
        threads: AtomicUsize::new(1),
        busy: AtomicUsize::new(0),
        is_gone: AtomicBool::new(false),
    };
    thread::scope(|scope| connection.work(scope));
    stream.shutdown(Shutdown::Both);
}

pub(super) struct Connection<'a> {
    pub(super) stream: &'a Stream,
    pub(super) terms: &'a Terms<'a>,
    input: Mutex<Input>,
    pub(super) output: Mutex<()>,
    budget: Budget,
    kept_bytes: usize,
    threads: AtomicUsize,
    busy: AtomicUsize,
    /// The client takes no replies any more.
    is_gone: AtomicBool,
}

impl Caller for Connection<'_> {
    fn has_left(&self) -> bool {
        if !self.is_gone.load(Relaxed) && self.stream.has_hung_up() {
            self.is_gone.store(true, Relaxed);
        }
        self.is_gone.load(Relaxed)
    }

    fn connection(&self) -> u64 {
        self.terms.number
    }
}

pub(super) struct Input {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
}

impl Input {
    /// Fails if the client stalls in the middle.
    pub(super) fn read_exact(&mut self, mut stream: &Stream, into: &mut [u8]) -> io::Result<()> {
        let there = into.len().min(self.end - self.start);
        let (front, mut rest) = into.split_at_mut(there);
        front.copy_from_slice(&self.buffer[self.start..self.start + there]);
        self.start += there;
        while !rest.is_empty() {
            // Reads larger than the buffer bypass it.
            let direct = rest.len() >= self.buffer.len();
            let got = stream.read(if direct { &mut *rest } else { &mut self.buffer[..] });
            let got = match got {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                got => got?,
            };
            let used = got.min(rest.len());
            if !direct {
                rest[..used].copy_from_slice(&self.buffer[..used]);
                (self.start, self.end) = (used, got);
            }
            rest = &mut rest[used..];
        }
        Ok(())
    }

    fn request(&mut self, stream: &Stream) -> Option<Request> {
        let mut bytes = [0; REQUEST_BYTES];
        while self.start == self.end && !self.await_more(stream).ok()? {}
        self.read_exact(stream, &mut bytes).ok()?;
        Request::from_bytes(&bytes)
    }

    /// Refills the empty buffer; false if the client, which may rest between requests, has sent nothing for a while.
    fn await_more(&mut self, mut stream: &Stream) -> io::Result<bool> {
        match stream.read(&mut self.buffer) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(got) => {
                (self.start, self.end) = (0, got);
                Ok(true)
            }
            Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&error.kind()) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

/// Memory of a thread: the head of a reply, then bytes read or to be written.
pub(super) struct Memory(Vec<u8>);

impl Memory {
    pub(super) fn payload(&mut self, bytes: usize) -> &mut [u8] {
        if self.0.len() < HEAD_BYTES + bytes {
            self.0.resize(HEAD_BYTES + bytes, 0);
        }
        &mut self.0[HEAD_BYTES..HEAD_BYTES + bytes]
    }

    fn shrink(&mut self, kept_bytes: usize) {
        if self.0.len() > HEAD_BYTES + kept_bytes {
            self.0 = Vec::new();
        }
    }
}

impl Connection<'_> {
    fn work<'scope, 'env>(&'env self, scope: &'scope thread::Scope<'scope, 'env>)
    where
        Self: 'scope,
    {
        let mut memory = Memory(Vec::new());
        loop {
            let mut input = lock(&self.input);
            if input.ended || self.is_gone.load(Relaxed) {
                return self.end(input);
            }
            let Some(request) = input.request(self.stream) else {
                return self.end(input);
            };
            if request.command == command::DISCONNECT {
                return self.end(input);
            }
            let started = Instant::now();
            let refused = self.refusal(&request);
            let has_payload = request.command == command::WRITE;
            let too_long = has_payload && request.length > self.terms.offer.options.request_bytes_max;
            let bytes = match request.command {
                // A payload must be read even if the request is refused, lest it be taken for requests.
                command::WRITE if !too_long => request.length as usize,
                command::READ if refused.is_none() => request.length as usize,
                _ => 0,
            };
            let room = bytes.min(PIECE_BYTES);
            let large = if room > self.kept_bytes { room } else { 0 };
            let Some(lent) = self.budget.take(large, || self.has_left()) else { return self.end(input) };
            let is_long = bytes > PIECE_BYTES;
            if has_payload && !is_long && input.read_exact(self.stream, memory.payload(bytes)).is_err() {
                return self.end(input);
            }
            // Nobody reads as much as that only to throw it away.
            input.ended |= too_long;
            // The payload of a long write is still to come.
            let rest = (has_payload && is_long).then_some(input);

            let busy = self.busy.fetch_add(1, Relaxed) + 1;
            self.terms.counters.in_flight.fetch_add(1, Relaxed);
            self.help(scope, busy);
            let done = match rest {
                Some(mut input) => self.write_long(&request, refused, &mut memory, &mut input),
                None if is_long => self.read_long(&request, &mut memory),
                None => self.carry_out(&request, refused, &mut memory, started),
            };
            self.terms.counters.in_flight.fetch_sub(1, Relaxed);
            self.busy.fetch_sub(1, Relaxed);
            memory.shrink(self.kept_bytes);
            drop(lent);
            if done.is_err() || too_long {
                // A half-written reply cannot be followed by another, nor unread payload by a request.
                self.is_gone.store(true, Relaxed);
                self.stream.shutdown(Shutdown::Both);
            }
        }
    }

    fn end(&self, mut input: MutexGuard<'_, Input>) {
        input.ended = true;
        input.buffer = Vec::new();
    }

    /// Starts a thread if all are at work.
    fn help<'scope, 'env>(&'env self, scope: &'scope thread::Scope<'scope, 'env>, busy: usize)
    where
        Self: 'scope,
    {
        let threads = self.threads.load(Relaxed);
        let wanted = busy >= threads && threads < self.terms.offer.options.requests_max;
        if wanted && self.threads.compare_exchange(threads, threads + 1, Relaxed, Relaxed).is_ok() {
            let name = "nbd-request".to_owned();
            let made = thread::Builder::new().name(name).stack_size(STACK_BYTES);
            if made.spawn_scoped(scope, move || self.work(scope)).is_err() {
                self.threads.fetch_sub(1, Relaxed);
            }
        }
    }

    /// The protocol error of a request, whatever the export.
    fn refusal(&self, request: &Request) -> Option<u32> {
        let terms = self.terms;
        if terms.stopping.load(Relaxed) {
            return Some(error::SHUTDOWN);
        }
        let known = match request.command {
            command::READ if terms.agreed.structured => flag::FUA | flag::DF,
            command::READ | command::WRITE | command::TRIM | command::FLUSH => flag::FUA,
            command::WRITE_ZEROES => flag::FUA | flag::NO_HOLE | flag::FAST_ZERO,
            command::BLOCK_STATUS if terms.agreed.allocation => flag::FUA | flag::REQ_ONE,
            _ => return Some(error::INVALID),
        };
        if request.flags & !known != 0 {
            return Some(error::INVALID);
        }
        let writes = [command::WRITE, command::TRIM, command::WRITE_ZEROES].contains(&request.command);
        if writes && terms.offer.read_only {
            return Some(error::PERMISSION);
        }
        if request.command == command::FLUSH {
            return (request.offset != 0 || request.length != 0).then_some(error::INVALID);
        }
        let end = request.offset.checked_add(u64::from(request.length));
        if request.length == 0 || end.is_none_or(|end| end > terms.offer.export.size_bytes()) {
            return Some(if writes { error::NO_SPACE } else { error::INVALID });
        }
        let carries = [command::READ, command::WRITE].contains(&request.command);
        let in_one = request.command == command::READ && request.flags & flag::DF != 0;
        let most = if in_one { PIECE_BYTES as u32 } else { terms.offer.options.request_bytes_max };
        (carries && request.length > most).then_some(error::OVERFLOW)
    }

    fn carry_out(
        &self,
        request: &Request,
        refused: Option<u32>,
        memory: &mut Memory,
        started: Instant,
    ) -> io::Result<()> {
        let outcome = match refused {
            Some(error) => Err(error),
            None => attempt(|| self.ask(request, memory)),
        };
        self.count(request, started.elapsed(), outcome.is_err());
        if self.is_gone.load(Relaxed) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        match outcome {
            Err(error) => self.reply_error(request, error),
            Ok(Answer::Done) => self.reply_done(request),
            Ok(Answer::Bytes) => self.reply_bytes(request, memory, &Piece::whole(request)),
            Ok(Answer::Extents(extents)) => self.reply_extents(request, &extents),
        }
    }

    pub(super) fn count(&self, request: &Request, time: Duration, failed: bool) {
        if let Some(operation) = operation_of(request.command) {
            self.terms.counters.count(operation, u64::from(request.length), time, failed);
        }
    }

    fn ask(&self, request: &Request, memory: &mut Memory) -> io::Result<Answer> {
        let export = self.terms.offer.export;
        let (offset, length) = (request.offset, u64::from(request.length));
        let how = how_of(request);
        match request.command {
            command::READ => {
                export.read(offset, memory.payload(request.length as usize), self)?;
                return Ok(Answer::Bytes);
            }
            command::BLOCK_STATUS => {
                let runs_max = if request.flags & flag::REQ_ONE != 0 { 1 } else { RUNS_MAX };
                return export.extents(offset, length, runs_max, self).map(Answer::Extents);
            }
            command::WRITE => export.write(offset, memory.payload(request.length as usize), how, self)?,
            command::TRIM => export.trim(offset, length, how, self)?,
            command::WRITE_ZEROES => export.write_zeroes(offset, length, how, self)?,
            _ => export.flush()?,
        }
        Ok(Answer::Done)
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let _turn = lock(&self.output);
        let mut stream = self.stream;
        stream.write_all(bytes)
    }

    pub(super) fn reply_error(&self, request: &Request, number: u32) -> io::Result<()> {
        if !self.terms.agreed.structured {
            return self.write(&simple_head(request, number));
        }
        // No message: the number says all that is known.
        self.write(&joined::<26>(&[
            &chunk_head(request, chunk::DONE, chunk::ERROR, 6),
            &number.to_be_bytes(),
            &[0; 2],
        ]))
    }

    pub(super) fn reply_done(&self, request: &Request) -> io::Result<()> {
        if self.terms.agreed.structured {
            self.write(&chunk_head(request, chunk::DONE, chunk::NONE, 0))
        } else {
            self.write(&simple_head(request, 0))
        }
    }

    /// Sends what was read of a request, which a structured reply may do in several pieces.
    pub(super) fn reply_bytes(
        &self,
        request: &Request,
        memory: &mut Memory,
        piece: &Piece,
    ) -> io::Result<()> {
        let end = HEAD_BYTES + piece.bytes;
        let start = if self.terms.agreed.structured {
            let flags = if piece.is_last { chunk::DONE } else { 0 };
            let head = chunk_head(request, flags, chunk::OFFSET_DATA, piece.bytes as u32 + 8);
            memory.0[HEAD_BYTES - 28..HEAD_BYTES - 8].copy_from_slice(&head);
            memory.0[HEAD_BYTES - 8..HEAD_BYTES].copy_from_slice(&piece.offset.to_be_bytes());
            HEAD_BYTES - 28
        } else {
            memory.0[HEAD_BYTES - 16..HEAD_BYTES].copy_from_slice(&simple_head(request, 0));
            HEAD_BYTES - 16
        };
        self.write(&memory.0[start..end])
    }

    fn reply_extents(&self, request: &Request, extents: &[Extent]) -> io::Result<()> {
        let length = 4 + 8 * extents.len();
        let mut reply = Vec::with_capacity(20 + length);
        reply.extend(chunk_head(request, chunk::DONE, chunk::BLOCK_STATUS, length as u32));
        reply.extend(wire::ALLOCATION_ID.to_be_bytes());
        for extent in extents {
            let flags = (u32::from(extent.hole) * wire::RUN_HOLE) | (u32::from(extent.zero) * wire::RUN_ZERO);
            // A run is a part of the requested range, whose length is 32 bits.
            reply.extend((extent.length_bytes as u32).to_be_bytes());
            reply.extend(flags.to_be_bytes());
        }
        self.write(&reply)
    }
}

enum Answer {
    Done,
    /// In the thread's memory.
    Bytes,
    Extents(Vec<Extent>),
}

/// A mistake of the export's costs the request, not the connection.
pub(super) fn attempt<T>(work: impl FnOnce() -> io::Result<T>) -> Result<T, u32> {
    panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
        .map_err(|error| wire::error_of(&error))
}

pub(super) fn how_of(request: &Request) -> Writing {
    let has = |flag| request.flags & flag != 0;
    Writing { durable: has(flag::FUA), keep_room: has(flag::NO_HOLE), only_if_fast: has(flag::FAST_ZERO) }
}

fn operation_of(number: u16) -> Option<Operation> {
    Some(match number {
        command::READ => Operation::Read,
        command::WRITE => Operation::Write,
        command::FLUSH => Operation::Flush,
        command::TRIM => Operation::Trim,
        command::WRITE_ZEROES => Operation::WriteZeroes,
        command::BLOCK_STATUS => Operation::BlockStatus,
        _ => return None,
    })
}

pub(super) fn simple_head(request: &Request, error: u32) -> [u8; 16] {
    let [magic, error] = [wire::SIMPLE_REPLY, error].map(u32::to_be_bytes);
    joined(&[&magic, &error, &request.cookie.to_be_bytes()])
}

fn chunk_head(request: &Request, flags: u16, kind: u16, length: u32) -> [u8; 20] {
    let [magic, length] = [wire::CHUNK, length].map(u32::to_be_bytes);
    let [flags, kind] = [flags, kind].map(u16::to_be_bytes);
    joined(&[&magic, &flags, &kind, &request.cookie.to_be_bytes(), &length])
}
