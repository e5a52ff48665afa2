//! A compiled model as a shared library.

use super::image::Image;
use super::object::{ModelInfo, ObjectFiles, ObjectOptions, topology};
use super::shared::{Library, description};
use crate::diagnostic::Diagnostic;
use crate::ir::Module;
use crate::program::Program;

/// The shared library of a program, which programs ask for by a name. `module` is what the program was lowered from.
///
/// # Errors
/// A usage diagnostic for a target without shared libraries that are written.
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
