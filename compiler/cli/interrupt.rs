//! Ctrl-C, and the signals that ask a process to end: temporary files are removed, and a measurement ends with what it has.

use crate::emit::pending;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set while the command ends by itself when it is asked to.
static ENDS_ITSELF: AtomicBool = AtomicBool::new(false);
/// Set when it was asked to.
static ASKED: AtomicBool = AtomicBool::new(false);

/// The exit status of a process that SIGINT ended, as shells give it.
const INTERRUPTED: i32 = 130;

/// Handles signals from now on.
pub fn handle() {
    // Where the system has no signals to handle, or somebody else does, the process ends as it would have.
    let _ = ctrlc::set_handler(|| {
        // The second time nothing is waited for.
        if ENDS_ITSELF.load(Ordering::SeqCst) && !ASKED.swap(true, Ordering::SeqCst) {
            return;
        }
        let _stopped = pending::remove_all();
        std::process::exit(INTERRUPTED);
    });
}

/// A stretch of work that asks [`is_asked`] from time to time, and ends itself.
pub struct Measuring;

impl Measuring {
    /// Begins one.
    pub fn begin() -> Self {
        ENDS_ITSELF.store(true, Ordering::SeqCst);
        Self
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        ENDS_ITSELF.store(false, Ordering::SeqCst);
    }
}

/// Says that the work is to end.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
