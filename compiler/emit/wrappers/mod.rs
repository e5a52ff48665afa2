//! Wrappers: safe interfaces of other languages for the C interface of a compiled model.
//!
//! Each language has a template with parts in `{{braces}}`, which are filled in here, and a text for each method. Names, counts and checks are
//! the same in all languages, so they are computed once: [`wrapped`] and [`port`].

mod cpp;
mod gpu;
mod port;
mod rust;
mod wrapped;

pub use rust::BEGINNING as RUST_BEGINNING;

use super::object::ObjectFiles;
use super::options::ModelInfo;
use crate::program::Program;
use wrapped::Wrapped;

/// Returns the interface as a Rust module without `std`.
pub fn rust_module(program: &Program, model: &ModelInfo, files: &ObjectFiles) -> String {
    rust::module(&Wrapped::new(program, model, files))
}

/// Returns the interface as a C++17 header, which includes the C header by a name.
pub fn cpp_header(program: &Program, model: &ModelInfo, files: &ObjectFiles, header: &str) -> String {
    cpp::header(&Wrapped::new(program, model, files)).replace(cpp::HEADER, &super::c_text::string(header))
}
