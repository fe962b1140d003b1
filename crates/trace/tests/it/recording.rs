//! A recording is whole at any time, even if its writer is killed.

use std::fs;

use crate::common::{Folder, open};
use flashtwin_trace::{
    ErrorCause, Holes, NO_CONTENT, Op, Recorded, Recording, Trace, recorded, recover_recording,
};

fn digest(number: u64) -> [u8; 16] {
    u128::from(number).to_be_bytes()
}

/// Write `number` of a long row, of a page; before every fifth a flush.
fn push(recording: &mut Recording, number: u64) {
    let time_ns = number as i64 * 1000;
    if number.is_multiple_of(5) {
        let (op, digests) = (Op::Flush, &[]);
        recording.push(&Recorded { time_ns, op, flags: 0, offset_bytes: 0, length_bytes: 0, digests });
    }
    let (op, offset_bytes, digests) = (Op::Write, number % 100 * 4096, &[digest(number % 7)]);
    recording.push(&Recorded { time_ns, op, flags: 0, offset_bytes, length_bytes: 4096, digests });
}

fn is_whole(trace: &Trace, writes: u64) {
    assert_eq!(trace.len() as u64, writes + writes.div_ceil(5));
    for number in 0..writes {
        let row = (number + number / 5 + 1) as usize;
        if number.is_multiple_of(5) {
            let flush = (trace.op[row - 1], trace.offset_bytes[row - 1], trace.length_bytes[row - 1]);
            assert_eq!(flush, (Op::Flush, 0, 0));
        }
        assert_eq!((trace.time_ns[row], trace.op[row]), (number as i64 * 1000, Op::Write));
        assert_eq!(trace.contents(row), [(number % 7) as u32]);
        assert_eq!(trace.digests.get((number % 7) as u32), Some(&digest(number % 7)));
    }
}

#[test]
fn all_kinds_of_requests_come_back() {
    let folder = Folder::new();
    let place = folder.file("kinds.parquet");
    let mut holes = Holes::default();
    holes.add(0, 4096..65536);
    let zero = ("flashtwin.zero_digest", format!("{:032x}", 3));
    let mut recording = Recording::create(&place, "sda", &holes, &[zero]).unwrap();
    let two = [digest(9), digest(9)];
    for (time_ns, op, flags, length_bytes, digests) in [
        (50, Op::Read, 0, 8192, &two[..]),
        (60, Op::Write, recorded::DURABLE, 512, &[digest(3)]),
        (70, Op::Trim, recorded::ZEROES, 1 << 30, &[]),
        (80, Op::Flush, 0, 0, &[]),
        (90, Op::Read, 0, 4096, &[]),
    ] {
        let offset_bytes = if op == Op::Flush { 0 } else { 4096 };
        recording.push(&Recorded { time_ns, op, flags, offset_bytes, length_bytes, digests });
    }
    assert_eq!(recording.finish().unwrap(), 5);
    let trace = open(&place).unwrap();
    assert_eq!(*trace.time_ns, [0, 10, 20, 30, 40]);
    assert_eq!(*trace.op, [Op::Read, Op::Write, Op::Trim, Op::Flush, Op::Read]);
    assert_eq!(*trace.length_bytes, [8192, 512, 1 << 30, 0, 4096]);
    assert_eq!((trace.contents(0), trace.contents(1), trace.contents(2)), (&[0, 0][..], &[1][..], &[][..]));
    assert_eq!((trace.digests.len(), trace.volume_names), (2, vec!["sda".to_owned()]));
    assert!(!trace.content.contains(&NO_CONTENT));
    assert_eq!(trace.flags, [0, 1]);
    assert_eq!((&*trace.holes, trace.zero_content), (&holes, Some(1)));
}

#[test]
fn what_was_committed_is_there_at_any_time_and_no_gap_stays() {
    let folder = Folder::new();
    let place = folder.file("grows.parquet");
    let mut recording = Recording::create(&place, "grows", &Holes::default(), &[]).unwrap();
    assert_eq!(open(&place).unwrap_err().cause, ErrorCause::Empty);
    for number in 0..1000 {
        push(&mut recording, number);
        if number % 50 == 49 {
            recording.commit().unwrap();
            is_whole(&open(&place).unwrap(), number + 1);
        }
    }
    recording.commit().unwrap();
    let with_gaps = fs::metadata(&place).unwrap().len();
    assert_eq!(recording.finish().unwrap(), 1200);
    is_whole(&open(&place).unwrap(), 1000);
    let without = fs::metadata(&place).unwrap().len();
    assert!(without * 2 < with_gaps, "{without} of {with_gaps} bytes");
}

#[test]
fn a_recording_cut_anywhere_is_read_up_to_the_last_footer() {
    let folder = Folder::new();
    let (place, cut) = (folder.file("whole.parquet"), folder.file("cut.parquet"));
    let mut recording = Recording::create(&place, "cut", &Holes::default(), &[]).unwrap();
    // The file as it is before and after each commit; the old footer goes only when the new one is there.
    let mut files = vec![fs::read(&place).unwrap()];
    for number in 0..60 {
        push(&mut recording, number);
        if number % 20 == 19 {
            recording.commit().unwrap();
            files.push(fs::read(&place).unwrap());
        }
    }
    drop(recording);
    for (commits, pair) in files.windows(2).enumerate() {
        let [before, after] = pair else { panic!("two files") };
        for length in (before.len()..after.len()).step_by(7) {
            fs::write(&cut, [&before[..], &after[before.len()..length]].concat()).unwrap();
            match commits {
                0 => assert_eq!(open(&cut).unwrap_err().cause, ErrorCause::Empty, "{length}"),
                _ => is_whole(&open(&cut).unwrap(), 20 * commits as u64),
            }
        }
        fs::write(&cut, after).unwrap();
        is_whole(&open(&cut).unwrap(), 20 * (commits as u64 + 1));
    }
    fs::write(&cut, &files[0][..files[0].len() - 1]).unwrap();
    assert_eq!(open(&cut).unwrap_err().cause, ErrorCause::Malformed, "there is no footer at all");
    // Garbage behind, as of a torn write.
    let whole = &files[2];
    let torn = [&whole[..], &[0; 3000], b"PAR1", &whole[100..200], b"PAR1"].concat();
    fs::write(&cut, &torn).unwrap();
    is_whole(&open(&cut).unwrap(), 40);
    assert_eq!(recover_recording(&cut).unwrap(), (48, (torn.len() - whole.len()) as u64));
    assert_eq!(&fs::read(&cut).unwrap(), whole);
    is_whole(&open(&cut).unwrap(), 40);
    assert_eq!(recover_recording(&cut).unwrap(), (48, 0), "a second time changes nothing");
}

#[test]
fn a_footer_beyond_the_window_of_the_search_is_found() {
    let folder = Folder::new();
    let (place, cut) = (folder.file("far.parquet"), folder.file("far-cut.parquet"));
    let mut recording = Recording::create(&place, "far", &Holes::default(), &[]).unwrap();
    for number in 0..10 {
        push(&mut recording, number);
    }
    recording.commit().unwrap();
    let bytes = fs::read(&place).unwrap();
    for behind in [(1 << 20) - 3, (1 << 20) - 1, 1 << 20, (3 << 20) + 5] {
        fs::write(&cut, [&bytes[..], &vec![7; behind]].concat()).unwrap();
        is_whole(&open(&cut).unwrap(), 10);
    }
}

#[test]
fn what_is_being_recorded_to_is_left_alone() {
    let folder = Folder::new();
    let place = folder.file("locked.parquet");
    let mut recording = Recording::create(&place, "locked", &Holes::default(), &[]).unwrap();
    push(&mut recording, 0);
    recording.commit().unwrap();
    let errors =
        [Recording::create(&place, "other", &Holes::default(), &[]).err(), recover_recording(&place).err()];
    assert!(errors.iter().flatten().all(|error| error.to_string().contains("somebody is recording")));
    assert!(errors.iter().all(Option::is_some));
    recording.finish().unwrap();
    is_whole(&open(&place).unwrap(), 1);
    fs::write(&place, "PAR1 but nothing else").unwrap();
    assert_eq!(recover_recording(&place).unwrap_err().cause, ErrorCause::Malformed);
}
