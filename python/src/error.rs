//! Conversion of errors to exceptions with the fields of a diagnostic.

use modelc::diagnostic::{Diagnostic, codes};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

create_exception!(modelc, Error, PyException, "What is wrong with a model, an option or an array.");

/// Returns the exception of an error.
pub fn exception(py: Python<'_>, error: &modelc::Error) -> PyErr {
    let exception = Error::new_err(error.to_string());
    let value = exception.value(py);
    let operator = error.operator().map(|(index, name)| format!("{index} {name}"));
    let fields = [
        ("code", Some(error.code())),
        ("kind", Some(error.kind().name().to_owned())),
        ("message", Some(error.message().to_owned())),
        ("file", error.file().map(str::to_owned)),
        ("method", error.method().map(str::to_owned)),
        ("operator", operator),
        ("tensor", error.tensor().map(str::to_owned)),
        ("expected", error.expected().map(str::to_owned)),
        ("found", error.found().map(str::to_owned)),
        ("help", error.help().map(str::to_owned)),
    ];
    for (name, text) in fields {
        if let Err(failed) = value.setattr(name, text) {
            return failed;
        }
    }
    // A single entry has no others.
    let others: Vec<_> = error.all().skip(1).map(|error| self::exception(py, &error).into_value(py)).collect();
    value.setattr("others", others).err().unwrap_or(exception)
}

/// Does work without the interpreter's lock. A mistake of modelc becomes an exception, too.
pub fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, modelc::Error> + Send) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(done) => done.map_err(|error| exception(py, &error)),
        Err(_) => Err(stopped(py)),
    }
}

/// Returns the exception for an unexpected stop of modelc.
pub fn stopped(py: Python<'_>) -> PyErr {
    let error = Diagnostic::new(codes::STOPPED, "modelc stopped unexpectedly");
    exception(py, &error.help("please report this, with the message above and the model if you can share it").into())
}
