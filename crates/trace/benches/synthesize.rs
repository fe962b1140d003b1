//! How fast traces are made, beside the bare loop that only draws random numbers. Arguments name recipes.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use flashtwin_bits::SplitMix64;
use flashtwin_trace::{Recipe, TraceError, synthesize, synthesize_parquet, workload_toml};

const REQUESTS: f64 = 3_000_000.0;
const RUNS: usize = 3;
/// Random numbers a request: its time, its kind, its place and its content.
const DRAWS: u64 = 4;

fn main() -> Result<(), TraceError> {
    println!("about {REQUESTS} requests, best of {RUNS}");
    let bare = best(|| {
        let mut random = SplitMix64(1);
        let mut sum = 0u64;
        for _ in 0..REQUESTS as u64 * DRAWS {
            sum = sum.wrapping_add(random.next());
        }
        black_box(sum);
        Ok(REQUESTS)
    })?;
    println!("{:<16} {bare:>8.1} M requests/s, {DRAWS} random numbers each and nothing else", "bare loop");
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let names = if asked.is_empty() {
        ["rr-ssd/webvm", "rr-ssd/trans", "ca-ssd/mail", "ca-ssd/hm"].map(str::to_owned).to_vec()
    } else {
        asked
    };
    let folder = std::env::temp_dir().join(format!("flashtwin-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| {
        TraceError::new(flashtwin_trace::ErrorCause::Io, folder.display().to_string(), error.to_string(), "")
    })?;
    for name in names {
        let recipe = Recipe::parse(&name, workload_toml(&name).unwrap_or_default())?;
        let scale = (REQUESTS / recipe.requests.count as f64).min(1.0);
        let memory = best(|| Ok(synthesize(&recipe, &name, scale, 0, &())?.len() as f64))?;
        let file = folder.join("made.parquet");
        let written = |threaded| {
            best(|| Ok(synthesize_parquet(&recipe, &name, (scale, 0), &file, threaded, &())? as f64))
        };
        let (one, two) = (written(false)?, written(true)?);
        println!(
            "{name:<16} {memory:>8.1} in memory, {one:>6.1} into a file with one thread, {two:>6.1} with two; M requests/s"
        );
    }
    // The system's folder of temporary files is emptied by others if not here.
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

/// Millions a second.
fn best(mut work: impl FnMut() -> Result<f64, TraceError>) -> Result<f64, TraceError> {
    let mut best = 0.0f64;
    for _ in 0..RUNS {
        let begin = Instant::now();
        let done = work()?;
        best = best.max(done / begin.elapsed().as_secs_f64() / 1e6);
    }
    Ok(best)
}
