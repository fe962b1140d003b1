//! Formats that are recognised only to say so: they cannot be read yet.

type Looks = fn(&[&[u8]]) -> bool;

/// What each such format is called, and how it looks.
const FOREIGN: [(&str, Looks); 8] = [
    ("blkparse text", blkparse),
    ("a fio I/O log", fio),
    ("a CloudPhysics trace", cloudphysics),
    ("a Tencent CBS trace", tencent),
    ("an Alibaba block trace", alibaba),
    ("a SYSTOR '17 trace", systor),
    ("a Microsoft production trace (ETW)", etw),
    ("a phone trace with one digest a request (time op lba bytes process device digest)", phone),
];

/// Name of the format that `lines` (at least one) seem to be in.
pub(super) fn name_of(lines: &[&[u8]]) -> Option<&'static str> {
    FOREIGN.iter().find(|(_, looks)| looks(lines)).map(|&(name, _)| name)
}

/// Whether most of the lines are as `check` says, given their fields.
fn most(lines: &[&[u8]], comma: bool, check: impl Fn(&[&str]) -> bool) -> bool {
    let fits = |line: &&&[u8]| {
        let Ok(text) = std::str::from_utf8(line) else {
            return false;
        };
        let fields: Vec<&str> =
            if comma { text.split(',').map(str::trim).collect() } else { text.split_whitespace().collect() };
        check(&fields)
    };
    lines.iter().filter(fits).count() * 2 >= lines.len()
}

fn whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn decimal(text: &str) -> bool {
    text.split_once('.').is_some_and(|(left, right)| whole(left) && whole(right))
}

fn starts(lines: &[&[u8]], with: &str) -> bool {
    lines.iter().any(|line| line.trim_ascii_start().starts_with(with.as_bytes()))
}

/// `major,minor cpu sequence time pid action rwbs ...`.
fn blkparse(lines: &[&[u8]]) -> bool {
    most(lines, false, |f| {
        f.len() >= 7
            && f[0].split_once(',').is_some_and(|(a, b)| whole(a) && whole(b))
            && whole(f[1])
            && decimal(f[3])
    })
}

fn fio(lines: &[&[u8]]) -> bool {
    starts(lines, "fio version")
}

/// `version,time_us,op,size,lbn` with SCSI opcodes in hex.
fn cloudphysics(lines: &[&[u8]]) -> bool {
    starts(lines, "version,time,op")
        || most(lines, true, |f| {
            f.len() == 5 && whole(f[1]) && matches!(f[2], "28" | "2a" | "88" | "8a") && whole(f[4])
        })
}

/// `time_s,offset_512,size_512,op,volume`.
fn tencent(lines: &[&[u8]]) -> bool {
    most(lines, true, |f| f.len() == 5 && f.iter().all(|field| whole(field)) && matches!(f[3], "0" | "1"))
}

/// `device,R|W,offset,length,time_us`.
fn alibaba(lines: &[&[u8]]) -> bool {
    most(lines, true, |f| {
        f.len() == 5 && matches!(f[1], "R" | "W") && [0, 2, 3, 4].iter().all(|&i| whole(f[i]))
    })
}

/// `time_s,response,R|W,LUN,offset,size`.
fn systor(lines: &[&[u8]]) -> bool {
    most(lines, true, |f| f.len() == 6 && decimal(f[0]) && matches!(f[2], "R" | "W" | "") && whole(f[5]))
}

fn etw(lines: &[&[u8]]) -> bool {
    starts(lines, "BeginHeader")
        || starts(lines, "OS Version")
        || most(lines, true, |f| matches!(f[0], "DiskRead" | "DiskWrite" | "DiskReadInit" | "DiskWriteInit"))
}

fn phone(lines: &[&[u8]]) -> bool {
    most(lines, false, |f| {
        f.len() == 7 && decimal(f[0]) && matches!(f[1], "R" | "W") && whole(f[2]) && whole(f[3])
    })
}
