//! How fast traces are read, beside the bare loop that only finds newlines.

#![allow(clippy::print_stdout)]

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use flashtwin_bits::SplitMix64;
use flashtwin_trace::{OpenOptions, Source, Trace, TraceError, TraceStream};

const LINES: u64 = 2_000_000;
const RUNS: usize = 3;

fn main() -> Result<(), TraceError> {
    println!("one reading thread, best of {RUNS}; {LINES} lines each");
    for (name, line) in GENERATORS {
        let mut text = String::new();
        let mut random = Random(SplitMix64(1));
        for number in 0..LINES {
            line(&mut text, number, &mut random);
        }
        let options = OpenOptions { format: Some(name.parse()?), ..OpenOptions::default() };
        let source = Source::Bytes(name.to_owned(), text.as_bytes().into());
        text_speed(&source, text.as_bytes(), &options)?;
    }
    parquet_speed()
}

type Generator = fn(&mut String, u64, &mut Random);

const GENERATORS: [(&str, Generator); 12] = [
    ("fiu", |text, number, random| {
        // Requests of four lines; one content in four is new.
        let (time, page) = (number / 4 * 25_000, random.below(1 << 18) * 4 + number % 4);
        let content = random.below(number / 4 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let op = if random.below(10) < 7 { 'W' } else { 'R' };
        let lba = page * 8;
        let digest = u128::from(content) * 0xa076_1d64_78bd_642f;
        let _ = writeln!(text, "{time} 4253 nfsd {lba} 8 {op} 6 0 {digest:032x}");
    }),
    ("msr", |text, number, random| {
        let time = 128_166_372_003_061_629 + number * 250;
        let offset = random.below(1 << 28) * 512;
        let op = if random.below(10) < 7 { "Write" } else { "Read" };
        let _ = writeln!(text, "{time},hm,0,{op},{offset},4096,2833");
    }),
    ("spc", |text, number, random| {
        let (lba, op) = (random.below(1 << 28), if random.below(10) < 7 { 'w' } else { 'r' });
        let _ = writeln!(text, "0,{lba},4096,{op},{}.{:06}", number / 40_000, number % 40_000 * 25);
    }),
    ("mqsim", |text, number, random| {
        let (lba, op) = (random.below(1 << 28), u8::from(random.below(10) >= 7));
        let _ = writeln!(text, "{} 0 {lba} 8 {op}", number * 25_000);
    }),
    ("disksim", |text, number, random| {
        let (lba, op) = (random.below(1 << 28), u8::from(random.below(10) >= 7));
        let _ = writeln!(text, "{}.{:06} 0 {lba} 8 {op}", number / 40, number % 40 * 25_000);
    }),
    ("etw", |text, number, random| {
        let (offset, kind) =
            (random.below(1 << 28) * 512, if random.below(10) < 7 { "Write" } else { "Read" });
        let time = number * 25;
        let _ = writeln!(
            text,
            "{:>23},{time:>11}, sqlservr.exe (2084),       3912, 0xfffffa8004d02510, {offset:#012x}, 0x00001000,         283,        0, 0x060043,         283,       3, Original, 0xffffe288272d0d20, \"C:\\data.mdf\"",
            format!("Disk{kind}")
        );
    }),
    ("blkparse", |text, number, random| {
        // Of three lines one is taken.
        let (action, flags) = (["Q", "D", "C"][number as usize % 3], ["R", "WS"][random.below(2) as usize]);
        let (whole, part, lba) = (number / 120_000, number % 120_000 * 8333, random.below(1 << 28));
        let _ = writeln!(
            text,
            "  8,16   3 {number:>8} {whole:>5}.{part:09}  3645 {action:>2} {flags:>3} {lba} + 8 [java]"
        );
    }),
    ("fio", |text, number, random| {
        if number == 0 {
            text.push_str("fio version 3 iolog\n");
        }
        let (offset, op) = (random.below(1 << 28) * 512, if random.below(10) < 7 { "write" } else { "read" });
        let _ = writeln!(text, "{} /dev/nvme0n1 {op} {offset} 4096", number * 25);
    }),
    ("alibaba", |text, number, random| {
        let (offset, op) = (random.below(1 << 28) * 512, if random.below(10) < 7 { 'W' } else { 'R' });
        let _ =
            writeln!(text, "{},{op},{offset},4096,{}", number % 1000, 1_577_808_000_000_000 + number * 25);
    }),
    ("tencent", |text, number, random| {
        let (lba, op) = (random.below(1 << 28), u8::from(random.below(10) < 7));
        let _ = writeln!(text, "{},{lba},8,{op},{}", 1_538_323_200 + number / 40_000, number % 1000);
    }),
    ("systor", |text, number, random| {
        let (offset, op) = (random.below(1 << 28) * 512, if random.below(10) < 7 { 'W' } else { 'R' });
        let (whole, part) = (1_456_135_200 + number / 40_000, number % 40_000 * 25_000);
        let _ = writeln!(text, "{whole}.{part:09},0.000806000,{op},4,{offset},4096");
    }),
    ("cloudphysics", |text, number, random| {
        let (lbn, op) = (random.below(1 << 28), if random.below(10) < 7 { "2a" } else { "28" });
        let _ = writeln!(text, "1,{},{op},4096,{lbn}", 5_633_898 + number / 40_000);
    }),
];

struct Random(SplitMix64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0.next() % limit
    }
}

/// Best time of some runs, in seconds, and the last run's result.
fn best<T>(mut run: impl FnMut() -> Result<T, TraceError>) -> Result<(f64, T), TraceError> {
    let mut seconds = f64::INFINITY;
    let mut result = None;
    for _ in 0..RUNS {
        let start = Instant::now();
        let value = run()?;
        seconds = seconds.min(start.elapsed().as_secs_f64());
        result = Some(value);
    }
    match result {
        Some(value) => Ok((seconds, value)),
        None => unreachable!("RUNS is not 0"),
    }
}

/// Seconds to find every newline one after another, as a reader of lines must.
fn bare_loop(bytes: &[u8]) -> Result<(f64, usize), TraceError> {
    best(|| {
        let mut rest = bytes;
        let mut lines = 0;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            rest = &rest[at + 1..];
            lines += 1;
        }
        Ok(std::hint::black_box(lines))
    })
}

fn go_through(source: &Source, options: &OpenOptions) -> Result<u64, TraceError> {
    let mut stream = TraceStream::open(source, options, &())?;
    while stream.next(&())?.is_some() {}
    Ok(stream.requests())
}

fn text_speed(source: &Source, text: &[u8], options: &OpenOptions) -> Result<(), TraceError> {
    let (bare, lines) = bare_loop(text)?;
    let (seconds, trace) = best(|| Trace::open(source, options, &()))?;
    let (streamed, _) = best(|| go_through(source, options))?;
    println!(
        "{:12} {:6.1} M lines/s  {:5.0} MB/s  (streamed {:.2} of that time; {:.0} M lines/s only finding newlines; {} requests)",
        trace.format.name(),
        lines as f64 / seconds / 1e6,
        text.len() as f64 / seconds / 1e6,
        streamed / seconds,
        lines as f64 / bare / 1e6,
        trace.len()
    );
    Ok(())
}

fn parquet_speed() -> Result<(), TraceError> {
    let folder = std::env::temp_dir().join(format!("flashtwin-ingest-{}", std::process::id()));
    let io = |error: std::io::Error| {
        TraceError::new(flashtwin_trace::ErrorCause::Io, "bench", error.to_string(), "")
    };
    std::fs::create_dir_all(&folder).map_err(io)?;
    for (name, line) in [GENERATORS[1], GENERATORS[0]] {
        let mut text = String::new();
        let mut random = Random(SplitMix64(1));
        (0..LINES).for_each(|number| line(&mut text, number, &mut random));
        let source = Source::Bytes(name.to_owned(), text.into_bytes().into());
        let trace = Trace::open(&source, &OpenOptions::default(), &())?;
        let path = folder.join(format!("{name}.parquet"));
        trace.write_parquet(&path)?;
        parquet_file_speed(&path)?;
    }
    std::fs::remove_dir_all(&folder).map_err(io)
}

fn parquet_file_speed(path: &Path) -> Result<(), TraceError> {
    let source = Source::File(path.to_owned());
    let (seconds, trace) = best(|| Trace::open(&source, &OpenOptions::default(), &()))?;
    let size = std::fs::metadata(path).map_or(0, |m| m.len());
    println!(
        "parquet  {:6.1} M rows/s, {:.1} M contents/s, {:.1} bytes/row ({} requests, {} contents)",
        trace.len() as f64 / seconds / 1e6,
        trace.content.len() as f64 / seconds / 1e6,
        size as f64 / trace.len() as f64,
        trace.len(),
        trace.content.len()
    );
    Ok(())
}
