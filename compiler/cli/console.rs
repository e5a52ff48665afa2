//! Standard output and standard error; nothing else of the command line writes to them.
//!
//! A reader that goes away (`modelc ops | head -1`) ends the printing and nothing else: files are written, and the exit status is
//! what it would have been. Standard error is written to as far as possible.

use crate::diagnostic::{Diagnostic, codes};
use crate::emit::Image;
use serde_json::json;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints text.
///
/// # Errors
/// When standard output cannot be written to, although somebody reads it.
pub fn print(text: &str) -> Result<(), Diagnostic> {
    to_standard_output(|out| out.write_all(text.as_bytes()))
}

/// Prints the contents of a file.
///
/// # Errors
/// As [`print`].
pub fn print_image(image: &Image) -> Result<(), Diagnostic> {
    to_standard_output(|out| image.write_to(out))
}

/// Set where messages are JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// Makes messages JSON from now on.
pub fn speak_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// A message beside the results: a line for people, or an object of JSON, schema `modelc.note/1`.
pub fn note(line: &str) {
    if JSON.load(Ordering::Relaxed) {
        message(&json!({ "schema": "modelc.note/1", "message": line.trim() }).to_string());
    } else {
        message(line);
    }
}

/// A line on standard error, as it is.
pub fn message(line: &str) {
    // There is nowhere left to tell that this failed.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

fn to_standard_output(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Diagnostic> {
    let mut out = io::stdout().lock();
    heard(write(&mut out).and_then(|()| out.flush()))
}

/// The result of writing where nobody need listen.
fn heard(written: io::Result<()>) -> Result<(), Diagnostic> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Diagnostic::new(codes::CANNOT_WRITE, format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reader_that_went_away_is_no_error() {
        assert_eq!(heard(Err(ErrorKind::BrokenPipe.into())), Ok(()));
        assert_eq!(heard(Err(ErrorKind::StorageFull.into())).map_err(|error| error.code), Err(codes::CANNOT_WRITE));
    }
}
