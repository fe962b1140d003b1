//! The shared sample: a made-up trace, and how each format writes it.

pub(crate) mod cloud;
mod recorders;

use std::fmt::Write as _;

use flashtwin_trace::{Op, Request, Trace, TraceBuilder};

pub(crate) use cloud::{alibaba, cloudphysics, systor, tencent};
pub(crate) use recorders::{blkparse, etw, fio_timestamps, fio_waits};

use crate::common::Random;

/// One request of the sample: times in units of 100 ns, as MSR's.
pub(crate) struct Asked {
    pub(crate) ticks: u64,
    pub(crate) volume: u32,
    pub(crate) read: bool,
    pub(crate) sector: u64,
    pub(crate) sectors: u32,
    pub(crate) contents: Vec<u32>,
}

/// The sample. Two volumes, requests of half a page to eight pages on page or sector boundaries.
pub(crate) fn requests() -> Vec<Asked> {
    let mut random = Random::new(20_260_101);
    let mut ticks = 0;
    let mut own_content = 1000;
    (0..240)
        .map(|number| {
            if number > 0 {
                ticks += 1 + random.below(200_000);
            }
            let sectors: u32 = match random.below(8) {
                0 => 4,
                1 => 12,
                2 => 16 << random.below(3),
                _ => 8,
            };
            let mut sector = random.below(4000) * 8;
            if random.one_in(10) {
                sector += 1 + random.below(7);
            }
            let contents = (0..sectors.div_ceil(8))
                .map(|chunk| {
                    if (chunk + 1) * 8 <= sectors {
                        random.below(90) as u32
                    } else {
                        // A part of a page has a content no whole page has.
                        own_content += 1;
                        own_content
                    }
                })
                .collect();
            Asked {
                ticks,
                volume: u32::from(random.one_in(5)),
                read: random.one_in(3),
                sector,
                sectors,
                contents,
            }
        })
        .collect()
}

impl Asked {
    /// Whether its volume is flushed right behind it, in formats that have flushes.
    pub(crate) fn is_flushed(&self) -> bool {
        self.sector.is_multiple_of(7)
    }
}

/// The sample as a trace, made without any reader.
pub(crate) fn trace(with_content: bool) -> Trace {
    trace_of(requests(), 100, with_content, false)
}

/// Some requests of the sample as a trace, their times cut to multiples of `unit_ns`.
pub(crate) fn trace_of(requests: Vec<Asked>, unit_ns: u64, with_content: bool, with_flushes: bool) -> Trace {
    let mut builder = TraceBuilder::new("sample");
    for asked in requests {
        let request = Request {
            time_ns: (asked.ticks * 100 / unit_ns * unit_ns) as i64,
            volume: asked.volume,
            op: if asked.read { Op::Read } else { Op::Write },
            offset_bytes: asked.sector * 512,
            length_bytes: asked.sectors * 512,
        };
        builder.push(request, if with_content { &asked.contents } else { &[] });
        if with_flushes && asked.is_flushed() {
            builder.push(Request { op: Op::Flush, offset_bytes: 0, length_bytes: 0, ..request }, &[]);
        }
    }
    builder.build().unwrap()
}

fn digest(number: u64) -> String {
    let mut random = Random::new(number);
    format!("{:016x}{:016x}", random.next(), random.next())
}

fn digests(asked: &Asked) -> String {
    let of = |&content: &u32| digest(u64::from(content));
    asked.contents.iter().map(of).collect()
}

/// One digest for each sector of the request, as in the homes traces.
fn sector_digests(asked: &Asked) -> String {
    (0..asked.sectors)
        .map(|sector| {
            let content = u64::from(asked.contents[sector as usize / 8]);
            // Most sectors are zeros, as in the real ones.
            let inside = u64::from(sector % 8);
            digest(if inside < 2 { content << 8 | inside | 1 << 40 } else { 0 })
        })
        .collect()
}

fn lines(line: impl Fn(&mut String, &Asked)) -> String {
    let mut text = String::new();
    for asked in requests() {
        line(&mut text, &asked);
        text.push('\n');
    }
    text
}

fn read_or_write(asked: &Asked, read: &'static str, write: &'static str) -> &'static str {
    if asked.read { read } else { write }
}

const START_NS: u64 = 89_966_527_950_500;

pub(crate) fn fiu() -> String {
    fiu_with(digests)
}

/// FIU, a line a request and a digest a sector.
pub(crate) fn homes() -> String {
    fiu_with(sector_digests)
}

fn fiu_with(digests: impl Fn(&Asked) -> String) -> String {
    lines(|text, asked| {
        let (time, op) = (START_NS + asked.ticks * 100, read_or_write(asked, "R", "W"));
        let Asked { sector, sectors, volume, .. } = asked;
        let _ = write!(text, "{time} 77 sampled {sector} {sectors} {op} 8 {volume} {}", digests(asked));
    })
}

/// FIU, a line for every 4 KB.
pub(crate) fn fiu_lines() -> String {
    lines(|text, asked| {
        let (time, op) = (START_NS + asked.ticks * 100, read_or_write(asked, "R", "W"));
        let volume = asked.volume;
        for (chunk, &content) in asked.contents.iter().enumerate() {
            let sector = asked.sector + chunk as u64 * 8;
            let sectors = (asked.sectors - chunk as u32 * 8).min(8);
            let digest = digest(u64::from(content));
            let separator = if chunk == 0 { "" } else { "\n" };
            let _ =
                write!(text, "{separator}{time} 77 a sampler {sector} {sectors} {op} 8 {volume} {digest}");
        }
    })
}

pub(crate) fn msr() -> String {
    let header = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n".to_owned();
    header
        + &lines(|text, asked| {
            let (time, op) = (128_166_372_003_061_629 + asked.ticks, read_or_write(asked, "Read", "Write"));
            let (offset, size) = (asked.sector * 512, asked.sectors * 512);
            let _ = write!(text, "{time},hm,{},{op},{offset},{size},2833", asked.volume);
        })
}

pub(crate) fn spc() -> String {
    lines(|text, asked| {
        let (whole, part) = (asked.ticks / 10_000_000, asked.ticks % 10_000_000);
        let (size, op) = (asked.sectors * 512, read_or_write(asked, "r", "W"));
        let _ = write!(text, "{},{},{size},{op},{whole}.{part:07},extra", asked.volume, asked.sector);
    })
}

pub(crate) fn mqsim() -> String {
    lines(|text, asked| {
        let op = read_or_write(asked, "1", "0");
        let _ =
            write!(text, "{} {} {} {} {op}", asked.ticks * 100, asked.volume, asked.sector, asked.sectors);
    })
}

pub(crate) fn mqsim_digests() -> String {
    lines(|text, asked| {
        let (op, digests) = (read_or_write(asked, "1", "0"), sector_digests(asked));
        let _ = write!(
            text,
            "{} {} {} {} {op} {digests}",
            asked.ticks * 100,
            asked.volume,
            asked.sector,
            asked.sectors
        );
    })
}

/// DiskSim in sectors, with tabs and carriage returns.
pub(crate) fn disksim() -> String {
    lines(|text, asked| {
        let (whole, part) = (asked.ticks / 10_000, asked.ticks % 10_000);
        let op = read_or_write(asked, "1", "0");
        let _ =
            write!(text, "{whole}.{part:04}\t{}\t{}\t{}\t{op}\r", asked.volume, asked.sector, asked.sectors);
    })
}

pub(crate) fn disksim_bytes() -> String {
    lines(|text, asked| {
        let (whole, part) = (asked.ticks / 10_000, asked.ticks % 10_000);
        let op = read_or_write(asked, "1", "0");
        let _ = write!(
            text,
            "{whole}.{part:04} {} {} {} {op}",
            asked.volume,
            asked.sector * 512,
            asked.sectors * 512
        );
    })
}
