//! Model files, mapped into memory.

use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::foreign;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Maps a file.
///
/// # Errors
/// When it cannot be opened or mapped.
pub fn map(path: &Path) -> Result<Arc<memmap2::Mmap>, Diagnostic> {
    let unreadable = |message: String| Diagnostic::new(codes::UNREADABLE_FILE, message).in_file(path.display().to_string());
    let failed = |error: std::io::Error| unreadable(format!("the file cannot be read: {error}"));
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        let error = unreadable("it is a folder, not a file".into());
        return Err(match foreign::folder(path) {
            Some((what, next)) => error.expected("a .tflite, .pte or .bpte file", what).help(next),
            None => error,
        });
    }
    // SAFETY: the map is only read; a file that another process truncates meanwhile ends this process with a signal, as it
    // does for every program that maps its input, and corrupts nothing.
    let mapped = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
    Ok(Arc::new(mapped))
}
