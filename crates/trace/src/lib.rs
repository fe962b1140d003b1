//! The host's requests: traces, readers, canonical Parquet, contents.
//!
//! [`Trace::open`] reads any supported format, recognised by its content. A [`Trace`] is columns: one entry a request.
//! [`TraceStream`] goes through one that is larger than memory. [`PageTrace::build`] cuts a trace into page operations,
//! with dense 32-bit ids for logical pages and contents: the form that every system replays.

mod anonymize;
mod by_volume;
mod columns;
mod containers;
mod content_names;
mod digest;
mod error;
mod feed;
pub mod flags;
mod format;
mod holes;
mod in_whole;
mod input;
mod layout;
mod memory;
mod opening;
mod operations;
mod options;
mod page;
mod parts;
mod progress;
mod quality;
mod random;
mod read_as;
mod request;
mod requests;
mod sample;
mod selection;
mod split;
mod stream;
mod synthetic;
mod tally;
mod text;
mod trace;
mod units;
mod volumes;

pub use by_volume::RequestsByVolume;
pub use columns::Columns;
pub use digest::Digests;
pub use error::{ErrorCause, Location, TraceError};
pub use format::parquet::{Recorded, Recording, read_records, recorded, recover_recording, write_parquet};
pub use holes::Holes;
pub use in_whole::memory_in_whole;
pub use input::Source;
pub use layout::{Layout, columns_option};
pub use memory::{bytes_in_words, memory_allowed_bytes, memory_available_bytes};
pub use operations::{Operation, Vocabulary};
pub use options::{BlkparseAction, Format, OnBadLine, OpenOptions};
pub use page::{
    ContentSource, FirstAccess, LastRegion, NumberedPage, Outline, PageColumns, PageIntake, PageQuality,
    PageScan, PageSource, PageTable, PageTrace, Window, Windows, marks,
};
pub use progress::Progress;
pub use quality::{BAD_LINES_LISTED, Quality};
pub use read_as::ReadAs;
pub use request::{CHUNK_BYTES, NO_CONTENT, NO_STREAM, Op, Request};
pub use requests::{Requests, rows_there};
pub use sample::SampleBy;
pub use split::split;
pub use stream::TraceStream;
pub use synthetic::{
    AddressesRecipe, ArrivalsRecipe, Bound, LocalityRecipe, ReadsRecipe, Recipe, RequestsRecipe, Target,
    TrainsRecipe, Within, WritesRecipe, ZipfRecipe, synthesize, synthesize_parquet, workload_names,
    workload_toml,
};
pub use trace::{Trace, TraceBuilder};
pub use units::{Units, time_unit_ns};
