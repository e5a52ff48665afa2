//! Model files.

use super::source::{Known, Loaded, Source};
use super::{Error, Method, Session};
use crate::compile::{self, Compiled, Settings};
use crate::diagnostic::Diagnostics;
use crate::input;
use crate::ir::data::Bytes;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A model file: TFLite (`.tflite`), ExecuTorch (`.pte`) or a bundled program (`.bpte`).
///
/// ```
/// # fn main() -> Result<(), modelc::Error> {
/// use modelc::{Array, Model, Settings};
/// let model = Model::open("examples/digits/digits_int8.tflite")?;
/// // Machine code in this process:
/// let mut session = model.load(&Settings::new())?;
/// let outputs = session.call(&[Array::from_slice(&[1, 8, 8, 1], &[0i8; 64])?])?;
/// assert_eq!(outputs[0].shape(), [1, 10]);
/// // The same code in an object file:
/// let compiled = model.compile(&Settings::new().target("aarch64-none-elf").name("digits"))?;
/// assert!(compiled.header().contains("digits_init"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Model(Source);

impl Model {
    /// Maps a file into memory. Errors in the model are reported when it is used.
    ///
    /// # Errors
    /// MC0102 if the file cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Ok(Self(Source { path: path.to_string_lossy().into_owned(), bytes: input::map(path)? }))
    }

    /// Makes a model from bytes in memory.
    ///
    /// ```
    /// let error = modelc::Model::from_bytes(*b"no model").methods().unwrap_err();
    /// assert_eq!(error.code(), "MC0101");
    /// ```
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes: Vec<u8> = bytes.into();
        Self(Source { path: "model".into(), bytes: Arc::new(bytes) })
    }

    /// Returns the methods, with inputs and outputs in the file's shapes.
    ///
    /// # Errors
    /// Any error of the file, or of unsupported contents.
    pub fn methods(&self) -> Result<Vec<Method>, Error> {
        let loaded = self.read(&Settings::new(), Known::default())?;
        Ok(Method::all(&loaded.module, &self.0.labels()))
    }

    /// Compiles the model to an object file and its header.
    ///
    /// # Errors
    /// Any error of the settings or the model.
    pub fn compile(&self, settings: &Settings) -> Result<Compiled, Error> {
        Ok(compile::compile(settings, self.0.bytes.clone(), &self.0.path)?)
    }

    /// Compiles the model for this computer, for calls in this process.
    ///
    /// A TFLite model may leave open the shapes of inputs, or compute shapes from their values. It is then compiled again for a call that needs it,
    /// and the session keeps the last few of these programs.
    ///
    /// # Errors
    /// Any error of the settings or the model.
    pub fn load(&self, settings: &Settings) -> Result<Session, Error> {
        Session::new(self.0.clone(), settings.clone())
    }

    /// Returns the path as the user wrote it.
    #[doc(hidden)]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns the bytes of the file.
    #[doc(hidden)]
    pub fn bytes(&self) -> &Arc<dyn Bytes> {
        &self.0.bytes
    }

    /// Reads the model into the tensor language, with what is known of its calls.
    ///
    /// # Errors
    /// Diagnostics if the file is invalid or has unsupported contents.
    #[doc(hidden)]
    pub fn read(&self, settings: &Settings, known: Known) -> Result<Loaded, Diagnostics> {
        self.0.read(settings, known)
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("path", &self.0.path).finish_non_exhaustive()
    }
}
