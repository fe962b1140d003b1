use std::io;

use flashtwin_ftl::Lpn;
use smallvec::SmallVec;

use super::Drive;
use super::core::{Core, check_of, digest_of, make_durable};
use super::host::PageWrite;
use super::in_flight::Copies;
use super::pages::PageAddress;
use crate::export::{Caller, Export, Extent, Look, Writing};
use crate::store::Medium;

/// Pages of a request for which the drive's lock is held at a time.
const TURN_PAGES: usize = 64;
/// Pages that are looked at for one answer about extents, and those of a turn, because a look costs little.
const EXTENT_PAGES: usize = 1 << 16;
const EXTENT_TURN_PAGES: usize = 1 << 12;

#[derive(Clone, Copy)]
struct Part {
    lpn: u32,
    from: usize,
    to: usize,
    at: usize,
}

impl Drive {
    fn page_bytes(&self) -> usize {
        self.superblock.layout.geometry.page_bytes as usize
    }

    fn parts(&self, offset: u64, length: u64) -> impl Iterator<Item = Part> + use<> {
        let page_bytes = self.page_bytes() as u64;
        let end = offset + length;
        let mut next = offset;
        std::iter::from_fn(move || {
            let page = next / page_bytes;
            let stop = end.min((page + 1) * page_bytes);
            let part = Part {
                lpn: page as u32,
                from: (next % page_bytes) as usize,
                to: (stop - page * page_bytes) as usize,
                at: (next - offset) as usize,
            };
            (next < end).then(|| {
                next = stop;
                part
            })
        })
    }

    pub(super) fn may_write(&self) -> io::Result<()> {
        match &self.read_only {
            None => Ok(()),
            Some(why) => Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, why.clone())),
        }
    }

    /// Partly written pages are completed by their present data.
    fn whole_pages(&self, core: &mut Core, run: &[Part], bytes: &[u8]) -> io::Result<Vec<Option<Vec<u8>>>> {
        let page_bytes = self.page_bytes();
        let complete = |part: &Part| {
            if part.to - part.from == page_bytes {
                return Ok(None);
            }
            let mut page = vec![0; page_bytes];
            core.read_before_write(part.lpn, &mut page)?;
            page[part.from..part.to].copy_from_slice(&bytes[part.at..part.at + part.to - part.from]);
            Ok(Some(page))
        };
        run.iter().map(complete).collect()
    }

    fn write_parts(
        &self,
        mut parts: impl Iterator<Item = Part>,
        bytes: &[u8],
        look: &mut Look<'_>,
    ) -> io::Result<()> {
        let run_pages = (self.superblock.system.ftl.dedup.sampling_pages.max(1) as usize).min(1024);
        let turn_pages = (TURN_PAGES / run_pages).max(1) * run_pages;
        loop {
            let turn: Vec<Part> = parts.by_ref().take(turn_pages).collect();
            if turn.is_empty() {
                return Ok(());
            }
            look.at(turn.iter().map(|part| (part.to - part.from) as u64).sum())?;
            self.write_turn(&turn, run_pages, bytes, look)?;
        }
    }

    fn write_turn(&self, parts: &[Part], run_pages: usize, bytes: &[u8], look: &Look<'_>) -> io::Result<()> {
        let omission = self.options.omission;
        let page_bytes = self.page_bytes();
        let whole = |part: &Part| part.to - part.from == page_bytes;
        let slice = |part: &Part| &bytes[part.at..part.at + part.to - part.from];
        // Hashing takes longer than all that the lock is held for.
        let digests: Vec<_> =
            parts.iter().map(|part| whole(part).then(|| digest_of(slice(part), omission))).collect();
        let mut core = self.core_for(look.caller)?;
        for (run, digests) in parts.chunks(run_pages).zip(digests.chunks(run_pages)) {
            let completed = self.whole_pages(&mut core, run, bytes)?;
            let pages = run.iter().zip(digests).zip(&completed).map(|((part, digest), completed)| {
                let bytes = completed.as_deref().unwrap_or_else(|| slice(part));
                let digest = digest.unwrap_or_else(|| digest_of(bytes, omission));
                PageWrite { lpn: part.lpn, bytes, digest }
            });
            core.write_run(&pages.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn trim_parts(&self, mut parts: impl Iterator<Item = Part>, look: &mut Look<'_>) -> io::Result<()> {
        let page_bytes = self.page_bytes();
        loop {
            let turn: Vec<Part> = parts.by_ref().take(TURN_PAGES).collect();
            if turn.is_empty() {
                return Ok(());
            }
            look.at((turn.len() * page_bytes) as u64)?;
            let mut core = self.core_for(look.caller)?;
            turn.iter().try_for_each(|part| core.trim_page(part.lpn))?;
        }
    }

    /// Finds pages under the lock and reads them without it.
    fn read_turn(&self, parts: &[Part], into: &mut [u8], look: &Look<'_>) -> io::Result<()> {
        let page_bytes = self.page_bytes();
        let mut core = self.core_for(look.caller)?;
        let places: SmallVec<[_; 1]> = parts.iter().map(|part| core.locate(part.lpn)).collect();
        drop(core);
        let mut page = Vec::new();
        for (part, place) in parts.iter().zip(places) {
            let wanted = &mut into[part.at..part.at + part.to - part.from];
            if wanted.len() == page_bytes {
                self.read_page(part.lpn, place, wanted, look.caller)?;
                continue;
            }
            page.resize(page_bytes, 0);
            self.read_page(part.lpn, place, &mut page, look.caller)?;
            wanted.copy_from_slice(&page[part.from..part.to]);
        }
        Ok(())
    }

    /// Reads without the lock, and again under it if the digest does not fit because the page has moved meanwhile.
    fn read_page(
        &self,
        lpn: u32,
        place: io::Result<Option<PageAddress>>,
        into: &mut [u8],
        caller: &dyn Caller,
    ) -> io::Result<()> {
        let is_read = match place {
            // Nobody would see that it moved.
            _ if !self.options.check_reads => false,
            Ok(None) => {
                into.fill(0);
                true
            }
            Ok(Some((offset, check))) => {
                self.medium.read_at(into, offset).is_ok()
                    && check_of(&digest_of(into, self.options.omission)) == check
            }
            Err(_) => false,
        };
        if is_read { Ok(()) } else { self.core_for(caller)?.read_any(lpn, into) }
    }

    fn finish(&self, how: Writing) -> io::Result<()> {
        if how.durable { self.flush() } else { Ok(()) }
    }
}

impl Export for Drive {
    fn size_bytes(&self) -> u64 {
        u64::from(self.superblock.layout.logical_pages) * self.page_bytes() as u64
    }

    fn preferred_block_bytes(&self) -> u32 {
        self.superblock.layout.geometry.page_bytes
    }

    fn read_only(&self) -> Option<String> {
        self.read_only.clone().or_else(|| self.core().may_write().err().map(|error| error.to_string()))
    }

    fn read(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> io::Result<()> {
        let (mut parts, mut look) = (self.parts(offset, into.len() as u64), Look::new(caller));
        loop {
            let turn: SmallVec<[Part; 1]> = parts.by_ref().take(TURN_PAGES).collect();
            if turn.is_empty() {
                return Ok(());
            }
            look.at(turn.iter().map(|part| (part.to - part.from) as u64).sum())?;
            self.read_turn(&turn, into, &look)?;
        }
    }

    fn write(&self, offset: u64, bytes: &[u8], how: Writing, caller: &dyn Caller) -> io::Result<()> {
        self.may_write()?;
        self.write_parts(self.parts(offset, bytes.len() as u64), bytes, &mut Look::new(caller))?;
        self.finish(how)
    }

    fn flush(&self) -> io::Result<()> {
        if self.read_only.is_some() {
            return Ok(());
        }
        self.flushes.flush(|| {
            let Some(batch) = self.core().change(Core::seal)? else { return Ok(()) };
            let outcome = make_durable(&*self.medium, &batch, self.options.omission);
            self.in_flight.end(&outcome);
            if let Ok(Copies::One) = outcome {
                // The flush is done, whatever becomes of the checkpoint.
                let _ = self.core().change(Core::settle);
            }
            outcome.map(|_| ())
        })
    }

    fn trim(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()> {
        self.may_write()?;
        let page_bytes = self.page_bytes();
        let whole = self.parts(offset, length).filter(|part| part.to - part.from == page_bytes);
        self.trim_parts(whole, &mut Look::new(caller))?;
        self.finish(how)
    }

    /// A trimmed page reads as zeroes, so whole pages are trimmed, unless `keep_room` is set.
    fn write_zeroes(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()> {
        self.may_write()?;
        if how.keep_room && how.only_if_fast {
            let text = "zeroes that keep room take as long as any write";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        let page_bytes = self.page_bytes();
        let zeroes = vec![0; page_bytes];
        let trims = |part: &Part| part.to - part.from == page_bytes && !how.keep_room;
        let mut look = Look::new(caller);
        self.trim_parts(self.parts(offset, length).filter(trims), &mut look)?;
        let written = self.parts(offset, length).filter(|part| !trims(part));
        self.write_parts(written.map(|part| Part { at: 0, ..part }), &zeroes, &mut look)?;
        self.finish(how)
    }

    fn extents(
        &self,
        offset: u64,
        length: u64,
        runs_max: usize,
        caller: &dyn Caller,
    ) -> io::Result<Vec<Extent>> {
        let mut extents: Vec<Extent> = Vec::new();
        let mut parts = self.parts(offset, length).take(EXTENT_PAGES).peekable();
        while parts.peek().is_some() {
            let core = self.core_for(caller)?;
            for part in parts.by_ref().take(EXTENT_TURN_PAGES) {
                let hole = core.ftl.home_of(Lpn::new(part.lpn)).is_none();
                let length_bytes = (part.to - part.from) as u64;
                let is_full = extents.len() == runs_max;
                match extents.last_mut() {
                    Some(last) if last.hole == hole => last.length_bytes += length_bytes,
                    _ if is_full => return Ok(extents),
                    _ => extents.push(Extent { length_bytes, hole, zero: hole }),
                }
            }
        }
        Ok(extents)
    }
}
