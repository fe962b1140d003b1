//! Tables from named columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

/// A table of columns of equal length. Floats and strings may have missing values, integers have none.
pub(crate) fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let may_miss = |column: &ArrayRef| matches!(column.data_type(), DataType::Float64 | DataType::Utf8);
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, column)| Field::new(*name, column.data_type().clone(), may_miss(column)))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, column)| column).collect();
    // Columns of different lengths would be a bug of this crate, which its tests would meet.
    RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap_or_else(|_| RecordBatch::new_empty(schema))
}
