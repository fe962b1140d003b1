//! The requests that the sample files of tests/data hold.

use flashtwin_trace::{Op, Request, Trace, TraceBuilder};

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

/// The requests of volume 0: a CloudPhysics trace has one volume only.
pub(crate) fn of_one_volume() -> Vec<Asked> {
    requests().into_iter().filter(|asked| asked.volume == 0).collect()
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
