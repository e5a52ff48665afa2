//! Model files, mapped into memory.

use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::foreign;
use crate::ir::data::Bytes;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Least number of bytes whose memory is released by a system call.
const WORTH_RELEASING: usize = 1 << 16;

/// A model file in memory.
struct Map(memmap2::Mmap);

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Bytes for Map {
    fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        if range.len() >= WORTH_RELEASING {
            // SAFETY: the map is of a file and only read, so its pages are those of the file whenever they are read again.
            // If the system refuses, the memory is kept.
            let _ = unsafe { self.0.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, range.start, range.len()) };
        }
        #[cfg(not(unix))]
        let _ = range;
    }
}

/// Name of standard input in place of a model file.
pub const STANDARD: &str = "-";

/// Contents of pipes and devices, which can be read only once.
static STREAMS: Mutex<Vec<(PathBuf, Arc<dyn Bytes>)>> = Mutex::new(Vec::new());

/// Returns the bytes of a file. Standard input (`-`), pipes and devices are read; other files are mapped.
///
/// # Errors
/// A diagnostic if the file cannot be opened, mapped or read.
pub fn map(path: &Path) -> Result<Arc<dyn Bytes>, Diagnostic> {
    let unreadable = |message: String| Diagnostic::new(codes::UNREADABLE_FILE, message).in_file(path.display().to_string());
    let failed = |error: io::Error| unreadable(format!("the file cannot be read: {error}"));
    if path == Path::new(STANDARD) {
        return stream(path, || Ok(std::io::stdin())).map_err(failed);
    }
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() && !metadata.is_dir() {
        return stream(path, || File::open(path)).map_err(failed);
    }
    let file = File::open(path).map_err(failed)?;
    if metadata.is_dir() {
        let error = unreadable("it is a folder, not a file".into());
        return Err(match foreign::folder(path) {
            Some((what, next)) => error.expected("a .tflite, .pte or .bpte file", what).help(next),
            None => error,
        });
    }
    // SAFETY: the map is only read. A file that another process truncates meanwhile ends this process with a signal, and corrupts nothing. This holds
    // for every program that maps its input.
    let mapped = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
    Ok(Arc::new(Map(mapped)))
}

/// Reads a stream completely. The bytes are kept, because a model is read several times.
fn stream<R: Read>(path: &Path, open: impl FnOnce() -> io::Result<R>) -> io::Result<Arc<dyn Bytes>> {
    let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, bytes)) = streams.iter().find(|(known, _)| known == path) {
        return Ok(bytes.clone());
    }
    let mut read = Vec::new();
    open()?.read_to_end(&mut read)?;
    let bytes: Arc<dyn Bytes> = Arc::new(read);
    streams.push((path.to_owned(), bytes.clone()));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Data;

    #[test]
    fn what_is_released_reads_the_same_again() {
        let path = std::env::temp_dir().join(format!("modelc-input-{}", std::process::id()));
        let bytes: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
        std::fs::write(&path, &bytes).expect("a file");
        let map = map(&path).expect("a map");
        let (all, part) = (Data::all_of(map.clone()), Data::range_of(map, 5000..170_001).expect("a part"));
        part.release();
        assert_eq!((part.bytes(), all.bytes()), (&bytes[5000..170_001], &bytes[..]));
        all.release();
        assert_eq!(part.bytes(), &bytes[5000..170_001]);
        std::fs::remove_file(&path).expect("the file");
    }
}
