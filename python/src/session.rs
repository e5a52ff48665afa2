//! Sessions in Python.

use crate::arrays::{Input, Output};
use crate::error::{exception, guarded};
use crate::ports::{Signature, signatures};
use modelc::cli::embedded;
use modelc::{Array, ArrayView, ElementType, Error, Model, Settings};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A model that runs in this process. Calls of several threads follow one another.
#[pyclass(frozen, module = "modelc")]
pub struct Session {
    session: Mutex<modelc::Session>,
    model: Model,
    settings: Settings,
    /// `true` if calls take and return float32 for quantized inputs and outputs.
    dequantizes: bool,
}

/// An output: its memory, its type and its shape.
type Result = (Py<PyByteArray>, String, Vec<u64>);

#[pymethods]
impl Session {
    /// Compiles a model for this computer. `options` are those of the command line.
    #[new]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        bytes: Option<Vec<u8>>,
        options: Vec<OsString>,
        profile: bool,
        dequantizes: bool,
    ) -> PyResult<Self> {
        guarded(py, || {
            let model = match (&path, bytes) {
                (Some(path), _) => Model::open(path)?,
                (None, bytes) => Model::from_bytes(bytes.unwrap_or_default()),
            };
            let settings = embedded::settings(&model, &options)?;
            let settings = if profile { settings.profile() } else { settings };
            Ok(Self { session: Mutex::new(model.load(&settings)?), model, settings, dequantizes })
        })
    }

    /// The methods with their ports.
    fn signatures(&self, py: Python<'_>) -> PyResult<Vec<Signature>> {
        self.with(py, |session| Ok(signatures(session.methods())))
    }

    /// Calls a method on buffers.
    fn call(&self, py: Python<'_>, method: usize, inputs: Vec<(Bound<'_, PyAny>, Vec<u64>)>) -> PyResult<Vec<Result>> {
        let inputs = inputs.iter().map(Input::new).collect::<PyResult<Vec<_>>>()?;
        match self.dequantizes {
            true => self.call_real(py, method, &inputs),
            false => self.call_plain(py, method, &inputs),
        }
    }

    /// The variables.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.with(py, |session| Ok(session.state()))?.as_bytes()))
    }

    /// Puts variables back.
    #[setter]
    fn set_state(&self, py: Python<'_>, state: Vec<u8>) -> PyResult<()> {
        self.with(py, |session| session.set_state(&modelc::State::from_bytes(state)))
    }

    /// Gives the variables their initial contents again.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, modelc::Session::reset)
    }

    /// The times of kernels, a dictionary each.
    fn profile<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let rows = self.with(py, |session| Ok(session.profile()))?;
        let row = |row: modelc::KernelTime| -> PyResult<Bound<'py, PyDict>> {
            let dict = PyDict::new(py);
            let operators: Vec<String> = row.operators.iter().map(|(index, name)| format!("{index} {name}")).collect();
            dict.set_item("method", row.method)?;
            dict.set_item("kernel", row.kernel)?;
            dict.set_item("operators", operators.join(", "))?;
            dict.set_item("schedule", row.schedule)?;
            dict.set_item("multiply_accumulates", row.multiply_accumulates)?;
            dict.set_item("bytes", row.bytes)?;
            dict.set_item("runs", row.runs)?;
            dict.set_item("total_ns", row.total_ns)?;
            dict.set_item("median_ns", row.median_ns)?;
            Ok(dict)
        };
        rows.into_iter().map(row).collect()
    }

    /// The report of the compiled model as a page.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        guarded(py, || Ok(self.model.compile(&self.settings)?.page()))
    }
}

impl Session {
    /// The session alone. The interpreter's lock is not held while another thread's call is waited for.
    fn lock(&self) -> MutexGuard<'_, modelc::Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut modelc::Session) -> std::result::Result<T, Error> + Send,
    ) -> PyResult<T> {
        guarded(py, || work(&mut self.lock()))
    }

    /// Calls on the memory of the caller. Only the memory of outputs is made with the interpreter's lock.
    fn call_plain(&self, py: Python<'_>, method: usize, inputs: &[Input]) -> PyResult<Vec<Result>> {
        let done = py.detach(|| {
            let work = || -> PyResult<Vec<Result>> {
                let mut session = self.lock();
                let views: Vec<ArrayView<'_>> = inputs.iter().map(Input::view).collect();
                let wanted = session.output_bytes(method, &views).map_err(|error| Python::attach(|py| exception(py, &error)))?;
                let outputs = |py: Python<'_>| wanted.iter().map(|&(_, bytes)| Output::new(py, bytes)).collect::<PyResult<Vec<_>>>();
                let mut outputs = Python::attach(outputs)?;
                let mut memory: Vec<&mut [u8]> = outputs.iter_mut().map(Output::memory).collect();
                session.call_into(method, &views, &mut memory).map_err(|error| Python::attach(|py| exception(py, &error)))?;
                let result = |(number, (output, (element, _))): (usize, (Output, (ElementType, usize)))| {
                    (output.into_array(), element.numpy_name(), session.output_shape(number).to_vec())
                };
                Ok(outputs.into_iter().zip(wanted).enumerate().map(result).collect())
            };
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        });
        done.unwrap_or_else(|_| Err(crate::error::stopped(py)))
    }

    /// Calls on real numbers: float32 arrays become the integers of quantized inputs, and outputs become float32.
    fn call_real(&self, py: Python<'_>, method: usize, inputs: &[Input]) -> PyResult<Vec<Result>> {
        let arrays = self.with(py, |session| {
            let ports = session.methods().get(method).map_or(vec![], |method| method.inputs.clone());
            let given = inputs.iter().map(Input::view).enumerate().map(|(number, view)| {
                let array = Array::new(view.element, view.shape, view.bytes.to_vec())?;
                let is_real = |port: &&modelc::Port| {
                    port.quantization.is_some() && view.element == ElementType::F32 && port.element != ElementType::F32
                };
                ports.get(number).filter(is_real).map_or(Ok(array.clone()), |port| port.quantize(&array))
            });
            let given = given.collect::<std::result::Result<Vec<_>, Error>>()?;
            let outputs = session.call_method(method, &given)?;
            let ports = session.methods().get(method).map_or(vec![], |method| method.outputs.clone());
            let real = |(array, port): (Array, &modelc::Port)| port.dequantize(&array).unwrap_or(array);
            Ok(outputs.into_iter().zip(&ports).map(real).collect::<Vec<_>>())
        })?;
        let result = |array: Array| {
            let (element, shape) = (array.element().numpy_name(), array.shape().to_vec());
            (PyByteArray::new(py, array.bytes()).unbind(), element, shape)
        };
        Ok(arrays.into_iter().map(result).collect())
    }
}
