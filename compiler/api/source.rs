//! Model files, and their conversion to the tensor language.

use crate::compile::Settings;
use crate::diagnostic::Diagnostics;
use crate::frontend::survey::LabelFile;
use crate::frontend::{self, Bound, Format, LoadOptions, given::Sample};
use crate::ir::Module;
use crate::ir::data::Bytes;
use crate::pipeline;
use std::sync::Arc;

/// The file of a model.
#[derive(Clone)]
pub struct Source {
    /// Path as the user wrote it.
    pub path: String,
    /// Bytes of the file.
    pub bytes: Arc<dyn Bytes>,
}

/// Facts about the calls of a model.
#[derive(Clone, Default)]
pub struct Known {
    /// A call of each method, with the arrays of its inputs.
    pub samples: Vec<Sample>,
    /// Extents that differ between calls; ignored if the settings have shapes or bounds.
    pub bounds: Vec<Bound>,
}

impl Source {
    /// Reads the file into the tensor language, with what is known of its calls.
    ///
    /// # Errors
    /// Diagnostics if the file is invalid or has unsupported contents.
    pub fn read(&self, settings: &Settings, known: Known) -> Result<Loaded, Diagnostics> {
        let mut options = LoadOptions { samples: known.samples, ..settings.load_options()? };
        if options.bounds.is_empty() && options.shapes.is_empty() {
            options.bounds = known.bounds;
        }
        let module = pipeline::read(self.bytes.clone(), &self.path, &options)?;
        Ok(Loaded { path: self.path.clone(), bytes: self.bytes.clone(), options, module })
    }

    /// Returns the lists of labels in the file.
    pub fn labels(&self) -> Vec<LabelFile> {
        frontend::labels((*self.bytes).as_ref())
    }

    /// Tells if calls can determine shapes and values in this format.
    pub fn may_leave_open(&self) -> bool {
        Format::detect((*self.bytes).as_ref()) == Some(Format::Tflite)
    }
}

/// A model in the tensor language.
pub struct Loaded {
    /// Path as the user wrote it.
    pub path: String,
    /// The file's bytes.
    pub bytes: Arc<dyn Bytes>,
    /// Options of the front end.
    pub options: LoadOptions,
    /// The module.
    pub module: Module,
}
