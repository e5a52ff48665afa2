//! Ctrl-C: no partial file is left, and a measurement prints its results so far.

#![cfg(unix)]

use super::folder::{Folder, text};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn interrupt(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
    assert!(status.success());
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The object is written to a temporary file while the header, a pipe without a writer, is checked.
#[test]
fn an_interrupt_leaves_no_temporary_file() {
    for (signal, status) in [("-INT", 130), ("-TERM", 130)] {
        let folder = Folder::new();
        assert!(Command::new("mkfifo").arg(folder.at("pipe.h")).status().expect("mkfifo runs").success());
        let names = || -> Vec<String> {
            let entries = std::fs::read_dir(folder.at(".")).expect("the folder is read");
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
        };
        let mut child = folder.command(&["m.tflite", "-o", "n.o", "--header", "pipe.h"]).stderr(Stdio::null()).spawn().expect("it runs");
        wait_until("a temporary file", || names().iter().any(|name| name.starts_with(".modelc-")));
        interrupt(&child, signal);
        assert_eq!(child.wait().expect("it ends").code(), Some(status), "{signal}");
        let mut left = names();
        left.sort();
        assert_eq!(left, ["m.tflite", "pipe.h"], "{signal}");
    }
}

#[test]
fn a_measurement_that_is_interrupted_prints_what_it_has() {
    let folder = Folder::new();
    let csv = ["--csv", "runs.csv"];
    let mut command = folder.command(&[&["bench", "m.tflite", "--min-secs", "100", "--run-delay", "0.01"], &csv[..]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    std::thread::sleep(Duration::from_secs(2));
    interrupt(&child, "-INT");
    let output = child.wait_with_output().expect("it ends");
    let (said, noted) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{noted}");
    assert!(said.contains("steady") && said.contains("median") && noted.contains("interrupted"), "{said} {noted}");
    assert!(std::fs::read_to_string(folder.at("runs.csv")).expect("a table").lines().count() > 1);
}
