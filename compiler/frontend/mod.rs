//! Front ends: model files to the tensor language. A front end knows one file format and nothing of code.

pub mod bundled;
mod delegates;
pub mod executorch;
pub mod foreign;
pub mod given;
mod marks;
mod options;
mod port_names;
pub mod survey;
pub mod tflite;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ir::Module;
use crate::ir::data::Bytes;
pub use marks::GpuOperators;
pub use options::{Bound, CustomSymbol, LoadOptions, PortName, Reference};
use std::sync::Arc;

/// The file formats, told apart by the identifier at byte 4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `.tflite`
    Tflite,
    /// `.pte`
    Executorch,
    /// `.bpte`
    BundledExecutorch,
}

impl Format {
    /// The format of a file.
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        match bytes.get(4..8)? {
            b"TFL3" => Some(Self::Tflite),
            b"BP08" => Some(Self::BundledExecutorch),
            _ if executorch::Header::recognizes(bytes) => Some(Self::Executorch),
            _ => None,
        }
    }

    /// The format's name, as in `modelc ops`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tflite => "tflite",
            Self::Executorch => "executorch",
            Self::BundledExecutorch => "bundled executorch",
        }
    }
}

/// Loads a model of any format. `file_name` is the path as the user spelled it, for messages.
///
/// # Errors
/// Everything found wrong with the file, and every operator in it that is not supported.
pub fn load(bytes: Arc<dyn Bytes>, file_name: &str, options: &LoadOptions) -> Result<Module, Diagnostics> {
    let loaded = match Format::detect((*bytes).as_ref()) {
        Some(Format::Tflite) => tflite::load(&bytes, options),
        Some(Format::Executorch) => executorch::load(&bytes, options),
        Some(Format::BundledExecutorch) => bundled::load(&bytes).and_then(|(program, _)| {
            let program: Arc<dyn Bytes> = Arc::new(program);
            executorch::load(&program, options)
        }),
        None => Err(foreign::unknown_format((*bytes).as_ref(), file_name).into()),
    };
    let named =
        loaded.and_then(|mut module| port_names::apply(&mut module, &options.port_names).map(|()| module).map_err(Diagnostics::from));
    let marked = named.and_then(|mut module| match &options.gpu_operators {
        Some(operators) => operators.mark(&mut module).map(|()| module).map_err(Diagnostics::from),
        None => Ok(module),
    });
    marked.map_err(|diagnostics| Diagnostics(diagnostics.0.into_iter().map(|d| d.in_file(file_name)).collect()).grouped())
}

/// Looks through a model of any format. `customs` are the operators that the application computes.
///
/// # Errors
/// When the file is no sound model.
pub fn survey(bytes: &Arc<dyn Bytes>, file_name: &str, customs: &[CustomSymbol]) -> Result<survey::Survey, Diagnostics> {
    let slice = (**bytes).as_ref();
    let found = match Format::detect(slice) {
        Some(Format::Tflite) => tflite::survey(bytes, customs),
        Some(Format::Executorch) => executorch::survey(bytes.clone()),
        Some(Format::BundledExecutorch) => bundled::load(bytes).and_then(|(program, _)| executorch::survey(Arc::new(program))),
        None => Err(foreign::unknown_format(slice, file_name).into()),
    };
    let in_file = |diagnostic: Diagnostic| diagnostic.in_file(file_name);
    found.map_err(|diagnostics| Diagnostics(diagnostics.0.into_iter().map(in_file).collect()))
}

/// The lists of labels that a file has for inputs and outputs; nothing for formats without them.
pub fn labels(bytes: &[u8]) -> Vec<survey::LabelFile> {
    if Format::detect(bytes) == Some(Format::Tflite) { tflite::labels(bytes) } else { vec![] }
}

/// The file's description of its model; empty for formats without one.
pub fn about(bytes: &[u8]) -> survey::About {
    if Format::detect(bytes) == Some(Format::Tflite) { tflite::about(bytes) } else { survey::About::default() }
}

/// The operators that each front end supports, by the name of the format. The ones of `vulkan` are in delegates of ExecuTorch programs.
pub fn operators() -> [(&'static str, Vec<String>); 3] {
    let executorch = executorch::operators().map(String::from).collect();
    let vulkan = executorch::operators_of_vulkan().map(String::from).collect();
    [("tflite", tflite::operators().map(String::from).collect()), ("executorch", executorch), ("vulkan", vulkan)]
}
