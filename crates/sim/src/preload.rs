//! The drive's state before the trace begins: its pages, and the wear of use.

use flashtwin_ftl::{Content, Controller, FlashOp, Ftl, Host, IDLE_STEP, LoadView, Lpn, OpKind, Rng};
use flashtwin_nand::{FlashArray, Ppn};
use flashtwin_trace::{FirstAccess, NO_CONTENT, Outline, PageSource, Progress};

use crate::config::{Preload, PreloadContents};
use crate::error::{SimError, stop_if_asked};
use crate::history::History;
use crate::resolve::Resolved;

pub(crate) const LOOK_EVERY: u32 = 1 << 14;

struct Unknown<'a> {
    source: &'a dyn PageSource,
    contents: PreloadContents,
    rng: Rng,
    nameless: u32,
    pages: u64,
    drawn: Vec<u32>,
    /// Page operations drawn, and those of them that had a content.
    draws: [u64; 2],
}

/// Operations drawn together, because a streamed trace is read again for each lot.
const DRAWN_MAX: u64 = 1 << 22;
/// Draws for a page. Then it gets a content of its own.
const TRIES: u64 = 64;

impl<'a> Unknown<'a> {
    fn new(source: &'a dyn PageSource, contents: PreloadContents, seed: u64, pages: u64) -> Self {
        Self {
            source,
            contents,
            rng: Rng::stream(seed, "contents before the trace"),
            nameless: source.outline().content_count,
            pages,
            drawn: Vec::new(),
            draws: [0; 2],
        }
    }

    fn next(&mut self) -> Result<u32, SimError> {
        let known = match self.contents {
            PreloadContents::Own => None,
            PreloadContents::Trace => self.draw()?,
        };
        self.pages -= 1;
        Ok(known.unwrap_or_else(|| {
            self.nameless += 1;
            self.nameless - 1
        }))
    }

    /// Operations without a content are skipped, unless there are hardly any others.
    fn draw(&mut self) -> Result<Option<u32>, SimError> {
        // Without any content, all draws would be in vain.
        let trace = self.source.outline();
        let tries = if trace.content_count == 0 || trace.page_ops == 0 { 0 } else { TRIES };
        for _ in 0..tries {
            if self.drawn.is_empty() {
                self.draw_more()?;
            }
            let content = self.drawn.pop().unwrap_or(NO_CONTENT);
            if content != NO_CONTENT {
                return Ok(Some(content));
            }
        }
        Ok(None)
    }

    fn draw_more(&mut self) -> Result<(), SimError> {
        let operations = u32::try_from(self.source.outline().page_ops).unwrap_or(u32::MAX);
        let [tried, found] = self.draws;
        let tries = if tried == 0 { 1.0 } else { tried as f64 / found.max(1) as f64 };
        let wanted = (self.pages as f64 * tries.min(TRIES as f64) * 1.1) as u64 + TRIES;
        let places: Vec<u64> =
            (0..wanted.min(DRAWN_MAX)).map(|_| u64::from(self.rng.below(operations))).collect();
        self.drawn = self.source.contents_at(&places)?;
        self.drawn.reverse();
        let known = self.drawn.iter().filter(|&&content| content != NO_CONTENT).count();
        self.draws = [tried + self.drawn.len() as u64, found + known as u64];
        Ok(())
    }
}

/// Whether a page is written before the trace.
pub(crate) fn is_filled(trace: &Outline, preload: Preload, lpn: u32) -> bool {
    match preload {
        Preload::FirstReads => trace.existed_before(lpn),
        // A page that is read as a hole stays one, even on a full drive.
        Preload::Footprint => {
            !matches!(trace.first_access[lpn as usize], FirstAccess::Never | FirstAccess::Hole)
        }
        Preload::None => false,
    }
}

/// What a page held before the trace; [`NO_CONTENT`] where nobody knows.
pub(crate) fn known_content(trace: &Outline, lpn: u32) -> u32 {
    trace.initial_content.get(lpn as usize).copied().unwrap_or(NO_CONTENT)
}

/// Writes the pages that existed before the trace. Takes no simulated time and is not counted.
pub(crate) fn preload(
    ftl: &mut Ftl,
    flash: &mut FlashArray,
    source: &dyn PageSource,
    resolved: &Resolved,
    progress: &dyn Progress,
) -> Result<(), SimError> {
    let trace = source.outline();
    let config = &resolved.config;
    let mut loader = Loader::new(ftl, flash, resolved);
    let known = |lpn: u32| known_content(trace, lpn);
    let pages = || (0..trace.pages()).filter(|&lpn| is_filled(trace, config.replay.preload, lpn));
    let nameless = pages().filter(|&lpn| known(lpn) == NO_CONTENT).count() as u64;
    let mut unknown = Unknown::new(source, config.replay.preload_contents, config.seed, nameless);
    let ages = config.replay.preload == Preload::Footprint;
    let history = Some(&config.replay.history).filter(|history| ages && !history.is_empty());
    if let Some(history) = history {
        let filled: Vec<u32> = pages().collect();
        loader.live_through(history, &filled, trace, config.seed, progress, |lpn| match known(lpn) {
            NO_CONTENT => unknown.next(),
            known => Ok(known),
        })?;
        loader.ftl.end_preload();
        return Ok(());
    }
    for lpn in pages() {
        if lpn.is_multiple_of(LOOK_EVERY) {
            stop_if_asked(progress)?;
        }
        let content = match known(lpn) {
            NO_CONTENT => unknown.next()?,
            known => known,
        };
        let address = trace.lpn_address[lpn as usize];
        loader.write(Host { lpn: Lpn::new(lpn), address, content: Content::new(content) })?;
    }
    if ages {
        let filled: Vec<u32> = pages().collect();
        loader.age(trace, &filled, config.seed, progress)?;
    }
    loader.ftl.end_preload();
    Ok(())
}

/// Writes pages with their contents. Page numbers are addresses. Takes no simulated time and is not counted.
pub(crate) fn load(
    ftl: &mut Ftl,
    flash: &mut FlashArray,
    resolved: &Resolved,
    held: impl Iterator<Item = (u32, u32)>,
) -> Result<(), SimError> {
    let mut loader = Loader::new(ftl, flash, resolved);
    for (lpn, content) in held {
        loader.write(Host { lpn: Lpn::new(lpn), address: u64::from(lpn), content: Content::new(content) })?;
    }
    loader.ftl.end_preload();
    Ok(())
}

pub(crate) struct Loader<'a> {
    ftl: &'a mut Ftl,
    flash: &'a mut FlashArray,
    resolved: &'a Resolved,
    chip: Vec<u32>,
    ops: Vec<FlashOp>,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(ftl: &'a mut Ftl, flash: &'a mut FlashArray, resolved: &'a Resolved) -> Self {
        let chips = resolved.device.geometry.chips() as usize;
        Self { ftl, flash, resolved, chip: vec![0; chips], ops: Vec::new() }
    }

    pub(crate) fn write(&mut self, page: Host) -> Result<(), SimError> {
        let loads = LoadView::new(&self.chip, &self.chip);
        let outcome = self.ftl.write(page, true, &loads, &mut self.ops)?;
        self.carry_out(outcome.program.map(|(ppn, _)| ppn))
    }

    fn rewrite(&mut self, lpn: u32, address: u64) -> Result<(), SimError> {
        let loads = LoadView::new(&self.chip, &self.chip);
        let ppn = self.ftl.rewrite(Lpn::new(lpn), address, &loads, &mut self.ops)?;
        self.carry_out(ppn)
    }

    fn carry_out(&mut self, host: Option<Ppn>) -> Result<(), SimError> {
        let geometry = &self.resolved.device.geometry;
        // The host's page goes behind operations that made room, and before the collection that its write set off.
        let mut host = host;
        let mut place_host = |flash: &mut FlashArray| match host {
            Some(ppn) if flash.is_next(geometry, ppn) => {
                host = None;
                flash.program(geometry, ppn)
            }
            _ => Ok(()),
        };
        let mut at = 0;
        while let Some(&op) = self.ops.get(at) {
            at += 1;
            place_host(self.flash)?;
            match op.kind {
                OpKind::Read => {}
                OpKind::Program => self.flash.program(geometry, op.ppn)?,
                OpKind::Erase => self.flash.erase(geometry.block_index(op.ppn)),
            }
            if op.job < IDLE_STEP {
                let loads = LoadView::new(&self.chip, &self.chip);
                self.ftl.job_done(op.job, &loads, &mut self.ops)?;
            }
        }
        self.ops.clear();
        place_host(self.flash)?;
        Ok(())
    }

    /// Writes the `filled` pages as the history says, again and again with the same contents.
    fn live_through(
        &mut self,
        history: &History,
        filled: &[u32],
        trace: &Outline,
        seed: u64,
        progress: &dyn Progress,
        mut content: impl FnMut(u32) -> Result<u32, SimError>,
    ) -> Result<(), SimError> {
        for (number, place) in history.writes(filled.len() as u32, seed).enumerate() {
            if number % LOOK_EVERY as usize == 0 {
                stop_if_asked(progress)?;
            }
            let lpn = filled[place as usize];
            let address = trace.lpn_address[lpn as usize];
            if number < filled.len() {
                let content = Content::new(content(lpn)?);
                self.write(Host { lpn: Lpn::new(lpn), address, content })?;
            } else {
                self.rewrite(lpn, address)?;
            }
        }
        Ok(())
    }

    /// Until write amplification has settled: two windows as long as the device has pages, within 1 % of each other.
    fn age(
        &mut self,
        trace: &Outline,
        filled: &[u32],
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<(), SimError> {
        let choices = filled.len() as u32;
        if choices == 0 {
            return Ok(());
        }
        let mut rng = Rng::stream(seed, "ageing");
        let window = self.resolved.device.geometry.pages();
        let mut before: Option<f64> = None;
        for _ in 0..20 {
            let counted = *self.ftl.counters();
            for page in 0..window {
                if page % u64::from(LOOK_EVERY) == 0 {
                    stop_if_asked(progress)?;
                }
                let lpn = filled[rng.below(choices) as usize];
                self.rewrite(lpn, trace.lpn_address[lpn as usize])?;
            }
            let now = self.ftl.counters().since(&counted).write_amplification();
            let settled = matches!((before, now), (Some(a), Some(b)) if (a / b - 1.0).abs() < 0.01);
            if settled {
                break;
            }
            before = now;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use flashtwin_trace::{Op, PageColumns, PageTrace, TraceError, Windows};

    use super::*;

    /// Requests of a page each, which bring these contents; five contents are known.
    fn trace(content: &[u32]) -> PageTrace {
        let ops = content.len() as u32;
        let columns = PageColumns {
            time_ns: vec![0; content.len()].into(),
            op: vec![Op::Write; content.len()].into(),
            marks: vec![0; content.len()],
            first_page_op: (0..=ops).collect(),
            lpn: vec![0; content.len()],
            content: content.to_vec(),
            ..PageColumns::default()
        };
        let empty = crate::stepped::outline("by hand", 4096, 1, 5);
        let outline = Outline { requests: ops.into(), page_ops: ops.into(), ..empty };
        PageTrace { outline, columns }
    }

    fn given(trace: &PageTrace, contents: PreloadContents, pages: u64) -> Vec<u32> {
        let mut unknown = Unknown::new(trace, contents, 1, pages);
        (0..pages).map(|_| unknown.next().unwrap()).collect()
    }

    #[test]
    fn pages_nobody_knows_get_contents_of_their_own() {
        let own = given(&trace(&[0, 1]), PreloadContents::Own, 4);
        assert_eq!(own, [5, 6, 7, 8]);
    }

    #[test]
    fn contents_are_drawn_in_proportion_to_the_trace() {
        let drawn = given(&trace(&[2, NO_CONTENT, 4, NO_CONTENT, 4, 4]), PreloadContents::Trace, 4000);
        let times = |content: u32| drawn.iter().filter(|&&one| one == content).count();
        assert_eq!(times(2) + times(4), 4000);
        assert!((850..1150).contains(&times(2)), "{}", times(2));
    }

    struct Counting(PageTrace, AtomicUsize, AtomicUsize);

    impl PageSource for Counting {
        fn outline(&self) -> &Outline {
            self.0.outline()
        }

        fn windows(&self) -> Result<Box<dyn Windows + '_>, TraceError> {
            self.0.windows()
        }

        fn contents_at(&self, page_ops: &[u64]) -> Result<Vec<u32>, TraceError> {
            self.1.fetch_add(1, Relaxed);
            self.2.fetch_add(page_ops.len(), Relaxed);
            self.0.contents_at(page_ops)
        }
    }

    #[test]
    fn contents_are_drawn_in_batches_hardly_more_than_needed() {
        // A streamed trace is read as a whole for each lot.
        for (contents, per_page, reads) in
            [(&[2, 3][..], 1.0, 1), (&[2, NO_CONTENT, NO_CONTENT, NO_CONTENT], 4.0, 2)]
        {
            let trace = Counting(trace(contents), AtomicUsize::new(0), AtomicUsize::new(0));
            let mut unknown = Unknown::new(&trace, PreloadContents::Trace, 1, 100_000);
            for _ in 0..100_000 {
                assert!([2, 3].contains(&unknown.next().unwrap()));
            }
            let (read, drawn) = (trace.1.load(Relaxed), trace.2.load(Relaxed) as f64 / 100_000.0);
            assert_eq!(read, reads);
            assert!((1.04..1.13).contains(&(drawn / per_page)), "{drawn}");
        }
    }

    #[test]
    fn what_finds_no_content_in_many_draws_gets_its_own() {
        assert_eq!(given(&trace(&[NO_CONTENT; 3]), PreloadContents::Trace, 3), [5, 6, 7]);
    }
}
