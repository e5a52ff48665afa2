//! Temporary files that are not yet in place. An interrupt removes them ([`remove_all`]).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// The paths of temporary files that exist or are being created.
static PENDING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Lock held while files are moved to their places, and by an interrupt.
static MOVING: Mutex<()> = Mutex::new(());

fn pending() -> MutexGuard<'static, Vec<PathBuf>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes [`remove_all`] wait until the guard is dropped.
pub fn hold() -> MutexGuard<'static, ()> {
    MOVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Guards that stop this process from creating and moving files.
pub struct Stopped {
    _moving: MutexGuard<'static, ()>,
    _pending: MutexGuard<'static, Vec<PathBuf>>,
}

/// Removes all temporary files, after a move in progress has ended. No file is created or moved until the guard is dropped.
pub fn remove_all() -> Stopped {
    let moving = hold();
    let mut pending = pending();
    for path in pending.drain(..) {
        // The file may not exist yet.
        let _ = fs::remove_file(path);
    }
    Stopped { _moving: moving, _pending: pending }
}

/// A temporary file.
pub struct Pending {
    file: Option<NamedTempFile>,
    path: PathBuf,
}

impl Pending {
    /// Creates a file in a folder, with default permissions.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let make = |path: &Path| -> io::Result<File> {
            pending().push(path.to_owned());
            let made = OpenOptions::new().read(true).write(true).create_new(true).open(path);
            if made.is_err() {
                forget(path);
            }
            made
        };
        let file = tempfile::Builder::new().prefix(".modelc-").make_in(folder, make)?;
        let path = file.path().to_owned();
        Ok(Self { file: Some(file), path })
    }

    /// Returns the file for writing.
    pub fn file(&mut self) -> &mut NamedTempFile {
        // It is taken only by `persist`, which consumes self.
        self.file.as_mut().expect("a pending file is open")
    }

    /// Moves the file to its place.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn persist(mut self, place: &Path) -> io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        file.persist(place).map(|_| ()).map_err(|error| error.error)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.file.take();
        forget(&self.path);
    }
}

fn forget(path: &Path) {
    pending().retain(|other| other != path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn files_are_known_until_they_are_in_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let known = |path: &Path| pending().iter().any(|other| other == path);
        let mut file = Pending::new(folder.path()).expect("a file");
        let path = file.path.clone();
        assert!(known(&path) && path.is_file());
        file.file().write_all(b"1").expect("it is written");
        file.persist(&folder.path().join("a")).expect("it is moved");
        assert!(!known(&path) && !path.exists());
        let dropped = Pending::new(folder.path()).expect("a file");
        let path = dropped.path.clone();
        drop(dropped);
        assert!(!known(&path) && !path.exists());
        assert_eq!(fs::read_dir(folder.path()).expect("it is read").count(), 1);
    }
}
