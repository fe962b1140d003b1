//! The tables of a run. The rows of this folder are their one schema: a row's fields are the columns, and their
//! comments the text of `docs/results.md`.

mod array;
mod blocks;
mod periods;
mod queues;
mod response_course;
mod responses;
mod volumes;

use arrow_array::RecordBatch;
use flashtwin_analysis::{Nullable, Row, table};
use serde_json::Value;

use self::array::{BlockRow, ChannelRow, ChipRow, CopiesRow, PlaneRow, VictimRow};
use self::blocks::{BlockHistogramRow, RequestBlockRow};
use self::periods::PeriodColumns;
use self::queues::{HashQueueRow, QueueRow};
use self::response_course::{CourseRow, SlowRow};
use self::responses::{LatencyRow, LedgerRow};
use self::volumes::VolumeRow;
use crate::finished::FinishedRun;
use crate::requests::RequestRow;

pub(super) fn tables(run: &mut FinishedRun<'_>) -> Vec<(String, RecordBatch)> {
    let blocks = run.engine.accounts().observer.blocks();
    let mut tables = vec![
        of(&PeriodColumns::all(&run.periods)),
        of(&ChipRow::all(run)),
        of(&ChannelRow::all(run)),
        of(&PlaneRow::all(run)),
        of(&QueueRow::all(run)),
        of(&HashQueueRow::all(run)),
        of(&LedgerRow::all(run)),
        of(&LatencyRow::all(run)),
        of(&CourseRow::all(run)),
        of(&SlowRow::all(run)),
        of(&RequestBlockRow::all(&blocks)),
        of(&BlockHistogramRow::all(&blocks)),
        of(&VictimRow::all(run)),
        of(&CopiesRow::all(run)),
        of(&BlockRow::all(run)),
    ];
    // Of one volume, the table would repeat the summary.
    let volumes = VolumeRow::all(run);
    if !volumes.is_empty() {
        tables.push(of(&volumes));
    }
    tables
}

pub(super) fn schemas() -> Vec<(String, Value)> {
    vec![
        PeriodColumns::schema(),
        ChipRow::schema(),
        ChannelRow::schema(),
        PlaneRow::schema(),
        QueueRow::schema(),
        HashQueueRow::schema(),
        LedgerRow::schema(),
        LatencyRow::schema(),
        CourseRow::schema(),
        SlowRow::schema(),
        RequestBlockRow::schema(),
        BlockHistogramRow::schema(),
        VictimRow::schema(),
        CopiesRow::schema(),
        BlockRow::schema(),
        VolumeRow::schema(),
        RequestRow::schema(),
    ]
}

/// Columns may miss values for any data, so that the tables of all runs have one schema.
fn of<R: Row>(rows: &[R]) -> (String, RecordBatch) {
    table(rows, Nullable::All)
}
