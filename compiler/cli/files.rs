//! The input files of one command, and checks of its outputs.

use super::console;
use crate::diagnostic::Diagnostic;
use crate::emit::{Image, Output, OutputKind, check_places, write_all, write_folder};
use std::path::Path;

/// Name of standard output in place of a file.
const STANDARD: &str = "-";

/// The files that a command reads, which no output may replace.
pub struct Files<'a> {
    inputs: Vec<&'a Path>,
}

impl<'a> Files<'a> {
    /// Makes the files of a command.
    pub fn new(inputs: impl IntoIterator<Item = &'a str>) -> Self {
        Self { inputs: inputs.into_iter().map(Path::new).collect() }
    }

    /// Checks the paths of outputs before work begins.
    ///
    /// # Errors
    /// The errors of [`check_places`].
    pub fn check<'b>(&self, outputs: impl IntoIterator<Item = (&'b str, OutputKind)>) -> Result<(), Diagnostic> {
        let named = outputs.into_iter().filter(|(path, _)| *path != STANDARD).map(|(path, kind)| (Path::new(path), kind));
        check_places(&named.collect::<Vec<_>>(), &self.inputs)
    }

    /// Writes one file.
    ///
    /// # Errors
    /// The errors of [`Self::write_all`].
    pub fn write(&self, path: &str, kind: OutputKind, contents: impl Into<Image>) -> Result<(), Diagnostic> {
        self.write_all(vec![Output { path: path.into(), kind, contents: contents.into() }])
    }

    /// Writes several files, or none of them, and makes the folders that they need.
    ///
    /// # Errors
    /// The errors of [`Self::write_all`].
    pub fn write_folder(&self, outputs: &[Output]) -> Result<(), Diagnostic> {
        write_folder(outputs, &self.inputs)
    }

    /// Writes several files, or none of them. Standard output, `-`, comes last.
    ///
    /// # Errors
    /// A diagnostic if a file cannot be written, or if it would replace a protected file.
    pub fn write_all(&self, outputs: Vec<Output>) -> Result<(), Diagnostic> {
        let (standard, named): (Vec<_>, Vec<_>) = outputs.into_iter().partition(|output| output.path == Path::new(STANDARD));
        write_all(&named, &self.inputs)?;
        standard.iter().try_for_each(|output| console::print_image(&output.contents))
    }
}
