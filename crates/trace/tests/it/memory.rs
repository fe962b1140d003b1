//! A trace too large for memory is refused with the figure, and the process lives.

use std::io::Write;
use std::process::Command;
use std::sync::Arc;

use crate::common::Folder;
use flashtwin_bits::SplitMix64;
use flashtwin_trace::{ErrorCause, OpenOptions, Source, Trace, TraceStream, memory_in_whole};

/// Address space of the process that reads, and requests that take more than it has as columns.
const LIMIT_KIB: u64 = 300_000;
const REQUESTS: u64 = 6_000_000;

/// Lines that compress to a few bytes, such as hostile input, behind a comment of random digits.
fn dense_text(comment: usize) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    let mut draw = SplitMix64(1);
    let digits: String = (0..comment / 16).map(|_| format!("{:016x}", draw.next())).collect();
    writeln!(encoder, "# {digits}").unwrap();
    for second in 0..REQUESTS / 10_000 {
        encoder.write_all(format!("0,8,4096,R,{second}\n").repeat(10_000).as_bytes()).unwrap();
    }
    encoder.finish().unwrap()
}

/// Runs a test of this file again, alone in a process with so little memory.
fn with_little_memory(test: &str) -> bool {
    if std::env::var_os("FLASHTWIN_TEST_LIMITED").is_some() {
        return true;
    }
    let done = Command::new("sh")
        .args(["-c", "ulimit -v \"$1\" && exec \"$0\" --exact \"$2\""])
        .arg(std::env::current_exe().unwrap())
        .args([&LIMIT_KIB.to_string(), test])
        .env("FLASHTWIN_TEST_LIMITED", "yes")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && text.contains("1 passed"), "{text}");
    false
}

fn spc() -> OpenOptions {
    OpenOptions { format: Some("spc".parse().unwrap()), ..OpenOptions::default() }
}

#[test]
fn dense_lines_are_refused_whole_and_read_in_a_stream() {
    if !with_little_memory("memory::dense_lines_are_refused_whole_and_read_in_a_stream") {
        return;
    }
    let text = dense_text(0);
    assert!(text.len() < 100_000, "{} bytes", text.len());
    let source = Source::Bytes("dense.zst".to_owned(), Arc::from(text));
    let error = Trace::open(&source, &spc(), &()).unwrap_err();
    assert_eq!(error.cause, ErrorCause::TooLarge);
    let message = error.to_string();
    for word in ["dense.zst", "requests take ", "MiB of memory", "are left", "--stream"] {
        assert!(message.contains(word), "{word}: {message}");
    }
    let mut stream = TraceStream::open(&source, &spc(), &()).unwrap();
    let mut requests = 0;
    while let Some(batch) = stream.next(&()).unwrap() {
        requests += batch.len() as u64;
    }
    assert_eq!(requests, REQUESTS);
}

#[test]
fn a_dense_file_is_judged_by_its_requests_and_not_by_its_size() {
    if !with_little_memory("memory::a_dense_file_is_judged_by_its_requests_and_not_by_its_size") {
        return;
    }
    let folder = Folder::new();
    let path = folder.file("dense.zst");
    std::fs::write(&path, dense_text(400_000)).unwrap();
    let needed = memory_in_whole(&Source::File(path), &spc(), &()).unwrap();
    // All of it is read from the file before a tenth is decompressed.
    assert!(needed >= REQUESTS * 100, "{needed} bytes for {REQUESTS} requests");
}
