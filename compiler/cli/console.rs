//! Standard output and standard error; the rest of the command line writes to neither.
//!
//! Printing stops if the reader goes away (`modelc ops | head -1`). Nothing else changes: files are written, with the same exit status. Writing
//! to standard error is best effort.

use super::messages::{MessageFormat, Messages};
use crate::diagnostic::{Diagnostic, codes};
use crate::emit::Image;
use serde_json::json;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Prints text.
///
/// # Errors
/// A diagnostic if standard output has a reader but cannot be written.
pub fn print(text: &str) -> Result<(), Diagnostic> {
    to_standard_output(|out| out.write_all(text.as_bytes()))
}

/// Prints the contents of a file.
///
/// # Errors
/// The errors of [`print`].
pub fn print_image(image: &Image) -> Result<(), Diagnostic> {
    to_standard_output(|out| image.write_to(out))
}

/// `true` if messages are JSON.
static JSON: AtomicBool = AtomicBool::new(false);
/// `true` if only errors are printed.
static QUIET: AtomicBool = AtomicBool::new(false);
/// `true` if progress of the work is printed, too.
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Configures the messages that follow.
pub fn configure(messages: Messages) {
    JSON.store(messages.format == MessageFormat::Json, Ordering::Relaxed);
    QUIET.store(messages.quiet, Ordering::Relaxed);
    VERBOSE.store(messages.verbose, Ordering::Relaxed);
}

/// Tells if progress may be shown: standard error is a terminal, and messages are text.
pub fn shows_progress() -> bool {
    !JSON.load(Ordering::Relaxed) && !QUIET.load(Ordering::Relaxed) && io::stderr().is_terminal()
}

/// Prints a message about the work, if `--verbose` is given.
pub fn detail(line: &str) {
    if VERBOSE.load(Ordering::Relaxed) {
        note(line);
    }
}

/// Prints a message beside the results: a line of text, or a JSON object of schema `modelc.note/1`.
pub fn note(line: &str) {
    if QUIET.load(Ordering::Relaxed) {
        return;
    }
    if JSON.load(Ordering::Relaxed) {
        message(&json!({ "schema": "modelc.note/1", "message": line.trim() }).to_string());
    } else {
        message(line);
    }
}

/// Prints a line on standard error. Colours are omitted if the terminal has none, or if `NO_COLOR` is set.
pub fn message(line: &str) {
    end_progress();
    // If this fails, there is nowhere to report it.
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// `true` while the last line of the terminal shows progress.
static IN_PROGRESS: Mutex<bool> = Mutex::new(false);
/// Escape sequence that moves to the start of the line and clears it.
const EMPTY_LINE: &str = "\r\x1b[2K";

/// Replaces the progress line.
pub fn progress(line: &str) {
    let mut shown = IN_PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
    *shown = true;
    let line: String = line.chars().take(terminal_columns().unwrap_or(80).saturating_sub(1)).collect();
    let mut out = io::stderr().lock();
    let _ = write!(out, "{EMPTY_LINE}{line}").and_then(|()| out.flush());
}

/// Removes the progress line, if there is one.
pub fn end_progress() {
    let mut shown = IN_PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::take(&mut *shown) {
        let _ = write!(io::stderr().lock(), "{EMPTY_LINE}");
    }
}

/// Returns the columns of the terminal that shows results; `None` for a file or a pipe.
#[cfg(target_os = "linux")]
pub fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

/// Returns the columns of the terminal that shows results; `None` for a file or a pipe.
#[cfg(not(target_os = "linux"))]
pub fn terminal_columns() -> Option<usize> {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    io::stdout().is_terminal().then(columns).flatten()
}

fn to_standard_output(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Diagnostic> {
    let mut out = io::stdout().lock();
    heard(write(&mut out).and_then(|()| out.flush()))
}

/// Converts the result of a write; a closed pipe is no error.
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
