//! Bytes in memory: for tests, and to measure a server without a medium.

use std::io;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::export::{Caller, Export, Writing};
use crate::locks::unpoisoned;

const STRIPE_BYTES: usize = 64 * 1024;

pub struct MemoryExport {
    size_bytes: u64,
    stripes: Vec<RwLock<Box<[u8]>>>,
    flushes: AtomicU64,
}

impl MemoryExport {
    pub fn new(size_bytes: u64) -> MemoryExport {
        let stripes = size_bytes.div_ceil(STRIPE_BYTES as u64);
        let stripes = (0..stripes).map(|_| RwLock::new(vec![0; STRIPE_BYTES].into())).collect();
        MemoryExport { size_bytes, stripes, flushes: AtomicU64::new(0) }
    }

    pub fn flushes(&self) -> u64 {
        self.flushes.load(Relaxed)
    }

    fn change(&self, offset: u64, length: usize, mut work: impl FnMut(usize, &mut [u8])) {
        for_each_stripe(offset, length, |at, stripe, start, bytes| {
            let mut stripe = unpoisoned(self.stripes[stripe].write());
            work(at, &mut stripe[start..start + bytes]);
        });
    }
}

fn for_each_stripe(offset: u64, length: usize, mut work: impl FnMut(usize, usize, usize, usize)) {
    let mut at = 0;
    while at < length {
        let place = offset + at as u64;
        let (stripe, start) =
            ((place / STRIPE_BYTES as u64) as usize, (place % STRIPE_BYTES as u64) as usize);
        let bytes = (length - at).min(STRIPE_BYTES - start);
        work(at, stripe, start, bytes);
        at += bytes;
    }
}

impl Export for MemoryExport {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read(&self, offset: u64, into: &mut [u8], _caller: &dyn Caller) -> io::Result<()> {
        for_each_stripe(offset, into.len(), |at, stripe, start, bytes| {
            let stripe = unpoisoned(self.stripes[stripe].read());
            into[at..at + bytes].copy_from_slice(&stripe[start..start + bytes]);
        });
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8], _how: Writing, _caller: &dyn Caller) -> io::Result<()> {
        self.change(offset, bytes.len(), |at, part| part.copy_from_slice(&bytes[at..at + part.len()]));
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.flushes.fetch_add(1, Relaxed);
        Ok(())
    }

    fn trim(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()> {
        self.write_zeroes(offset, length, how, caller)
    }

    fn write_zeroes(&self, offset: u64, length: u64, _how: Writing, _caller: &dyn Caller) -> io::Result<()> {
        self.change(offset, length as usize, |_, part| part.fill(0));
        Ok(())
    }
}
