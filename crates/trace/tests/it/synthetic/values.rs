//! Values of pages: depth of repeats, reborn values, values on several pages, Zipf's law.

use std::collections::{HashMap, HashSet};

use flashtwin_trace::{Op, Recipe, Trace, synthesize, workload_toml};

use super::{SMALL, count, near, parsed};

/// LRU positions of repeated page writes, by going through a list.
fn positions(trace: &Trace) -> Vec<usize> {
    let mut list: Vec<u32> = Vec::new();
    let mut positions = Vec::new();
    for index in (0..trace.len()).filter(|&index| trace.op[index] == Op::Write) {
        for &value in trace.contents(index) {
            if let Some(found) = list.iter().rposition(|&other| other == value) {
                positions.push(list.len() - found);
                list.remove(found);
            }
            list.push(value);
        }
    }
    positions.sort_unstable();
    positions
}

#[test]
fn repeats_lie_as_deep_in_the_lru_list_as_the_recipe_says() {
    // Many single values, many days, and rewrites of the page's own content: each makes the others harder.
    let plain = SMALL.replace("= 20_000", "= 40_000").replace("= 9_000", "= 18_000");
    let homes = plain
        .replace(
            "unique_percent = 40.0",
            "unique_percent = 66.0\nsame_content_percent = 8.0\nof_the_day_percent = 30.0",
        )
        .replace("[50.0, 20.0]", "[50.0, 25.0]")
        .replace("[addresses]", "[arrivals]\ndays = 7\n[addresses]");
    for (text, depth) in [(&plain, 300), (&plain, 1500), (&homes, 200), (&homes, 600)] {
        let locality = format!("locality = {{ percent = 90.0, within_values = {depth} }}\n[reads]");
        let trace = parsed(&text.replace("[reads]", &locality)).unwrap();
        let positions = positions(&trace);
        let found = positions[positions.len() * 9 / 10];
        near("position", found as f64, f64::from(depth), 0.05);
    }
}

/// Page writes of a value that was written before and that no page holds any more, in percent of page writes.
fn reborn(trace: &Trace) -> f64 {
    let mut holders = HashMap::new();
    let mut held = HashMap::new();
    let mut written = HashSet::new();
    let (mut reborn, mut pages) = (0u64, 0u64);
    for index in (0..trace.len()).filter(|&index| trace.op[index] == Op::Write) {
        let request = trace.request(index);
        for (page, &value) in (request.offset_bytes / 4096..).zip(trace.contents(index)) {
            pages += 1;
            let nowhere = holders.get(&value).is_none_or(|&pages| pages == 0);
            reborn += u64::from(!written.insert(value) && nowhere);
            *holders.entry(value).or_insert(0u64) += 1;
            if let Some(before) = held.insert(page, value) {
                *holders.get_mut(&before).unwrap() -= 1;
            }
        }
    }
    reborn as f64 / pages as f64 * 100.0
}

#[test]
fn values_are_reborn_no_more_often_than_the_recipe_says() {
    let web = workload_toml("ca-ssd/web").unwrap();
    let with = |key: &str| {
        let text = web.replace("reborn_percent = 0.0", key);
        reborn(&synthesize(&Recipe::parse("web", &text).unwrap(), "web", 0.05, 0, &()).unwrap())
    };
    let unasked = with("");
    assert!(unasked > 7.0, "{unasked}");
    for wanted in [3.0, 5.0] {
        near("reborn", with(&format!("reborn_percent = {wanted}")), wanted, 0.15);
    }
    // Not every page that is to be overwritten holds a value that is elsewhere, too.
    let least = with("reborn_percent = 0.0");
    assert!(least < 2.7, "{least}");
}

/// Percent of the values written that were read before, and of the page writes whose value lies on some page.
fn read_before(trace: &Trace) -> (f64, f64) {
    let mut read = HashSet::new();
    let mut written = HashSet::new();
    let (mut before, mut pages, mut duplicates) = (0u64, 0u64, 0u64);
    for index in 0..trace.len() {
        for &value in trace.contents(index) {
            if trace.op[index] == Op::Read {
                if !written.contains(&value) {
                    read.insert(value);
                }
                continue;
            }
            pages += 1;
            duplicates += u64::from(read.contains(&value) || written.contains(&value));
            before += u64::from(written.insert(value) && read.contains(&value));
        }
    }
    (before as f64 / written.len() as f64 * 100.0, duplicates as f64 / pages as f64 * 100.0)
}

#[test]
fn values_that_lay_there_are_written_as_often_as_the_recipe_says() {
    let plain = read_before(&parsed(SMALL).unwrap());
    assert_eq!(plain.0, 0.0);
    for wanted in [10.0, 25.0] {
        let key = format!("read_before_percent = {wanted}\n[reads]");
        let (share, duplicates) = read_before(&parsed(&SMALL.replace("[reads]", &key)).unwrap());
        near("read before", share, wanted, 0.02);
        // 40 % of the page writes are the first of their value; so many of them are duplicates now.
        near("duplicates", duplicates - plain.1, 40.0 * wanted / 100.0, 0.02);
    }
    let refused = parsed(&SMALL.replace("[reads]", "read_before_percent = 99.0\n[reads]")).unwrap_err();
    assert!(refused.to_string().contains("writes.read_before_percent"), "{refused}");
}

#[test]
fn values_may_lie_on_several_pages() {
    let text =
        SMALL.replace("[reads]", "[reads]\nunique_pages_percent = 75.0").replace("= 9_000", "= 11_000");
    let trace = parsed(&text).unwrap();
    let counted = count(&trace);
    near("values read", counted.values[0].len() as f64, 4_000.0, 0.01);
    let read = (0..trace.len()).filter(|&index| trace.op[index] == Op::Read);
    let pages: HashSet<u64> = read.map(|index| trace.offset_bytes[index]).collect();
    near("pages read", pages.len() as f64, 6_000.0, 0.02);
    near("footprint", counted.footprint.len() as f64, 11_000.0, 0.02);
    assert_eq!(counted.wrong_reads, 0);
}

#[test]
fn contents_by_zipf_are_as_popular_as_the_law_says() {
    let text = SMALL
        .replace(
            "unique_percent = 40.0\npopularity = [[50.0, 20.0]]",
            "zipf = { exponent = 0.8, values = 100 }",
        )
        .replace("[reads]\nunique_percent = 50.0\n", "");
    let counted = count(&parsed(&text).unwrap());
    let law: Vec<f64> = (1..=100).map(|rank| f64::from(rank).powf(-0.8)).collect();
    let sum: f64 = law.iter().sum();
    let mut counts: Vec<u64> = counted.values[1].values().copied().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    near("first", counts[0] as f64 / 12_000.0, law[0] / sum, 0.05);
    let tenth = counts[..10].iter().sum::<u64>() as f64 / 12_000.0;
    near("first ten", tenth, law[..10].iter().sum::<f64>() / sum, 0.03);
    assert_eq!(counted.footprint.len(), 9_000);
}
