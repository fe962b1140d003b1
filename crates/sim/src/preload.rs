//! What a drive holds before the trace begins: pages that the trace takes for granted, or its whole
//! footprint, and the wear of use.

use flashtwin_ftl::{Content, FlashOp, Ftl, Host, LoadView, Lpn, NO_JOB, OpKind, Rng};
use flashtwin_nand::{FlashArray, Ppn};
use flashtwin_trace::{NO_CONTENT, PageTrace};

use crate::config::{Preload, PreloadContents};
use crate::error::SimError;
use crate::resolve::Resolved;
use crate::run::Progress;

/// Pages between two looks at whether the run should stop.
const LOOK_EVERY: u32 = 1 << 14;

/// Contents for pages of which nobody knows what they held.
struct Unknown<'a> {
    trace: &'a PageTrace,
    contents: PreloadContents,
    rng: Rng,
    nameless: u32,
}

impl<'a> Unknown<'a> {
    fn new(trace: &'a PageTrace, contents: PreloadContents, seed: u64) -> Self {
        Self {
            trace,
            contents,
            rng: Rng::stream(seed, "contents before the trace"),
            nameless: trace.content_count,
        }
    }

    fn next(&mut self) -> u32 {
        let known = match self.contents {
            PreloadContents::Own => None,
            PreloadContents::Trace => self.draw(),
        };
        known.unwrap_or_else(|| {
            self.nameless += 1;
            self.nameless - 1
        })
    }

    /// The content of a page operation of the trace, each as likely; operations without one are passed
    /// over, unless there are hardly any others.
    fn draw(&mut self) -> Option<u32> {
        let operations = u32::try_from(self.trace.content.len()).unwrap_or(u32::MAX);
        let mut draws = (0..64).filter(|_| operations > 0);
        draws.find_map(|_| {
            let content = self.trace.content[self.rng.below(operations) as usize];
            (content != NO_CONTENT).then_some(content)
        })
    }
}

/// Writes what existed before the trace. Costs no time and is not in the counts.
///
/// # Errors
/// What the controller reports; [`SimError::Interrupted`] where `progress` asks to stop.
pub(crate) fn preload(
    ftl: &mut Ftl,
    flash: &mut FlashArray,
    trace: &PageTrace,
    resolved: &Resolved,
    progress: &dyn Progress,
) -> Result<(), SimError> {
    let config = &resolved.config;
    let wanted = |lpn: u32| match config.replay.preload {
        Preload::FirstReads => trace.existed_before(lpn),
        Preload::Footprint => true,
        Preload::None => false,
    };
    let mut loader = Loader::new(ftl, flash, resolved);
    let mut unknown = Unknown::new(trace, config.replay.preload_contents, config.seed);
    for lpn in (0..trace.footprint_pages()).filter(|&lpn| wanted(lpn)) {
        if lpn.is_multiple_of(LOOK_EVERY) {
            stop_if_asked(progress)?;
        }
        let known = trace.initial_content.get(lpn as usize).copied().unwrap_or(NO_CONTENT);
        let content = if known == NO_CONTENT { unknown.next() } else { known };
        let address = trace.lpn_address[lpn as usize];
        loader.write(Host { lpn: Lpn::new(lpn), address, content: Content::new(content) })?;
    }
    if config.replay.preload == Preload::Footprint {
        loader.age(trace, config.seed, progress)?;
    }
    loader.ftl.end_preload();
    Ok(())
}

fn stop_if_asked(progress: &dyn Progress) -> Result<(), SimError> {
    if progress.cancelled() { Err(SimError::Interrupted) } else { Ok(()) }
}

/// Drives the controller without a clock and carries its operations out at once.
struct Loader<'a> {
    ftl: &'a mut Ftl,
    flash: &'a mut FlashArray,
    resolved: &'a Resolved,
    chip: Vec<u32>,
    ops: Vec<FlashOp>,
}

impl<'a> Loader<'a> {
    fn new(ftl: &'a mut Ftl, flash: &'a mut FlashArray, resolved: &'a Resolved) -> Self {
        let chips = resolved.device.geometry.chips() as usize;
        Self { ftl, flash, resolved, chip: vec![0; chips], ops: Vec::new() }
    }

    fn write(&mut self, page: Host) -> Result<(), SimError> {
        let loads = LoadView::new(&self.chip, &self.chip);
        let outcome = self.ftl.write(page, true, &loads, &mut self.ops)?;
        self.carry_out(outcome.program.map(|(ppn, _)| ppn))
    }

    fn carry_out(&mut self, host: Option<Ppn>) -> Result<(), SimError> {
        let geometry = &self.resolved.device.geometry;
        // The host's page takes its place in the order as soon as its block can take it:
        // before what its write made collection do, after what made room for it.
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
            if op.job != NO_JOB {
                let loads = LoadView::new(&self.chip, &self.chip);
                self.ftl.job_done(op.job, &loads, &mut self.ops)?;
            }
        }
        self.ops.clear();
        place_host(self.flash)?;
        Ok(())
    }

    /// Overwrites pages in random order until write amplification has settled: two windows
    /// in a row within 1 % of each other, each as long as the device has pages.
    fn age(&mut self, trace: &PageTrace, seed: u64, progress: &dyn Progress) -> Result<(), SimError> {
        let mut rng = Rng::stream(seed, "ageing");
        let window = self.resolved.device.geometry.pages();
        let mut before: Option<f64> = None;
        for _ in 0..20 {
            let counted = *self.ftl.counters();
            for page in 0..window {
                if page % u64::from(LOOK_EVERY) == 0 {
                    stop_if_asked(progress)?;
                }
                let lpn = rng.below(trace.footprint_pages());
                let loads = LoadView::new(&self.chip, &self.chip);
                let ppn = self.ftl.rewrite(
                    Lpn::new(lpn),
                    trace.lpn_address[lpn as usize],
                    &loads,
                    &mut self.ops,
                )?;
                self.carry_out(ppn)?;
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
