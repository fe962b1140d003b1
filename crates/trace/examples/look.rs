//! Opens traces and prints their properties, or why they cannot be read: `look [--stream] FILE...`.
//!
//! With `--stream` each is gone through in batches, which needs little memory.

#![allow(clippy::print_stdout)]

use flashtwin_trace::{OpenOptions, Source, Trace, TraceError, TraceStream};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let streamed = arguments.first().is_some_and(|first| first == "--stream");
    for argument in arguments.iter().skip(usize::from(streamed)) {
        let source = Source::from_argument(argument);
        let looked = if streamed { look_through(&source) } else { look_at(&source) };
        match looked {
            Ok(what) => println!("{argument}: {what}"),
            Err(error) => println!("{error}"),
        }
    }
}

fn look_at(source: &Source) -> Result<String, TraceError> {
    let trace = Trace::open(source, &OpenOptions::default(), &())?;
    Ok(format!(
        "{}, {} requests on {} volumes over {:.3} s, {} contents, digest {}, {:?}",
        trace.format,
        trace.len(),
        trace.volume_names.len(),
        trace.duration_ns() as f64 / 1e9,
        trace.content_count(),
        trace.digest(),
        trace.quality
    ))
}

fn look_through(source: &Source) -> Result<String, TraceError> {
    let mut stream = TraceStream::open(source, &OpenOptions::default(), &())?;
    let mut end_ns = 0;
    while let Some(batch) = stream.next(&())? {
        end_ns = batch.duration_ns();
    }
    Ok(format!(
        "{}, {} requests on {} volumes over {:.3} s, {} contents, digest {}, {:?}",
        stream.format(),
        stream.requests(),
        stream.volume_names().len(),
        end_ns as f64 / 1e9,
        stream.content_count(),
        stream.digest(),
        stream.quality()
    ))
}
