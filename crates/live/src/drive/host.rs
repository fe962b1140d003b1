use flashtwin_ftl::Controller;
use std::io;

use flashtwin_ftl::dedup::sample_of;
use flashtwin_ftl::{Content, Host, LoadView, Lpn, NO_CONTENT, ReadOutcome};

use super::contents::Named;
use super::core::{Core, HostPage, broken, of_ftl};
use super::options::Omission;
use super::pages::PageAddress;
use crate::store::record::{Digest, Record};

#[derive(Clone, Copy)]
pub(crate) struct PageWrite<'a> {
    pub(crate) lpn: u32,
    pub(crate) bytes: &'a [u8],
    pub(crate) digest: Digest,
}

impl Core {
    /// Where a read of a page is served; `None` where nothing was written. Copies that the read has earned are made at
    /// once, and may move the page. On an error another copy may be readable, see [`Core::read_any`].
    pub(crate) fn locate(&mut self, lpn: u32) -> io::Result<Option<PageAddress>> {
        if self.failed.is_some() || self.options.read_only {
            // The controller is to decide nothing more.
            return self.ftl.home_of(Lpn::new(lpn)).map(|ppn| self.place(ppn)).transpose();
        }
        let loads = LoadView::new(&self.loads, &self.loads);
        let place = match self.ftl.read(Lpn::new(lpn), &loads).map_err(of_ftl)? {
            ReadOutcome::Unmapped => Ok(None),
            ReadOutcome::Flash { target, .. } => self.place(target.ppn).map(Some),
        };
        // Should the copies fail, the read has its data all the same.
        let _ = self.change(|core| {
            core.ftl.begin_jobs(&mut core.ops).map_err(of_ftl)?;
            core.carry_out(None)?;
            core.settle()
        });
        place
    }

    pub(crate) fn read_before_write(&mut self, lpn: u32, into: &mut [u8]) -> io::Result<()> {
        self.may_write()?;
        let loads = LoadView::new(&self.loads, &self.loads);
        match self.ftl.prepare_write(Lpn::new(lpn), true, &loads).map_err(of_ftl)? {
            Some(target) if self.read_page(target.ppn, into).is_ok() => Ok(()),
            _ => self.read_any(lpn, into),
        }
    }

    /// Pages of a request that share a sample, which is written first; the others are fingerprinted if it was found.
    pub(crate) fn write_run(&mut self, pages: &[PageWrite<'_>]) -> io::Result<()> {
        self.change(|core| {
            let names = core.name(pages)?;
            let contents: Vec<Content> = names.iter().map(|named| named.content).collect();
            let first = if pages.len() > 1 { sample_of(&contents) } else { 0 };
            let found = core.write_page(&pages[first], names.get(first).copied(), true)?;
            for (at, page) in pages.iter().enumerate().filter(|&(at, _)| at != first) {
                core.write_page(page, names.get(at).copied(), found)?;
            }
            Ok(())
        })
    }

    /// None for a system that ignores contents.
    fn name(&mut self, pages: &[PageWrite<'_>]) -> io::Result<Vec<Named>> {
        let Some(contents) = &mut self.contents else { return Ok(Vec::new()) };
        let names = pages.iter().map(|page| contents.name(&page.digest));
        let names: Option<Vec<Named>> = names.collect();
        let names = names.ok_or_else(|| broken("there are more contents than pages"))?;
        for named in names.iter().filter(|named| named.reused) {
            self.ftl.forget_content(named.content);
        }
        Ok(names)
    }

    fn write_page(
        &mut self,
        page: &PageWrite<'_>,
        named: Option<Named>,
        fingerprinted: bool,
    ) -> io::Result<bool> {
        let &PageWrite { lpn, bytes, digest } = page;
        let (content, digest) = match named {
            Some(named) => self.told_apart(page, named)?,
            None => (NO_CONTENT, digest),
        };
        let before = self.ftl.home_of(Lpn::new(lpn));
        if self.options.omission == Some(Omission::CountDownFirst) && before.is_some() {
            self.log.push(&Record::Trim { lpn });
            self.commit()?;
        }
        let loads = LoadView::new(&self.loads, &self.loads);
        let host = Host { lpn: Lpn::new(lpn), address: u64::from(lpn), content };
        let outcome = self.ftl.write(host, fingerprinted, &loads, &mut self.ops).map_err(of_ftl)?;
        let program = outcome.program.map(|(ppn, _)| HostPage { ppn, lpn, bytes, digest });
        if program.is_none() {
            match self.ftl.home_of(Lpn::new(lpn)) {
                Some(ppn) if before != Some(ppn) => self.log.push(&Record::Share { lpn, ppn }),
                Some(_) if self.options.omission == Some(Omission::CountDownFirst) => {
                    let ppn = before.unwrap_or(flashtwin_nand::NO_PPN);
                    self.log.push(&Record::Share { lpn, ppn });
                }
                Some(_) => {}
                None => return Err(broken(format!("logical page {lpn} was found equal to nothing"))),
            }
        }
        if let Some(contents) = &mut self.contents {
            contents.hold(lpn, Some(content));
        }
        self.carry_out(program)?;
        self.settle()?;
        Ok(outcome.program.is_none())
    }

    /// The content with this digest if all bytes on flash are equal. If not, or if these cannot be read, a content of
    /// its own with a digest that ends in a number, so that no other page ever matches it.
    fn told_apart(&mut self, page: &PageWrite<'_>, named: Named) -> io::Result<(Content, Digest)> {
        let same = (named.content, page.digest);
        let Some(contents) = &mut self.contents else { return Ok(same) };
        let Some(holder) = contents.holder(named.content) else { return Ok(same) };
        if self.holds(holder, page.bytes)? {
            return Ok(same);
        }
        let Some(contents) = &mut self.contents else { return Ok(same) };
        let mut digest = page.digest;
        digest[8..].copy_from_slice(&(self.log.programs + 1).to_le_bytes());
        let apart = contents.name(&digest).ok_or_else(|| broken("there are more contents than pages"))?;
        if apart.reused {
            self.ftl.forget_content(apart.content);
        }
        Ok((apart.content, digest))
    }

    /// Whether a logical page, whose digest is that of `bytes`, has a page on flash with all of them.
    fn holds(&mut self, lpn: u32, bytes: &[u8]) -> io::Result<bool> {
        let Some((home, others)) = self.ftl.places_of(Lpn::new(lpn)) else {
            return Err(broken(format!("logical page {lpn} holds a content and no page")));
        };
        if !self.options.compare_duplicates {
            return Ok(self.place(home).is_ok());
        }
        self.counts.compared += 1;
        let mut other = std::mem::take(&mut self.other);
        let mut places = std::iter::once(home).chain(others.iter().copied());
        let is_read = places.any(|ppn| self.read_page(ppn, &mut other).is_ok());
        let equal = is_read && other == bytes;
        self.other = other;
        self.counts.collisions += u64::from(is_read && !equal);
        Ok(equal)
    }

    pub(crate) fn trim_page(&mut self, lpn: u32) -> io::Result<()> {
        self.change(|core| {
            if core.ftl.home_of(Lpn::new(lpn)).is_none() {
                return Ok(());
            }
            core.ftl.trim(Lpn::new(lpn));
            if let Some(contents) = &mut core.contents {
                contents.hold(lpn, None);
            }
            if core.options.omission != Some(Omission::Tombstone) {
                core.log.push(&Record::Trim { lpn });
            }
            core.ftl.begin_jobs(&mut core.ops).map_err(of_ftl)?;
            core.carry_out(None)?;
            core.settle()
        })
    }

    pub(crate) fn end_period(&mut self) -> io::Result<()> {
        self.change(|core| {
            // The copies of a period are one operation, and the log must have room for all of them.
            core.checkpoint()?;
            core.ftl.end_period(&mut core.ops).map_err(of_ftl)?;
            core.carry_out(None)?;
            core.settle()
        })
    }
}
