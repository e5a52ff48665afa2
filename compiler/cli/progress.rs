//! A line on a terminal with the duration of the work, and the number of steps.

use super::console;
use super::output::grouped;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Duration below which no line is shown.
const QUICK: Duration = Duration::from_millis(500);
/// Time between two lines.
const STEP: Duration = Duration::from_millis(200);

/// Runs some work and shows its duration: meanwhile on a terminal, and afterwards with `--verbose`.
pub fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    counting(what, "", |_| work())
}

/// Runs some work of many steps, and shows their number before the duration. `unit` names them: `runs`, or `of 100 calls`.
pub fn counting<T>(what: &str, unit: &str, work: impl FnOnce(&Steps) -> T) -> T {
    let start = Instant::now();
    let steps = Steps::default();
    // Folders would leave no space for the time.
    let line = || Line { what: what.replace(folder_of(what), ""), unit: unit.to_owned(), start, steps: steps.clone() };
    let shown = console::shows_progress().then(|| Shown::new(line()));
    let done = work(&steps);
    drop(shown);
    console::detail(&format!("  {what}: {:.3} s", start.elapsed().as_secs_f64()));
    done
}

/// The number of finished steps.
#[derive(Clone, Default)]
pub struct Steps(Arc<AtomicUsize>);

impl Steps {
    /// Sets the number.
    pub fn set(&self, done: usize) {
        self.0.store(done, Ordering::Relaxed);
    }
}

/// Returns the folder of the file whose path ends a text.
fn folder_of(text: &str) -> &str {
    let path = text.split_once(' ').map_or("", |(_, path)| path);
    path.rfind('/').map_or("", |end| &path[..=end])
}

/// Contents of the line.
struct Line {
    what: String,
    unit: String,
    start: Instant,
    steps: Steps,
}

impl Line {
    fn text(&self) -> String {
        let seconds = self.start.elapsed().as_secs();
        match self.steps.0.load(Ordering::Relaxed) {
            0 => format!("{}: {seconds} s", self.what),
            done => format!("{}: {} {}, {seconds} s", self.what, grouped(done as u64), self.unit),
        }
    }
}

/// The line, which disappears when this is dropped.
struct Shown {
    /// Sender that is dropped first, so that the other end stops.
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Shown {
    fn new(line: Line) -> Self {
        let (over, waiting) = channel();
        // Without a thread there is no line, which does no harm.
        let thread = std::thread::Builder::new().spawn(move || show(&line, &waiting)).ok();
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

fn show(line: &Line, over: &Receiver<()>) {
    let mut wait = QUICK;
    while over.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        console::progress(&line.text());
        wait = STEP;
    }
    console::end_progress();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_number_of_steps_once_there_is_one() {
        let steps = Steps::default();
        let line = Line { what: "running m.tflite".into(), unit: "of 5,000 calls".into(), start: Instant::now(), steps: steps.clone() };
        assert_eq!(line.text(), "running m.tflite: 0 s");
        steps.set(1234);
        assert_eq!(line.text(), "running m.tflite: 1,234 of 5,000 calls, 0 s");
    }

    #[test]
    fn folders_are_left_out() {
        assert_eq!(folder_of("reading a/b c/m.tflite"), "a/b c/");
        assert_eq!([folder_of("reading m.tflite"), folder_of("writing")], [""; 2]);
    }
}
