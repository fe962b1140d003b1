use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flashtwin_ftl::PartitionPolicy;
use flashtwin_sim::{AgedDrives, PreloadContents, Recording, Resolved, RunResult, run_following};
use flashtwin_trace::{FirstAccess, PageTrace};

use crate::bench::{page_trace, read, system_on, write};

const ALL_BYTES: u64 = u64::MAX;
const FOOTPRINT: u32 = 160;

fn system(seed: &str) -> Resolved {
    system_on(
        [2, 1, 1, 1, 16, 8],
        "conventional",
        &[("verify", "false"), ("seed", seed), ("preload", "footprint")],
    )
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::remove_dir_all(&folder).unwrap_or_default();
    folder
}

fn drives(folder: &Path, least: Duration, most_bytes: u64) -> AgedDrives {
    AgedDrives::new(folder.to_path_buf(), "this core".into(), least, most_bytes)
}

fn trace(apart_ns: i64) -> PageTrace {
    let asks: Vec<_> = (0..60).map(|at| write(at * apart_ns, at as u32 * 2, at as u32)).collect();
    page_trace(&[asks, vec![read(70 * apart_ns, 7)]].concat(), FOOTPRINT, 60)
}

fn replayed(resolved: &Resolved, drives: Option<&AgedDrives>) -> RunResult {
    replayed_trace(&trace(1_000_000), resolved, drives)
}

fn replayed_trace(trace: &PageTrace, resolved: &Resolved, drives: Option<&AgedDrives>) -> RunResult {
    run_following(trace, resolved, &(), &Recording::default(), drives).unwrap()
}

fn same(one: &RunResult, two: &RunResult) {
    assert_eq!(one.summary, two.summary);
    assert!(one.tables == two.tables, "tables differ");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).map(Iterator::collect::<Vec<_>>).unwrap_or_default();
    let mut names: Vec<String> =
        entries.into_iter().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn used(path: &Path, at: SystemTime) {
    File::options().append(true).open(path).unwrap().set_modified(at).unwrap();
}

#[test]
fn drive_is_stored_by_system_and_reused_for_equal_results() {
    let folder = folder("kept");
    let drives = drives(&folder, Duration::ZERO, ALL_BYTES);
    let made = replayed(&system("1"), None);
    same(&replayed(&system("1"), Some(&drives)), &made);
    let kept = names(&folder);
    assert_eq!(kept.len(), 1);
    assert!(kept[0].starts_with("aged-conventional-"), "{kept:?}");
    let file = folder.join(&kept[0]);
    let whole = fs::read(&file).unwrap();
    used(&file, SystemTime::UNIX_EPOCH);
    same(&replayed(&system("1"), Some(&drives)), &made);
    assert!(fs::metadata(&file).unwrap().modified().unwrap() > SystemTime::UNIX_EPOCH, "it was not used");
    assert_eq!(drives.take_notes(), Vec::<String>::new());
    assert!(fs::read(&file).unwrap() == whole);
    same(&replayed(&system("2"), Some(&drives)), &replayed(&system("2"), None));
    assert_eq!(names(&folder).len(), 2);
    fs::remove_dir_all(&folder).unwrap();
}

/// Changes a trace and its system.
type Change = fn(&mut PageTrace, &mut Resolved);

#[test]
fn traces_with_the_same_pages_before_them_share_a_drive_and_no_others_do() {
    let folder = folder("shared");
    let drives = drives(&folder, Duration::ZERO, ALL_BYTES);
    replayed(&system("1"), Some(&drives));
    let with = |apart_ns: i64, digest: &str, change: Change| {
        let (mut trace, mut resolved) = (trace(apart_ns), system("1"));
        trace.outline.digest = digest.into();
        change(&mut trace, &mut resolved);
        let before = names(&folder).len();
        let made = replayed_trace(&trace, &resolved, None);
        same(&replayed_trace(&trace, &resolved, Some(&drives)), &made);
        names(&folder).len() - before
    };
    let shared: [Change; 3] = [
        |_, _| (),
        |trace, _| trace.outline.first_access[7] = FirstAccess::Read,
        |_, resolved| resolved.device.timing.program_ns *= 2,
    ];
    for (number, change) in shared.into_iter().enumerate() {
        assert_eq!(with(10_000, "another", change), 0, "change {number} of those that share");
    }
    let others: [Change; 7] = [
        |trace, _| trace.outline.first_access[7] = FirstAccess::Hole,
        |trace, _| trace.outline.first_access[9] = FirstAccess::Never,
        |trace, _| trace.outline.initial_content[7] = 5,
        |trace, _| trace.outline.lpn_address[159] = 1000,
        |trace, _| trace.outline.content_count = 61,
        |trace, _| trace.outline.zero_content = Some(3),
        |trace, _| trace.outline.volumes.push(("1".into(), 80)),
    ];
    for (number, change) in others.into_iter().enumerate() {
        assert_eq!(with(1_000_000, "", change), 1, "change {number} of those that do not share");
    }
    let by_requests: [Change; 2] = [
        |_, resolved| resolved.config.replay.preload_contents = PreloadContents::Trace,
        |trace, resolved| {
            trace.outline.first_access[120..].fill(FirstAccess::Never);
            resolved.config.ftl.partition.policy = PartitionPolicy::Offline;
        },
    ];
    for change in by_requests {
        assert_eq!(["", "another", ""].map(|digest| with(1_000_000, digest, change)), [1, 1, 0]);
    }
    assert_eq!(drives.take_notes(), Vec::<String>::new());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_damaged_file_is_said_to_be_and_made_anew() {
    let folder = folder("damaged");
    let drives = drives(&folder, Duration::ZERO, ALL_BYTES);
    let made = replayed(&system("1"), Some(&drives));
    let file = folder.join(&names(&folder)[0]);
    let whole = fs::read(&file).unwrap();
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    for (bytes, what) in [
        (whole[..50].to_vec(), "it is cut"),
        (changed(3), "it is none of this version"),
        (changed(30), "it is of another drive"),
        (changed(60), "it was cut or changed"),
        (changed(whole.len() / 2 + 44), "it was cut or changed"),
        (whole[..whole.len() - 1].to_vec(), "it was cut or changed"),
    ] {
        fs::write(&file, bytes).unwrap();
        same(&replayed(&system("1"), Some(&drives)), &made);
        let note =
            format!("{}: this aged drive cannot be used ({what}); the drive is aged anew", file.display());
        assert_eq!(drives.take_notes(), [note]);
        assert!(fs::read(&file).unwrap() == whole, "{what}: it was not made anew");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn unusable_folder_is_reported_on_read_and_write() {
    let folder = folder("no-folder");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("file"), "").unwrap();
    let drives = drives(&folder.join("file").join("below"), Duration::ZERO, ALL_BYTES);
    same(&replayed(&system("1"), Some(&drives)), &replayed(&system("1"), None));
    let notes = drives.take_notes();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("cannot be used") && notes[1].contains("could not be kept"), "{notes:?}");
    assert_eq!(drives.take_notes(), Vec::<String>::new(), "they were taken");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn only_slow_unverified_drives_are_stored() {
    let folder = folder("not-kept");
    replayed(&system("1"), Some(&drives(&folder, Duration::from_secs(1000), ALL_BYTES)));
    assert_eq!(names(&folder), Vec::<String>::new());
    let all = drives(&folder, Duration::ZERO, ALL_BYTES);
    let mut verified = system("1");
    verified.config.verify = true;
    replayed(&verified, Some(&all));
    let mut new = system("1");
    new.config.replay.preload = flashtwin_sim::Preload::None;
    replayed(&new, Some(&all));
    assert_eq!(names(&folder), Vec::<String>::new());
    assert_eq!(all.take_notes(), Vec::<String>::new());
}

#[test]
fn least_recently_used_drives_are_deleted_above_the_limit() {
    let folder = folder("room");
    let unlimited = drives(&folder, Duration::ZERO, ALL_BYTES);
    let bytes = |name: &str| fs::metadata(folder.join(name)).unwrap().len();
    let of_seed: Vec<String> = ["1", "2", "3"]
        .iter()
        .map(|seed| {
            let before = names(&folder);
            replayed(&system(seed), Some(&unlimited));
            names(&folder).into_iter().find(|name| !before.contains(name)).unwrap()
        })
        .collect();
    let of_each: Vec<u64> = of_seed.iter().map(|name| bytes(name)).collect();
    let all: u64 = of_each.iter().sum();
    let aged_again = |most_bytes: u64| {
        for seed in ["1", "2"] {
            replayed(&system(seed), Some(&unlimited));
        }
        used(&folder.join(&of_seed[0]), SystemTime::UNIX_EPOCH + Duration::from_secs(2000));
        used(&folder.join(&of_seed[1]), SystemTime::UNIX_EPOCH + Duration::from_secs(1000));
        fs::remove_file(folder.join(&of_seed[2])).unwrap();
        replayed(&system("3"), Some(&drives(&folder, Duration::ZERO, most_bytes)));
        of_seed.iter().map(|name| folder.join(name).exists()).collect::<Vec<_>>()
    };
    assert_eq!(aged_again(all), [true, true, true]);
    assert_eq!(aged_again(all - 1), [true, false, true]);
    assert_eq!(aged_again(all - of_each[1]), [true, false, true]);
    assert_eq!(aged_again(all - of_each[1] - 1), [false, false, true]);
    // One that takes too much by itself stays until the next.
    assert_eq!(aged_again(1), [false, false, true]);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn only_abandoned_files_are_deleted_after_a_day() {
    let folder = folder("half");
    fs::create_dir_all(&folder).unwrap();
    let now = SystemTime::now();
    for (name, hours) in [(".aged-old.part", 25), (".aged-new.part", 23), ("another", 25), (".other", 25)] {
        fs::write(folder.join(name), "half").unwrap();
        used(&folder.join(name), now - Duration::from_secs(hours * 3600));
    }
    replayed(&system("1"), Some(&drives(&folder, Duration::ZERO, 1)));
    let left = names(&folder);
    assert_eq!(left.len(), 4, "{left:?}");
    assert_eq!(left[..2], [".aged-new.part", ".other"]);
    assert!(left[2].starts_with("aged-"), "{left:?}");
    assert_eq!(left[3], "another");
    fs::remove_dir_all(&folder).unwrap();
}
