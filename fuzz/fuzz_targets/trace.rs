//! Any bytes as a trace: every reader refuses them or reads the same whole and in a stream, and what was read can be written
//! and read again.

#![no_main]

use flashtwin_trace::{
    ContentSource, OnBadLine, OpenOptions, PageTrace, Source, Trace, TraceError, TraceStream,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let source = Source::Bytes("fuzzed".to_owned(), bytes.into());
    for on_bad_line in [OnBadLine::Fail, OnBadLine::Skip] {
        let options = OpenOptions { on_bad_line, threaded: false, ..OpenOptions::default() };
        let whole = Trace::open(&source, &options, &());
        match (&whole, streamed(&source, &options)) {
            (Ok(trace), Ok(digest)) => {
                assert_eq!(trace.digest(), digest);
                again(trace);
            }
            (Err(_), Err(_)) => {}
            (whole, streamed) => panic!("whole: {:?}, streamed: {streamed:?}", whole.as_ref().map(Trace::digest)),
        }
    }
});

/// The digest of a trace that is read batch by batch.
fn streamed(source: &Source, options: &OpenOptions) -> Result<String, TraceError> {
    let mut stream = TraceStream::open(source, options, &())?;
    while stream.next(&())?.is_some() {}
    Ok(stream.digest())
}

/// Cuts a trace into pages, and writes it down and reads it back.
fn again(trace: &Trace) {
    let content = if trace.has_content() { ContentSource::Recorded } else { ContentSource::Unique };
    // Requests may ask for more pages than there is memory for, which is said.
    let _ = PageTrace::build(trace, 4096, content);
    let path = std::env::temp_dir().join(format!("flashtwin-fuzz-{}.parquet", std::process::id()));
    if trace.write_parquet(&path).is_ok() {
        let read = Trace::open(&Source::File(path), &OpenOptions::default(), &());
        assert_eq!(read.map(|read| read.digest()).as_ref(), Ok(&trace.digest()));
    }
}
