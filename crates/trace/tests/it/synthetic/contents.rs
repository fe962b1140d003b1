//! Contents of all pages, pages with equal contents, reads of pages that are overwritten.

use std::collections::{HashMap, HashSet};

use flashtwin_trace::{Op, Recipe, Trace, synthesize};

use super::{SMALL, concentration, count, made, near, parsed, recipe, refused, with_trains};

/// Page contents, followed with maps page by page.
#[derive(Debug)]
pub(super) struct Followed {
    /// Distinct contents of the pages that hold something at the end, in percent of these pages.
    pub(super) space_percent: f64,
    /// Page reads of a content that another page holds, too, in percent of page reads.
    pub(super) duplicate_read_percent: f64,
}

pub(super) fn follow(trace: &Trace) -> Followed {
    // A page whose first access is a read had that content from the beginning.
    let mut held: HashMap<u64, u32> = HashMap::new();
    let mut written = HashSet::new();
    let pages = |index: usize| (trace.offset_bytes[index] / 4096..).zip(trace.contents(index));
    for index in 0..trace.len() {
        for (page, &value) in pages(index) {
            if trace.op[index] == Op::Write {
                written.insert(page);
            } else if !written.contains(&page) {
                held.insert(page, value);
            }
        }
    }
    let mut holders: HashMap<u32, u64> = HashMap::new();
    held.values().for_each(|&value| *holders.entry(value).or_default() += 1);
    let (mut reads, mut duplicates) = (0u64, 0u64);
    for index in 0..trace.len() {
        for (page, &value) in pages(index) {
            if trace.op[index] == Op::Read {
                reads += 1;
                duplicates += u64::from(holders[&value] > 1);
                continue;
            }
            *holders.entry(value).or_default() += 1;
            if let Some(before) = held.insert(page, value) {
                *holders.get_mut(&before).unwrap() -= 1;
            }
        }
    }
    let contents: HashSet<u32> = held.values().copied().collect();
    Followed {
        space_percent: contents.len() as f64 / held.len() as f64 * 100.0,
        duplicate_read_percent: duplicates as f64 / reads as f64 * 100.0,
    }
}

fn pages_with_others(trace: &Trace) -> usize {
    let mut writes: HashMap<u64, (u64, u32)> = HashMap::new();
    for index in (0..trace.len()).filter(|&index| trace.op[index] == Op::Write) {
        for (page, &value) in (trace.offset_bytes[index] / 4096..).zip(trace.contents(index)) {
            let written = writes.entry(page).or_default();
            *written = (written.0 + 1, value);
        }
    }
    let mut holders: HashMap<u32, usize> = HashMap::new();
    let once = writes.values().filter(|&&(times, _)| times == 1);
    once.for_each(|&(_, value)| *holders.entry(value).or_default() += 1);
    holders.values().filter(|&&pages| pages > 1).sum()
}

#[test]
fn shared_pages_are_written_once_and_hold_what_others_hold() {
    for text in [SMALL.to_owned(), with_trains(&[])] {
        let large = text.replace("= 20_000", "= 100_000").replace("= 9_000", "= 45_000");
        let unasked = follow(&parsed(&large).unwrap()).space_percent;
        let mut before = unasked;
        for percent in [10.0, 20.0, 30.0] {
            let asked = large.replace("[writes]", &format!("shared_percent = {percent}\n[writes]"));
            let trace = parsed(&asked).unwrap();
            let counted = count(&trace);
            assert_eq!(counted.wrong_reads, 0);
            near("footprint", counted.footprint.len() as f64, 45_000.0, 0.001);
            near("unique writes", counted.values[1].len() as f64, 60_000.0 * 0.4, 0.001);
            near("popular writes", concentration(&counted.values[1], 50.0), 20.0, 0.03);
            // Two pages with the same content are one content less, eight are seven; the others hold fewer duplicates.
            let space = follow(&trace).space_percent;
            assert!(space < before && space > unasked - percent * 7.0 / 8.0, "{percent}: {space}");
            let (found, wanted) = (pages_with_others(&trace), 450.0 * percent);
            assert!(found as f64 > wanted * 0.95, "{found} {wanted}");
            before = space;
        }
        assert!(before < unasked - 1.5, "{before} {unasked}");
    }
}

#[test]
fn more_shared_pages_than_can_be_are_refused() {
    refused(&[
        (
            ("[writes]", "shared_percent = 130.0\n[writes]"),
            "addresses.shared_percent is 130",
            "from 0 to 100",
        ),
        (
            ("[writes]", "shared_percent = 60.0\n[writes]"),
            "addresses.footprint_pages leaves no pages to write to",
            "less of addresses.shared_percent",
        ),
    ]);
}

#[test]
fn recurring_values_may_be_read_from_other_pages() {
    for pages in [30.0, 50.0] {
        let text = with_trains(&[
            ("= 20_000", "= 200_000"),
            ("= 9_000", "= 110_000"),
            ("days = 2", "days = 5"),
            ("unique_percent = 50.0", "unique_percent = 80.0"),
            (
                "[reads]",
                &format!(
                    "[reads]\nunique_within = \"day\"\nrecurring_percent = 90.0\nunique_pages_percent = {pages}"
                ),
            ),
        ]);
        let trace = parsed(&text).unwrap();
        let counted = count(&trace);
        assert_eq!(counted.wrong_reads, 0);
        // A day's values are 80 % of its reads; of five days nine tenths are the same.
        near("values", counted.values[0].len() as f64, 80_000.0 * 0.8 * (0.9 + 0.5) / 5.0, 0.03);
        let read = (0..trace.len()).filter(|&index| trace.op[index] == Op::Read);
        let distinct: HashSet<u64> = read.map(|index| trace.offset_bytes[index]).collect();
        near("pages", distinct.len() as f64, 80_000.0 * pages / 100.0, 0.03);
    }
}

#[test]
fn live_reads_find_what_was_written_last() {
    for live in [25.0, 60.0, 100.0] {
        for text in [SMALL.to_owned(), with_trains(&[])] {
            let text = text
                .replace("= 20_000", "= 100_000")
                .replace("= 9_000", "= 30_000")
                .replace("[reads]", &format!("[reads]\nlive_percent = {live}"));
            let trace = parsed(&text).unwrap();
            assert_eq!(count(&trace).wrong_reads, 0);
            assert_eq!(trace.len(), 100_000);
            let mut written = HashMap::new();
            let (mut reads, mut of_written, mut of_overwritten) = (0u64, 0u64, 0u64);
            for index in 0..trace.len() {
                let page = trace.offset_bytes[index] / 4096;
                if trace.op[index] == Op::Write {
                    *written.entry(page).or_insert(0u64) += 1;
                    continue;
                }
                reads += 1;
                of_written += u64::from(written.contains_key(&page));
                of_overwritten += u64::from(written.get(&page).is_some_and(|&times| times > 1));
            }
            assert_eq!(reads, 40_000);
            // Nothing else that is read here was written in the trace.
            near("live", of_written as f64 / 400.0, live, 0.02);
            assert!(of_overwritten * 3 > of_written, "{of_overwritten} of {of_written}");
        }
    }
}

#[test]
fn live_reads_meet_duplicates_as_often_as_pages_hold_them() {
    let with = |unique: &str| {
        let text = SMALL
            .replace("= 20_000", "= 100_000")
            .replace("= 9_000", "= 30_000")
            .replace("unique_percent = 40.0", &format!("unique_percent = {unique}"))
            .replace("popularity = [[50.0, 20.0]]\n", "")
            .replace("[reads]", "[reads]\nlive_percent = 100.0");
        let followed = follow(&parsed(&text).unwrap());
        (followed.duplicate_read_percent, 100.0 - followed.space_percent)
    };
    let ((few, shared), (many, most)) = (with("80.0"), with("10.0"));
    assert!(few < many && shared < most, "{few} {many}, {shared} {most}");
    // Two pages with the same content are one content less, so that at most twice as many are duplicates.
    assert!(few > shared * 0.7 && few < shared * 3.0, "{few} {shared}");
}

/// What RR-SSD's paper publishes of its six workloads, counted here: Table III, Fig. 4, sections II-B and IV-B-1.
#[test]
fn recipes_of_rr_ssd_have_the_published_statistics() {
    for (name, unique_writes, unique_reads, space) in [
        ("webvm", 42.0, Some(32.0), (15.0, 70.0)),
        ("homes", 66.0, None, (15.0, 70.0)),
        ("mail", 8.0, None, (15.0, 70.0)),
        ("hadoop", 63.9, Some(17.5), (82.5, 82.5)),
        ("trans", 77.4, Some(13.8), (86.0, 86.0)),
        ("desktop", 74.7, Some(49.7), (15.0, 70.0)),
    ] {
        let name = format!("rr-ssd/{name}");
        let scale = 150_000.0 / recipe(&name).requests.count as f64;
        let trace = made(&name, scale, 3);
        let counted = count(&trace);
        let share = |kind: usize| counted.values[kind].len() as f64 / counted.pages[kind] as f64 * 100.0;
        near(&format!("{name} unique writes"), share(1), unique_writes, 0.01);
        if let Some(unique_reads) = unique_reads {
            near(&format!("{name} unique reads"), share(0), unique_reads, 0.05);
        }
        let found = follow(&trace).space_percent;
        assert!((space.0 * 0.95..=space.1 * 1.05).contains(&found), "{name}: {found}");
    }
}

/// No more reads can be redirected than meet a duplicate (DS-FTL paper, section 5.2.3).
#[test]
fn recipes_of_ds_ftl_read_as_many_duplicates_as_are_redirected() {
    for (name, redirected) in [("webmail", 15.6), ("home3", 1.46), ("home2", 8.1), ("online", 8.1)] {
        let name = format!("ds-ftl/{name}");
        let recipe: Recipe = recipe(&name);
        let scale = 100_000.0 / recipe.requests.count as f64;
        let trace = synthesize(&recipe, &name, scale, 1, &()).unwrap();
        let found = follow(&trace).duplicate_read_percent;
        assert!(found >= redirected, "{name}: {found}");
    }
}
