//! A compiled model as a shared library.

use super::image::Image;
use super::object::{ObjectFiles, topology};
use super::options::{ModelInfo, ObjectOptions};
use super::shared::{Library, description};
use crate::diagnostic::Diagnostic;
use crate::ir::Module;
use crate::program::Program;

/// Writes the shared library of a program, which programs load by a name. `module` is the source of the program.
///
/// # Errors
/// A usage diagnostic if shared libraries of the target cannot be written.
pub fn shared_library(
    (program, module): (&Program, &Module),
    model: &ModelInfo,
    options: &ObjectOptions,
    files: &ObjectFiles,
    soname: &str,
) -> Result<Image, Diagnostic> {
    let (compiled, record) = (&files.compiled, &files.record);
    let description = description(program, module, model, compiled, record);
    let topology = topology(program, options, record, compiled);
    Library { compiled, program, options, record, description, topology, soname }.write()
}
