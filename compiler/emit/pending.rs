//! Temporary files that are not in their places yet. An interrupt removes them ([`remove_all`]).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// The paths of temporary files that exist, or are about to.
static PENDING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Taken while files are moved to their places, and by who interrupts.
static MOVING: Mutex<()> = Mutex::new(());

fn pending() -> MutexGuard<'static, Vec<PathBuf>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes [`remove_all`] wait until the result is dropped.
pub fn hold() -> MutexGuard<'static, ()> {
    MOVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks that keep this process from making and moving files.
pub struct Stopped {
    _moving: MutexGuard<'static, ()>,
    _pending: MutexGuard<'static, Vec<PathBuf>>,
}

/// Removes all temporary files, when no file is just moved to its place. None is made or moved until the result is dropped.
pub fn remove_all() -> Stopped {
    let moving = hold();
    let mut pending = pending();
    for path in pending.drain(..) {
        // One that was not made yet is not there.
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
    /// A file in a folder, with the permissions of any file made anew.
    ///
    /// # Errors
    /// When it cannot be made.
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

    /// The file, to write.
    pub fn file(&mut self) -> &mut NamedTempFile {
        // It is taken only by `persist`, which consumes self.
        self.file.as_mut().expect("a pending file is open")
    }

    /// Moves the file to its place.
    ///
    /// # Errors
    /// When it cannot be moved.
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
