//! Compiled models in Python.

use crate::error::guarded;
use crate::ports::{Signature, signatures};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Mutex;

/// The files of a compiled model.
#[pyclass(frozen, module = "modelc")]
pub struct Compiled(Mutex<modelc::Compiled>);

impl Compiled {
    /// Wraps a compiled model.
    pub fn new(compiled: modelc::Compiled) -> Self {
        Self(Mutex::new(compiled))
    }

    fn with<T: Send>(&self, py: Python<'_>, read: impl FnOnce(&modelc::Compiled) -> Result<T, modelc::Error> + Send) -> PyResult<T> {
        guarded(py, || read(&self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)))
    }
}

#[pymethods]
impl Compiled {
    /// The object file.
    #[getter]
    fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.with(py, |compiled| Ok(compiled.object()))?))
    }

    /// The C header.
    #[getter]
    fn header(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |compiled| Ok(compiled.header().to_owned()))
    }

    /// The file of weights, with `weights="external"`.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(self.with(py, |compiled| Ok(compiled.weights()))?.map(|weights| PyBytes::new(py, &weights)))
    }

    /// Bytes of the arena.
    #[getter]
    fn arena_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |compiled| Ok(compiled.arena_bytes()))
    }

    /// The report as JSON.
    fn _report(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |compiled| Ok(compiled.report()))
    }

    /// The report as a page.
    fn _page(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |compiled| Ok(compiled.page()))
    }

    fn _signatures(&self, py: Python<'_>) -> PyResult<Vec<Signature>> {
        self.with(py, |compiled| Ok(signatures(&compiled.methods())))
    }

    /// Writes the object or library, and its header beside it.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.with(py, |compiled| compiled.write(&path))
    }
}
