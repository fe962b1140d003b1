//! Random requests of clients, and the allowed contents of each page: a plain set of values beside the drive.

use std::collections::BTreeSet;
use std::io;
use std::rc::Rc;

use flashtwin_bits::SplitMix64;
use flashtwin_live::{Caller, Drive, Export, Writing};

use crate::drive::scene::Shape;

type Value = Rc<[u8]>;
pub(crate) type Values = BTreeSet<Value>;

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
        let pages = vec![Values::from([Value::from(vec![0; page_bytes])]); shape.logical as usize];
        Self { page_bytes, now: pages.clone(), kept: pages, errors: 0, right: 0 }
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

    pub(crate) fn given(&mut self, offset: usize, bytes: &[u8], happened: bool) {
        for (page, part, at) in self.parts(offset, bytes.len()) {
            let changed = |old: &Value| {
                let mut new = old.to_vec();
                new[part.clone()].copy_from_slice(&bytes[at..at + part.len()]);
                Value::from(new)
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

    /// What the pages of a read may hold, in the midst of which another request may come.
    pub(crate) fn before(&self, request: &Request) -> Vec<Values> {
        match *request {
            Request::Read { offset, length } => {
                self.parts(offset, length).into_iter().map(|(page, ..)| self.now[page].clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Takes the answer to a request. If another request came in its midst, the two may have happened in any order, and
    /// `before` has the values before both.
    pub(crate) fn answered(
        &mut self,
        request: &Request,
        done: io::Result<Vec<u8>>,
        before: Option<&[Values]>,
    ) -> Result<Result<(), String>, String> {
        if let Some((offset, bytes)) = request.changes(self.page_bytes) {
            self.given(offset, &bytes, done.is_ok() && before.is_none());
        }
        match (request, &done) {
            (Request::Read { offset, .. }, Ok(bytes)) => self.compare(*offset, bytes, before)?,
            (Request::Read { .. }, Err(_)) => self.errors += 1,
            (_, Ok(_)) if request.is_durable() => self.flushed(),
            _ => {}
        }
        Ok(done.map(|_| ()).map_err(|error| error.to_string()))
    }

    fn compare(&mut self, offset: usize, bytes: &[u8], before: Option<&[Values]>) -> Result<(), String> {
        for (nth, (page, part, at)) in self.parts(offset, bytes.len()).into_iter().enumerate() {
            let read = &bytes[at..at + part.len()];
            let fits = |value: &Value| value[part.clone()] == *read;
            let was_right = before.is_some_and(|before| before[nth].iter().any(fits));
            if !was_right {
                self.now[page].retain(fits);
            }
            if self.now[page].is_empty() {
                return Err(format!("WRONG: page {page} reads as what it was not given"));
            }
        }
        self.right += 1;
        Ok(())
    }

    fn read(&mut self, drive: &Drive, offset: usize, length: usize) -> Result<bool, String> {
        let request = Request::Read { offset, length };
        let done = request.ask(drive, self.page_bytes, &());
        Ok(self.answered(&request, done, None)?.is_ok())
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
            let (offset, length) = (page * self.page_bytes, self.page_bytes);
            let (contents, how) = (vec![seed << 20 | page as u64], Writing::default());
            let request = Request::Write { offset, length, contents, how };
            let done = request.ask(drive, self.page_bytes, &());
            self.answered(&request, done, None)??;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Request {
    Flush,
    EndOfPeriod,
    Checkpoint,
    Read { offset: usize, length: usize },
    Write { offset: usize, length: usize, contents: Vec<u64>, how: Writing },
    Trim { offset: usize, length: usize, how: Writing },
    Zeroes { offset: usize, length: usize, how: Writing },
}

impl Request {
    fn bytes(length: usize, contents: &[u64], page_bytes: usize) -> Vec<u8> {
        let pages: Vec<Vec<u8>> = contents.iter().map(|&value| page_of(value, page_bytes)).collect();
        let mut bytes = pages.concat();
        bytes.truncate(length);
        bytes
    }

    /// The bytes of a read; none of any other.
    pub(crate) fn ask(&self, drive: &Drive, page_bytes: usize, caller: &dyn Caller) -> io::Result<Vec<u8>> {
        let done = match *self {
            Self::Flush => drive.flush(),
            Self::EndOfPeriod => drive.end_period(),
            Self::Checkpoint => drive.checkpoint(),
            Self::Read { offset, length } => {
                let mut bytes = vec![1; length];
                return drive.read(offset as u64, &mut bytes, caller).map(|()| bytes);
            }
            Self::Write { offset, length, ref contents, how } => {
                drive.write(offset as u64, &Self::bytes(length, contents, page_bytes), how, caller)
            }
            Self::Trim { offset, length, how } => drive.trim(offset as u64, length as u64, how, caller),
            Self::Zeroes { offset, length, how } => {
                drive.write_zeroes(offset as u64, length as u64, how, caller)
            }
        };
        done.map(|()| Vec::new())
    }

    fn is_durable(&self) -> bool {
        match self {
            Self::Flush | Self::Checkpoint => true,
            Self::Write { how, .. } | Self::Trim { how, .. } | Self::Zeroes { how, .. } => how.durable,
            Self::Read { .. } | Self::EndOfPeriod => false,
        }
    }

    /// Where it changes the drive, and to which bytes. A trim leaves parts of pages alone.
    pub(crate) fn changes(&self, page_bytes: usize) -> Option<(usize, Vec<u8>)> {
        match *self {
            Self::Write { offset, length, ref contents, .. } => {
                Some((offset, Self::bytes(length, contents, page_bytes)))
            }
            Self::Zeroes { offset, length, .. } => Some((offset, vec![0; length])),
            Self::Trim { offset, length, .. } => {
                let from = offset.next_multiple_of(page_bytes);
                let to = ((offset + length) / page_bytes * page_bytes).max(from);
                Some((from, vec![0; to - from]))
            }
            _ => None,
        }
    }
}

pub(crate) fn page_of(value: u64, page_bytes: usize) -> Vec<u8> {
    let mut random = SplitMix64(value);
    let mut page = vec![0; page_bytes];
    for word in page.chunks_exact_mut(8) {
        word.copy_from_slice(&(random.next() & 0x0303_0303_0303_0303).to_le_bytes());
    }
    page
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

    fn content(&mut self) -> u64 {
        self.fresh += 1;
        if self.below(4) > 0 { self.below(self.values) as u64 } else { self.fresh }
    }

    pub(crate) fn steps(&mut self, drive: &Drive, oracle: &mut Oracle, count: u32) -> Result<(), String> {
        (0..count).try_for_each(|_| self.step(drive, oracle)?)
    }

    /// One request; `Ok(Err(_))` where the drive answered with an error, `Err` where it read wrong.
    pub(crate) fn step(&mut self, drive: &Drive, oracle: &mut Oracle) -> Result<Result<(), String>, String> {
        let request = self.request(oracle.page_bytes, oracle.now.len());
        let done = request.ask(drive, oracle.page_bytes, &());
        oracle.answered(&request, done, None)
    }

    pub(crate) fn request(&mut self, page_bytes: usize, pages: usize) -> Request {
        if self.below(self.flush_every) == 0 {
            return Request::Flush;
        }
        if self.below(25) == 0 {
            return Request::EndOfPeriod;
        }
        // Mostly the first quarter: hot pages, and victims with little in them.
        let first = if self.below(3) > 0 { self.below(pages.div_ceil(4)) } else { self.below(pages) };
        let most = if self.below(30) == 0 { pages } else { 4 };
        let count = (1 + self.below(most)).min(pages - first);
        let (mut offset, mut length) = (first * page_bytes, count * page_bytes);
        if self.below(5) == 0 {
            offset += 512 * self.below(page_bytes / 512);
            length = (512 * (1 + self.below(5))).min(pages * page_bytes - offset);
        }
        let how = Writing { durable: self.below(12) == 0, ..Writing::default() };
        match self.below(12) {
            0 => Request::Trim { offset, length, how },
            1 => {
                let how = Writing { keep_room: self.below(2) == 0, ..how };
                Request::Zeroes { offset, length, how }
            }
            2..5 => Request::Read { offset, length },
            _ => {
                let contents = (0..length.div_ceil(page_bytes)).map(|_| self.content()).collect();
                Request::Write { offset, length, contents, how }
            }
        }
    }
}
