//! Tables from typed rows: a row's fields are the columns, and their comments the manual's text.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{Field, Schema};
use serde_json::Value;

/// Declares the row of a table: a struct whose fields are the columns, in order. The comments of the struct and of its
/// fields are the schema's descriptions, from which the manual is made.
#[macro_export]
macro_rules! rows {
    (
        $(#[$about:meta])*
        $visible:vis struct $row:ident $(<$life:lifetime>)? in $table:literal {
            $($(#[$meaning:meta])* $column:ident: $cell:ty,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, ::schemars::JsonSchema)]
        $visible struct $row $(<$life>)? {
            $($(#[$meaning])* $visible $column: $cell,)+
        }

        impl $(<$life>)? $crate::Row for $row $(<$life>)? {
            const TABLE: &'static str = $table;

            fn columns(rows: &[Self]) -> Vec<$crate::Column> {
                vec![$($crate::Column::new(stringify!($column), rows.iter().map(|row| &row.$column))),+]
            }
        }
    };
}

/// A row of a table; [`rows!`] makes them.
pub trait Row: Sized + schemars::JsonSchema {
    /// The table's name.
    const TABLE: &'static str;

    /// The columns of these rows.
    fn columns(rows: &[Self]) -> Vec<Column>;

    /// The table's name with the JSON schema of a row.
    fn schema() -> (String, Value) {
        (Self::TABLE.to_owned(), schema_of::<Self>())
    }
}

/// The JSON schema of a part of the results; its descriptions are the manual's text.
pub fn schema_of<T: schemars::JsonSchema>() -> Value {
    let schema = schemars::generate::SchemaSettings::default().into_generator().into_root_schema_for::<T>();
    serde_json::to_value(schema).unwrap_or_default()
}

pub struct Column {
    name: &'static str,
    values: ArrayRef,
    may_miss: bool,
}

impl Column {
    pub fn new<'a, C: Cell + 'a>(name: &'static str, values: impl Iterator<Item = &'a C>) -> Column {
        Column { name, values: C::array(values), may_miss: C::MAY_MISS }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nullable {
    All,
    ByType,
}

pub fn table<R: Row>(rows: &[R], nullable: Nullable) -> (String, RecordBatch) {
    (R::TABLE.to_owned(), batch(rows, nullable))
}

/// Columns may miss values as their types say.
pub(crate) fn batch_of<R: Row>(rows: &[R]) -> RecordBatch {
    batch(rows, Nullable::ByType)
}

fn batch<R: Row>(rows: &[R], nullable: Nullable) -> RecordBatch {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = R::columns(rows)
        .into_iter()
        .map(|Column { name, values, may_miss }| {
            let nullable = may_miss || nullable == Nullable::All;
            (Field::new(name, values.data_type().clone(), nullable), values)
        })
        .unzip();
    let schema = Arc::new(Schema::new(fields));
    // Every row has a value for every column, so all columns are of one length.
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays);
    batch.unwrap_or_else(|_| RecordBatch::new_empty(schema))
}

pub trait Cell: Sized {
    const MAY_MISS: bool;

    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
}

/// A type, whether it may be missing, and the array of its values.
macro_rules! cells {
    ($($cell:ty, $may_miss:literal, |$values:ident| $array:expr;)+) => {
        $(impl Cell for $cell {
            const MAY_MISS: bool = $may_miss;

            fn array<'a>($values: impl Iterator<Item = &'a Self>) -> ArrayRef
            where
                Self: 'a,
            {
                Arc::new($array)
            }
        })+
    };
}

cells! {
    u32, false, |values| UInt32Array::from(values.copied().collect::<Vec<_>>());
    u64, false, |values| UInt64Array::from(values.copied().collect::<Vec<_>>());
    i64, false, |values| Int64Array::from(values.copied().collect::<Vec<_>>());
    f64, true, |values| Float64Array::from(values.copied().collect::<Vec<_>>());
    Option<u32>, true, |values| UInt32Array::from_iter(values.copied());
    Option<u64>, true, |values| UInt64Array::from_iter(values.copied());
    Option<f64>, true, |values| Float64Array::from_iter(values.copied());
    bool, false, |values| values.map(|value| Some(*value)).collect::<BooleanArray>();
    &str, true, |values| StringArray::from_iter_values(values);
    String, true, |values| StringArray::from_iter_values(values);
    Option<String>, true, |values| values.map(Option::as_deref).collect::<StringArray>();
}

#[cfg(test)]
mod tests {
    use super::*;

    rows! {
        /// One row a thing.
        struct Thing<'a> in "things" {
            /// Its name.
            name: &'a str,
            /// Its number; missing if not counted.
            count: Option<u64>,
        }
    }

    #[test]
    fn a_table_and_its_schema_have_the_row_s_fields_in_order() {
        let rows = [Thing { name: "a", count: None }, Thing { name: "b", count: Some(3) }];
        let (name, batch) = table(&rows, Nullable::ByType);
        let columns: Vec<_> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!((name.as_str(), batch.num_rows()), ("things", 2));
        assert_eq!(columns, ["name", "count"]);
        assert_eq!((batch.column(1).null_count(), batch.schema().field(1).is_nullable()), (1, true));

        let (name, schema) = Thing::schema();
        let described: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        assert_eq!((name, described), ("things".to_owned(), columns));
        assert_eq!(schema["description"], "One row a thing.");
        assert_eq!(schema["properties"]["count"]["format"], "uint64");
    }
}
