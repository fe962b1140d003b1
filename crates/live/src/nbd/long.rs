//! Requests that are longer than a piece: each piece is read or written by itself, and is a request to the export.
//!
//! The reply of a long read, and the payload of a long write, pass at the client's pace. Meanwhile the connection holds
//! one piece, and of no lock but its own.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::pieces::{Piece, pieces};
use super::transmission::{Connection, Input, Memory, attempt, how_of, simple_head};
use super::wire::Request;
use crate::export::Caller;
use crate::locks::lock;

impl Connection<'_> {
    fn pieces(&self, request: &Request) -> impl Iterator<Item = Piece> + use<> {
        pieces(request, self.terms.offer.export.preferred_block_bytes())
    }

    /// After an error, the rest of the payload is read all the same, lest it be taken for requests.
    pub(super) fn write_long(
        &self,
        request: &Request,
        refused: Option<u32>,
        memory: &mut Memory,
        input: &mut Input,
    ) -> io::Result<()> {
        let export = self.terms.offer.export;
        let (mut outcome, mut time) = (refused.map_or(Ok(()), Err), Duration::ZERO);
        for piece in self.pieces(request) {
            let payload = memory.payload(piece.bytes);
            input.read_exact(self.stream, payload)?;
            let began = Instant::now();
            outcome =
                outcome.and_then(|()| attempt(|| export.write(piece.offset, payload, how_of(request), self)));
            time += began.elapsed();
        }
        self.count(request, time, outcome.is_err());
        match outcome {
            Err(error) => self.reply_error(request, error),
            Ok(()) => self.reply_done(request),
        }
    }

    pub(super) fn read_long(&self, request: &Request, memory: &mut Memory) -> io::Result<()> {
        let export = self.terms.offer.export;
        let is_structured = self.terms.agreed.structured;
        let mut time = Duration::ZERO;
        for piece in self.pieces(request) {
            let began = Instant::now();
            let outcome = attempt(|| export.read(piece.offset, memory.payload(piece.bytes), self));
            time += began.elapsed();
            if piece.is_last || outcome.is_err() {
                self.count(request, time, outcome.is_err());
            }
            self.expect_there()?;
            match outcome {
                Err(error) => return self.reply_error(request, error),
                Ok(()) if is_structured => self.reply_bytes(request, memory, &piece)?,
                Ok(()) => {}
            }
        }
        if is_structured { Ok(()) } else { self.reply_in_one(request, memory) }
    }

    /// A simple reply begins by saying that there is no error, so it begins once all of it has been read. It is read
    /// again, because there is no memory for all of it; an error now ends the connection.
    fn reply_in_one(&self, request: &Request, memory: &mut Memory) -> io::Result<()> {
        let _turn = lock(&self.output);
        let mut stream = self.stream;
        stream.write_all(&simple_head(request, 0))?;
        for Piece { offset, bytes, .. } in self.pieces(request) {
            let payload = memory.payload(bytes);
            let read = attempt(|| self.terms.offer.export.read_again(offset, payload, self));
            read.map_err(|_| io::ErrorKind::ConnectionAborted)?;
            stream.write_all(payload)?;
        }
        Ok(())
    }
}
