//! What a trace is like for an SSD: workload metrics without device or clock.
//!
//! Every metric has its definition and source in its doc comment. A ratio that is undefined (of no
//! reads, say) is missing, never NaN.

mod basics;
mod popularity;
mod table;

use arrow_array::RecordBatch;
use flashtwin_trace::Trace;

pub use basics::{Basics, Rate, RequestBytes, SizesOfKinds, TraceInfo, basics};
pub use popularity::{Concentration, Popularity, popularity};

/// [`TraceInfo`] as JSON.
pub fn info(trace: &Trace) -> serde_json::Value {
    // One period: its row is cheap, and not asked for here.
    let info = basics(trace, i64::MAX).info;
    // A plain structure of numbers and strings always has a JSON form.
    serde_json::to_value(info).unwrap_or_default()
}

/// All tables about a trace by name, with periods of `period_s` seconds (one period when that is not
/// a positive number).
pub fn tables(trace: &Trace, period_s: f64) -> Vec<(String, RecordBatch)> {
    let period_ns = (period_s * 1e9) as i64;
    let mut tables = vec![("periods".to_owned(), basics(trace, period_ns).periods)];
    if let Some(popularity) = popularity(trace) {
        tables.push(("popularity".to_owned(), popularity.table));
    }
    tables
}
