//! Tables from named columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};

/// A table of columns of equal length, none of which has missing values.
pub(crate) fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> =
        columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, column)| column).collect();
    // Columns of different lengths would be a bug of this crate, which its tests would meet.
    RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap_or_else(|_| RecordBatch::new_empty(schema))
}
