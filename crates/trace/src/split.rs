//! A trace in parts, a file each: one pass, in memory that grows neither with its requests nor with its volumes.

use std::mem;
use std::path::Path;

use serde_json::{Value, json};
use twox_hash::XxHash3_128;

use crate::columns::Columns;
use crate::content_names::digest_of_number;
use crate::error::TraceError;
use crate::format::parquet::{
    Appended, KEY_HOLES, KEY_QUALITY, KEY_ZERO_CONTENT, RowDigests, holes_in_json, json, trace_metadata,
};
use crate::input::Source;
use crate::options::OpenOptions;
use crate::progress::Progress;
use crate::quality::Quality;
use crate::request::NO_CONTENT;
use crate::stream::TraceStream;
use crate::trace::Trace;
use crate::volumes::Appearance;

/// Requests of all parts that wait to be written, about 40 bytes each; four contents count as one.
const WAITING_MAX: usize = if cfg!(test) { 30_000 } else { 1 << 22 };

/// Splits a trace into files of `folder`, which must exist: one for each volume, or `hashed` ones of whole volumes.
/// Returns the manifest (docs/trace-formats.md). Contents keep their digests; numbers alone get digests of their own,
/// because equal contents of two parts would look different.
///
/// # Errors
/// Those of [`Trace::open`], and [`crate::ErrorCause::Io`] when the folder cannot be written to.
pub fn split(
    source: &Source,
    options: &OpenOptions,
    hashed: Option<u64>,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<Value, TraceError> {
    let mut stream = TraceStream::begin(source, options, true, progress)?;
    let mut split =
        Split { hashed, folder, parts: Vec::new(), part_of: Vec::new(), waiting: 0, numbered: String::new() };
    while let Some(batch) = stream.next(progress)? {
        if stream.digests().is_none() && split.numbered.is_empty() {
            split.numbered = batch.digest();
        }
        split.add(&batch, stream.digests());
        if split.waiting >= WAITING_MAX {
            split.write_longest()?;
        }
    }
    let mut parts = split.parts;
    if hashed.is_none() {
        parts.sort_by_key(|part| stream.volume_order()[part.volumes[0] as usize]);
    }
    let parts = parts.into_iter().map(|part| part.finish(&stream)).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({
        "name": stream.name(), "format": stream.format().name(), "read_as": stream.read_as(), "digest": stream.digest(),
        "requests": stream.requests(), "parts": parts,
    }))
}

struct Split<'a> {
    hashed: Option<u64>,
    folder: &'a Path,
    parts: Vec<Part>,
    /// The part of each volume of the stream, and the volume's number in the part.
    part_of: Vec<(usize, u32)>,
    waiting: usize,
    /// The digest of the first requests, if contents are numbers.
    numbered: String,
}

impl Split<'_> {
    fn add(&mut self, batch: &Trace, digests: Option<&[[u8; 16]]>) {
        for volume in self.part_of.len()..batch.volume_names.len() {
            self.add_volume(volume as u32, &batch.volume_names[volume]);
        }
        for request in 0..batch.len() {
            let (part, volume) = self.part_of[batch.volume[request] as usize];
            self.parts[part].add(batch, request, volume, |content| match digests {
                Some(digests) => digests.get(content as usize).copied(),
                None => Some(digest_of_number(&self.numbered, content)),
            });
        }
        self.waiting = self.parts.iter().map(Part::weight).sum();
    }

    fn add_volume(&mut self, volume: u32, name: &str) {
        let name = match self.hashed {
            None => name.to_owned(),
            Some(parts) => format!("part-{}", XxHash3_128::oneshot(name.as_bytes()) % u128::from(parts)),
        };
        let known = self.hashed.and_then(|_| self.parts.iter().position(|part| part.name == name));
        let part = known.unwrap_or_else(|| {
            let safe =
                |sign: char| if sign.is_ascii_alphanumeric() || ".-_".contains(sign) { sign } else { '-' };
            // The number tells names apart that differ in other signs or in case.
            let file: String = format!("{}-{name}", self.parts.len()).chars().map(safe).take(100).collect();
            let file = format!("{file}.parquet");
            let written = Appended::new(self.folder.join(&file));
            self.parts.push(Part { name, file, written, waiting: Columns::empty(), ..Part::default() });
            self.parts.len() - 1
        });
        let of = &mut self.parts[part];
        self.part_of.push((part, of.volumes.len() as u32));
        of.volumes.push(volume);
    }

    /// Writes the parts of which at least as much waits as on average.
    fn write_longest(&mut self) -> Result<(), TraceError> {
        let mean = self.waiting / self.parts.len();
        self.parts.iter_mut().filter(|part| part.weight() >= mean).try_for_each(Part::write)
    }
}

#[derive(Default)]
struct Part {
    name: String,
    file: String,
    /// By number in the part, the volumes of the stream.
    volumes: Vec<u32>,
    waiting: Columns,
    digests: RowDigests,
    contents: Appearance,
    written: Appended,
    requests: u64,
    bytes: u64,
    start_ns: i64,
    end_ns: i64,
}

impl Part {
    fn weight(&self) -> usize {
        self.waiting.len() + self.waiting.content.len() / 4
    }

    fn add(&mut self, batch: &Trace, index: usize, volume: u32, digest: impl Fn(u32) -> Option<[u8; 16]>) {
        let mut request = batch.request(index);
        if self.requests == 0 {
            self.start_ns = request.time_ns;
        }
        self.end_ns = request.time_ns;
        self.requests += 1;
        self.bytes += if request.op.moves_data() { u64::from(request.length_bytes) } else { 0 };
        (request.time_ns, request.volume) = (request.time_ns - self.start_ns, volume);
        let known = self.digests.digests.len();
        for &content in batch.contents(index) {
            if content == NO_CONTENT {
                self.waiting.content.push(NO_CONTENT);
                continue;
            }
            let (number, fresh) = self.contents.number(content);
            self.waiting.content.push(number);
            self.digests.digests.extend(fresh.then(|| digest(content)).flatten());
        }
        self.digests.counts.push(self.digests.digests.len() - known);
        self.waiting.push(request);
        self.waiting.mark_last(batch.marks_of(index));
    }

    fn write(&mut self) -> Result<(), TraceError> {
        let columns = mem::replace(&mut self.waiting, Columns::empty());
        let digests = mem::take(&mut self.digests);
        if columns.len() == 0 { Ok(()) } else { self.written.append(&columns.as_run(), &digests) }
    }

    /// Ends the file; its entry of the manifest.
    fn finish(mut self, stream: &TraceStream) -> Result<Value, TraceError> {
        self.write()?;
        let name = |&volume: &u32| stream.volume_names()[volume as usize].clone();
        let volumes: Vec<String> = self.volumes.iter().map(name).collect();
        let mine = |volume| self.volumes.iter().position(|&other| other == volume).map(|at| at as u32);
        let holes = stream.holes().renumbered(mine);
        let mut known = trace_metadata(stream.name(), stream.format().name(), &volumes);
        // Irregularities are those of the whole file, as of one volume of it.
        known.push((KEY_QUALITY, json(&Quality { warnings: Vec::new(), ..stream.quality().clone() })));
        if !holes.is_empty() {
            known.push((KEY_HOLES, holes_in_json(&holes)));
        }
        let zero = stream.zero_content().and_then(|zero| self.contents.get(zero));
        known.extend(zero.map(|content| (KEY_ZERO_CONTENT, content.to_string())));
        self.written.finish(known)?;
        Ok(json!({
            "name": self.name, "file": self.file, "volumes": volumes, "requests": self.requests,
            "bytes": self.bytes, "start_ns": self.start_ns, "duration_ns": self.end_ns - self.start_ns,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use flashtwin_bits::SplitMix64;

    use super::*;
    use crate::request::{Op, Request};
    use crate::trace::TraceBuilder;

    /// All kinds of requests, flags, holes and zeroes, on volumes of different sizes; more than two batches.
    fn of_all_kinds(test: &str) -> Source {
        let (mut draw, mut builder) = (SplitMix64(7), TraceBuilder::new("all"));
        for time_ns in 0..140_000 {
            let op = [Op::Read, Op::Write, Op::Write, Op::Trim, Op::Flush][draw.next() as usize % 5];
            let volume = (draw.next() % 40 * (draw.next() % 3)) as u32;
            let pages = if op == Op::Flush { 0 } else { 1 + draw.next() as u32 % 3 };
            let offset_bytes = if op == Op::Flush { 0 } else { draw.next() % 500 * 4096 };
            let known = op.moves_data() && draw.next() % 4 > 0;
            let contents: Vec<u32> =
                (0..pages).filter(|_| known).map(|_| draw.next() as u32 % 3000).collect();
            builder
                .push(Request { time_ns, volume, op, offset_bytes, length_bytes: pages * 4096 }, &contents);
            if draw.next() % 9 == 0 {
                builder.queue(3).durable().stream(volume as u16);
            }
        }
        builder.hole(2, 0..8192).hole(7, 4096..65536).zeroes(5);
        let path = std::env::temp_dir().join(format!("flashtwin-{test}-{}", std::process::id()));
        builder.build().unwrap().write_parquet(&path).unwrap();
        let bytes = Arc::from(std::fs::read(&path).unwrap());
        std::fs::remove_file(path).unwrap();
        Source::Bytes(format!("{test}.parquet"), bytes)
    }

    /// Each part as the manifest has it and as a trace.
    fn parts(source: &Source) -> (Trace, Vec<(Value, Trace)>) {
        let folder = format!("flashtwin-{}-{}", source.label(), std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir(&folder).unwrap();
        let whole = Trace::open(source, &OpenOptions::default(), &()).unwrap();
        let manifest = split(source, &OpenOptions::default(), None, &folder, &()).unwrap();
        assert_eq!(
            (&manifest["digest"], &manifest["requests"]),
            (&json!(whole.digest()), &json!(whole.len()))
        );
        let open = |part: &Value| {
            let path = folder.join(part["file"].as_str().unwrap());
            let read = Trace::open(&Source::File(path), &OpenOptions::default(), &()).unwrap();
            assert_eq!(
                (&part["requests"], &part["volumes"]),
                (&json!(read.len()), &json!(read.volume_names))
            );
            assert_eq!(part["duration_ns"], json!(read.duration_ns()));
            (part.clone(), read)
        };
        let parts = manifest["parts"].as_array().unwrap().iter().map(open).collect();
        std::fs::remove_dir_all(&folder).unwrap();
        (whole, parts)
    }

    #[test]
    fn a_part_is_the_trace_of_its_volume() {
        let (whole, parts) = parts(&of_all_kinds("volumes"));
        assert_eq!(parts.len(), whole.volume_names.len());
        for ((part, read), name) in parts.into_iter().zip(&whole.volume_names) {
            let mine = whole.of_volume(name).unwrap();
            assert_eq!(part["name"], json!(name));
            let moved = mine.op.iter().zip(mine.length_bytes.iter()).filter(|(op, _)| op.moves_data());
            assert_eq!(part["bytes"], json!(moved.map(|(_, &length)| u64::from(length)).sum::<u64>()));
            // The numbers of its contents have got digests.
            let (name, digests) = (mine.name.clone(), mine.digests.clone());
            assert_eq!(Trace { name, format: mine.format, digests, ..read }, mine);
        }
    }
}
