//! Page operations of the host, common to all mapping schemes. They are compiled once for each scheme and never
//! inlined, so that the processor fetches one scheme's code in one piece.

use crate::error::FtlResult;
use crate::flash::Flash;
use crate::ids::Lpn;
use crate::loads::LoadView;
use crate::op::{Cause, FlashOp, Host, ReadOutcome, ReadTarget, WriteOutcome, is_page};
use crate::scheme::MappingScheme;

#[inline]
pub(crate) fn locate(
    scheme: &impl MappingScheme,
    flash: &Flash,
    lpn: Lpn,
    loads: &LoadView<'_>,
) -> Option<ReadTarget> {
    let (home, replicas) = scheme.places_of(lpn);
    is_page(home).then(|| flash.serve(home, replicas, loads))
}

pub(crate) fn locate_among(
    scheme: &impl MappingScheme,
    flash: &Flash,
    lpn: Lpn,
    loads: &LoadView<'_>,
    there: &dyn Fn(flashtwin_nand::Ppn) -> bool,
) -> FtlResult<Option<(ReadTarget, u64)>> {
    let (home, replicas) = scheme.places_of(lpn);
    if !is_page(home) {
        return Ok(None);
    }
    let Some(target) = flash.serve_among(home, replicas, loads, there) else { return Ok(None) };
    if let Some(checker) = &flash.checker {
        checker.host_read(lpn, target.ppn)?;
    }
    Ok(Some((target, scheme.data_name(lpn, target.ppn))))
}

#[inline(never)]
pub(crate) fn read(
    scheme: &mut impl MappingScheme,
    flash: &mut Flash,
    lpn: Lpn,
    loads: &LoadView<'_>,
) -> FtlResult<ReadOutcome> {
    scheme.tables().where_on_flash(|tables| tables.look_up_read(lpn, flash))?;
    let (new_value, replicated) = scheme.note_read(lpn, flash);
    let Some(target) = locate(scheme, flash, lpn, loads) else {
        flash.counters.unmapped_reads += 1;
        return Ok(ReadOutcome::Unmapped);
    };
    flash.counters.reads[Cause::Host as usize] += 1;
    flash.counters.redirected_reads += u64::from(target.redirected);
    flash.counters.pages.new_value_reads += u64::from(new_value);
    flash.counters.pages.replicated_value_reads += u64::from(replicated);
    scheme.read_served(target.ppn);
    if let Some(checker) = &flash.checker {
        checker.host_read(lpn, target.ppn)?;
    }
    Ok(ReadOutcome::Flash { target, new_value, replicated, data: scheme.data_name(lpn, target.ppn) })
}

pub(crate) fn was_read_in_ram(scheme: &mut impl MappingScheme, flash: &mut Flash, lpn: Lpn) {
    let (new_value, replicated) = scheme.note_read(lpn, flash);
    flash.counters.pages.new_value_reads += u64::from(new_value);
    flash.counters.pages.replicated_value_reads += u64::from(replicated);
}

pub(crate) fn prepare_write(
    scheme: &mut impl MappingScheme,
    flash: &mut Flash,
    lpn: Lpn,
    partial: bool,
    loads: &LoadView<'_>,
) -> FtlResult<Option<ReadTarget>> {
    scheme.tables().where_on_flash(|tables| tables.look_up_write(lpn, partial, flash))?;
    let old = if partial { locate(scheme, flash, lpn, loads) } else { None };
    flash.counters.reads[Cause::ReadModifyWrite as usize] += u64::from(old.is_some());
    if let (Some(old), Some(checker)) = (old, &flash.checker) {
        checker.host_read(lpn, old.ppn)?;
    }
    Ok(old)
}

#[inline(never)]
pub(crate) fn write(
    scheme: &mut impl MappingScheme,
    flash: &mut Flash,
    page: Host,
    fingerprinted: bool,
    loads: &LoadView<'_>,
    ops: &mut Vec<FlashOp>,
) -> FtlResult<WriteOutcome> {
    flash.counters.host_pages_written += 1;
    let program = scheme.write(page, fingerprinted, flash, loads, ops)?;
    Ok(WriteOutcome { program })
}
