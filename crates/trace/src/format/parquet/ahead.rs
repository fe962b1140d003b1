//! Row groups decoded ahead by threads of their own, and handed out in the order of the file.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;

use super::source::ParquetSource;

/// Most threads that decode. The receiver of the batches works on them as well, for about a third
/// of the time of decoding.
const THREADS_MAX: usize = 3;
/// Rows of a batch: decoded rows stay in a processor's second-level cache until they are taken.
const DECODED_ROWS: usize = 1 << 16;
/// Batches that a thread may be ahead.
const AHEAD: usize = 2;

type Batch = Result<RecordBatch, ArrowError>;

/// How batches are read.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) place: ParquetSource,
    pub(super) metadata: ArrowReaderMetadata,
    pub(super) columns: ProjectionMask,
}

impl Reading {
    /// The batches of some row groups.
    fn of(&self, groups: Vec<usize>) -> Result<ParquetRecordBatchReader, ParquetError> {
        ParquetRecordBatchReaderBuilder::new_with_metadata(self.place.clone(), self.metadata.clone())
            .with_projection(self.columns.clone())
            .with_batch_size(DECODED_ROWS)
            .with_row_groups(groups)
            .build()
    }
}

/// The batches of a file, in order.
pub(super) enum Batches {
    /// Decoded on demand.
    Asked(Box<ParquetRecordBatchReader>),
    /// Decoded ahead, row groups in turn by several threads.
    Ahead {
        /// Decoded batches of each thread; `None` behind each row group.
        threads: Vec<Receiver<Option<Batch>>>,
        /// The row group that is taken in.
        group: usize,
        groups: usize,
    },
}

impl Batches {
    /// Begins to read; with `threaded` in threads of their own, where there are processors for them.
    pub(super) fn new(reading: &Reading, threaded: bool) -> Result<Self, ParquetError> {
        let groups = reading.metadata.metadata().num_row_groups();
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let wanted = if threaded && processors > 1 { processors.min(THREADS_MAX).min(groups) } else { 0 };
        let threads =
            (0..wanted).map_while(|first| start(reading.clone(), first, wanted)).collect::<Vec<_>>();
        if wanted > 1 && threads.len() == wanted {
            return Ok(Self::Ahead { threads, group: 0, groups });
        }
        // Threads already started find their channel closed and end.
        Ok(Self::Asked(Box::new(reading.of((0..groups).collect())?)))
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
                            return Some(Err(ArrowError::ParquetError(why)));
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
    let groups = (first..reading.metadata.metadata().num_row_groups()).step_by(step);
    let decode = move || {
        for group in groups {
            if !decode_group(&reading, group, &send) {
                return;
            }
        }
    };
    thread::Builder::new().name("flashtwin-parquet".into()).spawn(decode).ok()?;
    Some(receive)
}

/// Sends the batches of a row group and its end; returns `false` if the receiver is gone.
fn decode_group(reading: &Reading, group: usize, send: &SyncSender<Option<Batch>>) -> bool {
    let batches = match reading.of(vec![group]) {
        Ok(batches) => batches,
        Err(error) => {
            let _ = send.send(Some(Err(error.into())));
            return false;
        }
    };
    for batch in batches {
        let failed = batch.is_err();
        if send.send(Some(batch)).is_err() || failed {
            return false;
        }
    }
    send.send(None).is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, UInt32Array, cast::AsArray, types::UInt32Type};
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::ArrowReaderOptions;
    use parquet::file::properties::WriterProperties;

    use super::*;

    fn written(rows: u32, group: usize) -> Reading {
        let column: ArrayRef = Arc::new(UInt32Array::from_iter_values(0..rows));
        let batch = RecordBatch::try_from_iter([("number", column)]).unwrap();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let place = ParquetSource::Memory(bytes.into());
        let metadata = ArrowReaderMetadata::load(&place, ArrowReaderOptions::new()).unwrap();
        Reading { place, metadata, columns: ProjectionMask::all() }
    }

    fn numbers(batches: Batches) -> Vec<u32> {
        let batch = |batch: Batch| batch.unwrap().column(0).as_primitive::<UInt32Type>().values().to_vec();
        batches.flat_map(batch).collect()
    }

    #[test]
    fn rows_keep_file_order_with_any_number_of_threads() {
        for (rows, group) in [(0, 10), (1, 10), (10, 10), (95, 10), (300_000, 140_000)] {
            let reading = written(rows, group);
            for threads in 1..=4 {
                let groups = reading.metadata.metadata().num_row_groups();
                let started = (0..threads).map(|first| start(reading.clone(), first, threads).unwrap());
                let ahead = Batches::Ahead { threads: started.collect(), group: 0, groups };
                assert_eq!(numbers(ahead), (0..rows).collect::<Vec<_>>(), "{rows} rows, {threads} threads");
            }
            for threaded in [false, true] {
                assert_eq!(numbers(Batches::new(&reading, threaded).unwrap()), (0..rows).collect::<Vec<_>>());
            }
        }
    }

    /// No thread is left waiting.
    #[test]
    fn undecodable_group_is_an_error_behind_the_good_rows() {
        let Reading { place: ParquetSource::Memory(bytes), metadata, columns } = written(100, 10) else {
            unreachable!()
        };
        // The fourth of ten row groups is damaged.
        let (at, length) = metadata.metadata().row_group(3).column(0).byte_range();
        let mut damaged = bytes.to_vec();
        damaged[at as usize..(at + length) as usize].fill(0xff);
        let reading = Reading { place: ParquetSource::Memory(damaged.into()), metadata, columns };
        let threads = (0..3).map(|first| start(reading.clone(), first, 3).unwrap()).collect();
        let mut ahead = Batches::Ahead { threads, group: 0, groups: 10 };
        let rows: usize = ahead.by_ref().map_while(Result::ok).map(|batch| batch.num_rows()).sum();
        assert_eq!(rows, 30);
        // Dropping it in the middle is fine: its threads end by themselves.
        drop(ahead);
    }
}
