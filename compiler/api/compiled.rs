//! Compiled models in the Rust API.

use super::{Error, Method};
use crate::compile::Compiled;
use crate::emit;
use std::path::Path;

impl Compiled {
    /// Returns the object file.
    pub fn object(&self) -> Vec<u8> {
        self.files.object.to_vec()
    }

    /// Returns the C header.
    pub fn header(&self) -> &str {
        &self.files.header
    }

    /// Returns the interface as a Rust module for `no_std`.
    pub fn rust(&self) -> String {
        emit::rust_module(&self.lowered.program, &self.info, &self.files)
    }

    /// Returns the interface as classes of C++17, in a header that includes the C header by this name.
    pub fn cpp(&self, header: &str) -> String {
        emit::cpp_header(&self.lowered.program, &self.info, &self.files, header)
    }

    /// Returns a shared library (ELF), which programs load by a name such as `libnet.so`.
    ///
    /// ```
    /// # fn main() -> Result<(), modelc::Error> {
    /// let model = modelc::Model::open("tests/models/softmax_untrained_i8.tflite")?;
    /// let settings = modelc::Settings::new().target("aarch64-linux-gnu").name("net");
    /// assert!(model.compile(&settings)?.shared_library("libnet.so")?.starts_with(b"\x7fELF"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// MC0709 for a target without Linux or Android.
    pub fn shared_library(&self, name: &str) -> Result<Vec<u8>, Error> {
        Ok(self.shared(name)?.to_vec())
    }

    /// Returns the file of external weights; see [`Settings::weights_external`](crate::Settings::weights_external).
    pub fn weights(&self) -> Option<Vec<u8>> {
        self.files.weights.as_ref().map(crate::emit::Image::to_vec)
    }

    /// Returns the report as JSON, schema `modelc.report/1`.
    pub fn report(&self) -> String {
        self.files.report.to_string()
    }

    /// Returns the report as an HTML page.
    pub fn page(&self) -> String {
        emit::html::page(&self.files.report)
    }

    /// Returns the bytes of the arena: state and scratch memory.
    pub fn arena_bytes(&self) -> u64 {
        self.files.record.footprint.arena_bytes()
    }

    /// Returns warnings: the memories of the board of [`Settings::target`](crate::Settings::target) that are too small for the model.
    ///
    /// ```
    /// # fn main() -> Result<(), modelc::Error> {
    /// let model = modelc::Model::open("tests/models/softmax_untrained_i8.tflite")?;
    /// let warnings = |board: &str| Ok::<_, modelc::Error>(model.compile(&modelc::Settings::new().target(board))?.warnings());
    /// assert!(warnings("nrf52840")?.is_empty() && warnings("cortex-m4f")?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn warnings(&self) -> Vec<String> {
        self.excesses().iter().map(ToString::to_string).collect()
    }

    /// Returns the methods, with the shapes of the settings.
    pub fn methods(&self) -> Vec<Method> {
        Method::all(&self.module, &[])
    }

    /// Writes an object, a static library for `.a` or `.lib`, or a shared library for `.so`. The header and external weights (`.bin`) are
    /// written beside it. All files are written, or none. An unchanged header is left alone.
    ///
    /// # Errors
    /// An error if a file cannot be written, or if it would replace the model or a header that modelc did not make.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(self.write_files(path.as_ref())?)
    }
}
