//! Opens traces and prints what they are, or why they cannot be read: `look FILE...`.

#![allow(clippy::print_stdout)]

use flashtwin_trace::{OpenOptions, Source, Trace};

fn main() {
    for argument in std::env::args().skip(1) {
        let source = Source::from_argument(&argument);
        match Trace::open(&source, &OpenOptions::default(), &()) {
            Ok(trace) => println!(
                "{argument}: {}, {} requests on {} volumes over {:.3} s, {} contents, digest {}, {:?}",
                trace.format,
                trace.len(),
                trace.volume_names.len(),
                trace.duration_ns() as f64 / 1e9,
                trace.content_count(),
                trace.digest(),
                trace.quality
            ),
            Err(error) => println!("{error}"),
        }
    }
}
