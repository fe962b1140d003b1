//! One volume of a file is the trace that a file of it alone would be.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::common::Random;
use flashtwin_trace::{ErrorCause, OpenOptions, RequestsByVolume, Source, Trace, TraceStream};

fn source(name: &str, text: &str) -> Source {
    Source::Bytes(name.to_owned(), Arc::from(text.as_bytes()))
}

fn open(text: &str, volume: Option<&str>) -> Trace {
    let options = OpenOptions { volume: volume.map(str::to_owned), ..OpenOptions::default() };
    Trace::open(&source("many.csv", text), &options, &()).unwrap()
}

fn msr(random: &mut Random, requests: u64) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    for number in 0..requests {
        let volume = random.below(3.min(1 + number / 10)) as usize;
        let time = 128_166_372_000_000_000 + number * 1000 - random.below(5) * 1500;
        let (host, disk) = [("hm", 0), ("hm", 1), ("src", 0)][volume];
        let op = if random.one_in(2) { "Read" } else { "Write" };
        let (offset, size) = (random.below(1000) * 512, 512 * (1 + random.below(20)));
        lines.push((volume, format!("{time},{host},{disk},{op},{offset},{size},100")));
    }
    lines
}

fn fiu(random: &mut Random, requests: u64) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    for number in 0..requests {
        let device = random.below(2) as usize;
        let op = if random.one_in(2) { "R" } else { "W" };
        let (lba, content) = (random.below(100) * 8, random.below(50));
        lines.push((device, format!("{} 1 p {lba} 8 {op} 8 {device} {content:032x}", number * 10)));
    }
    lines
}

fn text(lines: &[(usize, String)], volume: Option<usize>) -> String {
    let mut text = String::new();
    for (_, line) in lines.iter().filter(|(of, _)| volume.is_none_or(|volume| *of == volume)) {
        writeln!(text, "{line}").unwrap();
    }
    text
}

fn same(a: &Trace, b: &Trace, what: &str) {
    assert_eq!(a.digest(), b.digest(), "{what}");
    assert_eq!((&a.time_ns, &a.volume, &a.content), (&b.time_ns, &b.volume, &b.content), "{what}");
    assert_eq!((&a.volume_names, &a.digests), (&b.volume_names, &b.digests), "{what}");
}

#[test]
fn a_volume_is_what_a_file_of_its_own_would_be() {
    let mut random = Random::new(12);
    for round in 0..30 {
        for lines in [msr(&mut random, 200), fiu(&mut random, 200)] {
            let whole = open(&text(&lines, None), None);
            let volumes: Vec<usize> = (0..3).filter(|v| lines.iter().any(|(of, _)| of == v)).collect();
            assert_eq!(whole.volume_names.len(), volumes.len());
            let mut requests = 0;
            let by_volume = RequestsByVolume::of(&whole);
            for (number, (volume, name)) in volumes.into_iter().zip(&whole.volume_names).enumerate() {
                let what = format!("round {round}, volume {name}");
                let alone = open(&text(&lines, Some(volume)), None);
                let taken = whole.of_volume(name).unwrap();
                let read = open(&text(&lines, None), Some(name));
                same(&taken, &alone, &what);
                same(&read, &alone, &what);
                assert_eq!(by_volume.take(&whole, number as u32), taken, "{what}");
                assert_eq!(taken.name, format!("many:{name}"));
                assert_eq!(read.name, taken.name);
                requests += taken.len();
            }
            assert_eq!(requests, whole.len());
        }
    }
}

#[test]
fn a_volume_can_be_streamed() {
    let lines = msr(&mut Random::new(13), 300_000);
    let text = text(&lines, None);
    let options = OpenOptions { volume: Some("hm.1".to_owned()), ..OpenOptions::default() };
    let whole = Trace::open(&source("many.csv", &text), &options, &()).unwrap();
    let mut stream = TraceStream::open(&source("many.csv", &text), &options, &()).unwrap();
    let mut requests = 0;
    while let Some(batch) = stream.next(&()).unwrap() {
        assert!(batch.volume.iter().all(|&volume| volume == 0));
        requests += batch.len();
    }
    assert_eq!((requests, stream.digest()), (whole.len(), whole.digest()));
    assert_eq!(stream.volume_names(), ["hm.1"]);
    let mut all = TraceStream::open(&source("many.csv", &text), &OpenOptions::default(), &()).unwrap();
    let found = all.requests_by_volume(&()).unwrap();
    assert!(found.contains(&("hm.1".to_owned(), whole.len() as u64)), "{found:?}");
    assert_eq!((found.len(), found.iter().map(|of| of.1).sum()), (3, 300_000));
}

#[test]
fn unknown_volume_is_an_error_with_the_known_names() {
    let text = text(&msr(&mut Random::new(14), 100), None);
    let options = OpenOptions { volume: Some("hm.7".to_owned()), ..OpenOptions::default() };
    let error = Trace::open(&source("many.csv", &text), &options, &()).unwrap_err();
    assert_eq!(error.cause, ErrorCause::Argument);
    assert_eq!(error.to_string(), "many.csv: no volume is called 'hm.7'; there are: hm.0, hm.1, src.0");
    assert_eq!(open(&text, None).of_volume("hm.7").unwrap_err().cause, ErrorCause::Argument);
}
