//! A medium in memory that loses power: for tests of what is promised.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

use flashtwin_bits::SplitMix64;

use super::medium::Medium;

/// Bytes of a sector, the unit in which a medium keeps its word.
const SECTOR: usize = 512;

type Sector = [u8; SECTOR];

#[derive(Default)]
struct State {
    durable: Vec<u8>,
    /// What was written to each sector since the last sync, the oldest first.
    unsynced: BTreeMap<u64, Vec<Sector>>,
    /// Writes and syncs so far.
    steps: u64,
    /// The step at which power goes.
    cut_at: u64,
}

/// A medium whose power goes at a step: a write or a sync, counted from 0. The write at which it goes may still reach
/// each of its sectors; a sync at which it goes does nothing.
pub struct FaultMedium {
    state: Mutex<State>,
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the power is gone")
}

impl FaultMedium {
    /// Of so many zero bytes, with power for good.
    pub fn new(size_bytes: usize) -> Self {
        Self::of(vec![0; size_bytes])
    }

    /// With these bytes, and power for good.
    pub fn of(durable: Vec<u8>) -> Self {
        Self { state: Mutex::new(State { durable, cut_at: u64::MAX, ..State::default() }) }
    }

    /// Power goes at a step from now on counted from 0.
    pub fn cut_after(&self, steps: u64) {
        let mut state = self.state();
        state.cut_at = state.steps.saturating_add(steps);
    }

    /// Writes and syncs so far.
    pub fn steps(&self) -> u64 {
        self.state().steps
    }

    /// Whether power is gone.
    pub fn is_cut(&self) -> bool {
        let state = self.state();
        state.steps > state.cut_at
    }

    /// What is there when power comes back: each sector that was not made durable is as it was, or as it was written
    /// last or at some time since, or partly this and partly that, or anything.
    pub fn after_cut(&self, seed: u64) -> Vec<u8> {
        let state = self.state();
        let mut bytes = state.durable.clone();
        let mut random = SplitMix64(seed);
        // Of some cuts nothing was written, of others all: rules that depend on several sectors meet them all.
        let mood = random.next() % 4;
        for (&sector, versions) in &state.unsynced {
            let place = sector as usize * SECTOR..(sector as usize + 1) * SECTOR;
            let old = &mut bytes[place];
            let newest = &versions[versions.len() - 1];
            let some = &versions[random.next() as usize % versions.len()];
            match (mood, random.next() % 8) {
                (0, 0..7) | (_, 0..2) => {}
                (1, _) | (_, 2..4) => old.copy_from_slice(newest),
                (_, 4) => old.copy_from_slice(some),
                (_, 5) => {
                    let torn = random.next() as usize % SECTOR;
                    old[..torn].copy_from_slice(&newest[..torn]);
                }
                (_, 6) => {
                    let torn = random.next() as usize % SECTOR;
                    old[torn..].copy_from_slice(&newest[torn..]);
                }
                _ => old.fill_with(|| random.next() as u8),
            }
        }
        bytes
    }

    /// The bytes, where power was never cut.
    pub fn bytes(&self) -> Vec<u8> {
        let state = self.state();
        let mut bytes = state.durable.clone();
        state.land(&mut bytes);
        bytes
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl State {
    fn land(&self, bytes: &mut [u8]) {
        for (&sector, versions) in &self.unsynced {
            bytes[sector as usize * SECTOR..][..SECTOR].copy_from_slice(&versions[versions.len() - 1]);
        }
    }

    fn newest(&self, sector: u64) -> Sector {
        match self.unsynced.get(&sector).and_then(|versions| versions.last()) {
            Some(sector) => *sector,
            None => {
                let mut bytes = [0; SECTOR];
                bytes.copy_from_slice(&self.durable[sector as usize * SECTOR..][..SECTOR]);
                bytes
            }
        }
    }

    /// One step more; whether it is carried out, and whether it is the last.
    fn step(&mut self) -> io::Result<bool> {
        self.steps += 1;
        match self.steps.cmp(&(self.cut_at.saturating_add(1))) {
            std::cmp::Ordering::Less => Ok(false),
            std::cmp::Ordering::Equal => Ok(true),
            std::cmp::Ordering::Greater => Err(gone()),
        }
    }
}

impl Medium for FaultMedium {
    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.state().durable.len() as u64)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.state();
        if state.steps > state.cut_at {
            return Err(gone());
        }
        let end = offset.checked_add(into.len() as u64).filter(|&end| end <= state.durable.len() as u64);
        if end.is_none() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut at = 0;
        while at < into.len() {
            let place = offset + at as u64;
            let (sector, within) = (place / SECTOR as u64, place as usize % SECTOR);
            let length = (SECTOR - within).min(into.len() - at);
            into[at..at + length].copy_from_slice(&state.newest(sector)[within..within + length]);
            at += length;
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.state();
        let last = state.step()?;
        let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= state.durable.len() as u64);
        if end.is_none() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut at = 0;
        while at < bytes.len() {
            let place = offset + at as u64;
            let (sector, within) = (place / SECTOR as u64, place as usize % SECTOR);
            let length = (SECTOR - within).min(bytes.len() - at);
            let mut new = state.newest(sector);
            new[within..within + length].copy_from_slice(&bytes[at..at + length]);
            state.unsynced.entry(sector).or_default().push(new);
            at += length;
        }
        if last { Err(gone()) } else { Ok(()) }
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state();
        if state.step()? {
            return Err(gone());
        }
        let mut durable = std::mem::take(&mut state.durable);
        state.land(&mut durable);
        state.durable = durable;
        state.unsynced.clear();
        Ok(())
    }
}
