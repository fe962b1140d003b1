//! The whole characterization: streamed as in memory, with any number of threads, and sampled close to exact.

use std::path::{Path, PathBuf};

use crate::common::{Random, messy_trace, trace_of};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use flashtwin_analysis::{
    Characterization, InMemory, Input, OpenVolume, Options, Streamed, characterize, characterize_trace,
    characterize_volumes,
};
use flashtwin_trace::{
    Op, OpenOptions, Request, RequestsByVolume, Source, Trace, TraceBuilder, TraceError, split,
};
use serde_json::Value;

fn quick() -> Options {
    let mut options = Options { period_s: 5.0, ..Options::default() };
    options.wa.partitions = vec![1, 2];
    options.wa.over_provisioning_percent = vec![28];
    options.wa.other_page_bytes = vec![];
    options.locality.distance_max = 64;
    options.locality.time_max = 200;
    options
}

fn of(trace: &Trace, options: &Options) -> Characterization {
    characterize_trace(trace, options, &()).unwrap()
}

/// Equal but for the options, which hold the sample's seed and rate.
fn same_tables(a: &Characterization, b: &Characterization) {
    assert_eq!(a.tables.len(), b.tables.len());
    for (a, b) in a.tables.iter().zip(&b.tables) {
        assert_eq!(a, b);
    }
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data")
}

#[test]
fn streaming_a_file_gives_what_memory_gives() {
    let mut compared = 0;
    for entry in std::fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        let source = Source::File(path.clone());
        let Ok(trace) = Trace::open(&source, &OpenOptions::default(), &()) else { continue };
        let mut streamed = Streamed::open(source, OpenOptions::default(), &()).unwrap();
        let streamed = characterize(&mut streamed, &quick(), &()).unwrap();
        let in_memory = of(&trace, &quick());
        assert_eq!(streamed.summary, in_memory.summary, "{}", path.display());
        same_tables(&streamed, &in_memory);
        compared += 1;
    }
    assert!(compared >= 6, "only {compared} files of tests/data could be read");
}

/// Requests on volumes of very different sizes, some with contents.
fn of_many_volumes(seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let mut builder = TraceBuilder::new("many");
    for time in 0..600 + random.below(600) as i64 {
        let volume = (random.below(25) * random.below(2)) as u32;
        let op = [Op::Read, Op::Write, Op::Write, Op::Trim, Op::Flush][random.below(5) as usize];
        let (page, pages) = (random.below(60), 1 + random.below(3) as u32);
        let (offset_bytes, length_bytes) = if op == Op::Flush { (0, 0) } else { (page * 4096, pages * 4096) };
        let known = op.moves_data() && volume.is_multiple_of(2);
        let contents: Vec<u32> = (0..pages).filter(|_| known).map(|_| random.below(50) as u32).collect();
        let time_ns = time * 20_000_000;
        builder.push(Request { time_ns, volume, op, offset_bytes, length_bytes }, &contents);
    }
    builder.hole(0, 0..40_960).zeroes(3);
    builder.build().unwrap()
}

/// The rows of one volume, without its name.
fn rows_of(table: &RecordBatch, name: &str, volume: &str) -> RecordBatch {
    let names = table["volume"].as_string::<i32>();
    let mine: Vec<usize> = (0..table.num_rows()).filter(|&row| names.value(row) == volume).collect();
    let first = mine.first().copied().unwrap_or(0);
    let rows = table.slice(first, mine.len());
    let columns: Vec<usize> = (usize::from(name != "volumes")..table.num_columns()).collect();
    rows.project(&columns).unwrap()
}

#[test]
fn volumes_together_are_each_by_itself() {
    for seed in 0..6 {
        let whole = of_many_volumes(seed);
        let options = Options { sample_rate: if seed == 5 { 0.5 } else { 1.0 }, ..quick() };
        let by_volume = RequestsByVolume::of(&whole);
        let numbered = whole.volume_names.iter().zip(0..);
        let volumes: Vec<(String, u64)> =
            numbered.map(|(name, volume)| (name.clone(), by_volume.requests(volume).len() as u64)).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("many.parquet");
        whole.write_parquet(&path).unwrap();
        let manifest = split(&Source::File(path), &OpenOptions::default(), None, folder.path(), &()).unwrap();
        let memory = |place: usize| -> Result<Box<dyn Input + Send>, TraceError> {
            Ok(Box::new(InMemory::owned(by_volume.take(&whole, place as u32))))
        };
        let files = |place: usize| -> Result<Box<dyn Input + Send>, TraceError> {
            let part = &manifest["parts"][place];
            let file = Source::File(folder.path().join(part["file"].as_str().unwrap()));
            let streamed = Streamed::open(file, OpenOptions::default(), &())?;
            Ok(Box::new(streamed.named(&format!("many:{}", part["name"].as_str().unwrap()), whole.format)))
        };
        for (open, what) in [(&memory as &OpenVolume<'_>, "memory"), (&files, "files")] {
            for threads in [1, 3] {
                let options = Options { threads, ..options.clone() };
                let together = characterize_volumes(&volumes, open, &options, &()).unwrap();
                for ((name, _), summary) in volumes.iter().zip(&together.summaries) {
                    let alone = of(&whole.of_volume(name).unwrap(), &options);
                    let what = format!("seed {seed}, {what}, volume {name}");
                    assert_eq!(*summary, alone.summary.to_string(), "{what}");
                    for (table, rows) in &together.tables {
                        let found = rows_of(rows, table, name);
                        match alone.tables.iter().find(|(other, _)| other == table) {
                            Some((_, expected)) => {
                                assert_eq!(found.columns(), expected.columns(), "{what}: {table}")
                            }
                            None => assert_eq!(found.num_rows(), 0, "{what}: {table}"),
                        }
                    }
                    let missing = |name: &String| together.tables.iter().all(|(other, _)| other != name);
                    assert!(!alone.tables.iter().any(|(name, _)| missing(name)), "{what}");
                }
            }
        }
    }
}

/// The summary without `gone` figures of `info`.
fn without(found: &Characterization, gone: &[&str]) -> Value {
    let mut summary = found.summary.clone();
    let info = summary["info"].as_object_mut().unwrap();
    gone.iter().for_each(|figure| assert!(info.remove(*figure).is_some(), "{figure}"));
    summary
}

#[test]
fn an_anonymous_trace_is_characterized_alike() {
    for seed in 0..4 {
        let named = of_many_volumes(seed);
        let public = named.anonymize(&[seed as u8; 32]).unwrap();
        let (named, public) = (of(&named, &quick()), of(&public, &quick()));
        let gone = ["name", "digest", "span_bytes"];
        assert_eq!(without(&public, &gone), without(&named, &gone), "seed {seed}");
        for ((name, public), (_, named)) in public.tables.iter().zip(&named.tables) {
            for (column, field) in named.schema().fields().iter().enumerate() {
                if name == "volumes" && ["volume", "span_bytes"].contains(&field.name().as_str()) {
                    assert_ne!(public.column(column), named.column(column), "{}", field.name());
                } else {
                    assert_eq!(public.column(column), named.column(column), "{name}, {}", field.name());
                }
            }
        }
    }
}

#[test]
fn runs_may_be_cut_anywhere() {
    // More requests than one run, and than one batch of a stream, by way of a file.
    let trace = skewed_trace(150_000, 1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("skewed.parquet");
    trace.write_parquet(&path).unwrap();
    let mut streamed = Streamed::open(Source::File(path), OpenOptions::default(), &()).unwrap();
    let streamed = characterize(&mut streamed, &quick(), &()).unwrap();
    same_tables(&streamed, &of(&trace, &quick()));
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for seed in 0..20 {
        let trace = messy_trace(seed);
        let one = of(&trace, &Options { threads: 1, ..quick() });
        let three = of(&trace, &Options { threads: 3, ..quick() });
        assert_eq!(one, three, "seed {seed}");
    }
}

#[test]
fn missing_contents_or_reads_give_missing_metrics() {
    let found = of(&trace_of((0..50).map(|time| (Op::Write, time % 7 * 4096, 4096))), &quick());
    for metric in ["popularity", "drift", "space", "duplication"] {
        assert_eq!(found.summary[metric], Value::Null, "{metric}");
    }
    assert_eq!(found.summary["info"]["unique_values_write_percent"], Value::Null);
    assert_eq!(found.summary["logical_locality"]["read"]["highest_probability"], Value::Null);
    assert!(found.summary["temperature"]["partitions_for_ratio_2"].as_u64() > Some(0));
    assert!(found.tables.iter().all(|(name, _)| name != "popularity"));
}

#[test]
fn options_have_defaults_and_no_unknown_names() {
    let read = serde_json::from_str::<Options>;
    assert_eq!(read("{}").unwrap(), Options::default());
    assert_eq!(read(r#"{"wa": {"block_pages": [256]}}"#).unwrap().wa.page_bytes, 4096);
    for (text, name) in [(r#"{"perod_s": 1}"#, "perod_s"), (r#"{"wa": {"block_page": []}}"#, "block_page")] {
        assert!(read(text).unwrap_err().to_string().contains(name));
    }
}

/// Zipf-like contents and addresses; contents drift and are often copied; a second per 1,000 requests.
fn skewed_trace(requests: usize, seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let mut builder = TraceBuilder::new("skewed");
    // The square of a uniform number: mild skew, so that no single item carries the result.
    let mut skewed = move |limit: u64| {
        let uniform = random.below(1 << 32) as f64 / f64::from(u32::MAX);
        (uniform * uniform * (limit - 1) as f64) as u64
    };
    let mut held = vec![None; 60_000];
    for index in 0..requests {
        let drift = index as u64 / 20;
        let op = if skewed(100) < 30 { Op::Write } else { Op::Read };
        let page = skewed(60_000);
        // A read finds the last write; before any write, the page's first content.
        let content = held[page as usize].filter(|_| op == Op::Read);
        let content = content.unwrap_or_else(|| (drift + skewed(40_000)) as u32);
        held[page as usize] = Some(content);
        let request = Request {
            time_ns: index as i64 * 1_000_000,
            volume: 0,
            op,
            offset_bytes: page * 4096,
            length_bytes: 4096,
        };
        builder.push(request, &[content]);
    }
    builder.build().unwrap()
}

fn number(summary: &Value, path: &str) -> f64 {
    let found = path.split('.').fold(summary, |value, key| &value[key]);
    found.as_f64().unwrap_or_else(|| panic!("{path} is {found}"))
}

#[test]
fn samples_are_within_their_stated_errors() {
    let trace = skewed_trace(400_000, 7);
    let exact = of(&trace, &Options { period_s: 60.0, ..quick() });
    let (mut figures, mut beyond_two) = (0, 0);
    for sample_seed in 0..8 {
        let options = Options { period_s: 60.0, sample_rate: 0.1, sample_seed, ..quick() };
        let sampled = of(&trace, &options);
        let errors = sampled.summary["standard_errors"].as_object().unwrap();
        assert!(errors.len() >= 15);
        for (path, error) in errors {
            let Some(error) = error.as_f64() else { continue };
            let (estimate, truth) = (number(&sampled.summary, path), number(&exact.summary, path));
            figures += 1;
            beyond_two += i32::from((estimate - truth).abs() > 2.0 * error);
            // With 15 degrees of freedom 6 standard errors happen once in 40,000 figures; the small
            // constant is for figures that hardly vary.
            assert!(
                (estimate - truth).abs() <= 6.0 * error + 0.01 * truth.abs(),
                "seed {sample_seed}: {path} is {estimate} +- {error}, exactly {truth}"
            );
        }
    }
    // About one in 16 would be beyond two errors if they were normal with 15 degrees of freedom.
    assert!(beyond_two * 5 <= figures, "{beyond_two} of {figures} figures are off by two errors or more");
}

#[test]
fn sampled_temperatures_and_write_amplification_are_close() {
    let trace = skewed_trace(600_000, 3);
    let options = |sample_rate: f64| Options { sample_rate, ..quick() };
    let (exact, sampled) = (of(&trace, &options(1.0)), of(&trace, &options(0.2)));
    let both = |path: &str| (number(&exact.summary, path), number(&sampled.summary, path));
    let (exact_wa, sampled_wa) = both("write_amplification.write_amplification_1");
    assert!(exact_wa > 1.05, "{exact_wa}: garbage collection must matter here");
    assert!((sampled_wa / exact_wa - 1.0).abs() < 0.03, "{sampled_wa} for {exact_wa}");
    let (exact_needed, needed) = both("temperature.partitions_for_ratio_2");
    // The hottest pages are probably left out, so a sample needs fewer partitions: it is a lower bound.
    assert!(needed <= exact_needed && needed >= exact_needed / 2.0, "{needed} for {exact_needed}");
}

#[test]
fn everything_sampled_is_everything() {
    let trace = skewed_trace(30_000, 5);
    let all = of(&trace, &quick());
    let sampled = of(&trace, &Options { sample_rate: 1.0, sample_seed: 9, ..quick() });
    same_tables(&all, &sampled);
    assert!(sampled.summary.get("standard_errors").is_none());
}

#[test]
fn sampled_periods_and_space_are_scaled_up() {
    let trace = skewed_trace(400_000, 11);
    let table = |rate: f64, name: &str, column: &str| {
        let options = Options { period_s: 100.0, sample_rate: rate, ..quick() };
        let found = of(&trace, &options);
        let table = found.tables.into_iter().find(|(known, _)| known == name).unwrap().1;
        let column = table.column_by_name(column).unwrap().clone();
        match column.as_primitive_opt::<UInt64Type>() {
            Some(counts) => counts.values().iter().map(|&count| count as f64).collect::<Vec<f64>>(),
            None => column.as_primitive::<Float64Type>().values().to_vec(),
        }
    };
    for (name, column) in [
        ("periods", "page_reads"),
        ("periods", "distinct_contents_written"),
        ("space", "pages_held"),
        ("space", "contents_held"),
        ("space", "share_percent"),
    ] {
        let (exact, sampled) = (table(1.0, name, column), table(0.2, name, column));
        assert_eq!(exact.len(), sampled.len());
        for (exact, sampled) in exact.iter().zip(&sampled) {
            assert!((sampled / exact - 1.0).abs() < 0.05, "{name}.{column}: {sampled} for {exact}");
        }
    }
}
