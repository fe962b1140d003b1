//! A run counts what its controller decides without a clock.

use flashtwin_ftl::dedup::sample_of;
use flashtwin_ftl::{Cause, Content, Controller, Ftl, Host, LoadView, Lpn};
use flashtwin_sim::{Preload, Resolved, RunResult, run, told_partitions};
use flashtwin_trace::{Op, PageTrace};

use crate::swarm::{load_blind_run, number};

/// Writes the pages of a request in the order in which their hashes come; of pages that share a sample,
/// the sample first, whose fate is that of the others.
fn write_pages(
    ftl: &mut Ftl,
    trace: &PageTrace,
    request: usize,
    mut write: impl FnMut(&mut Ftl, usize, bool) -> bool,
) {
    let pages = trace.columns.page_ops_of(request);
    let most = ftl.sampling_pages() as usize;
    for first in pages.clone().step_by(most) {
        let run = first..pages.end.min(first + most);
        // A page of which only a part is written is no sample if another can be.
        let whole: Vec<usize> = run.clone().filter(|&at| !trace.columns.is_partial(request, at)).collect();
        let among = if whole.is_empty() { run.clone().collect() } else { whole };
        let contents: Vec<u32> = among.iter().map(|&at| trace.columns.content[at]).collect();
        let sample = among[sample_of(Content::named(&contents))];
        let found = write(ftl, sample, true);
        for at in run.filter(|&at| at != sample) {
            write(ftl, at, found);
        }
    }
}

fn untimed(trace: &PageTrace, resolved: &Resolved) -> [u64; 9] {
    let config = &resolved.config;
    let geometry = &resolved.device.geometry;
    let contents = trace.outline.content_count;
    let mut ftl = Ftl::new(&config.ftl, geometry, trace.outline.pages(), contents, config.seed);
    ftl.holds_at_most(&config.ftl, trace.outline.footprint_pages());
    if let Some(told) = told_partitions(trace, &config.ftl.partition).unwrap() {
        ftl.assign_partitions(told);
    }
    ftl.lay_out_tables(&config.ftl, &trace.outline.lpn_address);
    let idle = vec![0; geometry.chips() as usize];
    let loads = LoadView::new(&idle, &idle);
    let mut ops = Vec::new();
    let page = |lpn: u32, content| Host {
        lpn: Lpn::new(lpn),
        address: trace.outline.lpn_address[lpn as usize],
        content,
    };
    for lpn in (0..trace.outline.pages()).filter(|&lpn| trace.outline.existed_before(lpn)) {
        let initial = page(lpn, Content::new(trace.outline.initial_content[lpn as usize]));
        ftl.write(initial, true, &loads, &mut ops).unwrap();
    }
    ftl.end_preload();
    let period_ns = (config.replay.period_s * 1e9) as i64;
    let mut boundary = period_ns;
    let handles = config.ftl.partition.handles();
    for request in 0..trace.columns.requests() {
        if let Some(handles) = &handles {
            let stream = trace.window().stream_of(request);
            ftl.direct(handles.of(stream, trace.columns.length_bytes[request]));
        }
        while trace.columns.time_ns[request] >= boundary {
            ftl.end_period(&mut ops).unwrap();
            boundary += period_ns;
        }
        match trace.columns.op[request] {
            Op::Write => write_pages(&mut ftl, trace, request, |ftl, at, fingerprinted| {
                ftl.prepare_write(Lpn::new(trace.columns.lpn[at]), false, &loads).unwrap();
                let page = page(trace.columns.lpn[at], Content::new(trace.columns.content[at]));
                if fingerprinted {
                    ftl.look_up_fingerprint(page.content).unwrap();
                }
                ftl.write(page, fingerprinted, &loads, &mut ops).unwrap().program.is_none()
            }),
            op => {
                for at in trace.columns.page_ops_of(request) {
                    match op {
                        Op::Read => {
                            ftl.read(Lpn::new(trace.columns.lpn[at]), &loads).unwrap();
                            ftl.begin_jobs(&mut ops).unwrap();
                        }
                        _ if trace.columns.is_partial(request, at) => {}
                        _ => ftl.trim(Lpn::new(trace.columns.lpn[at])),
                    }
                }
            }
        }
        if trace.columns.op[request] == Op::Trim {
            ftl.begin_jobs(&mut ops).unwrap();
        }
    }
    let counters = ftl.counters();
    let by = |cause: Cause| counters.programs[cause as usize];
    let host = [Cause::Host, Cause::Unique, Cause::MissedDuplicate, Cause::Reborn].map(by);
    let own = [Cause::Gc, Cause::Replica, Cause::Metadata, Cause::WearLevelling].map(by);
    [host[0], host[1], host[2], host[3], own[0], own[1], own[2], own[3], counters.erases]
}

fn programs_and_erases(result: &RunResult) -> [u64; 9] {
    let host = ["host", "unique", "missed_duplicate", "reborn"];
    let own = ["gc", "replica", "metadata", "wear_levelling"];
    let writes = host.into_iter().chain(own).map(|cause| number(&result.summary["flash_writes"], cause));
    let all: Vec<u64> = writes.chain([number(&result.summary, "erases.total")]).collect();
    all.try_into().unwrap()
}

#[test]
fn a_run_counts_what_the_controller_decides_without_a_clock() {
    for seed in 0..60 {
        let (_, pages, mut resolved) = load_blind_run(seed, "without a clock");
        // Decided as soon as they come.
        resolved.config.engine.hash_us = 0.0;
        resolved.config.replay.preload = Preload::FirstReads;
        let result = run(&pages, &resolved, &()).unwrap();
        let counted = programs_and_erases(&result);
        assert_eq!(counted, untimed(&pages, &resolved), "seed {seed}: {}", resolved.json());
    }
}
