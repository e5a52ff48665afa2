//! Ctrl-C, and signals that end a process: temporary files are removed, and a measurement ends early with its results.

use crate::emit::pending;
use std::sync::atomic::{AtomicBool, Ordering};

/// `true` while the command can end itself on request.
static ENDS_ITSELF: AtomicBool = AtomicBool::new(false);
/// `true` after the request.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Exit status of a process that SIGINT ended, as shells report it.
const INTERRUPTED: i32 = 130;

/// Handles signals from now on.
pub fn handle() {
    // If the system has no such signals, or another handler exists, the process ends as by default.
    let _ = ctrlc::set_handler(|| {
        // The second signal ends the process at once.
        if ENDS_ITSELF.load(Ordering::SeqCst) && !ASKED.swap(true, Ordering::SeqCst) {
            return;
        }
        let _stopped = pending::remove_all();
        std::process::exit(INTERRUPTED);
    });
}

/// A period of work that calls [`is_asked`] regularly, and ends itself.
pub struct Measuring;

impl Measuring {
    /// Begins such a period.
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

/// Tells that the work should end.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
