//! The module `modelc._modelc`, on which the Python package is built: models, sessions, compiling, the command line.

mod arrays;
mod compiled;
mod error;
mod ports;
mod session;

use error::guarded;
use modelc::cli::embedded;
use pyo3::prelude::*;
use std::ffi::OsString;

/// Compiles a model as the command line does with these arguments. Nothing is printed.
#[pyfunction]
fn compile(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<compiled::Compiled> {
    let compiled = guarded(py, || embedded::compile(&arguments))?;
    Ok(compiled::Compiled::new(compiled))
}

/// Runs the command line and returns its exit status.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| embedded::run(&arguments))
}

/// Returns the options of compiling, or of loading. Each has its name, two flags (it takes a value, it may be repeated), its values, and its
/// help.
#[pyfunction]
fn options(command: &str) -> Vec<(String, bool, bool, Vec<String>, String)> {
    let list = if command == "load" { embedded::load_options() } else { embedded::compile_options() };
    let row = |option: embedded::Opt| (option.name, option.takes_value, option.repeats, option.values, option.help);
    list.into_iter().map(row).collect()
}

/// Returns the CPU features to pass to libraries that cannot detect them; 0 where they can.
#[pyfunction]
fn _cpu_features() -> u64 {
    if cfg!(target_arch = "x86_64") { 0 } else { modelc::target::host_features() }
}

/// Returns the meaning of a status of ABI 1.
#[pyfunction]
fn _explain(status: i32) -> &'static str {
    modelc::interface::STATUSES.iter().find(|(_, known, _)| *known == status).map_or("unknown status", |(.., meaning)| *meaning)
}

/// The native part of the package.
#[pymodule]
fn _modelc(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add_class::<session::Session>()?;
    module.add_class::<ports::Port>()?;
    module.add_class::<compiled::Compiled>()?;
    module.add_function(wrap_pyfunction!(compile, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(options, module)?)?;
    module.add_function(wrap_pyfunction!(_cpu_features, module)?)?;
    module.add_function(wrap_pyfunction!(_explain, module)?)?;
    Ok(())
}
