//! Formats that are recognised but not read, for a message that names them.

type Looks = fn(&[&[u8]]) -> bool;

const FOREIGN: [(&str, Looks); 2] = [
    ("a phone trace with one digest a request (time op lba bytes process device digest)", phone),
    ("a fio I/O log without its first line ('fio version 2 iolog' or 'fio version 3 iolog')", fio),
];

pub(super) fn name_of(lines: &[&[u8]]) -> Option<&'static str> {
    FOREIGN.iter().find(|(_, looks)| looks(lines)).map(|&(name, _)| name)
}

fn most(lines: &[&[u8]], check: impl Fn(&[&str]) -> bool) -> bool {
    let fits = |line: &&&[u8]| {
        std::str::from_utf8(line).is_ok_and(|text| check(&text.split_whitespace().collect::<Vec<_>>()))
    };
    lines.iter().filter(fits).count() * 2 >= lines.len()
}

fn whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn decimal(text: &str) -> bool {
    text.split_once('.').is_some_and(|(left, right)| whole(left) && whole(right))
}

/// Not read: its digest covers at most the first page of a request, and the meaning of repeated lines is unknown.
fn phone(lines: &[&[u8]]) -> bool {
    most(lines, |f| f.len() == 7 && decimal(f[0]) && matches!(f[1], "R" | "W") && whole(f[2]) && whole(f[3]))
}

fn fio(lines: &[&[u8]]) -> bool {
    let action = |word: &str| matches!(word, "read" | "write" | "trim" | "sync" | "datasync" | "wait");
    most(lines, |f| matches!(f, [.., act, offset, length] if action(act) && whole(offset) && whole(length)))
}
