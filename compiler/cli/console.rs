//! Standard output and standard error; nothing else of the command line writes to them.
//!
//! A reader that goes away (`modelc ops | head -1`) ends the printing and nothing else: files are written, and the exit status is
//! what it would have been. Standard error is written to as far as possible.

use super::options::{MessageFormat, Messages};
use crate::diagnostic::{Diagnostic, codes};
use crate::emit::Image;
use serde_json::json;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

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
/// Set where only errors are printed.
static QUIET: AtomicBool = AtomicBool::new(false);
/// Set where the work itself is told, too.
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Prints messages from now on as options say.
pub fn configure(messages: Messages) {
    JSON.store(messages.format == MessageFormat::Json, Ordering::Relaxed);
    QUIET.store(messages.quiet, Ordering::Relaxed);
    VERBOSE.store(messages.verbose, Ordering::Relaxed);
}

/// Tells if a line may show how far the work is: people read it, and may.
pub fn shows_progress() -> bool {
    !JSON.load(Ordering::Relaxed) && !QUIET.load(Ordering::Relaxed) && io::stderr().is_terminal()
}

/// A message about the work, where somebody wants to know.
pub fn detail(line: &str) {
    if VERBOSE.load(Ordering::Relaxed) {
        note(line);
    }
}

/// A message beside the results: a line for people, or an object of JSON, schema `modelc.note/1`.
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

/// A line on standard error. Its colours are left out where the terminal has none, or `NO_COLOR` is set.
pub fn message(line: &str) {
    end_progress();
    // There is nowhere left to tell that this failed.
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// Set while the last line of the terminal tells how far the work is.
static IN_PROGRESS: Mutex<bool> = Mutex::new(false);
/// To the start of the line, and nothing on it.
const EMPTY_LINE: &str = "\r\x1b[2K";

/// Replaces the line that tells how far the work is.
pub fn progress(line: &str) {
    let mut shown = IN_PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
    *shown = true;
    let line: String = line.chars().take(terminal_columns().unwrap_or(80).saturating_sub(1)).collect();
    let mut out = io::stderr().lock();
    let _ = write!(out, "{EMPTY_LINE}{line}").and_then(|()| out.flush());
}

/// Removes the line that tells how far the work is, if there is one.
pub fn end_progress() {
    let mut shown = IN_PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::take(&mut *shown) {
        let _ = write!(io::stderr().lock(), "{EMPTY_LINE}");
    }
}

/// The columns of the terminal that results are printed to; none where it is a file or a pipe.
#[cfg(target_os = "linux")]
pub fn terminal_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

/// The columns of the terminal that results are printed to; none where it is a file or a pipe.
#[cfg(not(target_os = "linux"))]
pub fn terminal_columns() -> Option<usize> {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    io::stdout().is_terminal().then(columns).flatten()
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
