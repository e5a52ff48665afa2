//! The files of one command: what it reads, and where it may write.

use super::console;
use crate::diagnostic::Diagnostic;
use crate::emit::{Image, Output, OutputKind, check_places, write_all};
use std::path::Path;

/// Standard output, where a file could be named.
const STANDARD: &str = "-";

/// The files that a command reads; no output replaces one.
pub struct Files<'a> {
    inputs: Vec<&'a Path>,
}

impl<'a> Files<'a> {
    /// Of a command that reads these files.
    pub fn new(inputs: impl IntoIterator<Item = &'a str>) -> Self {
        Self { inputs: inputs.into_iter().map(Path::new).collect() }
    }

    /// Checks where outputs are to go, before the work for them begins.
    ///
    /// # Errors
    /// As [`check_places`].
    pub fn check<'b>(&self, outputs: impl IntoIterator<Item = (&'b str, OutputKind)>) -> Result<(), Diagnostic> {
        let named = outputs.into_iter().filter(|(path, _)| *path != STANDARD).map(|(path, kind)| (Path::new(path), kind));
        check_places(&named.collect::<Vec<_>>(), &self.inputs)
    }

    /// Writes one file as a whole.
    ///
    /// # Errors
    /// As [`Self::write_all`].
    pub fn write(&self, path: &str, kind: OutputKind, contents: impl Into<Image>) -> Result<(), Diagnostic> {
        self.write_all(vec![Output { path: path.into(), kind, contents: contents.into() }])
    }

    /// Writes several files, or none of them. `-` is standard output, and comes last.
    ///
    /// # Errors
    /// When one cannot be written, or would replace what it may not.
    pub fn write_all(&self, outputs: Vec<Output>) -> Result<(), Diagnostic> {
        let (standard, named): (Vec<_>, Vec<_>) = outputs.into_iter().partition(|output| output.path == Path::new(STANDARD));
        write_all(&named, &self.inputs)?;
        standard.iter().try_for_each(|output| console::print_image(&output.contents))
    }
}
