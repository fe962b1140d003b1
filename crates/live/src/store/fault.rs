//! A medium in memory for tests: it loses power at a step, or chosen calls fail.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

use flashtwin_bits::SplitMix64;

use super::medium::Medium;
use crate::locks::lock;

const SECTOR: usize = 512;

type Sector = [u8; SECTOR];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Read(u64),
    Write(u64),
    Sync,
}

type Plan = Box<dyn FnMut(Call) -> Option<io::ErrorKind> + Send>;

struct State {
    durable: Vec<u8>,
    /// Writes to each sector since the last sync, the oldest first.
    unsynced: BTreeMap<u64, Vec<Sector>>,
    /// Sectors that a failed sync lost, as the page cache shows them until the system needs its memory.
    shown: BTreeMap<u64, Sector>,
    steps: u64,
    cut_at: u64,
    plan: Option<Plan>,
    worn: Vec<Range<u64>>,
    random: SplitMix64,
}

/// Power goes at a step: a write, which may still reach each of its sectors, or a sync, which then does nothing.
pub struct FaultMedium {
    state: Mutex<State>,
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the power is gone")
}

impl FaultMedium {
    pub fn new(size_bytes: usize) -> Self {
        Self::of(vec![0; size_bytes])
    }

    pub fn of(durable: Vec<u8>) -> Self {
        let state = State {
            durable,
            unsynced: BTreeMap::new(),
            shown: BTreeMap::new(),
            steps: 0,
            cut_at: u64::MAX,
            plan: None,
            worn: Vec::new(),
            random: SplitMix64(0),
        };
        Self { state: Mutex::new(state) }
    }

    /// Power goes at a step from now on counted from 0.
    pub fn cut_after(&self, steps: u64) {
        let mut state = self.state();
        state.cut_at = state.steps.saturating_add(steps);
    }

    /// Calls for which `plan` returns an error fail. A failed write leaves each sector written, partly written or not.
    /// A sector of a failed sync is durable or never will be; meanwhile it reads as written, or as before.
    pub fn fail_when(&self, seed: u64, plan: impl FnMut(Call) -> Option<io::ErrorKind> + Send + 'static) {
        let mut state = self.state();
        state.random = SplitMix64(seed);
        state.plan = Some(Box::new(plan));
    }

    /// Writes that touch these bytes fail, each time; they can be read.
    pub fn wear_out(&self, bytes: Range<u64>) {
        self.state().worn.push(bytes);
    }

    pub fn mend(&self) {
        let mut state = self.state();
        state.plan = None;
        state.worn.clear();
    }

    pub fn damage(&self, offset: u64, change: impl Fn(&mut u8)) {
        let mut state = self.state();
        let (sector, at) = (offset / SECTOR as u64, offset as usize % SECTOR);
        change(&mut state.durable[offset as usize]);
        if let Some(sector) = state.shown.get_mut(&sector) {
            change(&mut sector[at]);
        }
        for sector in state.unsynced.get_mut(&sector).into_iter().flatten() {
            change(&mut sector[at]);
        }
    }

    pub fn steps(&self) -> u64 {
        self.state().steps
    }

    pub fn is_cut(&self) -> bool {
        let state = self.state();
        state.steps > state.cut_at
    }

    /// Each sector not synced has its old bytes, those of its last or an earlier write, a mixture, those of another
    /// sector, or garbage.
    pub fn after_cut(&self, seed: u64) -> Vec<u8> {
        let state = self.state();
        let mut bytes = state.durable.clone();
        let mut random = SplitMix64(seed);
        // Of some cuts nothing was written, of others all: rules that depend on several sectors meet them all.
        let mood = random.next() % 4;
        let mut before = [0; SECTOR];
        for (&sector, versions) in &state.unsynced {
            let place = sector as usize * SECTOR..(sector as usize + 1) * SECTOR;
            let old = &mut bytes[place];
            let newest = &versions[versions.len() - 1];
            let some = &versions[random.next() as usize % versions.len()];
            match (mood, random.next() % 8) {
                (0, 0..7) | (_, 0..2) => {}
                (1, _) | (_, 2..4) => old.copy_from_slice(newest),
                (_, 4) => old.copy_from_slice(some),
                (_, 5 | 6) => tear(old, newest, &mut random),
                _ if random.next().is_multiple_of(2) => old.copy_from_slice(&before),
                _ => old.fill_with(|| random.next() as u8),
            }
            before = *newest;
        }
        bytes
    }

    /// The bytes as read past the system's page cache; power never failed.
    pub fn bytes(&self) -> Vec<u8> {
        let state = self.state();
        let mut bytes = state.durable.clone();
        state.land(&mut bytes);
        bytes
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn tear(old: &mut [u8], new: &Sector, random: &mut SplitMix64) {
    let torn = random.next() as usize % SECTOR;
    let written = if random.next().is_multiple_of(2) { 0..torn } else { torn..SECTOR };
    old[written.clone()].copy_from_slice(&new[written]);
}

impl State {
    fn land(&self, bytes: &mut [u8]) {
        for (&sector, versions) in &self.unsynced {
            bytes[sector as usize * SECTOR..][..SECTOR].copy_from_slice(&versions[versions.len() - 1]);
        }
    }

    fn newest(&self, sector: u64) -> Sector {
        let written = self.unsynced.get(&sector).and_then(|versions| versions.last());
        match written.or_else(|| self.shown.get(&sector)) {
            Some(sector) => *sector,
            None => {
                let mut bytes = [0; SECTOR];
                bytes.copy_from_slice(&self.durable[sector as usize * SECTOR..][..SECTOR]);
                bytes
            }
        }
    }

    fn step(&mut self) -> io::Result<bool> {
        self.steps += 1;
        match self.steps.cmp(&(self.cut_at.saturating_add(1))) {
            std::cmp::Ordering::Less => Ok(false),
            std::cmp::Ordering::Equal => Ok(true),
            std::cmp::Ordering::Greater => Err(gone()),
        }
    }

    fn fault(&mut self, call: Call) -> Option<io::Error> {
        let kind = self.plan.as_mut()?(call)?;
        Some(io::Error::new(kind, format!("{call:?} fails, as the test wants")))
    }

    fn refuse_beyond_end(&self, offset: u64, length: usize) -> io::Result<()> {
        let end = offset.checked_add(length as u64).filter(|&end| end <= self.durable.len() as u64);
        if end.is_some() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn write(&mut self, bytes: &[u8], offset: u64, fails: bool) {
        let mut at = 0;
        while at < bytes.len() {
            let place = offset + at as u64;
            let (sector, within) = (place / SECTOR as u64, place as usize % SECTOR);
            let length = (SECTOR - within).min(bytes.len() - at);
            let mut new = self.newest(sector);
            new[within..within + length].copy_from_slice(&bytes[at..at + length]);
            at += length;
            let fate = if fails { self.random.next() % 3 } else { 0 };
            let mut written = self.newest(sector);
            match fate {
                0 => written = new,
                1 => tear(&mut written, &new, &mut self.random),
                _ => continue,
            }
            self.unsynced.entry(sector).or_default().push(written);
        }
    }

    fn fail_to_sync(&mut self) {
        for (sector, versions) in std::mem::take(&mut self.unsynced) {
            let newest = versions[versions.len() - 1];
            let fate = self.random.next() % 3;
            if fate == 0 {
                self.durable[sector as usize * SECTOR..][..SECTOR].copy_from_slice(&newest);
            } else if fate == 1 {
                self.shown.insert(sector, newest);
            }
        }
    }
}

impl Medium for FaultMedium {
    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.state().durable.len() as u64)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        let mut state = self.state();
        if state.steps > state.cut_at {
            return Err(gone());
        }
        if let Some(error) = state.fault(Call::Read(offset)) {
            return Err(error);
        }
        state.refuse_beyond_end(offset, into.len())?;
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
        state.refuse_beyond_end(offset, bytes.len())?;
        let end = offset + bytes.len() as u64;
        let is_worn = state.worn.iter().any(|worn| worn.start < end && offset < worn.end);
        let worn =
            is_worn.then(|| io::Error::other(format!("byte {offset} cannot be written, as the test wants")));
        let fault = worn.or_else(|| state.fault(Call::Write(offset)));
        state.write(bytes, offset, fault.is_some());
        match fault {
            Some(error) => Err(error),
            None if last => Err(gone()),
            None => Ok(()),
        }
    }

    fn pause(&self, _: Duration) {}

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state();
        if state.step()? {
            return Err(gone());
        }
        if let Some(error) = state.fault(Call::Sync) {
            state.fail_to_sync();
            return Err(error);
        }
        let mut durable = std::mem::take(&mut state.durable);
        state.land(&mut durable);
        state.durable = durable;
        for sector in std::mem::take(&mut state.unsynced).into_keys() {
            state.shown.remove(&sector);
        }
        Ok(())
    }
}
