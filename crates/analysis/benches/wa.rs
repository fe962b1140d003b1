//! Programmed pages per second of wa-simulator, beside a loop that only keeps the two maps; f_min; counting of writes.
//!
//! `cargo bench -p flashtwin-analysis --bench wa [-- --only uniform|zipf|f_min|peer] [--writes N] [--pages N]`. Blocks
//! of 128 pages, over-provisioning 7 %. `--only peer` is for `benches/peer_ftlsim.py`.

#![allow(clippy::print_stdout, missing_docs)]

mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{Clock, ROUNDS, Random, best, numbered};
use flashtwin_analysis::{Frequencies, WaCounts, WaDevice, WaSimulator, page_writes, physical_blocks};
use flashtwin_trace::{Op, Trace, TraceBuilder};

const BLOCK_PAGES: u32 = 128;
const PERCENT: u32 = 7;
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn line(name: &str, seconds: f64, count: u64, what: &str, more: &str) {
    println!("{name:26} {seconds:7.3} s {:8.1} M {what}/s  {more}", count as f64 / seconds / 1e6);
}

/// The two maps and nothing else: every write is programmed once, to the next place of a device as large.
fn bare_loop(writes: &[u32], pages: usize, places: usize) -> u64 {
    let (mut l2p, mut p2l) = (vec![0u32; pages], vec![0u32; places]);
    let mut sum = 0;
    let mut next = 0;
    for &page in writes {
        sum += u64::from(std::mem::replace(&mut l2p[page as usize], next));
        p2l[next as usize] = page;
        next += 1;
        if next as usize == places {
            next = 0;
        }
    }
    sum + u64::from(black_box(&p2l)[0])
}

fn device(pages: usize, partitions: usize) -> WaDevice {
    let physical_blocks = physical_blocks(pages as u64, BLOCK_PAGES, PERCENT);
    WaDevice { block_pages: BLOCK_PAGES, physical_blocks, partitions: partitions as u32 }
}

fn simulate(writes: &[u32], counts: &[u32], partitions: u32) -> Result<(f64, WaCounts, usize)> {
    let frequencies = Frequencies::of(counts);
    let ratio = frequencies.lowest_ratio(partitions).ok_or("no pages")?;
    let partitioning = frequencies.partitions(ratio);
    let of_page = partitioning.of_pages(counts).ok_or("too many partitions")?;
    let run = || -> Result<WaCounts> {
        let mut ssd = WaSimulator::new(device(counts.len(), partitioning.len()), &of_page)?;
        ssd.write_all(writes)?;
        Ok(ssd.counts())
    };
    Ok((best(run), run()?, partitioning.len()))
}

fn simulator_speed(name: &str, writes: &[u32], counts: &[u32]) -> Result<()> {
    let places = device(counts.len(), 1).physical_blocks as usize * BLOCK_PAGES as usize;
    let bare = best(|| bare_loop(writes, counts.len(), places));
    line(
        &format!("{name}, bare maps"),
        bare,
        writes.len() as u64,
        "pages",
        &format!("{} pages", counts.len()),
    );
    for partitions in [1, 8] {
        let (seconds, done, used) = simulate(writes, counts, partitions)?;
        let amplification = done.write_amplification().unwrap_or(f64::NAN);
        let ns = seconds * 1e9 / done.page_writes as f64;
        let more =
            format!("WA {amplification:.3}, {} M pages, {ns:.1} ns/write", done.pages_programmed / 1_000_000);
        line(&format!("{name}, {used} partitions"), seconds, done.pages_programmed, "pages", &more);
    }
    Ok(())
}

fn f_min_speed(pages: u32) -> Result<()> {
    let mut random = Random::new(3);
    let mut counts = vec![1u32; pages as usize];
    (0..4 * u64::from(pages)).for_each(|_| counts[random.skewed(pages.into()) as usize] += 1);
    // Too short for the processor's clock.
    let begin = Instant::now();
    let frequencies = Frequencies::of(black_box(&counts));
    let histogram = begin.elapsed().as_secs_f64();
    let lowest: Vec<f64> = (2..=32).filter_map(|n| black_box(&frequencies).f_min(n)).collect();
    let search_ms = (begin.elapsed().as_secs_f64() - histogram) * 1e3;
    let more = format!(
        "{} frequencies; then {search_ms:.2} ms for f_min(2..=32) = {:.1} .. {:.3}",
        frequencies.levels().len(),
        lowest.first().unwrap_or(&f64::NAN),
        lowest.last().unwrap_or(&f64::NAN)
    );
    line("f_min, histogram", histogram, pages.into(), "pages", &more);
    Ok(())
}

fn trace_of(writes: &[u64]) -> Result<Trace> {
    let mut builder = TraceBuilder::new("writes");
    for (time, &page) in writes.iter().enumerate() {
        builder.request(time as i64, Op::Write, page * 4096, 4096, &[]);
    }
    Ok(builder.build()?)
}

fn counting_speed(name: &str, writes: &[u64], pages: u32) -> Result<()> {
    let trace = trace_of(writes)?;
    let bare = best(|| {
        let mut counts = vec![0u32; pages as usize];
        writes.iter().for_each(|&page| counts[page as usize] += 1);
        counts
    });
    let seconds = best(|| page_writes(&trace, 4096, true));
    let more = format!("with their order; {:.1} M/s only adding up", writes.len() as f64 / bare / 1e6);
    line(&format!("{name}, counting"), seconds, writes.len() as u64, "writes", &more);
    Ok(())
}

/// One line: seconds, pages programmed and write amplification of a full SSD under uniform writes.
fn peer(writes: usize) -> Result<()> {
    let pages = 7812 * BLOCK_PAGES;
    let of_page = vec![0; pages as usize];
    let mut ssd = WaSimulator::new(device(pages as usize, 1), &of_page)?;
    ssd.write_all(&(0..pages).collect::<Vec<u32>>())?;
    let before = ssd.counts();
    let mut random = Random::new(1);
    let mut batch = vec![0; 4096];
    let clock = Clock::start();
    for done in (0..writes).step_by(batch.len()) {
        batch.truncate(writes - done);
        batch.fill_with(|| random.below(pages.into()) as u32);
        ssd.write_all(&batch)?;
    }
    let seconds = clock.seconds();
    let programmed = ssd.counts().pages_programmed - before.pages_programmed;
    println!("peer {seconds} {programmed} {}", programmed as f64 / writes as f64);
    Ok(())
}

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)
}

fn main() -> Result<()> {
    let count: u64 = argument("--writes").map_or(Ok(10_000_000), |text| text.parse())?;
    let pages: u32 = argument("--pages").map_or(Ok(1_000_000), |text| text.parse())?;
    let only = argument("--only");
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if only.as_deref() == Some("peer") {
        return peer(count as usize);
    }
    println!("one thread, best of {ROUNDS}, {count} page writes, {pages} pages to choose from");
    let mut random = Random::new(1);
    // Spread over the address space: 7,919 is a prime.
    let spread = |page: u64| page * 7919 % u64::from(pages);
    for name in ["uniform", "zipf"].into_iter().filter(|name| wanted(name)) {
        let draw = |_| match name {
            "uniform" => random.below(pages.into()),
            _ => spread(random.skewed(pages.into())),
        };
        let drawn: Vec<u64> = (0..count).map(draw).collect();
        counting_speed(name, &drawn, pages)?;
        let (writes, counts) = numbered(drawn.into_iter(), pages.into());
        simulator_speed(name, &writes, &counts)?;
    }
    if wanted("f_min") {
        f_min_speed(10_000_000)?;
    }
    Ok(())
}
