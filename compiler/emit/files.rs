//! Writing of outputs: all or none, each in one step. A failure leaves no partial file and keeps the old ones.
//!
//! No output replaces an input, another output, or a file that modelc did not make, except where a kind allows it.

use super::image::Image;
use super::kind::OutputKind;
use super::own::is_foreign;
use super::pending::{self, Pending, PendingFolders};
use crate::diagnostic::{Diagnostic, codes};
use std::fs;
use std::path::{Path, PathBuf};

/// A file to write.
#[derive(Clone, Debug)]
pub struct Output {
    /// Path.
    pub path: PathBuf,
    /// Kind of contents.
    pub kind: OutputKind,
    /// The bytes to write.
    pub contents: Image,
}

/// Checks the paths of outputs, before anything is made. `inputs` are all files that are read.
///
/// # Errors
/// A usage diagnostic if a file would be lost: an input, another output, or a file that modelc did not make. Also if a suffix belongs to
/// another kind.
pub fn check_places(outputs: &[(&Path, OutputKind)], inputs: &[&Path]) -> Result<(), Diagnostic> {
    let inputs: Vec<(FileIdentity, &Path)> = inputs.iter().filter_map(|path| Some((FileIdentity::new(path)?, *path))).collect();
    let mut taken: Vec<(FileIdentity, &Path)> = Vec::new();
    for &(path, kind) in outputs {
        if path.as_os_str().is_empty() {
            let error = Diagnostic::new(codes::OPTION, format!("the path of an output is empty; the output is {}", kind.description()));
            return Err(error.help("give a path; --emit KIND without `=` writes beside the object"));
        }
        kind.check_suffix(path)?;
        let Some(place) = FileIdentity::new(path) else { continue };
        if let Some((_, input)) = inputs.iter().find(|(other, _)| other.is(&place)) {
            return Err(Diagnostic::new(
                codes::OUTPUT_IS_INPUT,
                format!("{} would overwrite {}, which is an input file", path.display(), input.display()),
            )
            .help("choose another name for the output"));
        }
        if let Some((_, other)) = taken.iter().find(|(other, _)| other.is(&place)) {
            return Err(Diagnostic::new(
                codes::OUTPUTS_COLLIDE,
                format!("two outputs would be one file: {} and {}", other.display(), path.display()),
            )
            .help("choose another name for one of them"));
        }
        if is_foreign(path, kind) {
            let message = format!("{} exists, and modelc did not write it as {}", path.display(), kind.description());
            return Err(Diagnostic::new(codes::FOREIGN_FILE, message).help(match kind {
                OutputKind::Header => "say where the header goes: --header PATH.h",
                _ => "choose another name, or move the file away",
            }));
        }
        taken.push((place, path));
    }
    Ok(())
}

/// Identity of a file that exists or will exist.
struct FileIdentity {
    /// Device and inode number of an existing file, on systems that have them. Links to a file share them.
    file: Option<(u64, u64)>,
    path: PathBuf,
}

impl FileIdentity {
    /// Returns the identity of a path; `None` for a device or a pipe, which is never replaced.
    fn new(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok();
        if metadata.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir()) {
            return None;
        }
        let in_folder = || Some(fs::canonicalize(folder(path)).ok()?.join(path.file_name()?));
        let canonical = fs::canonicalize(path).ok().or_else(in_folder);
        Some(Self { file: metadata.as_ref().and_then(file_number), path: canonical.unwrap_or_else(|| path.to_owned()) })
    }

    fn is(&self, other: &Self) -> bool {
        self.path == other.path || (self.file.is_some() && self.file == other.file)
    }
}

#[cfg(unix)]
fn file_number(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_number(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// Returns the folder of a path.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes all files, or none. Each is written beside its place first; then all are moved into place.
///
/// # Errors
/// The errors of [`check_places`]; an I/O diagnostic that names the file.
pub fn write_all(outputs: &[Output], inputs: &[&Path]) -> Result<(), Diagnostic> {
    let places: Vec<(&Path, OutputKind)> = outputs.iter().map(|output| (output.path.as_path(), output.kind)).collect();
    check_places(&places, inputs)?;
    let mut ready = Vec::new();
    for output in outputs {
        if output.kind.is_kept_if_equal() && fs::read(&output.path).is_ok_and(|old| old == output.contents.to_vec()) {
            continue;
        }
        ready.push((output, prepare(output).map_err(|error| cannot_write(&output.path, &error))?));
    }
    let mut devices = Vec::new();
    {
        // An interrupt waits until all files are in place.
        let _all = pending::hold();
        for (output, file) in ready {
            match file {
                Some((file, place)) => file.persist(&place).map_err(|error| cannot_write(&output.path, &error))?,
                None => devices.push(output),
            }
        }
    }
    devices.into_iter().try_for_each(|output| {
        let written = fs::File::options().write(true).open(&output.path).and_then(|mut file| output.contents.write_to(&mut file));
        written.map_err(|error| cannot_write(&output.path, &error))
    })
}

/// Writes all files, or none, like [`write_all`]. Folders that are missing are made, and removed again if a file cannot be written.
///
/// # Errors
/// The errors of [`write_all`].
pub fn write_folder(outputs: &[Output], inputs: &[&Path]) -> Result<(), Diagnostic> {
    let places: Vec<(&Path, OutputKind)> = outputs.iter().map(|output| (output.path.as_path(), output.kind)).collect();
    check_places(&places, inputs)?;
    let mut folders = PendingFolders::default();
    for output in outputs {
        folders.make(folder(&output.path)).map_err(|error| cannot_write(&output.path, &error))?;
    }
    write_all(outputs, inputs)?;
    folders.keep();
    Ok(())
}

/// Writes the contents to a temporary file. Returns it with its place; `None` for a device or a pipe, which cannot be replaced.
fn prepare(output: &Output) -> std::io::Result<Option<(Pending, PathBuf)>> {
    // A link stays; the file it leads to is replaced.
    let place = fs::canonicalize(&output.path).unwrap_or_else(|_| output.path.clone());
    match fs::metadata(&place) {
        Ok(there) if there.is_dir() => return Err(std::io::Error::from(std::io::ErrorKind::IsADirectory)),
        Ok(there) if !there.is_file() => return Ok(None),
        Ok(there) if there.permissions().readonly() => return Err(std::io::Error::from(std::io::ErrorKind::PermissionDenied)),
        _ => {}
    }
    let mut file = Pending::new(folder(&place))?;
    output.contents.write_to(file.file())?;
    Ok(Some((file, place)))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Diagnostic {
    // The message must not contain the random name of the temporary file, which tempfile puts after the cause.
    let text = error.to_string();
    let cause = text.split(" at path ").next().unwrap_or(&text);
    Diagnostic::new(codes::CANNOT_WRITE, format!("cannot write {}: {cause}", path.display()))
}

#[cfg(test)]
mod tests;
