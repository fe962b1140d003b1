//! Random host operations, and the allowed contents of each page: a plain set of values beside the drive.

use std::collections::BTreeSet;

use flashtwin_bits::SplitMix64;
use flashtwin_live::{Drive, Export, Writing};

use crate::drive::scene::Shape;

type Values = BTreeSet<Vec<u8>>;

/// For each page, the values allowed now, and those allowed after the drive was opened again: its value at the last
/// answered flush, and possible later ones. A failed request may have happened, page by page.
#[derive(Clone)]
pub(crate) struct Oracle {
    pub(crate) page_bytes: usize,
    now: Vec<Values>,
    kept: Vec<Values>,
    pub(crate) errors: u64,
    pub(crate) right: u64,
}

impl Oracle {
    pub(crate) fn zeroes(shape: &Shape) -> Self {
        let page_bytes = shape.page_bytes as usize;
        let pages = vec![Values::from([vec![0; page_bytes]]); shape.logical as usize];
        Self { page_bytes, now: pages.clone(), kept: pages, errors: 0, right: 0 }
    }

    fn size(&self) -> usize {
        self.now.len() * self.page_bytes
    }

    /// Pages of a range, and of each the part that lies in it and where in the range that begins.
    fn parts(&self, offset: usize, length: usize) -> Vec<(usize, std::ops::Range<usize>, usize)> {
        let page_bytes = self.page_bytes;
        let pages = offset / page_bytes..(offset + length).div_ceil(page_bytes);
        let part = |page: usize| {
            let (from, to) = (offset.max(page * page_bytes), (offset + length).min((page + 1) * page_bytes));
            (page, from - page * page_bytes..to - page * page_bytes, from - offset)
        };
        pages.map(part).collect()
    }

    fn given(&mut self, offset: usize, bytes: &[u8], happened: bool) {
        for (page, part, at) in self.parts(offset, bytes.len()) {
            let changed = |old: &Vec<u8>| {
                let mut new = old.clone();
                new[part.clone()].copy_from_slice(&bytes[at..at + part.len()]);
                new
            };
            let new: Values = self.now[page].iter().map(changed).collect();
            self.kept[page].extend(new.iter().cloned());
            match happened {
                true => self.now[page] = new,
                false => self.now[page].extend(new),
            }
        }
    }

    pub(crate) fn flushed(&mut self) {
        self.kept.clone_from(&self.now);
    }

    pub(crate) fn flush(&mut self, drive: &Drive) -> Result<(), String> {
        drive.flush().map_err(|error| error.to_string())?;
        self.flushed();
        Ok(())
    }

    pub(crate) fn restart(&mut self) {
        self.now.clone_from(&self.kept);
    }

    pub(crate) fn read(&mut self, drive: &Drive, offset: usize, length: usize) -> Result<bool, String> {
        let mut bytes = vec![1; length];
        if drive.read(offset as u64, &mut bytes, &()).is_err() {
            self.errors += 1;
            return Ok(false);
        }
        for (page, part, at) in self.parts(offset, length) {
            let read = &bytes[at..at + part.len()];
            self.now[page].retain(|value| value[part.clone()] == *read);
            if self.now[page].is_empty() {
                return Err(format!("WRONG: page {page} reads as what it was not given"));
            }
        }
        self.right += 1;
        Ok(true)
    }

    pub(crate) fn read_all(&mut self, drive: &Drive) -> Result<usize, String> {
        let mut errors = 0;
        for page in 0..self.now.len() {
            errors += usize::from(!self.read(drive, page * self.page_bytes, self.page_bytes)?);
        }
        Ok(errors)
    }

    pub(crate) fn opened(&mut self, drive: &Drive) -> Result<(), String> {
        self.restart();
        let errors = self.read_all(drive)?;
        self.flushed();
        if errors == 0 { Ok(()) } else { Err(format!("{errors} pages cannot be read")) }
    }

    pub(crate) fn write_all(&mut self, drive: &Drive, seed: u64) -> Result<(), String> {
        for page in 0..self.now.len() {
            let bytes = page_of(seed << 20 | page as u64, self.page_bytes);
            self.write(drive, page * self.page_bytes, &bytes, Writing::default())?;
        }
        Ok(())
    }

    fn write(&mut self, drive: &Drive, offset: usize, bytes: &[u8], how: Writing) -> Result<(), String> {
        let done = drive.write(offset as u64, bytes, how, &());
        self.given(offset, bytes, done.is_ok());
        done.map_err(|error| error.to_string())
    }
}

pub(crate) fn page_of(value: u64, page_bytes: usize) -> Vec<u8> {
    let mut random = SplitMix64(value);
    (0..page_bytes).map(|_| random.next() as u8 & 3).collect()
}

pub(crate) struct Client {
    random: SplitMix64,
    /// One in this many operations is a flush.
    flush_every: usize,
    /// Values of pages that are repeated, as against those that are new.
    values: usize,
    fresh: u64,
}

impl Client {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = SplitMix64(seed);
        let flush_every = [3, 9, 40][random.next() as usize % 3];
        let values = [6, 40][random.next() as usize % 2];
        Self { random, flush_every, values, fresh: seed << 20 }
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.random.next() % limit as u64) as usize
    }

    fn bytes(&mut self, length: usize, page_bytes: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            self.fresh += 1;
            let value = if self.below(4) > 0 { self.below(self.values) as u64 } else { self.fresh };
            bytes.extend(page_of(value, page_bytes));
        }
        bytes.truncate(length);
        bytes
    }

    pub(crate) fn steps(&mut self, drive: &Drive, oracle: &mut Oracle, count: u32) -> Result<(), String> {
        (0..count).try_for_each(|_| self.step(drive, oracle)?)
    }

    /// One operation; `Ok(Err(_))` where the drive answered with an error, `Err` where it read wrong.
    pub(crate) fn step(&mut self, drive: &Drive, oracle: &mut Oracle) -> Result<Result<(), String>, String> {
        if self.below(self.flush_every) == 0 {
            return Ok(oracle.flush(drive));
        }
        if self.below(25) == 0 {
            return Ok(drive.end_period().map_err(|error| error.to_string()));
        }
        let page_bytes = oracle.page_bytes;
        let pages = oracle.size() / page_bytes;
        // Mostly the first quarter: hot pages, and victims with little in them.
        let first = if self.below(3) > 0 { self.below(pages / 4) } else { self.below(pages) };
        let count = (1 + self.below(4)).min(pages - first);
        let (mut offset, mut length) = (first * page_bytes, count * page_bytes);
        if self.below(5) == 0 {
            offset += 512 * self.below(page_bytes / 512);
            length = (512 * (1 + self.below(5))).min(oracle.size() - offset);
        }
        let how = Writing { durable: self.below(12) == 0, ..Writing::default() };
        let done = match self.below(12) {
            0 => {
                let from = offset.next_multiple_of(page_bytes);
                let to = ((offset + length) / page_bytes * page_bytes).max(from);
                let done = drive.trim(offset as u64, length as u64, how, &());
                oracle.given(from, &vec![0; to - from], done.is_ok());
                done.map_err(|error| error.to_string())
            }
            1 => {
                let how = Writing { keep_room: self.below(2) == 0, ..how };
                let done = drive.write_zeroes(offset as u64, length as u64, how, &());
                oracle.given(offset, &vec![0; length], done.is_ok());
                done.map_err(|error| error.to_string())
            }
            2..5 => {
                let read = oracle.read(drive, offset, length)?;
                return Ok(if read { Ok(()) } else { Err("a read answered with an error".into()) });
            }
            _ => {
                let bytes = self.bytes(length, page_bytes);
                oracle.write(drive, offset, &bytes, how)
            }
        };
        if how.durable && done.is_ok() {
            oracle.flushed();
        }
        Ok(done)
    }
}
