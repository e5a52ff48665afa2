//! Writing outputs: all or none, each in one step, so that a failure leaves no half file and what was there stays.

use super::image::Image;
use crate::diagnostic::{Diagnostic, Kind};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file to be written.
#[derive(Clone, Debug)]
pub struct Output {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub contents: Image,
    /// Whether an equal file is left alone, with its time: headers, for what includes them is then not rebuilt.
    pub only_if_changed: bool,
}

/// Writes all files, or none: every one is written beside its place first, then all are put in place.
///
/// # Errors
/// An I/O diagnostic naming the file.
pub fn write_all(outputs: &[Output]) -> Result<(), Diagnostic> {
    let mut ready = Vec::new();
    for output in outputs {
        if output.only_if_changed && fs::read(&output.path).is_ok_and(|old| old == output.contents.to_vec()) {
            continue;
        }
        ready.push((output, prepare(output).map_err(|error| cannot_write(&output.path, &error))?));
    }
    for (output, file) in ready {
        let done = match file {
            Some((file, place)) => file.persist(place).map(|_| ()).map_err(|error| error.error),
            None => fs::File::options().write(true).open(&output.path).and_then(|mut file| output.contents.write_to(&mut file)),
        };
        done.map_err(|error| cannot_write(&output.path, &error))?;
    }
    Ok(())
}

/// The contents in a temporary file, and where it is to go; nothing for a device or a pipe, which cannot be replaced.
fn prepare(output: &Output) -> std::io::Result<Option<(NamedTempFile, PathBuf)>> {
    // A link stays, and what it leads to is replaced.
    let place = fs::canonicalize(&output.path).unwrap_or_else(|_| output.path.clone());
    match fs::metadata(&place) {
        Ok(there) if there.is_dir() => return Err(std::io::Error::from(std::io::ErrorKind::IsADirectory)),
        Ok(there) if !there.is_file() => return Ok(None),
        Ok(there) if there.permissions().readonly() => return Err(std::io::Error::from(std::io::ErrorKind::PermissionDenied)),
        _ => {}
    }
    let folder = match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The user's mask applies, as to any file made anew.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.prefix(".modelc-").tempfile_in(folder)?;
    output.contents.write_to(&mut file)?;
    Ok(Some((file, place)))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Diagnostic {
    // The temporary file's name, which is another each time and which tempfile puts behind the cause, is left out.
    let text = error.to_string();
    let cause = text.split(" at path ").next().unwrap_or(&text);
    Diagnostic::new(710, Kind::Io, format!("cannot write {}: {cause}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(path: PathBuf, contents: &[u8], only_if_changed: bool) -> Output {
        Output { path, contents: contents.to_vec().into(), only_if_changed }
    }

    #[test]
    fn all_files_are_written_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let (good, bad) = (folder.path().join("a.o"), folder.path().join("missing/b.h"));
        let error = write_all(&[output(good.clone(), b"1", false), output(bad.clone(), b"2", false)]).unwrap_err();
        assert!(error.code == 710 && error.message.contains("b.h") && !error.message.contains(".modelc-"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::create_dir(bad.parent().unwrap()).unwrap();
        write_all(&[output(good.clone(), b"1", false), output(bad.clone(), b"2", false)]).unwrap();
        assert_eq!((fs::read(&good).unwrap(), fs::read(&bad).unwrap()), (b"1".to_vec(), b"2".to_vec()));
        assert_eq!(write_all(&[output(folder.path().into(), b"", false)]).unwrap_err().kind, Kind::Io);
    }

    #[test]
    fn an_equal_header_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.h");
        write_all(&[output(path.clone(), b"1", true)]).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        write_all(&[output(path.clone(), b"1", true)]).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), old);
        write_all(&[output(path.clone(), b"2", true)]).unwrap();
        assert_ne!(fs::metadata(&path).unwrap().modified().unwrap(), old);
        assert_eq!(fs::read(&path).unwrap(), b"2");
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_and_modes_follow_the_mask() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.o"), folder.path().join("link.o"));
        fs::write(&path, b"0").unwrap();
        symlink(&path, &link).unwrap();
        write_all(&[output(link.clone(), b"1", false)]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"1");
        let plain = folder.path().join("plain");
        fs::write(&plain, b"").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
        write_all(&[output("/dev/null".into(), b"1", false)]).unwrap();
    }
}
