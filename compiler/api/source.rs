//! The bytes of a model, and reading them into the tensor language.

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
    /// The path as the user spelled it.
    pub path: String,
    /// Its bytes.
    pub bytes: Arc<dyn Bytes>,
}

/// What is known of the calls of a model.
#[derive(Clone, Default)]
pub struct Known {
    /// A call of each method, with the arrays of its inputs.
    pub samples: Vec<Sample>,
    /// Extents that differ from call to call; not used where the settings have shapes or bounds.
    pub bounds: Vec<Bound>,
}

impl Source {
    /// Reads it into the tensor language for calls of which something is known.
    ///
    /// # Errors
    /// When the file is invalid, or holds what is not supported.
    pub fn read(&self, settings: &Settings, known: Known) -> Result<Loaded, Diagnostics> {
        let mut options = LoadOptions { samples: known.samples, ..settings.load_options()? };
        if options.bounds.is_empty() && options.shapes.is_empty() {
            options.bounds = known.bounds;
        }
        let module = pipeline::read(self.bytes.clone(), &self.path, &options)?;
        Ok(Loaded { path: self.path.clone(), bytes: self.bytes.clone(), options, module })
    }

    /// The lists of labels in it.
    pub fn labels(&self) -> Vec<LabelFile> {
        frontend::labels((*self.bytes).as_ref())
    }

    /// Tells if its format lets calls decide shapes and values.
    pub fn may_leave_open(&self) -> bool {
        Format::detect((*self.bytes).as_ref()) == Some(Format::Tflite)
    }
}

/// A model in the tensor language.
pub struct Loaded {
    /// The path as the user spelled it.
    pub path: String,
    /// The file's bytes.
    pub bytes: Arc<dyn Bytes>,
    /// What the front end was told.
    pub options: LoadOptions,
    /// In the tensor language.
    pub module: Module,
}
