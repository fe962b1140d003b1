//! Words of operations, as all readers understand them.

use flashtwin_trace::{Op, Operation, Vocabulary};

const NONE: Operation = Operation { flush_first: false, op: None, durable: false };
const READ: Operation = Operation { op: Some(Op::Read), ..NONE };
const WRITE: Operation = Operation { op: Some(Op::Write), ..NONE };
const TRIM: Operation = Operation { op: Some(Op::Trim), ..NONE };
const FLUSH: Operation = Operation { op: Some(Op::Flush), ..NONE };

#[test]
fn words_mean_one_operation_or_none_at_all() {
    let durable = Operation { durable: true, ..WRITE };
    let flush_first = |operation| Operation { flush_first: true, ..operation };
    let rows: [(&str, Option<Operation>); 10] = [
        ("R r Read READ RA RSM RAM rd REQ_OP_READ IRP_MJ_READ READ_10 read(16) 0x28 0x88 0x02", Some(READ)),
        ("W w write WS WSM WU ZAS write-same 0x2A 0x1", Some(WRITE)),
        (
            "D DS DE WZ WZS discard unmap TRIM erase REQ_OP_DISCARD REQ_OP_WRITE_ZEROES bio_delete 0x42 0x09",
            Some(TRIM),
        ),
        ("F FN FF FS flush sync fsync IRP_MJ_FLUSH_BUFFERS SYNCHRONIZE_CACHE(10) 0x35", Some(FLUSH)),
        ("WF WFS WSF wfsm", Some(durable)),
        ("FWS FW", Some(flush_first(WRITE))),
        ("FWFS", Some(flush_first(durable))),
        ("N NS ZR ZRA ZF", Some(NONE)),
        ("rename wait random dread reads true false True 0 1 2 3 42 2a 0x00 0x08 0x", None),
        ("FX X WSS WFF SW RW -1 REQ_OP_ REQ_OP_DRV_IN IRP_MJ_CREATE", None),
    ];
    for (words, expected) in rows {
        for word in words.split(' ').chain([""].into_iter().filter(|_| expected.is_none())) {
            assert_eq!(Vocabulary::default().operation(word.as_bytes()), expected, "{word}");
        }
    }
    assert_eq!(Vocabulary::default().operation(b"write zeroes"), Some(TRIM));
    assert_eq!(Vocabulary::default().operation(&[b'w'; 99]), None);
}

#[test]
fn own_words_win_and_unknown_ones_are_all_listed() {
    let own = Vocabulary::default().with([("True", "write"), ("0", "FWFS"), ("w", "read")]).unwrap();
    assert_eq!(own.operation(b"TRUE"), Some(WRITE));
    assert_eq!(own.operation(b"0"), own.operation(b"FWFS"));
    assert_eq!(own.operation(b"W"), Some(READ));
    assert_eq!(Vocabulary::default().with_numbers().operation(b"2"), Some(TRIM));
    let words = ["R", "on", "off"].map(str::to_owned);
    let message = own.operations(&words).unwrap_err().to_string();
    assert!(message.contains("'on', 'off' is no operation"), "{message}");
    assert!(message.contains("--op-words 'on=write'"), "{message}");
    let message = own.with([("x", "paint")]).unwrap_err().to_string();
    assert!(message.contains("'x' stands for 'paint', which is no operation"), "{message}");
}
