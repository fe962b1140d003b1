//! Spatial samples: a page stays with all that happens to it, or goes.

use std::collections::{BTreeSet, HashMap};

use crate::common::Random;
use flashtwin_trace::{
    ContentSource, ErrorCause, NO_CONTENT, Op, PageTrace, Request, SampleBy, Trace, TraceBuilder,
};

fn random_trace(seed: u64, with_content: bool, pages: u64) -> Trace {
    let mut random = Random::new(seed);
    let mut builder = TraceBuilder::new("random");
    for number in 0..1 + random.below(80) {
        let op = [Op::Read, Op::Write, Op::Trim][random.below(3) as usize];
        let grid = if random.one_in(3) { 512 } else { 4096 };
        let length = (1 + random.below(20)) * grid;
        let offset = random.below(pages * 4096 / grid) * grid;
        let contents: Vec<u32> = (0..length.div_ceil(4096))
            .map(|_| if random.one_in(9) { NO_CONTENT } else { random.below(30) as u32 })
            .collect();
        let volume = random.below(3) as u32 * 5;
        if random.one_in(6) {
            let flush =
                Request { time_ns: number as i64, volume, op: Op::Flush, offset_bytes: 0, length_bytes: 0 };
            builder.push(flush, &[]);
        }
        let request =
            Request { time_ns: number as i64, volume, op, offset_bytes: offset, length_bytes: length as u32 };
        let bare = !with_content || op == Op::Trim || random.one_in(5);
        builder.push(request, if bare { &[] } else { &contents });
    }
    builder.build().unwrap()
}

/// One page of a request: time, volume by name, kind, page, bytes of it, content by the events it shares it with.
type Event = (i64, String, Op, u64, u64, Option<u32>);

/// All pages of all requests. `content` numbers contents as the whole trace does.
fn events(trace: &Trace, start_ns: i64) -> Vec<Event> {
    let mut events = Vec::new();
    for row in 0..trace.len() {
        let run = trace.requests(row..row + 1);
        let contents = trace.contents(row);
        let (offset, end) = run.extent(0, 4096);
        for (nth, page) in run.pages(0, 4096).enumerate() {
            let bytes = end.min((page + 1) * 4096) - offset.max(page * 4096);
            let volume = trace.volume_names[trace.volume[row] as usize].clone();
            let time = trace.time_ns[row] + start_ns;
            events.push((time, volume, trace.op[row], page, bytes, contents.get(nth).copied()));
        }
    }
    events
}

/// Asserts that `sample` is the events of `trace` that `stays` keeps, contents being renumbered.
fn assert_is_part(trace: &Trace, sample: &Trace, stays: impl Fn(&Event) -> bool, what: &str) {
    let kept: Vec<Event> = events(trace, 0).into_iter().filter(|event| stays(event)).collect();
    let got = events(sample, kept[0].0);
    assert_eq!(got.len(), kept.len(), "{what}");
    let mut number: HashMap<u32, u32> = HashMap::new();
    for (got, kept) in got.iter().zip(&kept) {
        assert_eq!((got.0, &got.1, got.2, got.3, got.4), (kept.0, &kept.1, kept.2, kept.3, kept.4), "{what}");
        match (got.5, kept.5) {
            (Some(NO_CONTENT), Some(NO_CONTENT)) | (None, None) => {}
            (Some(new), Some(old)) => assert_eq!(*number.entry(old).or_insert(new), new, "{what}"),
            other => panic!("{what}: {other:?}"),
        }
    }
    let distinct: BTreeSet<u32> = number.values().copied().collect();
    assert_eq!(distinct.len(), number.len(), "{what}");
}

#[test]
fn what_stays_of_a_page_stays_whole() {
    let (mut samples, mut cut) = (0, 0);
    for seed in 0..1500 {
        let trace = random_trace(seed, seed % 3 > 0, 60);
        let rate = [0.2, 0.5, 0.9][seed as usize % 3];
        let Ok(sample) = trace.sample(rate, seed, SampleBy::Address) else { continue };
        samples += 1;
        cut += usize::from(sample.len() > trace.len() / 2 && sample.length_bytes != trace.length_bytes);
        // Which pages stay is read off the sample itself: a page in it is in it always.
        let pages: BTreeSet<(String, u64)> =
            events(&sample, 0).into_iter().map(|event| (event.1, event.3)).collect();
        let stays = |event: &Event| pages.contains(&(event.1.clone(), event.3));
        assert_is_part(&trace, &sample, stays, &format!("seed {seed}"));
        assert_eq!(sample.name, "random-sample");
    }
    assert!(samples > 1300 && cut > 100, "{samples} {cut}");
}

/// The same pages of each volume would be a sample of what volumes have in common, such as their superblocks.
#[test]
fn each_volume_is_sampled_by_itself() {
    let mut builder = TraceBuilder::new("two");
    for (time_ns, page) in (0..400).enumerate() {
        let (volume, offset_bytes) = (page as u32 % 2, page / 2 * 4096);
        let request =
            Request { time_ns: time_ns as i64, volume, op: Op::Read, offset_bytes, length_bytes: 4096 };
        builder.push(request, &[]);
    }
    let sample = builder.build().unwrap().sample(0.5, 1, SampleBy::Address).unwrap();
    let pages = |of: u32| -> BTreeSet<u64> {
        (0..sample.len()).filter(|&at| sample.volume[at] == of).map(|at| sample.offset_bytes[at]).collect()
    };
    // Of 200 pages half stay in each volume, and half of those in both.
    assert!((30..70).contains(&pages(0).intersection(&pages(1)).count()));
}

#[test]
fn what_stays_of_a_content_stays_whole() {
    let mut samples = 0;
    for seed in 0..1500 {
        let trace = random_trace(seed, true, 60);
        let Ok(sample) = trace.sample(0.4, seed, SampleBy::Content) else { continue };
        samples += 1;
        assert!(sample.content.iter().all(|&id| id != NO_CONTENT));
        // Only flushes have none.
        assert!(
            (0..sample.len()).all(|row| sample.contents(row).is_empty() == (sample.op[row] == Op::Flush))
        );
        // A content stays when its first event, by time, volume and page, is in the sample.
        let in_sample: BTreeSet<(i64, String, u64)> = {
            let first = events(&trace, 0);
            let kept = events(&sample, 0);
            // The sample begins with the first event that stays: try each until all fit.
            let shift = first.iter().map(|event| event.0).find(|&shift| {
                kept.iter().all(|k| first.iter().any(|e| (e.0, &e.1, e.3) == (k.0 + shift, &k.1, k.3)))
            });
            kept.into_iter().map(|event| (event.0 + shift.unwrap(), event.1, event.3)).collect()
        };
        let mut stays: HashMap<u32, bool> = HashMap::new();
        for event in events(&trace, 0) {
            if let Some(id) = event.5.filter(|&id| id != NO_CONTENT) {
                stays.entry(id).or_insert(in_sample.contains(&(event.0, event.1.clone(), event.3)));
            }
        }
        assert_is_part(&trace, &sample, |e| e.5.is_some_and(|id| stays.get(&id) == Some(&true)), "content");
    }
    assert!(samples > 1000, "{samples}");
}

#[test]
fn rates_hold_and_lower_ones_are_parts_of_higher_ones() {
    let mut builder = TraceBuilder::new("large");
    for page in 0..40_000u64 {
        builder.request(page as i64, Op::Write, page * 4096, 4096, &[page as u32]);
    }
    let trace = builder.build().unwrap();
    for by in [SampleBy::Address, SampleBy::Content] {
        assert_eq!(trace.sample(1.0, 3, by).unwrap().digest(), trace.digest());
        let pages = |rate: f64, seed: u64| -> BTreeSet<u64> {
            trace.sample(rate, seed, by).unwrap().offset_bytes.iter().copied().collect()
        };
        let (few, many) = (pages(0.01, 3), pages(0.25, 3));
        // Five standard deviations of the binomial distribution.
        assert!((few.len() as f64 - 400.0).abs() < 100.0, "{}", few.len());
        assert!((many.len() as f64 - 10_000.0).abs() < 433.0, "{}", many.len());
        assert!(few.is_subset(&many));
        assert_ne!(pages(0.25, 4), many);
        assert_eq!(pages(0.25, 3), many);
    }
}

#[test]
fn samples_can_be_replayed_and_keep_volumes_and_digests() {
    let trace = random_trace(5, true, 4000);
    let sample = trace.sample(0.5, 1, SampleBy::Address).unwrap();
    let pages = PageTrace::build(&sample, 4096, ContentSource::Recorded).unwrap();
    assert!(pages.outline.footprint_pages() > 0);
    for (row, &volume) in sample.volume.iter().enumerate() {
        assert!(["0", "5", "10"].contains(&sample.volume_names[volume as usize].as_str()), "{row}");
    }
}

#[test]
fn what_cannot_be_sampled_is_said() {
    let trace = TraceBuilder::new("t").request(0, Op::Read, 0, 4096, &[]).build().unwrap();
    for rate in [0.0, -1.0, 1.5, f64::NAN] {
        let error = trace.sample(rate, 1, SampleBy::Address).unwrap_err();
        assert_eq!(error.cause, ErrorCause::Argument, "{error}");
        assert!(error.cure.contains("above 0"), "{error}");
    }
    let error = trace.sample(0.5, 1, SampleBy::Content).unwrap_err();
    assert_eq!(error.cause, ErrorCause::NoContent);
    let error = trace.sample(1e-12, 1, SampleBy::Address).unwrap_err();
    assert_eq!(error.cause, ErrorCause::Empty);
    assert!("page".parse::<SampleBy>().unwrap_err().to_string().contains("use address or content"));
}

#[test]
fn a_flush_stays_behind_a_write_that_stays() {
    // Every page is written once, on one of two volumes, and flushed on both.
    let mut builder = TraceBuilder::new("flushed");
    for number in 0..200u32 {
        let written = u64::from(number) * 4096;
        let at = |op, volume, offset_bytes, length_bytes| Request {
            time_ns: i64::from(number),
            volume,
            op,
            offset_bytes,
            length_bytes,
        };
        builder.push(at(Op::Write, number % 2, written, 4096), &[]);
        builder.push(at(Op::Flush, 0, 0, 0), &[]);
        builder.push(at(Op::Flush, 1, 0, 0), &[]);
    }
    let sample = builder.build().unwrap().sample(0.3, 1, SampleBy::Address).unwrap();
    assert!((40..80).contains(&(sample.len() / 2)), "{}", sample.len());
    for row in (0..sample.len()).step_by(2) {
        assert_eq!((sample.op[row], sample.op[row + 1]), (Op::Write, Op::Flush));
        assert_eq!(sample.volume[row], sample.volume[row + 1]);
        assert_eq!(sample.time_ns[row], sample.time_ns[row + 1]);
    }
}
