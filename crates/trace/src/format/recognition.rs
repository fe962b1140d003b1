//! Which format a text is of. A format fits if it reads nearly all of the first lines, and what it reads could be a
//! disk's. If two fit with other units or meanings, the user has to say which.

use super::{REGISTRY, Reader, Row, foreign, supported};
use crate::error::{ErrorCause, TraceError};
use crate::layout;
use crate::options::OpenOptions;
use crate::quality;
use crate::text::{Trial, is_blank};
use crate::units::Units;

pub(super) const LINES_LOOKED_AT: usize = 400;
/// Lines of which one may be odd: 95 % have to fit.
const LINES_PER_ODD_ONE: usize = 20;
/// Requests below which a rate, a share of lines or of volumes says nothing.
const REQUESTS_FOR_A_SHARE: usize = 20;
/// Volumes that any trace may have.
const VOLUMES_OF_ANY: usize = 8;
/// Of two requests, one may be earlier than the one before.
const REQUESTS_PER_STEP_BACK: usize = 2;
const REQUESTS_PER_LONG_GAP: usize = 10;
const SECTOR_BYTES: u32 = 512;
/// Lines of which a message judges the columns.
const LINES_PROPOSED_FROM: usize = 50;

pub(super) fn lines_of(first: &[u8]) -> Vec<&[u8]> {
    first
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !is_blank(line))
        .take(LINES_LOOKED_AT)
        .collect()
}

pub(super) fn recognise(
    name: &str,
    lines: &[&[u8]],
    options: &OpenOptions,
) -> Result<&'static Row, TraceError> {
    let Some(head) = lines.first() else {
        return Err(crate::input::empty(name));
    };
    let foreign_header = layout::header_of(head);
    let mut readings: Vec<Reading> = Vec::new();
    let mut closest: Option<(&'static Row, String)> = None;
    let mut most = 0;
    for row in REGISTRY {
        let Reader::Text { fit, .. } = row.reader else { continue };
        let trial = fit(lines, options);
        if foreign_header.is_some() && !trial.has_header {
            continue;
        }
        let odd = trial.lines - trial.read;
        let too_many_odd = odd > (trial.lines / LINES_PER_ODD_ONE).max(1) || trial.read < odd.max(1);
        let fault = match too_many_odd {
            true => Some(format!("it reads {} of {} lines", trial.read, trial.lines)),
            false => implausible(&trial),
        };
        let plausible = fault.is_none();
        if let Some(fault) = fault.filter(|_| trial.read > most) {
            most = trial.read;
            closest = Some((row, fault));
        }
        if !too_many_odd {
            readings.push(Reading { row, trial, plausible });
        }
    }
    if !readings.iter().any(|reading| reading.plausible) {
        return Err(unknown(name, lines, closest));
    }
    let yields = |one: &Reading, other: &Reading| one.row.yields_to == Some(other.row.name);
    // One that wins by its looks has to read as many lines and be plausible: an odd line changes no format.
    let gives_way = |one: &Reading| {
        let to = readings.iter().find(|other| yields(one, other));
        to.is_some_and(|to| to.plausible && to.trial.read >= one.trial.read)
    };
    let doubted = |one: &Reading| readings.iter().any(|other| other.plausible && yields(other, one));
    let meant: Vec<&Reading> =
        readings.iter().filter(|one| if one.plausible { !gives_way(one) } else { doubted(one) }).collect();
    match meant[..] {
        [Reading { row, .. }] => Ok(row),
        // With units by option, some formats are the same.
        [first, ref others @ ..] if others.iter().all(|other| other.trial.columns == first.trial.columns) => {
            Ok(first.row)
        }
        _ => Err(ambiguous(name, &meant)),
    }
}

/// A format that reads nearly all of the first lines.
struct Reading {
    row: &'static Row,
    trial: Trial,
    /// Whether its requests could be a disk's.
    plausible: bool,
}

/// Why requests cannot be a disk's.
pub(super) fn implausible(trial: &Trial) -> Option<String> {
    let columns = &trial.columns;
    let requests = columns.time_ns.len();
    if let Some(furthest) = columns.offset_bytes.iter().max().filter(|&&at| at >= quality::ADDRESS_BELIEVABLE)
    {
        return Some(format!("the highest address would be {furthest} bytes, over an exbibyte"));
    }
    let odd = |length: &&u32| !length.is_multiple_of(SECTOR_BYTES);
    let odd_lengths = columns.length_bytes.iter().filter(odd).count();
    if !trial.any_length && odd_lengths > requests / LINES_PER_ODD_ONE {
        let length = columns.length_bytes.iter().find(odd).copied().unwrap_or(0);
        return Some(format!("a request would have {length} bytes, no multiple of 512"));
    }
    // A clock is set once, a wrong unit shows in many lines.
    let years = |pair: &&[i64]| pair[1].abs_diff(pair[0]) as f64 > quality::NS_PER_YEAR;
    if columns.time_ns.windows(2).filter(years).count() > 1 {
        return Some("a year would pass between two requests".to_owned());
    }
    if requests < REQUESTS_FOR_A_SHARE {
        return None;
    }
    if trial.volumes > (requests * trial.volumes_percent / 100).max(VOLUMES_OF_ANY) {
        return Some(format!("{requests} requests would go to {} volumes", trial.volumes));
    }
    let back = columns.time_ns.windows(2).filter(|pair| pair[1] < pair[0]).count();
    if back * REQUESTS_PER_STEP_BACK > requests {
        return Some(format!("the time would run backwards in {back} of {requests} lines"));
    }
    if trial.distinct {
        return None;
    }
    // One silence must hide no rate, so that the longest gaps do not count.
    let mut gaps_ns: Vec<i64> = columns.time_ns.windows(2).map(|pair| (pair[1] - pair[0]).max(0)).collect();
    gaps_ns.sort_unstable();
    gaps_ns.truncate(requests - requests / REQUESTS_PER_LONG_GAP);
    let seconds = gaps_ns.iter().sum::<i64>() as f64 / 1e9;
    let per_second = gaps_ns.len() as f64 / seconds;
    if seconds > 0.0 && per_second > quality::REQUESTS_PER_SECOND_BELIEVABLE {
        return Some(format!("{per_second:.1e} requests would come in a second"));
    }
    let bytes_per_second = trial.bytes() as f64 / requests as f64 * per_second;
    if seconds >= 1.0 && bytes_per_second > quality::BYTES_PER_SECOND_BELIEVABLE {
        return Some(format!("{bytes_per_second:.1e} bytes would move in a second"));
    }
    None
}

fn unknown(name: &str, lines: &[&[u8]], closest: Option<(&Row, String)>) -> TraceError {
    let what = match foreign::name_of(lines) {
        Some(foreign) => format!("this looks like {foreign}, which cannot be read"),
        None => {
            let start = lines[0].get(..60).unwrap_or(lines[0]);
            format!("no supported format fits lines like '{}'", start.escape_ascii())
        }
    };
    let (nearest, format) = closest.map_or((String::new(), "NAME"), |(row, fault)| {
        (format!("; {} is nearest, but {fault}", row.name), row.name)
    });
    let proposal = layout::proposal(&lines[..lines.len().min(LINES_PROPOSED_FROM)]);
    let cure = format!(
        "say which column holds what, for example {proposal}, with --time-unit, --offset-unit 512 and --length-unit 512 where they are other than ns and bytes; or name the format with --format {format} (there are: {})",
        supported()
    );
    TraceError::new(ErrorCause::UnknownFormat, name, what + &nearest, cure)
}

fn ambiguous(name: &str, candidates: &[&Reading]) -> TraceError {
    let reading = |&&Reading { row, ref trial, .. }: &&Reading| {
        let Units { time_ns, offset_bytes, length_bytes } = row.units;
        format!(
            "{} ({}, units of {time_ns} ns, {offset_bytes} and {length_bytes} bytes): its first {} requests have {} bytes and last {:.9} s",
            row.name,
            row.layout,
            trial.columns.time_ns.len(),
            trial.bytes(),
            trial.duration_ns() as f64 / 1e9
        )
    };
    let list: Vec<String> = candidates.iter().map(reading).collect();
    let options: Vec<String> = candidates.iter().map(|one| format!("--format {}", one.row.name)).collect();
    TraceError::new(
        ErrorCause::AmbiguousFormat,
        name,
        format!("these formats cannot be told apart by their looks: {}", list.join("; ")),
        format!("say which one it is with {}", options.join(" or ")),
    )
}
