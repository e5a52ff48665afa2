//! Compiled models, for users.

use super::{Error, Method};
use crate::compile::Compiled;
use crate::emit;
use std::path::Path;

impl Compiled {
    /// The object file.
    pub fn object(&self) -> Vec<u8> {
        self.files.object.to_vec()
    }

    /// The C header.
    pub fn header(&self) -> &str {
        &self.files.header
    }

    /// The interface as a module of Rust for `no_std`.
    pub fn rust(&self) -> String {
        emit::rust_module(&self.lowered.program, &self.info, &self.files)
    }

    /// The interface as classes of C++17, in a header that includes the C header by this name.
    pub fn cpp(&self, header: &str) -> String {
        emit::cpp_header(&self.lowered.program, &self.info, &self.files, header)
    }

    /// A shared library (ELF), which programs ask for by a name such as `libnet.so`.
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

    /// The file of weights, with [`Settings::weights_external`](crate::Settings::weights_external).
    pub fn weights(&self) -> Option<Vec<u8>> {
        self.files.weights.as_ref().map(crate::emit::Image::to_vec)
    }

    /// The report as JSON, schema `modelc.report/1`.
    pub fn report(&self) -> String {
        self.files.report.to_string()
    }

    /// The report as a page of HTML.
    pub fn page(&self) -> String {
        emit::html::page(&self.files.report)
    }

    /// Bytes of the arena: state and scratch memory.
    pub fn arena_bytes(&self) -> u64 {
        self.files.record.footprint.arena_bytes()
    }

    /// The methods, as the settings shape them.
    pub fn methods(&self) -> Vec<Method> {
        Method::all(&self.module, &[])
    }

    /// Writes an object, a static library if the name ends in `.a` or `.lib`, or a shared one if it ends in `.so`; beside it the header, and the
    /// weights (`.bin`) where they are a file of their own. All files are written or none; a header that did not change is left alone.
    ///
    /// # Errors
    /// When a file cannot be written, or would replace the model, or a header that modelc did not make.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(self.write_files(path.as_ref())?)
    }
}
