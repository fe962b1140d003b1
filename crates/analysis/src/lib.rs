//! Characterizes a trace for an SSD: workload metrics without device or clock.
//!
//! Every metric has its definition and source in its doc comment. An undefined ratio (of no reads, for example) is
//! missing, never NaN.

mod basics;
mod before;
mod characterize;
mod counts;
mod drift;
mod duplication;
mod error;
mod histogram;
#[allow(missing_docs)] // names say it
mod input;
mod logical_locality;
mod memory;
mod metric;
mod options;
mod page_ops;
mod pages;
mod periods;
mod popularity;
mod read_amplification;
mod read_cost;
#[allow(missing_docs)] // names say it
mod rows;
#[allow(missing_docs)] // names say it
mod sample;
mod space;
#[allow(missing_docs)] // names say it
mod temperature;
mod value_counts;
#[allow(missing_docs)] // names say it
mod value_locality;
#[allow(missing_docs)] // names say it
mod wa;

use arrow_array::RecordBatch;
use flashtwin_trace::Trace;

pub use basics::{
    Basics, Rate, RequestBytes, SizesOfKinds, TraceInfo, Trains, basics, trace_info, trace_info_aside,
    trace_info_of,
};
pub use characterize::{
    Characterization, OpenVolume, VolumeResults, characterization_schema, characterize, characterize_trace,
    characterize_volumes,
};
pub use drift::{Drift, drift};
pub use duplication::{Duplication, duplication};
pub use input::{About, Asked, InMemory, Input, Streamed};
pub use logical_locality::options::{Direction, LogicalLocalityOptions};
pub use logical_locality::{LocalityOfKind, LogicalLocality, logical_locality};
pub use options::{Options, Window};
pub use popularity::{Concentration, Popularity, popularity};
pub use read_amplification::{ReadAmplification, read_amplification};
pub use read_cost::{ReadCost, read_cost};
pub use rows::{Cell, Column, Nullable, Row, schema_of, table};
pub use sample::{GROUPS, Sample};
pub use space::{Space, space};
pub use temperature::{
    Frequencies, OrderError, PageWrites, Partitioning, Ratio, Temperature, WriteOrder, page_writes,
    temperature,
};
pub use value_locality::{MissRatioCurve, Reuse, ReuseOfKind, StackDistances, ValueLocality, value_locality};
pub use wa::{
    Stop, WaBlockRole, WaCell, WaCounts, WaDevice, WaError, WaOptions, WaSimulator, WriteAmplification,
    physical_blocks, simulate, write_amplification,
};

use periods::WorkloadPeriodRow;
use popularity::PopularityRow;

/// [`trace_info`] as JSON.
pub fn info(trace: &Trace) -> serde_json::Value {
    serde_json::to_value(trace_info(trace)).unwrap_or_default()
}

/// The JSON schema of [`info`], under `info`, and of a row of each of [`tables`] by name.
pub fn trace_schema() -> serde_json::Value {
    let tables = serde_json::Map::from_iter([WorkloadPeriodRow::schema(), PopularityRow::schema()]);
    serde_json::json!({ "info": schema_of::<TraceInfo>(), "tables": tables })
}

/// All tables about a trace by name, with periods of `period_s` seconds (one period when that is not positive).
pub fn tables(trace: &Trace, period_s: f64) -> Vec<(String, RecordBatch)> {
    let (basics, popularity) = basics(trace, (period_s * 1e9) as i64);
    let mut tables = vec![(WorkloadPeriodRow::TABLE.to_owned(), basics.periods)];
    tables.extend(popularity.map(|found| (PopularityRow::TABLE.to_owned(), found.table)));
    tables
}
