//! Row groups decoded ahead by threads of their own, and handed out in the order of the file.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use parquet::errors::ParquetError;

use super::decode::{Batch, Reading};

/// Most threads that decode. The receiver works as well, for about a third of the time of decoding.
const THREADS_MAX: usize = 3;
/// Batches that a thread may be ahead.
const AHEAD: usize = 2;

pub(super) enum Batches {
    Asked(Box<dyn Iterator<Item = Batch> + Send>),
    /// Decoded ahead, row groups in turn by several threads.
    Ahead {
        /// Decoded batches of each thread; `None` behind each row group.
        threads: Vec<Receiver<Option<Batch>>>,
        group: usize,
        groups: usize,
    },
}

impl Batches {
    /// Begins to read; with `threaded` in threads of their own, where there are processors for them.
    pub(super) fn new(reading: &Reading, threaded: bool) -> Self {
        let groups = reading.metadata.num_row_groups();
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let wanted = if threaded && processors > 1 { processors.min(THREADS_MAX).min(groups) } else { 0 };
        let threads =
            (0..wanted).map_while(|first| start(reading.clone(), first, wanted)).collect::<Vec<_>>();
        if wanted > 1 && threads.len() == wanted {
            return Self::Ahead { threads, group: 0, groups };
        }
        // Threads already started find their channel closed and end.
        let reading = reading.clone();
        Self::Asked(Box::new((0..groups).flat_map(move |group| reading.clone().batches(group))))
    }
}

impl Iterator for Batches {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        match self {
            Self::Asked(batches) => batches.next(),
            Self::Ahead { threads, group, groups } => {
                while group < groups {
                    match threads[*group % threads.len()].recv() {
                        Ok(Some(batch)) => return Some(batch),
                        Ok(None) => *group += 1,
                        Err(_) => {
                            *group = *groups;
                            let why = "the thread that decodes it has ended".to_owned();
                            return Some(Err(ParquetError::General(why).into()));
                        }
                    }
                }
                None
            }
        }
    }
}

/// Starts the thread that decodes row groups `first`, `first + step`, ...; `None` where the system has none to give.
fn start(reading: Reading, first: usize, step: usize) -> Option<Receiver<Option<Batch>>> {
    let (send, receive) = sync_channel(AHEAD);
    let decode = move || {
        for group in (first..reading.metadata.num_row_groups()).step_by(step) {
            for batch in reading.clone().batches(group).map(Some).chain([None]) {
                let failed = matches!(batch, Some(Err(_)));
                // Nobody receives when reading has been given up.
                if send.send(batch).is_err() || failed {
                    return;
                }
            }
        }
    };
    thread::Builder::new().name("flashtwin-parquet".into()).spawn(decode).ok()?;
    Some(receive)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::file::metadata::ParquetMetaDataReader;

    use super::super::schema::Places;
    use super::super::source::ParquetSource;
    use super::super::write::encode;
    use super::*;
    use crate::columns::Columns;
    use crate::request::{Op, Request};

    fn written(rows: i64, group: usize) -> (Vec<u8>, Reading) {
        let times: Vec<i64> = (0..rows).collect();
        let request =
            |time_ns| Request { time_ns, volume: 0, op: Op::Read, offset_bytes: 0, length_bytes: 1 };
        let groups = times.chunks(group).map(|times| {
            let mut columns = Columns::empty();
            times.iter().for_each(|&time_ns| columns.push(request(time_ns)));
            columns
        });
        let bytes = encode(&groups.collect::<Vec<_>>()).unwrap();
        let reading = reading(bytes.clone());
        (bytes, reading)
    }

    fn reading(bytes: Vec<u8>) -> Reading {
        let source = ParquetSource::Memory(bytes.into());
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&source).unwrap();
        let places = Places::of("made", metadata.file_metadata().schema_descr(), false).unwrap();
        Reading { source: Arc::new(source), metadata: Arc::new(metadata), places }
    }

    fn times(batches: Batches) -> Vec<i64> {
        batches.flat_map(|batch| batch.ok().unwrap().columns.time_ns).collect()
    }

    #[test]
    fn rows_keep_file_order_with_any_number_of_threads() {
        for (rows, group) in [(0, 10), (1, 10), (10, 10), (95, 10), (300_000, 140_000)] {
            let (_, reading) = written(rows, group);
            for threads in 1..=4 {
                let groups = reading.metadata.num_row_groups();
                let started = (0..threads).map(|first| start(reading.clone(), first, threads).unwrap());
                let ahead = Batches::Ahead { threads: started.collect(), group: 0, groups };
                assert_eq!(times(ahead), (0..rows).collect::<Vec<_>>(), "{rows} rows, {threads} threads");
            }
            for threaded in [false, true] {
                assert_eq!(times(Batches::new(&reading, threaded)), (0..rows).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn undecodable_group_is_an_error_behind_the_good_rows() {
        let (mut damaged, reading) = written(100, 10);
        // The fourth of ten row groups is damaged.
        let (at, length) = reading.metadata.row_group(3).column(0).byte_range();
        damaged[at as usize..(at + length) as usize].fill(0xff);
        let source = Arc::new(ParquetSource::Memory(damaged.into()));
        let reading = Reading { source, ..reading };
        let threads = (0..3).map(|first| start(reading.clone(), first, 3).unwrap()).collect();
        let mut ahead = Batches::Ahead { threads, group: 0, groups: 10 };
        let rows: usize = ahead.by_ref().map_while(Result::ok).map(|batch| batch.columns.len()).sum();
        assert_eq!(rows, 30);
        drop(ahead);
    }
}
