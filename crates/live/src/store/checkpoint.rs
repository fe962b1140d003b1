//! A checkpoint: all that a log before it says, in one piece. Two places take turns, so that the one before is whole
//! while one is written.
//!
//! At the beginning of its place: magic `FTWCHECK` (8 bytes), epoch (u64), sequences of the next batch of the log and of
//! the last program (u64 each), bytes of the body (u64), digest of the body (32), number of the drive (16), checksum of
//! all this (u64). At 4096 bytes behind that, the body:
//!
//! * blocks: how many (u32); of each that was ever used its number (plane by plane), its erases, its written pages (u32
//!   each), its use (u8: 0 erased; open for 1 copies, 2 the host, 3 collection, 4 wear levelling; 5 full; 6 being
//!   collected; 7 being moved on account of wear; 8 retired), the sequence of its last program (u64);
//! * logical pages: how many up to the last that holds something (u32); of each the number of its page plus one, or 0
//!   (u32);
//! * pages: of each that is pointed to, in the order in which it first appears above, the digest (16 bytes; 8 for a
//!   system that ignores contents), the number of its copies (u8) and theirs (u32 each);
//! * lost pages, of those above: how many and their numbers (u32 each);
//! * if there are any, pages that lie in slots: how many (u32), of each its number and its slot (u32 each).

use std::io;

use flashtwin_ftl::OpenFor;

use super::bytes::{Taker, checksum};
use super::error::DriveError;
use super::image::{BlockState, Image};
use super::layout::{ALIGN, Layout};
use super::log::LogEnd;
use super::medium::Medium;

const MAGIC: [u8; 8] = *b"FTWCHECK";
const HEADER_BYTES: usize = 96;
const CHUNK: usize = 1 << 20;

pub(crate) struct Writer<'a> {
    medium: &'a dyn Medium,
    first: u64,
    length: u64,
    limit: u64,
    chunk: Vec<u8>,
    hasher: blake3::Hasher,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(medium: &'a dyn Medium, layout: &Layout, epoch: u64) -> Self {
        Self {
            medium,
            first: layout.checkpoint(epoch),
            length: 0,
            limit: layout.checkpoint_bytes - ALIGN,
            chunk: Vec::with_capacity(CHUNK),
            hasher: blake3::Hasher::new(),
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.chunk.len() + bytes.len() > CHUNK {
            self.write_chunk()?;
        }
        self.chunk.extend(bytes);
        Ok(())
    }

    pub(crate) fn u32(&mut self, word: u32) -> io::Result<()> {
        self.bytes(&word.to_le_bytes())
    }

    pub(crate) fn block(&mut self, number: u32, state: &BlockState, full: u32) -> io::Result<()> {
        self.u32(number)?;
        self.u32(state.erases)?;
        self.u32(state.written)?;
        let used = match (state.open, state.collected) {
            (Some(kind), _) => 1 + kind as u8,
            (None, Some(levelled)) => 6 + u8::from(levelled),
            (None, None) if state.retired => 8,
            (None, None) if state.written == full => 5,
            (None, None) => 0,
        };
        self.bytes(&[used])?;
        self.bytes(&state.last_program.to_le_bytes())
    }

    fn write_chunk(&mut self) -> io::Result<()> {
        if self.length + self.chunk.len() as u64 > self.limit {
            return Err(io::Error::other("a checkpoint is larger than its place"));
        }
        self.hasher.update(&self.chunk);
        self.medium.write_at(&self.chunk, self.first + ALIGN + self.length)?;
        self.length += self.chunk.len() as u64;
        self.chunk.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self, uuid: &[u8; 16], end: &LogEnd) -> io::Result<()> {
        self.write_chunk()?;
        let mut header = Vec::with_capacity(ALIGN as usize);
        header.extend(MAGIC);
        for word in [end.epoch, end.sequence, end.programs, self.length] {
            header.extend(word.to_le_bytes());
        }
        header.extend(self.hasher.finalize().as_bytes());
        header.extend(uuid);
        let sum = checksum(uuid, &[&header]);
        header.extend(sum.to_le_bytes());
        header.resize(ALIGN as usize, 0);
        self.medium.write_at(&header, self.first)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) end: LogEnd,
    length: u64,
    digest: [u8; 32],
}

impl Header {
    pub(crate) fn read(
        medium: &dyn Medium,
        uuid: &[u8; 16],
        layout: &Layout,
        place: u64,
    ) -> Result<Option<Self>, DriveError> {
        let mut bytes = [0; HEADER_BYTES];
        let read = medium.read_at(&mut bytes, layout.checkpoint(place));
        read.map_err(DriveError::medium("checkpoint"))?;
        Ok(Self::parse(uuid, layout, place, &bytes))
    }

    fn parse(uuid: &[u8; 16], layout: &Layout, place: u64, bytes: &[u8]) -> Option<Self> {
        let mut taker = Taker(bytes);
        let magic: [u8; 8] = taker.array()?;
        let (epoch, sequence, programs, length) = (taker.u64()?, taker.u64()?, taker.u64()?, taker.u64()?);
        let digest = taker.array()?;
        let ours = taker.array::<16>()? == *uuid;
        let whole = taker.u64()? == checksum(uuid, &[&bytes[..HEADER_BYTES - 8]]);
        let fits = epoch % 2 == place && length <= layout.checkpoint_bytes - ALIGN;
        let end = LogEnd { epoch, sequence, position: 0, programs };
        (magic == MAGIC && ours && whole && fits).then_some(Self { end, length, digest })
    }

    /// Fails with [`DriveError::Image`] if the body is damaged.
    pub(crate) fn body(&self, medium: &dyn Medium, layout: &Layout) -> Result<Image, DriveError> {
        let place = || format!("checkpoint of epoch {}", self.end.epoch);
        let mut reader = Reader {
            medium,
            offset: layout.checkpoint(self.end.epoch) + ALIGN,
            left: self.length,
            chunk: Vec::new(),
            at: 0,
            hasher: blake3::Hasher::new(),
        };
        let image = reader.image(layout).map_err(|error| match error {
            ReadError::Medium(cause) => DriveError::Medium { place: place(), cause },
            ReadError::Text(text) => DriveError::image(place(), format!("damaged: {text}")),
        })?;
        let is_at_end = reader.left == 0 && reader.at == reader.chunk.len();
        match reader.hasher.finalize().as_bytes() == &self.digest && is_at_end {
            true => Ok(image),
            false => Err(DriveError::image(place(), "damaged: its digest does not fit")),
        }
    }
}

enum ReadError {
    Medium(io::Error),
    Text(String),
}

impl From<String> for ReadError {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

struct Reader<'a> {
    medium: &'a dyn Medium,
    offset: u64,
    left: u64,
    chunk: Vec<u8>,
    at: usize,
    hasher: blake3::Hasher,
}

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            if self.at == self.chunk.len() {
                self.refill()?;
            }
            *byte = self.chunk[self.at];
            self.at += 1;
        }
        Ok(bytes)
    }

    fn refill(&mut self) -> Result<(), ReadError> {
        let length = self.left.min(CHUNK as u64);
        if length == 0 {
            return Err(ReadError::Text("it ends early".into()));
        }
        self.chunk.resize(length as usize, 0);
        self.medium.read_at(&mut self.chunk, self.offset).map_err(ReadError::Medium)?;
        self.hasher.update(&self.chunk);
        self.offset += length;
        self.left -= length;
        self.at = 0;
        Ok(())
    }

    fn u32(&mut self) -> Result<u32, ReadError> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn image(&mut self, layout: &Layout) -> Result<Image, ReadError> {
        let mut image = Image::new(layout);
        for _ in 0..self.u32()? {
            let (number, state) = self.block()?;
            image.restore_block(number, state)?;
        }
        let mapped = self.u32()?;
        if mapped > layout.logical_pages {
            let pages = layout.logical_pages;
            return Err(ReadError::Text(format!("it tells of {mapped} logical pages, there are {pages}")));
        }
        for lpn in 0..mapped {
            if let Some(number) = self.u32()?.checked_sub(1) {
                image.restore_lpn(lpn, number)?;
            }
        }
        for slot in 0..image.slots_restored() {
            let mut digest = [0; 16];
            match layout.aware {
                true => digest = self.bytes()?,
                false => digest[..8].copy_from_slice(&self.bytes::<8>()?),
            }
            image.restore_digest(slot, digest);
            for _ in 0..self.bytes::<1>()?[0] {
                let number = self.u32()?;
                image.restore_copy(slot, number)?;
            }
        }
        for _ in 0..self.u32()? {
            let number = self.u32()?;
            image.restore_lost(number)?;
        }
        let is_at_end = self.left == 0 && self.at == self.chunk.len();
        let replaced = if is_at_end { 0 } else { self.u32()? };
        for _ in 0..replaced {
            let (number, slot) = (self.u32()?, self.u32()?);
            image.replace(number, slot)?;
        }
        Ok(image)
    }

    fn block(&mut self) -> Result<(u32, BlockState), ReadError> {
        let (number, erases, written) = (self.u32()?, self.u32()?, self.u32()?);
        let used = self.bytes::<1>()?[0];
        let last_program = self.bytes().map(u64::from_le_bytes)?;
        let open = used.checked_sub(1).and_then(|kind| OpenFor::ALL.get(usize::from(kind)).copied());
        let collected = (6..8).contains(&used).then_some(used == 7);
        if used > 8 {
            return Err(ReadError::Text(format!("block {number} is used as {used}")));
        }
        Ok((number, BlockState { erases, written, open, last_program, collected, retired: used == 8 }))
    }
}
