//! A line on a terminal with the duration of the work.

use super::console;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Duration below which no line is shown.
const QUICK: Duration = Duration::from_millis(500);
/// Time between two lines.
const STEP: Duration = Duration::from_millis(200);

/// Runs some work and shows its duration: meanwhile on a terminal, and afterwards with `--verbose`.
pub fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    // Folders would leave no space for the time.
    let shown = console::shows_progress().then(|| Shown::new(what.replace(folder_of(what), ""), start));
    let done = work();
    drop(shown);
    console::detail(&format!("  {what}: {:.3} s", start.elapsed().as_secs_f64()));
    done
}

/// Returns the folder of the file whose path ends a text.
fn folder_of(text: &str) -> &str {
    let path = text.split_once(' ').map_or("", |(_, path)| path);
    path.rfind('/').map_or("", |end| &path[..=end])
}

/// The line, which disappears when this is dropped.
struct Shown {
    /// Sender that is dropped first, so that the other end stops.
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Shown {
    fn new(what: String, start: Instant) -> Self {
        let (over, waiting) = channel();
        // Without a thread there is no line, which does no harm.
        let thread = std::thread::Builder::new().spawn(move || show(&what, start, &waiting)).ok();
        Self { over: Some(over), thread }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.over = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}

fn show(what: &str, start: Instant, over: &Receiver<()>) {
    let mut wait = QUICK;
    while over.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        console::progress(&format!("{what}: {:.0} s", start.elapsed().as_secs_f64()));
        wait = STEP;
    }
    console::end_progress();
}
