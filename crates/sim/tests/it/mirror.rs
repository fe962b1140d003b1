//! The mirror against two ordinary replays: during a pass answers are those of a conventional drive alone, and else those of
//! the replicating drive alone.

use std::collections::BTreeMap;

use flashtwin_ftl::{ReplicationPolicy, Rng};
use flashtwin_sim::{Mirror, Recording, RequestsTo, Resolved, RunResult, run_following};
use flashtwin_trace::{Op, PageTrace};
use serde_json::{Value, json};

use crate::bench::{
    Ask, NEW, READ_ALL, WRITE_ALL, column, figure, numbers, page_trace, pick, preset, read, system_on, write,
};
use crate::drawn;
use crate::swarm::random_system;

fn recorded(trace: &PageTrace, resolved: &Resolved) -> RunResult {
    let recording = Recording { requests: RequestsTo::Memory, ..Recording::default() };
    run_following(trace, resolved, &(), &recording, None).unwrap()
}

/// Each request's row by its number, without the name of the system.
fn rows(result: &RunResult) -> BTreeMap<u64, String> {
    let table = result.requests.as_ref().unwrap().read().unwrap();
    let others: Vec<usize> =
        (1..table.num_columns()).filter(|&at| table.schema().field(at).name() != "system").collect();
    let text = |row| format!("{:?}", table.slice(row, 1).project(&others).unwrap());
    numbers(&table, "request").into_iter().enumerate().map(|(row, number)| (number, text(row))).collect()
}

/// The same drive with the preset's map, and without what that ignores.
fn conventional(resolved: &Resolved) -> Resolved {
    let (mut plain, preset) = (resolved.clone(), preset("conventional", &[]).unwrap().config.ftl);
    let ftl = &mut plain.config.ftl;
    (ftl.mapping, ftl.dedup) = (preset.mapping, preset.dedup);
    (ftl.redirection, ftl.replication) = (preset.redirection, preset.replication);
    ftl.mapping_cache.fingerprints = false;
    plain
}

/// Passes of a run without a mirror: their beginnings on the trace's clock, and their ends in simulated time.
fn passes(alone: &RunResult, speed: f64) -> Vec<(u64, u64)> {
    let ends = column(alone, "periods", "end_ns");
    let spans = ends.iter().zip(column(alone, "periods", "replication_parallel_ns"));
    let in_time = |ns: u64| if speed == 1.0 { ns } else { (ns as f64 / speed) as u64 };
    spans.map(|(&end_ns, pass_ns)| (end_ns, in_time(end_ns) + pass_ns)).collect()
}

/// A replicating system on a drawn device with a drawn engine; requests arrive by the trace's clock.
fn replicating(rng: &mut Rng) -> (PageTrace, Resolved) {
    let spacing = pick(rng, &drawn::SPACINGS);
    let trace = drawn::spaced_trace(rng, spacing);
    loop {
        let (pages, mut resolved) = random_system(rng, &trace);
        let config = &mut resolved.config;
        (config.replay.queue_depth, config.replay.queue_limit) = (0, 0);
        config.replay.mirror = Mirror::None;
        if config.ftl.replication.policy == ReplicationPolicy::EndOfPeriod {
            return (pages, resolved);
        }
    }
}

#[test]
fn answers_during_passes_are_the_conventional_drives_and_else_the_own() {
    let (mut mirrored, mut own, mut others) = (0, 0, 0);
    for seed in 0..300 {
        let mut rng = Rng::stream(seed, "mirrors");
        let (pages, mut resolved) = replicating(&mut rng);
        let passes = passes(&recorded(&pages, &resolved), resolved.config.replay.speed);
        // A pass that begins before the end of the warm-up goes on behind it.
        resolved.config.replay.warm_up_s =
            pick(&mut rng, &[0.0, 0.4]) * pages.outline.duration_ns as f64 / 1e9;
        let (alone, plain) = (recorded(&pages, &resolved), recorded(&pages, &conventional(&resolved)));
        resolved.config.replay.mirror = Mirror::Conventional;
        let both = recorded(&pages, &resolved);
        let table = both.requests.as_ref().unwrap().read().unwrap();
        let arrivals = numbers(&table, "request").into_iter().zip(numbers(&table, "arrival_ns"));
        let arrivals: BTreeMap<u64, u64> = arrivals.collect();
        let [alone_rows, plain_rows, both_rows] = [&alone, &plain, &both].map(rows);
        let mut counts = [0; Op::COUNT];
        for (number, row) in &both_rows {
            let (op, time_ns) =
                (pages.columns.op[*number as usize], pages.columns.time_ns[*number as usize] as u64);
            let during = |&(begin_ns, end_ns): &(u64, u64)| time_ns >= begin_ns && arrivals[number] < end_ns;
            let in_pass = passes.iter().any(during);
            // A trim takes no time, and is the same on both.
            counts[op as usize] += u64::from(in_pass);
            let expected = if in_pass && op != Op::Trim { &plain_rows } else { &alone_rows };
            assert_eq!(row, &expected[number], "seed {seed}, request {number}: {}", resolved.json());
            others += u64::from(in_pass && plain_rows[number] != alone_rows[number]);
        }
        (mirrored, own) = (mirrored + counts[0] + counts[1], own + both_rows.len() as u64);
        assert_eq!(both_rows.len(), alone_rows.len());
        let told = &both.summary["replication"]["mirror"];
        let expected = json!({
            "reads": counts[Op::Read as usize], "writes": counts[Op::Write as usize],
            "flushes": counts[Op::Flush as usize], "pages_programmed": plain.summary["pages_programmed"],
            "erases": plain.summary["erases"]["total"],
        });
        assert_eq!(told, &expected, "seed {seed}: {}", resolved.json());
        apart_from_answers(&alone, &both);
    }
    assert!(mirrored > 2_000 && own > 3 * mirrored && others > 500, "{mirrored} {own} {others}");
}

/// The drive that replicates does what it would do alone.
fn apart_from_answers(alone: &RunResult, both: &RunResult) {
    let without = |summary: &Value| {
        let mut summary = summary.clone();
        ["response", "config"].iter().for_each(|part| summary[part] = Value::Null);
        summary["replication"].as_object_mut().unwrap().remove("mirror");
        summary
    };
    assert_eq!(without(&both.summary), without(&alone.summary));
    for name in ["chips", "channels", "planes", "queue_over_time", "blocks", "copies", "gc_victims"] {
        assert_eq!(both.table(name), alone.table(name), "{name}");
    }
}

/// Two chips, and six pages of one content, of which one is read: that earns a copy on the second chip.
fn by_hand(mirror: &str, arrival_ns: i64) -> RunResult {
    let sets = [("mirror", mirror), ("period_s", "0.01"), ("hash_us", "0"), NEW[0], NEW[1]];
    let resolved = system_on([2, 1, 1, 1, 32, 8], "rr-ssd", &sets);
    let fill: Vec<Ask> = (0..6).map(|page| write(i64::from(page) * 1_000_000, page, 0)).collect();
    let last = [read(8_000_000, 0), write(arrival_ns, 7, 9), read(arrival_ns, 5)];
    recorded(&page_trace(&[fill, last.to_vec()].concat(), 8, 10), &resolved)
}

#[test]
fn one_copy_takes_a_program_and_the_mirror_answers_meanwhile() {
    const END_NS: i64 = 10_000_000;
    let pass_ns = WRITE_ALL as i64;
    // The content is on the first chip, and each page of the mirror on its own: page 5 where page 7 is being programmed.
    let own = [WRITE_ALL, READ_ALL];
    let mirrored = [WRITE_ALL, WRITE_ALL + READ_ALL];
    for (arrival_ns, answers, expected) in [
        (END_NS - 1, 0, own),
        (END_NS, 1, mirrored),
        (END_NS + pass_ns - 1, 1, mirrored),
        (END_NS + pass_ns, 0, own),
    ] {
        let result = by_hand("conventional", arrival_ns);
        let table = result.requests.as_ref().unwrap().read().unwrap();
        let times = numbers(&table, "request").into_iter().zip(numbers(&table, "response_ns"));
        let times: BTreeMap<u64, u64> = times.collect();
        assert_eq!([times[&7], times[&8]], expected, "{arrival_ns}");
        let replication = &result.summary["replication"];
        let passed = u64::from(arrival_ns >= END_NS);
        assert_eq!(replication["parallel_ns"], passed * WRITE_ALL);
        let counts =
            json!({"reads": answers, "writes": answers, "flushes": 0, "pages_programmed": 7, "erases": 0});
        assert_eq!(replication["mirror"], counts);
        // Two contents, and the copy.
        assert_eq!(figure(&result.summary, "pages_programmed"), 2 + passed);
    }
    assert_eq!(by_hand("none", END_NS).summary["replication"]["mirror"], Value::Null);
}
