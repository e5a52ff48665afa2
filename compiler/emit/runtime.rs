//! The GPU runtime in an object of its own, for several models compiled with `--runtime link`.

use super::gpu;
use super::header::{BEGINNING, shared_types};
use super::image::Image;
use super::options::ObjectOptions;
use super::writer::Writer;
use crate::codegen::alone::runtime;
use crate::codegen::vulkan::{LoaderChoice, RUNTIME_NAME};
use crate::diagnostic::Diagnostics;
use crate::machine::CpuMachine;
use crate::program::Program;
use crate::target::Target;

/// Makes the object of the runtime for a target. Objects of models import its functions by names with the version of their tables.
///
/// # Errors
/// Diagnostics if there is no code for the target, or if the object cannot be written.
pub fn runtime_object(target: &'static Target, machine: &'static CpuMachine, options: &ObjectOptions) -> Result<Image, Diagnostics> {
    let compiled = runtime(machine, target, options.gpu.loader)?;
    let (object, _) = Writer::new(&compiled, options).write(&Program::default(), None, None)?;
    Ok(object)
}

/// Returns the header of the types that all models share, for custom operators and an application's Vulkan device.
pub fn runtime_header() -> String {
    format!(
        "{BEGINNING}{}: types of all models, in C99. Do not edit.\n\n   What modelc writes is yours, without conditions. */\n\
         #ifndef MODELC_H\n#define MODELC_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n{}\n{}\n#endif /* MODELC_H */\n",
        env!("CARGO_PKG_VERSION"),
        shared_types(),
        gpu::shared()
    )
}

/// Returns the options of a runtime object.
pub fn runtime_options(target: &'static Target, machine: &'static CpuMachine, loader: LoaderChoice) -> ObjectOptions {
    let mut options = ObjectOptions::new(RUNTIME_NAME, target, machine);
    options.gpu.loader = loader;
    options
}
