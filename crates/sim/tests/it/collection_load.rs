//! Choices of collection that no paper fixes may cost no more time on busy dies than their extra programs.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use flashtwin_ftl::{Rng, WearPolicy};
use flashtwin_nand::NandConfig;
use flashtwin_sim::{Preload, Resolved, RunResult, run};
use flashtwin_trace::{Op, PageTrace, Trace, TraceBuilder};

use crate::bench::{Levels, nand, pick, system_with};
use crate::relations::number;

/// A drive with as many blocks a plane as collection needs to behave as on a large one.
fn drive(rng: &mut Rng) -> NandConfig {
    let levels: Levels = [
        1 + rng.below(3),
        1 + rng.below(2),
        1 + rng.below(2),
        1 + rng.below(2),
        120 + rng.below(80),
        16 << rng.below(2),
    ];
    NandConfig {
        program_us: pick(rng, &[200.0, 400.0, 900.0]),
        erase_us: pick(rng, &[1_500.0, 3_800.0]),
        ..nand(levels)
    }
}

/// Single pages at random times; `hot`: 80 % of the writes go to a fifth of the pages.
fn trace(rng: &mut Rng, footprint: u32, hot: bool, mean_ns: f64) -> Trace {
    let mut builder = TraceBuilder::new("collection under load");
    let mut now = 0.0;
    // Every page is there, and the order of the addresses is that of the pages.
    builder.request(0, Op::Read, 0, footprint * 4096, &[]);
    for _ in 0..20_000 {
        let uniform = f64::from(1 + rng.below(1 << 30)) / f64::from(1 << 30);
        now += -uniform.ln() * mean_ns;
        let page = match hot && rng.below(10) < 8 {
            true => rng.below(footprint / 5),
            false => rng.below(footprint),
        };
        let op = if rng.below(10) < 7 { Op::Write } else { Op::Read };
        builder.request(now as i64, op, u64::from(page) * 4096, 4096, &[]);
    }
    builder.build().unwrap()
}

fn busy_percent(result: &RunResult) -> f64 {
    let shares = result.table("chips").unwrap().column_by_name("utilisation").unwrap().clone();
    let shares = shares.as_primitive::<Float64Type>().values().to_vec();
    shares.iter().sum::<f64>() * 100.0 / shares.len() as f64
}

struct Scene {
    pages: PageTrace,
    base: Resolved,
    busy_percent: f64,
}

fn scene(rng: &mut Rng, hot: bool) -> Scene {
    let nand = drive(rng);
    let mut base = system_with(nand, "conventional", &[("verify", "false")]);
    base.config.replay.preload = Preload::Footprint;
    let planes = base.device.geometry.planes();
    let raw = planes * (base.config.nand.blocks_per_plane - 4) * base.config.nand.pages_per_block;
    let footprint = (f64::from(raw) * pick(rng, &[0.75, 0.82, 0.88])) as u32;
    let trace = trace(rng, footprint, hot, 1_000_000.0);
    let pages = PageTrace::build(&trace, 4096, base.content_source(trace.has_content())).unwrap();
    let wanted = f64::from(30 + rng.below(26));
    base.config.replay.speed = 0.5;
    // How long dies work does not depend on the speed, so two runs find it.
    for _ in 0..3 {
        let found = busy_percent(&run(&pages, &base, &()).unwrap());
        base.config.replay.speed *= wanted / found;
    }
    let busy_percent = busy_percent(&run(&pages, &base, &()).unwrap());
    Scene { pages, base, busy_percent }
}

fn outcome(scene: &Scene, change: impl Fn(&mut Resolved)) -> (f64, f64) {
    let mut resolved = scene.base.clone();
    change(&mut resolved);
    let result = run(&scene.pages, &resolved, &()).unwrap();
    let n = |path: &str| number(&result, path);
    (n("response.write.mean_ns"), n("pages_programmed"))
}

#[test]
fn wear_rule_and_hysteresis_cost_no_more_time_than_programs() {
    for seed in 0..16 {
        let mut rng = Rng::stream(seed, "collection under load");
        let scene = scene(&mut rng, seed % 2 == 1);
        assert!((25.0..65.0).contains(&scene.busy_percent), "seed {seed}: {} % busy", scene.busy_percent);
        let (mean, programs) = outcome(&scene, |resolved| resolved.config.ftl.wear.policy = WearPolicy::None);
        assert!(programs > 1.2 * 14_000.0, "seed {seed}: collection does next to nothing");
        let holds = |what: &str, change: &dyn Fn(&mut Resolved)| {
            let (other_mean, other_programs) = outcome(&scene, change);
            let (rise, allowed) = (other_mean / mean, 1.1 * (other_programs / programs).max(1.0));
            assert!(
                rise <= allowed,
                "seed {seed}, {what}: writes {rise:.3}, allowed {allowed:.3}, {} % busy: {}",
                scene.busy_percent,
                scene.base.json()
            );
        };
        for policy in WearPolicy::ALL {
            holds(&format!("{policy:?}"), &|resolved| resolved.config.ftl.wear.policy = policy);
        }
        let blocks = f64::from(scene.base.config.nand.blocks_per_plane);
        for more in [2.0, 4.0] {
            holds(&format!("{more} blocks of hysteresis"), &|resolved| {
                resolved.config.ftl.gc.stop = 0.05 + (more + 0.5) / blocks
            });
        }
    }
}
