//! The runtime of GPUs in an object of its own, for programs of several models made with `--runtime link`.

use super::image::Image;
use super::object::ObjectOptions;
use super::writer::Writer;
use crate::codegen::alone::runtime;
use crate::codegen::vulkan::{LoaderChoice, RUNTIME_NAME};
use crate::diagnostic::Diagnostics;
use crate::machine::Machine;
use crate::program::Program;
use crate::target::Target;

/// The object of the runtime for a target. Objects of models ask for its functions by names that hold the version of their tables.
///
/// # Errors
/// When there is no code for the target, or the object cannot be written.
pub fn runtime_object(target: &'static Target, machine: &'static Machine, options: &ObjectOptions) -> Result<Image, Diagnostics> {
    let compiled = runtime(machine, target, options.gpu.loader)?;
    let (object, _) = Writer::new(&compiled, options).write(&Program::default(), None, None)?;
    Ok(object)
}

/// The options of such an object.
pub fn runtime_options(target: &'static Target, machine: &'static Machine, loader: LoaderChoice) -> ObjectOptions {
    let mut options = ObjectOptions::new(RUNTIME_NAME, target, machine);
    options.gpu.loader = loader;
    options
}
