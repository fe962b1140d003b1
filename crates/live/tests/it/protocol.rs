//! The protocol byte for byte, as doc/proto.md of the NBD project has it.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Barrier};

use crate::common::*;
use flashtwin_live::nbd::{Address, NbdExport, Server, ServerOptions, Uri};
use flashtwin_live::{Caller, Export, Extent, FileExport, MemoryExport, Operation, Writing};

const SIZE: u64 = 1 << 20;
/// HAS_FLAGS, FLUSH, FUA, TRIM, WRITE_ZEROES, MULTI_CONN, FAST_ZERO.
const FLAGS: [u8; 2] = [0x09, 0x6d];
const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;
const EOVERFLOW: u32 = 75;

fn memory() -> Served {
    let options =
        ServerOptions { name: "drive".to_owned(), description: "a drive".to_owned(), ..Default::default() };
    serve(Arc::new(MemoryExport::new(SIZE)), options)
}

fn start(address: &Address) -> io::Result<Server> {
    Server::start(Arc::new(MemoryExport::new(SIZE)), address, ServerOptions::default())
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (16 * pair[0] + pair[1]) as u8).collect()
}

#[test]
fn go_in_bytes() {
    let served = memory();
    let client = connect(&served.socket);
    assert_eq!(get_vec(&client, 18), hex("4e42444d41474943 49484156454f5054 0003"));
    put(&client, &[&[0, 0, 0, 3]]);
    // GO, 17 bytes: the name in 4 + 5, three items wanted.
    put(&client, &[b"IHAVEOPT", &[0, 0, 0, 7, 0, 0, 0, 17, 0, 0, 0, 5], b"drive", &[0, 3, 0, 1, 0, 2, 0, 3]]);
    let reply = [0x00, 0x03, 0xe8, 0x89, 0x04, 0x55, 0x65, 0xa9, 0, 0, 0, 7];
    let expected = [
        // The export: its size and flags.
        &reply[..],
        &[0, 0, 0, 3, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0],
        &FLAGS,
        // Blocks: 1 byte, 4 KiB, 32 MiB.
        &reply,
        &[0, 0, 0, 3, 0, 0, 0, 14, 0, 3, 0, 0, 0, 1, 0, 0, 0x10, 0, 2, 0, 0, 0],
        &reply,
        &[0, 0, 0, 3, 0, 0, 0, 7, 0, 1],
        b"drive",
        &reply,
        &[0, 0, 0, 3, 0, 0, 0, 9, 0, 2],
        b"a drive",
        &reply,
        &[0, 0, 0, 1, 0, 0, 0, 0],
    ]
    .concat();
    assert_eq!(get_vec(&client, expected.len()), expected);
    // A write of 4 bytes at 4096 with FUA, a read of them, and of the 2 before.
    put(&client, &[&hex("25609513 0001 0001 0102030405060708 0000000000001000 00000004"), b"data"]);
    assert_eq!(get::<16>(&client), [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    put(&client, &[&hex("25609513 0000 0000 0909090909090909 0000000000000ffe 00000006")]);
    assert_eq!(get::<16>(&client), [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9]);
    assert_eq!(get::<6>(&client), *b"\0\0data");
    put(&client, &[&request(DISC, 0, 0, 0, 0)]);
    assert!(is_closed(&client));
}

#[test]
fn the_oldest_way_to_choose_an_export() {
    let served = memory();
    for (flags, zeroes) in [(3_u32, 0), (1, 124)] {
        let client = connect(&served.socket);
        get::<18>(&client);
        put(&client, &[&flags.to_be_bytes(), &option(1, b"drive")]);
        assert_eq!(get::<8>(&client), SIZE.to_be_bytes());
        assert_eq!(get::<2>(&client), FLAGS);
        assert_eq!(get_vec(&client, zeroes), vec![0; zeroes]);
        assert_eq!(read(&client, 0, 3), [0; 3]);
    }
    let client = connect(&served.socket);
    greet(&client);
    put(&client, &[&option(1, b"another")]);
    assert!(is_closed(&client));
}

#[test]
fn options() {
    let served = memory();
    let client = connect(&served.socket);
    greet(&client);
    let error = |number: u32| 1 << 31 | number;
    let say = |number: u32, data: &[u8]| {
        put(&client, &[&option(number, data)]);
        let (about, kind, data) = answer(&client);
        assert_eq!(about, number);
        (kind, data)
    };
    assert_eq!(say(3, &[]), (2, [&[0, 0, 0, 5][..], b"drivea drive"].concat()));
    assert_eq!(answer(&client), (3, 1, vec![]));
    assert_eq!(say(3, b"x").0, error(3));
    // STARTTLS, extended headers, and an option that does not exist.
    for unknown in [5, 11, 4711] {
        assert_eq!(say(unknown, b"data").0, error(1));
    }
    assert_eq!(say(6, &named("another")).0, error(6));
    assert_eq!(say(7, &named("another")).0, error(6));
    for bad in [&b""[..], &[0, 0, 0, 9, 1], &[0xff; 6], &[0, 0, 0, 0, 0, 1], &[0, 0, 0, 1, 0xff, 0, 0]] {
        assert_eq!(say(7, bad).0, error(3), "{bad:?}");
    }
    // Contexts before structured replies.
    assert_eq!(say(10, &[0; 8]).0, error(3));
    assert_eq!(say(8, b"x").0, error(3));
    assert_eq!(say(8, &[]), (1, vec![]));
    assert_eq!(say(9, &[0; 8]), (4, [&[0; 4][..], b"base:allocation"].concat()));
    assert_eq!(answer(&client), (9, 1, vec![]));
    assert_eq!(say(10, &[0; 8]), (1, vec![]), "setting none is no mistake");
    assert_eq!(say(10, &[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]).0, error(3));
    // INFO says what GO says, DF among it, and goes on.
    let (kind, data) = say(6, &named(""));
    assert_eq!((kind, &data[10..]), (3, &[FLAGS[0], FLAGS[1] | 0x80][..]));
    assert_eq!((answer(&client).1, answer(&client)), (3, (6, 1, vec![])));
    put(&client, &[&option(2, &[])]);
    assert_eq!(answer(&client), (2, 1, vec![]));
    assert!(is_closed(&client));
}

#[test]
fn structured_replies_in_bytes() {
    let served = memory();
    let client = go(&served.socket, true);
    put(&client, &[&request(WRITE, 0, 1, 10, 2), b"hi"]);
    let head = |kind: [u8; 2], cookie: u8, length: u8| {
        [&[0x66, 0x8e, 0x33, 0xef, 0, 1][..], &kind, &[0, 0, 0, 0, 0, 0, 0, cookie, 0, 0, 0, length]].concat()
    };
    assert_eq!(get_vec(&client, 20), head([0, 0], 1, 0));
    put(&client, &[&request(READ, 4, 2, 9, 4)]);
    assert_eq!(get_vec(&client, 20), head([0, 1], 2, 12));
    assert_eq!(get::<12>(&client), *b"\0\0\0\0\0\0\0\x09\0hi\0");
    put(&client, &[&request(STATUS, 0, 3, 4096, 8192)]);
    assert_eq!(get_vec(&client, 20), head([0, 5], 3, 12));
    assert_eq!(get::<12>(&client), [0, 0, 0, 1, 0, 0, 0x20, 0, 0, 0, 0, 0]);
    put(&client, &[&request(READ, 0, 4, SIZE, 1)]);
    assert_eq!(get_vec(&client, 20), head([0x80, 1], 4, 6));
    assert_eq!(get::<6>(&client), [0, 0, 0, EINVAL as u8, 0, 0]);
}

#[test]
fn what_cannot_be_done_is_an_error_and_no_end() {
    let served = memory();
    let client = go(&served.socket, false);
    let most = 32 << 20;
    for (command, flags, offset, length, error) in [
        (READ, 0, SIZE - 1, 2, EINVAL),
        (READ, 0, u64::MAX, 2, EINVAL),
        (READ, 0, 0, 0, EINVAL),
        (READ, 4, 0, 1, EINVAL), // DF without structured replies
        (READ, 0x100, 0, 1, EINVAL),
        (TRIM, 0, SIZE, 1, ENOSPC),
        (ZEROES, 0, 1, SIZE as u32, ENOSPC),
        (TRIM, 2, 0, 1, EINVAL), // NO_HOLE
        (FLUSH, 0, 1, 0, EINVAL),
        (STATUS, 0, 0, 1, EINVAL), // no context agreed on
        (5, 0, 0, 1, EINVAL),      // CACHE
        (99, 0, 0, 1, EINVAL),
    ] {
        assert_eq!(
            ask(&client, command, flags, offset, length),
            error,
            "{command} {flags} {offset} {length}"
        );
    }
    assert_eq!(write(&client, 0, SIZE - 1, b"ab"), ENOSPC);
    assert_eq!(write(&client, 4, 0, b"ab"), EINVAL);
    assert_eq!(read(&client, 0, 2), [0, 0], "the payload was taken for what it was");
    let large = serve(Arc::new(Empty(1 << 40)), ServerOptions::default());
    let client = go(&large.socket, false);
    assert_eq!(ask(&client, READ, 0, 0, most + 1), EOVERFLOW);
    assert_eq!(ask(&client, READ, 0, 0, u32::MAX), EOVERFLOW);
    assert_eq!(ask(&client, ZEROES, 0, 0, u32::MAX), 0);
    assert_eq!(read(&client, 0, most).len(), most as usize);
}

struct Empty(u64);

impl Export for Empty {
    fn size_bytes(&self) -> u64 {
        self.0
    }
    fn preferred_block_bytes(&self) -> u32 {
        512
    }
    fn read(&self, _: u64, into: &mut [u8], _: &dyn Caller) -> io::Result<()> {
        into.fill(0);
        Ok(())
    }
    fn write(&self, _: u64, bytes: &[u8], _: Writing, _: &dyn Caller) -> io::Result<()> {
        match bytes {
            b"full" => Err(io::ErrorKind::StorageFull.into()),
            b"panic" => panic!("a mistake of the export's"),
            _ => Ok(()),
        }
    }
    fn flush(&self) -> io::Result<()> {
        Err(io::Error::other("the medium is broken"))
    }
    fn trim(&self, _: u64, _: u64, _: Writing, _: &dyn Caller) -> io::Result<()> {
        Ok(())
    }
    fn write_zeroes(&self, _: u64, _: u64, how: Writing, _: &dyn Caller) -> io::Result<()> {
        if how.only_if_fast { Err(io::ErrorKind::Unsupported.into()) } else { Ok(()) }
    }
    fn extents(&self, _: u64, length: u64, runs_max: usize, _: &dyn Caller) -> io::Result<Vec<Extent>> {
        Ok(vec![Extent { length_bytes: length, hole: true, zero: true }; runs_max.min(2)])
    }
}

#[test]
fn what_the_medium_says_reaches_the_client() {
    let served = serve(Arc::new(Empty(SIZE)), ServerOptions::default());
    let client = go(&served.socket, false);
    assert_eq!(write(&client, 0, 0, b"full"), ENOSPC);
    assert_eq!(ask(&client, FLUSH, 0, 0, 0), 5);
    assert_eq!(ask(&client, ZEROES, 16, 0, 4096), 95);
    assert_eq!(write(&client, 0, 0, b"panic"), 5);
    assert_eq!(write(&client, 0, 0, b"else"), 0);
    let figures = served.server.figures();
    assert_eq!(
        figures.operations.iter().map(|of| (of.requests, of.errors)).collect::<Vec<_>>()[1..3],
        [(3, 2), (1, 1)]
    );
    let client = go(&served.socket, true);
    put(&client, &[&request(STATUS, 8, 3, 0, 4096)]);
    let reply = get_vec(&client, 20 + 12);
    assert_eq!(reply[16..], [0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0x10, 0, 0, 0, 0, 3], "one run was asked for");
}

#[test]
fn nothing_is_written_to_what_is_read_only() {
    let options = ServerOptions { read_only: true, ..Default::default() };
    let served = serve(Arc::new(MemoryExport::new(SIZE)), options);
    let client = go(&served.socket, false);
    assert_eq!(write(&client, 0, 0, b"ab"), 1);
    assert_eq!((ask(&client, TRIM, 0, 0, 1), ask(&client, ZEROES, 0, 0, 1)), (1, 1));
    assert_eq!((ask(&client, FLUSH, 0, 0, 0), read(&client, 0, 2)), (0, vec![0, 0]));
}

#[test]
fn replies_come_when_they_are_there() {
    let met = Barrier::new(2);
    // Reads at 0 wait for a read elsewhere, and again for a flush.
    let before = move |operation, offset| {
        met.wait();
        if operation == Operation::Read && offset == 0 {
            met.wait();
        }
    };
    let served = serve(
        Arc::new(Watched { inner: MemoryExport::new(SIZE), before }),
        ServerOptions { flush_at_end: false, ..Default::default() },
    );
    let client = go(&served.socket, false);
    // The first needs the second to be carried out beside it, and the third to end.
    for (cookie, offset) in [(1, 0), (2, 4096)] {
        put(&client, &[&request(READ, 0, cookie, offset, 8)]);
    }
    assert_eq!(simple(&client), (0, 2));
    get::<8>(&client);
    put(&client, &[&request(FLUSH, 0, 3, 0, 0)]);
    let mut cookies = vec![];
    for _ in 0..2 {
        let (error, cookie) = simple(&client);
        assert_eq!(error, 0);
        cookies.push(cookie);
        if cookie == 1 {
            get::<8>(&client);
        }
    }
    cookies.sort_unstable();
    assert_eq!(cookies, [1, 3]);
}

#[test]
fn a_socket_is_its_owners_and_goes_with_the_server() {
    let mut served = memory();
    let mode = served.socket.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let address = Address::Unix(served.socket.clone());
    assert!(start(&address).err().unwrap().to_string().contains("another server listens there"));
    served.server.stop().unwrap();
    assert!(!served.socket.exists());
    assert_eq!(std::fs::read_dir(&served.folder.0).unwrap().count(), 0, "nothing is left behind");
    // The socket of a killed process is replaced; a file is not.
    drop(std::os::unix::net::UnixListener::bind(&served.socket).unwrap());
    drop(start(&address).unwrap());
    std::fs::write(&served.socket, "precious").unwrap();
    assert!(start(&address).err().unwrap().to_string().contains("no socket"));
    assert_eq!(std::fs::read(&served.socket).unwrap(), b"precious");
}

#[test]
fn what_was_served_is_let_go_when_a_server_has_stopped() {
    // A drive still held by a thread is in use and cannot be opened again.
    for _ in 0..300 {
        let export = Arc::new(MemoryExport::new(SIZE));
        let mut served = serve(export.clone(), ServerOptions::default());
        let clients: Vec<_> = (0..4).map(|_| connect(&served.socket)).collect();
        clients.iter().for_each(greet);
        served.server.stop().unwrap();
        drop(served);
        assert_eq!(Arc::strong_count(&export), 1);
    }
}

#[test]
fn what_is_not_encrypted_stays_on_the_machine() {
    let start = |text| start(&Address::tcp(text).unwrap());
    let refused = start("0.0.0.0:0").err().unwrap().to_string();
    assert!(refused.contains("0.0.0.0:0") && refused.contains("ssh -L"), "{refused}");
    let server = start("127.0.0.1:0").unwrap();
    let export = NbdExport::connect(&Uri::parse(&server.uri()).unwrap()).unwrap();
    assert_eq!(export.size_bytes(), SIZE);
}

fn behaves(export: &dyn Export) {
    let page = |byte: u8| vec![byte; 4096];
    let bytes = |offset: u64, length: usize| {
        let mut into = vec![0xee; length];
        export.read(offset, &mut into, &()).unwrap();
        into
    };
    let durable = Writing { durable: true, ..Writing::default() };
    assert_eq!(bytes(0, 3 * 4096), vec![0; 3 * 4096]);
    export.write(4096, &page(1), Writing::default(), &()).unwrap();
    export.write(8192, &page(2), durable, &()).unwrap();
    assert_eq!(bytes(4096 - 1, 4098), [&[0], &page(1)[..], &[2]].concat());
    export.write_zeroes(4096, 4096, durable, &()).unwrap();
    assert_eq!(bytes(4096, 8192), [page(0), page(2)].concat());
    export.write_zeroes(8192 + 1, 2, Writing { keep_room: true, ..durable }, &()).unwrap();
    assert_eq!(bytes(8192, 4), [2, 0, 0, 2]);
    export.trim(8192, 4096, durable, &()).unwrap();
    let after = bytes(8192, 4096);
    assert!(after == page(0) || after[3..] == page(2)[3..]);
    let long = vec![7; 200_000];
    export.write(65_536 - 5, &long, Writing::default(), &()).unwrap();
    assert_eq!(bytes(65_536 - 5, 200_000), long);
    export.flush().unwrap();
    let extents = export.extents(0, SIZE, 4096, &()).unwrap();
    assert!(extents.iter().all(|extent| extent.length_bytes > 0));
    assert!(extents.iter().map(|extent| extent.length_bytes).sum::<u64>() <= SIZE);
}

#[test]
fn all_exports_behave() {
    behaves(&MemoryExport::new(SIZE));
    let folder = Folder::new();
    let path = folder.join("image");
    std::fs::File::create(&path).unwrap().set_len(SIZE).unwrap();
    let file = FileExport::open(&path, false).unwrap();
    assert_eq!(
        file.extents(4096, 8192, 4096, &()).unwrap(),
        [Extent { length_bytes: 8192, hole: true, zero: true }]
    );
    behaves(&file);
    let served = serve(
        Arc::new(MemoryExport::new(SIZE)),
        ServerOptions { name: "a b".to_owned(), ..Default::default() },
    );
    let client = NbdExport::connect(&Uri::parse(&served.server.uri()).unwrap()).unwrap();
    behaves(&client);
    let out_of_room = client.write(SIZE - 1, b"ab", Writing::default(), &()).unwrap_err();
    assert_eq!(out_of_room.kind(), io::ErrorKind::StorageFull);
    drop(served);
    assert!(
        client.flush().is_err() && client.read(0, &mut [0], &()).is_err(),
        "a lost connection stays lost"
    );
}

#[test]
fn files_that_cannot_be_served_are_refused_by_name() {
    let folder = Folder::new();
    let path = folder.join("image");
    let refused = |read_only| FileExport::open(&path, read_only).err().map(|error| error.to_string());
    assert!(refused(false).unwrap().contains("image"));
    std::fs::write(&path, "").unwrap();
    assert!(refused(false).unwrap().contains("truncate -s"));
    std::fs::write(&path, "x").unwrap();
    let first = FileExport::open(&path, false).unwrap();
    assert!(refused(false).unwrap().contains("in use") && refused(true).unwrap().contains("in use"));
    drop(first);
    let reader = FileExport::open(&path, true).unwrap();
    assert_eq!((refused(true), reader.read_only().is_some()), (None, true));
    assert!(FileExport::open(&folder.0, false).is_err());
}
