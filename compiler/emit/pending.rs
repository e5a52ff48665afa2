//! Temporary files that are not yet in place, and folders made for them. An interrupt removes both ([`remove_all`]).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// The paths of temporary files and of folders that exist or are being created, in this order of time.
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

/// Removes all temporary files and the folders made for them, after a move in progress has ended. No file is created or moved until the guard is dropped.
pub fn remove_all() -> Stopped {
    let moving = hold();
    let mut pending = pending();
    for path in pending.drain(..).rev() {
        // It may not exist yet. A folder is removed after its files, and only if nothing else is in it.
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
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

/// Folders made for outputs. Dropping removes those that are empty, unless they are kept.
#[derive(Default)]
pub struct PendingFolders {
    made: Vec<PathBuf>,
}

impl PendingFolders {
    /// Makes a folder and those that contain it, if they are missing.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn make(&mut self, folder: &Path) -> io::Result<()> {
        let missing = folder.ancestors().take_while(|ancestor| !ancestor.as_os_str().is_empty() && !ancestor.exists());
        for folder in missing.collect::<Vec<_>>().into_iter().rev() {
            pending().push(folder.to_owned());
            self.made.push(folder.to_owned());
            fs::create_dir(folder)?;
        }
        Ok(())
    }

    /// Keeps the folders.
    pub fn keep(mut self) {
        for folder in self.made.drain(..) {
            forget(&folder);
        }
    }
}

impl Drop for PendingFolders {
    fn drop(&mut self) {
        for folder in self.made.drain(..).rev() {
            // Others may have put files there.
            let _ = fs::remove_dir(&folder);
            forget(&folder);
        }
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

    #[test]
    fn folders_stay_if_they_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let (outer, inner) = (folder.path().join("a"), folder.path().join("a/b"));
        let mut folders = PendingFolders::default();
        folders.make(&inner).expect("it is made");
        assert!(inner.is_dir());
        drop(folders);
        assert!(!outer.exists());
        let mut folders = PendingFolders::default();
        folders.make(&inner).expect("it is made");
        folders.keep();
        assert!(inner.is_dir());
        // A folder with a file of somebody else stays.
        let mut folders = PendingFolders::default();
        folders.make(&inner.join("c")).expect("it is made");
        fs::write(inner.join("c/mine"), "1").expect("it is written");
        drop(folders);
        assert!(inner.join("c/mine").is_file());
    }
}
