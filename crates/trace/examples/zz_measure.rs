#![allow(missing_docs, clippy::all, clippy::pedantic)]
use flashtwin_trace::*;
use std::collections::{HashMap, HashSet};
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let path = &args[0];
    let requests: f64 = args[1].parse().unwrap();
    let text = std::fs::read_to_string(format!("workloads/{path}.toml")).unwrap();
    let recipe = Recipe::parse(path, &text).unwrap();
    let scale = requests / recipe.requests.count as f64;
    let begin = std::time::Instant::now();
    let trace = match synthesize(&recipe, path, scale, 0, &()) {
        Ok(t) => t,
        Err(e) => {
            println!("{e}");
            return;
        }
    };
    let took = begin.elapsed();
    let mut held: HashMap<u64, u32> = HashMap::new();
    let mut written = HashSet::new();
    let pages = |i: usize| (trace.offset_bytes[i] / 4096..).zip(trace.contents(i));
    let mut uniq = [HashMap::new(), HashMap::<u32, u64>::new()];
    let mut n = [0u64; 2];
    for i in 0..trace.len() {
        for (p, &v) in pages(i) {
            let w = trace.op[i] == Op::Write;
            n[w as usize] += 1;
            *uniq[w as usize].entry(v).or_insert(0u64) += 1;
            if w {
                written.insert(p);
            } else if !written.contains(&p) {
                held.insert(p, v);
            }
        }
    }
    let before = held.len();
    let mut holders: HashMap<u32, u64> = HashMap::new();
    held.values().for_each(|&v| *holders.entry(v).or_default() += 1);
    let (mut reads, mut dup, mut same, mut hdup, mut reborn) = (0u64, 0u64, 0u64, 0u64, 0u64);
    let mut ever = HashSet::new();
    for i in 0..trace.len() {
        for (p, &v) in pages(i) {
            if trace.op[i] == Op::Read {
                reads += 1;
                dup += (holders.get(&v).copied().unwrap_or(0) > 1) as u64;
                continue;
            }
            let h = holders.get(&v).copied().unwrap_or(0) > 0;
            hdup += h as u64;
            reborn += (!h && ever.contains(&v)) as u64;
            ever.insert(v);
            *holders.entry(v).or_default() += 1;
            if let Some(b) = held.insert(p, v) {
                same += (b == v) as u64;
                *holders.get_mut(&b).unwrap() -= 1;
            }
        }
    }
    let c: HashSet<u32> = held.values().copied().collect();
    let all: HashSet<u32> = uniq[0].keys().chain(uniq[1].keys()).copied().collect();
    let mut r: Vec<u64> = uniq[0].values().copied().collect();
    r.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum = 0;
    let at = r
        .iter()
        .position(|x| {
            sum += x;
            sum as f64 >= 0.8 * n[0] as f64
        })
        .map_or(0, |x| x + 1);
    let day = (recipe.arrivals.day_s * scale * 1e9) as i64;
    let mut days: Vec<Vec<u32>> = vec![vec![]; recipe.arrivals.days as usize];
    for i in 0..trace.len() {
        if trace.op[i] == Op::Read {
            let d = ((trace.time_ns[i] / day) as usize).min(days.len() - 1);
            days[d].extend_from_slice(trace.contents(i));
        }
    }
    let du: f64 = days
        .iter()
        .map(|d| d.iter().collect::<HashSet<_>>().len() as f64 / d.len().max(1) as f64)
        .sum::<f64>()
        / days.len() as f64;
    let again: f64 = days
        .windows(2)
        .map(|p| {
            let b: HashSet<_> = p[0].iter().collect();
            p[1].iter().filter(|v| b.contains(v)).count() as f64 / p[1].len().max(1) as f64
        })
        .sum::<f64>()
        / (days.len().max(2) - 1) as f64;
    println!(
        "{path}: {:.1} M/s foot {} before {} space {:.2} | uw {:.2} ur {:.2} 80%: {:.2} | day u {:.1} again {:.1} | dupread {:.2} same {:.2} heldup {:.2} reborn {:.2} kept/there {}",
        trace.len() as f64 / took.as_secs_f64() / 1e6,
        held.len(),
        before,
        c.len() as f64 / held.len() as f64 * 100.0,
        uniq[1].len() as f64 / n[1] as f64 * 100.0,
        uniq[0].len() as f64 / n[0].max(1) as f64 * 100.0,
        at as f64 / all.len() as f64 * 100.0,
        du * 100.0,
        again * 100.0,
        dup as f64 / reads.max(1) as f64 * 100.0,
        same as f64 / n[1] as f64 * 100.0,
        hdup as f64 / n[1] as f64 * 100.0,
        reborn as f64 / n[1] as f64 * 100.0,
        before
    );
}
