//! Columns of the canonical Parquet in the schema of a file.

use parquet::basic::{ConvertedType, LogicalType, Type as PhysicalType};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::metadata::malformed;
use super::{CONTENT, CONTENT_DIGEST, DIGEST, FLAGS, STREAM};
use crate::error::TraceError;

/// The columns that a file must have, and their types as we write them.
pub(super) const REQUIRED: [(&str, &str); 5] = [
    ("time_ns", "Int64"),
    ("volume", "UInt32"),
    ("op", "UInt8"),
    ("offset_bytes", "UInt64"),
    ("length_bytes", "UInt32"),
];

#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) required: [usize; 5],
    pub(super) content: Option<usize>,
    pub(super) digests: Option<usize>,
    pub(super) flags: Option<usize>,
    pub(super) stream: Option<usize>,
    pub(super) named: bool,
}

impl Places {
    /// Finds the columns and checks their types; the digests of contents are read only if wanted.
    pub(super) fn of(
        file: &str,
        schema: &SchemaDescriptor,
        with_digests: bool,
    ) -> Result<Places, TraceError> {
        let place =
            |name: &str| (0..schema.num_columns()).find(|&at| schema.get_column_root(at).name() == name);
        let wrong = |name: &str, at: usize, expected: &str| {
            malformed(file, format!("column {name} is {}, {expected} was expected", type_name(schema, at)))
        };
        let mut required = [0; 5];
        for (number, (name, expected)) in REQUIRED.into_iter().enumerate() {
            let Some(at) = place(name) else {
                let present: Vec<&str> =
                    schema.root_schema().get_fields().iter().map(|field| field.name()).collect();
                let present = present.join(", ");
                let what = format!("column {name} ({expected}) is missing; the file has {present}");
                return Err(malformed(file, what));
            };
            if !is_flat(schema, at) || integer(&schema.column(at)).is_none() {
                return Err(wrong(name, at, expected));
            }
            required[number] = at;
        }
        let content = place(CONTENT);
        let named = content.is_none() && place(CONTENT_DIGEST).is_some();
        // A column of nulls alone has no type.
        let content =
            content.filter(|&at| schema.column(at).logical_type_ref() != Some(&LogicalType::Unknown));
        if let Some(at) = content.filter(|&at| !is_list(schema, at) || integer(&schema.column(at)).is_none())
        {
            return Err(wrong(CONTENT, at, "List(UInt32)"));
        }
        let digest_column = if named { CONTENT_DIGEST } else { DIGEST };
        let digests = place(digest_column).filter(|_| named || with_digests);
        if let Some(at) = digests.filter(|&at| !is_list(schema, at) || !is_binary(&schema.column(at))) {
            return Err(wrong(digest_column, at, "List(FixedSizeBinary(16))"));
        }
        let of_numbers = |name, expected| match place(name) {
            Some(at) if !is_flat(schema, at) || integer(&schema.column(at)).is_none() => {
                Err(wrong(name, at, expected))
            }
            at => Ok(at),
        };
        let (flags, stream) = (of_numbers(FLAGS, "UInt8")?, of_numbers(STREAM, "UInt16")?);
        Ok(Places { required, content, digests, flags, stream, named })
    }
}

fn is_flat(schema: &SchemaDescriptor, at: usize) -> bool {
    schema.get_column_root(at).is_primitive() && schema.column(at).max_rep_level() == 0
}

/// Whether a column is a list of plain values: as the format has it now, in one of its older forms, or just repeated.
fn is_list(schema: &SchemaDescriptor, at: usize) -> bool {
    let (root, column) = (schema.get_column_root(at), schema.column(at));
    let info = root.get_basic_info();
    let is_annotated =
        info.logical_type_ref() == Some(&LogicalType::List) || info.converted_type() == ConvertedType::LIST;
    column.max_rep_level() == 1 && column.path().parts().len() <= 3 && (root.is_primitive() || is_annotated)
}

/// Whether a column's whole numbers are signed, and their bits; none for other columns.
pub(super) fn integer(column: &ColumnDescriptor) -> Option<(bool, i8)> {
    let bits = match column.physical_type() {
        PhysicalType::INT32 => 32,
        PhysicalType::INT64 => 64,
        _ => return None,
    };
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Integer(kind)), _) => Some((kind.is_signed, kind.bit_width)),
        (Some(_), _) => None,
        (None, ConvertedType::NONE) => Some((true, bits)),
        (None, ConvertedType::INT_8) => Some((true, 8)),
        (None, ConvertedType::INT_16) => Some((true, 16)),
        (None, ConvertedType::INT_32 | ConvertedType::INT_64) => Some((true, bits)),
        (None, ConvertedType::UINT_8) => Some((false, 8)),
        (None, ConvertedType::UINT_16) => Some((false, 16)),
        (None, ConvertedType::UINT_32 | ConvertedType::UINT_64) => Some((false, bits)),
        _ => None,
    }
}

fn is_binary(column: &ColumnDescriptor) -> bool {
    let is_bytes =
        matches!(column.physical_type(), PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY);
    is_bytes && column.logical_type_ref().is_none() && column.converted_type() == ConvertedType::NONE
}

/// A column's type in messages, by Arrow's names because most tools show them.
fn type_name(schema: &SchemaDescriptor, at: usize) -> String {
    let column = schema.column(at);
    let name = match (integer(&column), column.physical_type(), column.logical_type_ref()) {
        (Some((is_signed, bits)), ..) => format!("{}Int{bits}", if is_signed { "" } else { "U" }),
        (None, _, Some(LogicalType::String)) => "Utf8".to_owned(),
        (None, _, Some(LogicalType::Timestamp(_))) => "Timestamp".to_owned(),
        (None, PhysicalType::BOOLEAN, _) => "Boolean".to_owned(),
        (None, PhysicalType::FLOAT, _) => "Float32".to_owned(),
        (None, PhysicalType::DOUBLE, _) => "Float64".to_owned(),
        (None, PhysicalType::BYTE_ARRAY, None) => "Binary".to_owned(),
        (None, physical, _) => format!("{physical} ({})", column.converted_type()),
    };
    match (is_list(schema, at), is_flat(schema, at)) {
        (true, _) => format!("List({name})"),
        (_, true) => name,
        _ => "a structure".to_owned(),
    }
}
