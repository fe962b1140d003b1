//! The trait of a metric, and the list of those that follow a trace in parallel.

use arrow_array::RecordBatch;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::before::Footprint;
use crate::input::{About, Accumulator};
use crate::options::Options;
use crate::periods::Clock;
use crate::rows::Row;
use crate::sample::Sample;
use crate::value_counts::ValueCounts;

pub(crate) type Tables = Vec<(String, RecordBatch)>;

pub(crate) fn named<R: Row>(table: &RecordBatch) -> (String, RecordBatch) {
    (R::TABLE.to_owned(), table.clone())
}

/// A table of a metric: its name, the schema of a row, and its rows from the metric's figures.
pub(crate) struct Table<F> {
    pub(crate) name: &'static str,
    pub(crate) schema: fn() -> (String, Value),
    pub(crate) rows: fn(&F) -> Option<RecordBatch>,
}

impl<F> Table<F> {
    pub(crate) const fn of<R: Row>(rows: fn(&F) -> Option<RecordBatch>) -> Self {
        Table { name: R::TABLE, schema: R::schema, rows }
    }
}

pub(crate) struct FirstPass<'a> {
    pub(crate) options: &'a Options,
    pub(crate) sample: Sample,
    pub(crate) about: &'a About,
    pub(crate) clock: Clock,
    pub(crate) values: &'a ValueCounts,
    /// Content of each page before the trace. It is large, so the metric that needs it takes it.
    pub(crate) footprint: Option<Footprint>,
}

/// A metric that follows the requests of a trace once, beside others.
pub(crate) trait Metric: Accumulator + Sized {
    /// An object of the summary. Comments of its fields are the manual's text.
    type Figures: Serialize + JsonSchema + std::fmt::Debug + 'static;
    const TABLES: &'static [Table<Self::Figures>] = &[];

    fn begin(first_pass: &mut FirstPass<'_>) -> Self;

    /// Before the end; only when sampled.
    fn standard_errors(&self) -> Vec<(&'static str, Option<f64>)> {
        Vec::new()
    }

    fn finish(self) -> Self::Figures;
}

/// Lists the metrics: a row is the name of an object of the summary, its text, and the [`Metric`] that fills it.
macro_rules! metrics {
    ($($(#[$about:meta])* $name:ident: $Metric:ty,)+) => {
        pub(crate) struct Following {
            $(pub(crate) $name: $Metric,)+
        }

        /// Results of all metrics.
        #[derive(Debug, serde::Serialize, schemars::JsonSchema)]
        pub(crate) struct MetricResults {
            $($(#[$about])* pub(crate) $name: <$Metric as $crate::metric::Metric>::Figures,)+
        }

        impl Following {
            pub(crate) fn begin(first_pass: &mut $crate::metric::FirstPass<'_>) -> Self {
                Following { $($name: $crate::metric::Metric::begin(first_pass),)+ }
            }

            /// The last of the list first: slow ones stand there, and the others fill up the threads.
            pub(crate) fn accumulators(&mut self) -> Vec<&mut dyn $crate::input::Accumulator> {
                let mut all: Vec<&mut dyn $crate::input::Accumulator> = vec![$(&mut self.$name),+];
                all.reverse();
                all
            }

            /// Standard errors by metric and figure.
            pub(crate) fn standard_errors(&self) -> Vec<(String, Option<f64>)> {
                let mut all = Vec::new();
                $(for (figure, error) in $crate::metric::Metric::standard_errors(&self.$name) {
                    all.push((format!(concat!(stringify!($name), ".{}"), figure), error));
                })+
                all
            }

            pub(crate) fn finish(self) -> MetricResults {
                MetricResults { $($name: $crate::metric::Metric::finish(self.$name),)+ }
            }
        }

        impl MetricResults {
            /// The tables behind the figures.
            pub(crate) fn tables(&self) -> $crate::metric::Tables {
                let mut all = Vec::new();
                $(for table in <$Metric as $crate::metric::Metric>::TABLES {
                    all.extend((table.rows)(&self.$name).map(|rows| (table.name.to_owned(), rows)));
                })+
                all
            }

            /// The name of each table with the schema of a row.
            pub(crate) fn schemas() -> Vec<(String, serde_json::Value)> {
                let mut all = Vec::new();
                $(all.extend(<$Metric as $crate::metric::Metric>::TABLES.iter().map(|table| (table.schema)()));)+
                all
            }
        }
    };
}

pub(crate) use metrics;
