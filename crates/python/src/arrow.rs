//! Tables cross the border once, without a copy, through the Arrow PyCapsule interface.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table of named columns. Hand it to anything that speaks the Arrow PyCapsule interface.
#[pyclass(frozen, module = "flashtwin._core")]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    pub(crate) fn new(batch: RecordBatch) -> Self {
        Self { batch }
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("Table({} rows: {})", self.batch.num_rows(), self.column_names().join(", "))
    }

    /// The table as an Arrow C stream (the schema asked for is not converted to, as the interface allows).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = [Ok(self.batch.clone())];
        capsule(py, Box::new(RecordBatchIterator::new(batches, self.batch.schema())))
    }
}

/// Wraps a reader of record batches as a capsule, whose stream releases itself when it is dropped unread.
pub(crate) fn capsule<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}
