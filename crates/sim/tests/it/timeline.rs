//! Timelines: every slice of a tiny scenario; for any run, slices do not overlap and sum to its counters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use flashtwin_ftl::ReplicationPolicy;
use flashtwin_sim::engine::Charge;
use flashtwin_sim::{Recording, RequestsTo, Resolved, RunResult, SimError, TimelineTo, run, run_following};
use flashtwin_trace::PageTrace;

use crate::bench::{
    Ask, COMMAND, ERASE, NEW, PROGRAM, SENSE, TRANSFER, WRITE_ALL, most_at_once, numbers, page_trace, read,
    system_on, trim, write,
};
use crate::pftrace::{self, Slice};
use crate::swarm::random_run;

struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.pftrace", std::process::id())))
    }

    fn part(&self) -> PathBuf {
        let name = self.0.file_name().unwrap().to_str().unwrap();
        self.0.with_file_name(format!(".{name}.partial"))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

fn recorded(
    trace: &PageTrace,
    resolved: &Resolved,
    to: &Temporary,
    (from_ns, to_ns): (u64, u64),
) -> Result<RunResult, SimError> {
    let timeline = Some(TimelineTo { path: to.0.clone(), from_ns, to_ns });
    let recording = Recording { requests: RequestsTo::Memory, timeline };
    run_following(trace, resolved, &(), &recording, None)
}

fn slices(name: &str, asks: &[Ask], sets: &[(&str, &str)], levels: [u32; 6]) -> Vec<Slice> {
    let to = Temporary::new(name);
    let resolved = system_on(levels, "conventional", &[sets, &NEW].concat());
    recorded(&page_trace(asks, 16, 1), &resolved, &to, (0, u64::MAX)).unwrap();
    pftrace::read(&to.0)
}

fn of<'a>(slices: &'a [Slice], group: &str) -> Vec<(&'a str, &'a str, u64, u64)> {
    let mut found: Vec<_> = slices.iter().filter(|slice| slice.group == group).map(Slice::short).collect();
    found.sort_by_key(|&(track, _, begin_ns, end_ns)| (track, begin_ns, u64::MAX - end_ns));
    found
}

#[test]
fn every_slice_of_a_tiny_scenario() {
    // Two writes on one chip after the other, one on another; a trim; a read of the last.
    let asks = [write(0, 0, 0), write(10, 1, 0), write(20, 2, 0), trim(30, 9), read(1_000_000, 1)];
    let slices = slices("tiny", &asks, &[], [2, 1, 1, 1, 64, 8]);
    let data_in = COMMAND + TRANSFER;
    let (first, second, third) = (WRITE_ALL, 10 + WRITE_ALL, 2 * WRITE_ALL);
    let sensed = 1_000_000 + COMMAND + SENSE;
    assert_eq!(
        of(&slices, "dies"),
        [
            ("die 0", "host program", 0, first),
            ("die 0", "data in", 0, data_in),
            ("die 0", "programming", data_in, first),
            ("die 0", "host program", first, third),
            ("die 0", "data in", first, first + data_in),
            ("die 0", "programming", first + data_in, third),
            ("die 1", "host program", 10, second),
            ("die 1", "data in", 10, 10 + data_in),
            ("die 1", "programming", 10 + data_in, second),
            ("die 1", "host read", 1_000_000, sensed + TRANSFER),
            ("die 1", "command", 1_000_000, 1_000_000 + COMMAND),
            ("die 1", "sensing", 1_000_000 + COMMAND, sensed),
            ("die 1", "data out", sensed, sensed + TRANSFER),
        ]
    );
    assert_eq!(
        of(&slices, "channels"),
        [
            ("channel 0", "data in", 0, data_in),
            ("channel 0", "data in", first, first + data_in),
            ("channel 1", "data in", 10, 10 + data_in),
            ("channel 1", "command", 1_000_000, 1_000_000 + COMMAND),
            ("channel 1", "data out", sensed, sensed + TRANSFER),
        ]
    );
    assert_eq!(
        of(&slices, "host"),
        [
            ("requests 1", "write", 0, first),
            ("requests 1", "transfer", 0, data_in),
            ("requests 1", "flash", data_in, first),
            ("requests 1", "read", 1_000_000, sensed + TRANSFER),
            ("requests 1", "flash", 1_000_000, 1_000_000 + SENSE),
            ("requests 1", "transfer", 1_000_000 + SENSE, sensed + TRANSFER),
            ("requests 2", "write", 10, second),
            ("requests 2", "transfer", 10, 10 + data_in),
            ("requests 2", "flash", 10 + data_in, second),
            ("requests 3", "write", 20, third),
            ("requests 3", "host_program", 20, first),
            ("requests 3", "transfer", first, first + data_in),
            ("requests 3", "flash", first + data_in, third),
            ("trims", "trim", 30, 30),
        ]
    );
    assert_eq!(slices.iter().map(Slice::ns).filter(|&ns| ns == PROGRAM).count(), 6);
}

#[test]
fn slices_say_whose_and_where_they_are() {
    let asks = [write(0, 0, 0), write(20, 2, 0), read(1_000_000, 2)];
    let slices = slices("args", &asks, &[], [2, 1, 1, 1, 64, 8]);
    let args = |group: &str, name: &str, at: usize| {
        let mut named = slices.iter().filter(|slice| slice.group == group && slice.name == name);
        let slice = named.nth(at).unwrap();
        (
            slice.args.iter().map(|(arg, value)| format!("{arg}={value}")).collect::<Vec<_>>().join(" "),
            slice.flow,
        )
    };
    let second = "chip=0 lpn=2 pages=1 redirected=false request=1 time_ns=20";
    assert_eq!(args("host", "write", 1), (second.into(), Some(2)));
    assert_eq!(args("dies", "host program", 1), ("block=0 page=1 plane=0 request=1".into(), Some(2)));
    assert_eq!(args("dies", "host read", 0), ("block=0 page=1 plane=0 request=2".into(), Some(3)));
    assert_eq!(args("channels", "data out", 0), ("die=0".into(), None));
}

const SUSPENDING: [(&str, &str); 4] =
    [("suspend", "program-erase"), ("suspend_us", "20"), ("resume_us", "5"), ("suspend_slice_us", "0")];

fn commands(slices: &[Slice]) -> Vec<(&str, &str, u64, u64)> {
    slices.iter().filter(|slice| slice.group == "dies" && slice.depth == 0).map(Slice::short).collect()
}

#[test]
fn a_suspended_program_is_two_slices_with_the_read_between() {
    let asks = [write(0, 1, 0), write(1_000_000, 0, 0), read(1_050_000, 1)];
    let slices = slices("suspended", &asks, &SUSPENDING, [1, 1, 1, 1, 64, 8]);
    let (stopped, left) = (1_070_000, 1_000_000 + WRITE_ALL - 1_050_000);
    let resumed = stopped + COMMAND + SENSE + TRANSFER;
    let expected = [
        ("die 0", "host program", 0, WRITE_ALL),
        ("die 0", "host program", 1_000_000, stopped),
        ("die 0", "host read", stopped, resumed),
        ("die 0", "host program", resumed, resumed + 5_000 + left),
    ];
    assert_eq!(commands(&slices), expected);
    let marked =
        |mark: &str| slices.iter().filter(|slice| slice.args.contains_key(mark)).map(Slice::short).collect();
    let [suspended, again]: [Vec<_>; 2] = ["suspended", "resumed"].map(marked);
    assert_eq!((suspended, again), (vec![expected[1]], vec![expected[3]]));
    let programming: u64 = slices.iter().filter(|slice| slice.name == "programming").map(Slice::ns).sum();
    assert_eq!(programming, 2 * PROGRAM + 20_000 + 5_000);
}

#[test]
fn a_program_is_suspended_again_while_it_resumes() {
    let resumed = 1_070_000 + COMMAND + SENSE + TRANSFER;
    let second = resumed + 2_000;
    let asks = [write(0, 1, 0), write(1_000_000, 0, 0), read(1_050_000, 1), read(second as i64, 1)];
    let slices = slices("suspended-again", &asks, &SUSPENDING, [1, 1, 1, 1, 64, 8]);
    let left = 1_000_000 + WRITE_ALL - 1_050_000;
    let again = second + 20_000 + COMMAND + SENSE + TRANSFER;
    let expected = [
        ("die 0", "host program", resumed, second + 20_000),
        ("die 0", "host read", second + 20_000, again),
        // The first 2 of the 5 us are over, and 5 more come.
        ("die 0", "host program", again, again + 5_000 + 3_000 + left),
    ];
    assert_eq!(commands(&slices)[3..], expected);
}

#[test]
fn collection_slice_spans_first_read_to_end_of_erase() {
    let resolved = system_on([1, 1, 1, 1, 8, 4], "conventional", &[("preload", "none")]);
    let to = Temporary::new("collected");
    let asks: Vec<Ask> = (0..40).map(|at| write(i64::from(at) * 10_000_000, at * 7 % 12, 0)).collect();
    let result = recorded(&page_trace(&asks, 12, 1), &resolved, &to, (0, u64::MAX)).unwrap();
    let slices = pftrace::read(&to.0);
    let collections: Vec<_> = slices.iter().filter(|slice| slice.group == "garbage collection").collect();
    assert_eq!(result.summary["erases"]["total"], collections.len());
    assert!(collections.len() > 2);
    let read: u64 = collections.iter().map(|slice| slice.number("pages_read")).sum();
    assert_eq!(result.summary["flash_reads"]["gc"], read);
    assert!(collections.iter().all(|slice| slice.args["cause"] == "gc"));
    for collection in collections {
        let erase = slices
            .iter()
            .find(|slice| slice.is_command("erase") && slice.end_ns == collection.end_ns)
            .unwrap();
        assert_eq!(
            ["plane", "block"].map(|arg| &erase.args[arg]),
            ["plane", "block"].map(|arg| &collection.args[arg])
        );
        assert_eq!(erase.ns(), COMMAND + ERASE);
        assert!(collection.begin_ns <= erase.begin_ns);
    }
}

#[test]
fn a_window_that_no_run_has_is_refused_and_leaves_no_file() {
    let trace = page_trace(&[write(0, 0, 0), read(2_000_000, 0)], 16, 1);
    let resolved = system_on([1, 1, 1, 1, 64, 8], "conventional", &NEW);
    let to = Temporary::new("refused");
    let end_ns = 2_000_000 + COMMAND + SENSE + TRANSFER;
    for (window, text) in [
        (
            (7, 7),
            "the timeline is to begin at 0.000000007 s and to end at 0.000000007 s: let it end after it begins",
        ),
        (
            (3_000_000, 4_000_000),
            "the timeline is to begin at 0.003 s, and the run ended at 0.0020601 s: let it begin before that",
        ),
        ((end_ns, u64::MAX), "the run ended at"),
    ] {
        let Err(SimError::Config(error)) = recorded(&trace, &resolved, &to, window) else {
            panic!("{window:?}")
        };
        assert!(error.to_string().contains(text), "{error}");
        assert!(error.to_string().contains(to.0.to_str().unwrap()), "{error}");
        assert!(!to.0.exists() && !to.part().exists());
    }
    recorded(&trace, &resolved, &to, (end_ns - 1, u64::MAX)).unwrap();
    let last = |slice: &Slice| slice.end_ns == end_ns && slice.depth == 0;
    assert_eq!(pftrace::read(&to.0).iter().filter(|slice| last(slice)).count(), 3);
    assert!(!to.part().exists());
}

#[test]
fn a_file_that_cannot_be_made_is_named_before_the_run() {
    let to = Temporary(Path::new(env!("CARGO_TARGET_TMPDIR")).join("nowhere/out.pftrace"));
    let resolved = system_on([1, 1, 1, 1, 64, 8], "conventional", &NEW);
    let outcome = recorded(&page_trace(&[write(0, 0, 0)], 16, 1), &resolved, &to, (0, u64::MAX));
    let Err(SimError::Write { path, .. }) = outcome else { panic!("{:?}", outcome.map(|_| ())) };
    assert_eq!(path, to.0.display().to_string());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told_and_nothing_is_left() {
    let to = Temporary::new("full");
    std::os::unix::fs::symlink("/dev/full", to.part()).unwrap();
    let asks: Vec<Ask> = (0..1 << 15).map(|at| read(at * 1000, (at % 16) as u32)).collect();
    let resolved = system_on([1, 1, 1, 1, 64, 8], "conventional", &NEW);
    let outcome = recorded(&page_trace(&asks, 16, 1), &resolved, &to, (0, u64::MAX));
    let Err(SimError::Write { path, cause }) = outcome else { panic!("{:?}", outcome.map(|_| ())) };
    assert_eq!(path, to.0.display().to_string());
    assert!(cause.starts_with("the timeline: "), "{cause}");
    assert!(!to.0.exists() && to.part().symlink_metadata().is_err());
}

fn sum<'a>(slices: impl Iterator<Item = &'a Slice>) -> u64 {
    slices.map(Slice::ns).sum()
}

fn check_requests(slices: &[Slice], table: &RecordBatch) {
    let columns: BTreeMap<&str, Vec<u64>> =
        Charge::ALL.iter().map(|it| (it.name(), numbers(table, &format!("{}_ns", it.name())))).collect();
    let (arrival, response) = (numbers(table, "arrival_ns"), numbers(table, "response_ns"));
    let row_of: BTreeMap<u64, usize> = numbers(table, "request").into_iter().zip(0..).collect();
    let hosts: Vec<&Slice> = slices.iter().filter(|slice| slice.group == "host").collect();
    assert_eq!(hosts.iter().filter(|slice| slice.category == "request").count(), table.num_rows());
    for request in hosts.iter().filter(|slice| slice.category == "request") {
        let row = row_of[&request.number("request")];
        assert_eq!((request.begin_ns, request.ns()), (arrival[row], response[row]));
        let inside = |slice: &&&Slice| {
            slice.track == request.track
                && slice.depth == 1
                && (request.begin_ns..request.end_ns).contains(&slice.begin_ns)
        };
        let mut parts: Vec<&&Slice> = hosts.iter().filter(inside).collect();
        parts.sort_by_key(|part| part.begin_ns);
        let ends = parts.iter().map(|part| part.end_ns);
        let begins = parts.iter().skip(1).map(|part| part.begin_ns).chain([request.end_ns]);
        assert!(parts.is_empty() || ends.eq(begins) && parts[0].begin_ns == request.begin_ns, "{request:?}");
        let found: BTreeMap<&str, u64> = parts.iter().map(|part| (part.name.as_str(), part.ns())).collect();
        for (charge, column) in &columns {
            assert_eq!(found.get(charge).copied().unwrap_or(0), column[row], "{charge} of {request:?}");
        }
    }
}

fn check_lanes(slices: &[Slice]) {
    let requests =
        || slices.iter().filter(|slice| slice.group == "host" && slice.depth == 0 && slice.track != "trims");
    let most = most_at_once(requests().map(|it| (it.begin_ns, it.end_ns))) as usize;
    let mut lanes: Vec<&str> = requests().map(|slice| slice.track.as_str()).collect();
    lanes.sort_unstable();
    lanes.dedup();
    assert!(lanes.len() <= most.max(1), "{} lanes, {most} at a time", lanes.len());
}

fn check_busy(slices: &[Slice], result: &RunResult, resolved: &Resolved) {
    let of = |group: &str, track: &str| {
        sum(slices.iter().filter(|slice| slice.group == group && slice.track == track && slice.depth == 0))
    };
    for (channel, busy_ns) in numbers(result.table("channels").unwrap(), "busy_ns").into_iter().enumerate() {
        assert_eq!(of("channels", &format!("channel {channel}")), busy_ns, "channel {channel}");
    }
    let geometry = &resolved.device.geometry;
    let (unit, per_chip) = match resolved.config.engine.concurrency {
        flashtwin_sim::Concurrency::Chip => ("chip", 1),
        flashtwin_sim::Concurrency::Die => ("die", geometry.dies_per_chip),
        flashtwin_sim::Concurrency::Plane => ("plane", geometry.planes_per_chip()),
    };
    for (chip, busy_ns) in (0..).zip(numbers(result.table("chips").unwrap(), "busy_ns")) {
        let units = chip * per_chip..(chip + 1) * per_chip;
        let busy: u64 = units.map(|number| of(&format!("{unit}s"), &format!("{unit} {number}"))).sum();
        assert_eq!(busy / u64::from(per_chip), busy_ns, "chip {chip}");
    }
    let pages = result.summary["hash_unit"]["pages"].as_u64().unwrap_or(0);
    let hash_ns = (resolved.config.engine.hash_us * 1000.0).round() as u64;
    assert_eq!(sum(slices.iter().filter(|slice| slice.group == "hash unit")), pages * hash_ns);
    let erases =
        slices.iter().filter(|slice| slice.is_command("erase") && !slice.args.contains_key("suspended"));
    let erased: u64 =
        erases.map(|erase| erase.args.get("operations").map_or(1, |it| it.parse().unwrap())).sum();
    let collected = slices.iter().filter(|slice| slice.name == "collection").count() as u64;
    // At the end of a period the flash erases in no time, also blocks with earlier reads.
    let offline = resolved.config.ftl.replication.policy == ReplicationPolicy::EndOfPeriod;
    assert!(collected == erased || offline && collected > erased, "{collected} collections, {erased} erases");
}

fn check_stages(slices: &[Slice]) {
    let flash = || slices.iter().filter(|slice| matches!(slice.category.as_str(), "flash" | "stage"));
    let (commands, stages): (Vec<&Slice>, Vec<&Slice>) = flash().partition(|slice| slice.category == "flash");
    assert_eq!(sum(commands.into_iter()), sum(stages.into_iter()));
}

/// Without lanes, because these depend on events before the window.
fn shown(slices: &[Slice], window: (u64, u64)) -> Vec<Slice> {
    let is_in =
        |slice: &&Slice| slice.begin_ns < window.1 && (slice.end_ns > window.0 || slice.begin_ns >= window.0);
    let mut shown: Vec<Slice> = slices
        .iter()
        .filter(|slice| slice.depth == 0)
        .filter(is_in)
        .map(|slice| Slice { track: String::new(), ..slice.clone() })
        .collect();
    shown.sort();
    shown
}

#[test]
fn slices_of_any_run_do_not_overlap_and_sum_to_its_counts() {
    let (whole, again, part) = (Temporary::new("whole"), Temporary::new("again"), Temporary::new("part"));
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..150 {
        let (mut rng, pages, resolved) = random_run(seed, "timelines");
        let context = || format!("seed {seed}: {}", resolved.json());
        let result = recorded(&pages, &resolved, &whole, (0, u64::MAX)).unwrap();
        let slices = pftrace::read(&whole.0);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check_requests(&slices, &result.requests.as_ref().unwrap().read().unwrap());
            check_busy(&slices, &result, &resolved);
            check_stages(&slices);
            let (engine, replay) = (&resolved.config.engine, &resolved.config.replay);
            if engine.slots == 0 && engine.link_mb_s == 0.0 && replay.queue_limit == 0 {
                check_lanes(&slices);
            }
        }));
        assert!(outcome.is_ok(), "{}", context());
        let end_ns = slices.iter().map(|slice| slice.end_ns).max().unwrap_or(0);
        let from_ns = end_ns / 100 * u64::from(rng.below(90));
        let window = (from_ns, from_ns + 1 + end_ns / 100 * u64::from(rng.below(40)));
        recorded(&pages, &resolved, &part, window).unwrap();
        assert!(
            shown(&pftrace::read(&part.0), window) == shown(&slices, window),
            "{window:?} of {}",
            context()
        );
        if seed % 10 == 0 {
            recorded(&pages, &resolved, &again, (0, u64::MAX)).unwrap();
            assert!(std::fs::read(&whole.0).unwrap() == std::fs::read(&again.0).unwrap(), "{}", context());
            let plain = run(&pages, &resolved, &()).unwrap();
            assert_eq!(plain.summary.to_string(), result.summary.to_string());
        }
        slices.iter().for_each(|slice| *seen.entry(slice.name.clone()).or_default() += 1);
    }
    let names = "host read, old page read, host program, parity program, GC read, GC program, erase, copy read, \
                 copy program, table read, table program, comparison read, padding program, channel wait, collection, \
                 hash, trim, flush";
    for name in names.split(", ") {
        assert!(seen.get(name).is_some_and(|&times| times >= 5), "{name}: {seen:?}");
    }
}
