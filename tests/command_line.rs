//! The command line: what it refuses to write, how it ends, what it says of files that are no models.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/digits/digits_int8.tflite");

/// A folder with a model in it, in which commands run.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        fs::copy(MODEL, folder.at("m.tflite")).expect("the model is copied");
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.at(name), contents).expect("a file is written");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_modelc"));
        command.args(arguments).current_dir(self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command runs")
    }

    /// Runs a command that must not do what it is told; gives what it says.
    fn refused(&self, arguments: &[&str]) -> String {
        let before = self.contents();
        let output = self.run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(self.contents(), before, "{arguments:?} wrote something");
        said
    }

    /// All files and what is in them.
    fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(self.0.path()).expect("the folder is read").map(|entry| entry.expect("an entry").path());
        let mut files: Vec<_> = entries.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).expect("a file"))).collect();
        files.sort();
        files
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn outputs_replace_no_input() {
    let folder = Folder::new();
    folder.put("w.ptd", "tensors");
    folder.put("in.npz", "arrays");
    folder.put("a.npy", "an array");
    fs::hard_link(folder.at("m.tflite"), folder.at("hard.o")).expect("a link");
    fs::hard_link(folder.at("in.npz"), folder.at("hard.npz")).expect("a link");
    fs::create_dir(folder.at("sub")).expect("a folder");
    let commands: [&[&str]; 12] = [
        &["m.tflite", "-o", "m.tflite"],
        &["m.tflite", "-o", "hard.o"],
        &["m.tflite", "-o", "n.o", "--header", "m.tflite"],
        &["m.tflite", "--emit", "ir=sub/../m.tflite"],
        &["m.tflite", "-o", "n.o", "--data", "w.ptd", "--report", "./w.ptd"],
        &["m.tflite", "-o", "n.o", "--depfile", "m.tflite"],
        &["run", "m.tflite", "--inputs", "in.npz", "--outputs", "in.npz"],
        &["run", "m.tflite", "--inputs", "in.npz", "--outputs", "hard.npz"],
        &["run", "m.tflite", "--input", "in0=a.npy", "--outputs", "a.npy"],
        &["bench", "m.tflite", "--csv", "m.tflite"],
        &["inspect", "m.tflite", "--html", "m.tflite"],
        &["weights", "m.tflite", "--like", "hard.o", "-o", "hard.o"],
    ];
    for command in commands {
        let said = folder.refused(command);
        assert!(said.contains("MC0712") || said.contains("MC0715"), "{command:?}: {said}");
    }
    assert!(folder.refused(&["run", "m.tflite", "--inputs", "in.npz", "--outputs", "in.npz"]).contains("would replace in.npz"));
}

#[test]
fn outputs_are_files_of_their_own() {
    let folder = Folder::new();
    for command in [
        &["m.tflite", "-o", "n.o", "--emit", "json=n.o"][..],
        &["m.tflite", "-o", "n", "--depfile", "n"],
        &["m.tflite", "-o", "n", "--report", "./n"],
        &["m.tflite", "--emit", "ir=x", "--emit", "plan=x"],
        &["m.tflite", "-o", "n.o", "--weights", "external", "--emit", "json=n.bin"],
    ] {
        let said = folder.refused(command);
        assert!(said.contains("MC0713") || said.contains("MC0715"), "{command:?}: {said}");
    }
}

#[test]
fn a_neighbouring_header_of_the_user_stays() {
    let folder = Folder::new();
    folder.put("main.h", "#pragma once\n");
    let said = folder.refused(&["m.tflite", "-o", "main.o"]);
    assert!(said.contains("MC0714") && said.contains("--header"), "{said}");
    // With another name for the header it works, and again over modelc's own.
    for _ in 0..2 {
        let output = folder.run(&["m.tflite", "-o", "main.o", "--header", "net.h"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read(folder.at("main.h")).expect("it is there"), b"#pragma once\n");
}

#[test]
fn suffixes_are_kept_as_promises() {
    let folder = Folder::new();
    for (path, says) in
        [("net.c", "source code"), ("net.so", "-shared"), ("net.so.1", "-shared"), ("net.dll", "-shared"), ("net.exe", "link it")]
    {
        let said = folder.refused(&["m.tflite", "-o", path]);
        assert!(said.contains("MC0715") && said.contains(says), "{path}: {said}");
    }
    folder.refused(&["run", "m.tflite", "--outputs", "out.npy"]);
    folder.refused(&["m.tflite", "--emit", "json=net.o"]);
}

/// Everything that is asked for is written, however often it is named.
#[test]
fn all_outputs_are_written() {
    let folder = Folder::new();
    let output = folder.run(&["m.tflite", "-o", "a.o", "--emit", "object=b.o", "--emit", "header", "--header", "c.h", "--emit", "asm"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for name in ["a.o", "b.o", "c.h", "a.s"] {
        assert!(folder.at(name).is_file(), "{name}");
    }
    assert!(!folder.at("a.h").exists());
}

/// A reader of standard output that is gone before anything is written.
#[cfg(unix)]
fn nobody() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    let folder = Folder::new();
    let built = folder.run(&["m.tflite", "-o", "ext.o", "--weights", "external"]);
    assert_eq!(built.status.code(), Some(0), "{}", text(&built.stderr));
    let commands: [&[&str]; 12] = [
        &["ops"],
        &["targets"],
        &["--help"],
        &["--version"],
        &["m.tflite", "-o", "-"],
        &["m.tflite", "--emit", "ir=-"],
        &["run", "m.tflite"],
        &["bench", "m.tflite", "--num-runs", "1", "--min-secs", "0", "--json"],
        &["verify", "m.tflite", "--bisect"],
        &["inspect", "m.tflite"],
        &["inspect", "ext.o", "--json"],
        &["weights", "m.tflite", "--like", "ext.o", "-o", "-"],
    ];
    for command in commands {
        let output = folder.command(command).stdout(nobody()).output().expect("the command runs");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{command:?}");
        let silent = folder.command(command).stdout(nobody()).stderr(nobody()).status().expect("the command runs");
        assert_eq!(silent.code(), Some(0), "{command:?}");
    }
    let wrong = folder.command(&["run", "absent.tflite"]).stdout(nobody()).stderr(nobody()).status().expect("the command runs");
    assert_eq!(wrong.code(), Some(1));
}

/// Where results can be written to but are not, because the disk is full, say, that is an error.
#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error() {
    let full = || fs::File::options().write(true).open("/dev/full").expect("the device");
    if !Path::new("/dev/full").exists() {
        return;
    }
    let folder = Folder::new();
    for command in [&["ops"][..], &["m.tflite", "-o", "-"]] {
        let output = folder.command(command).stdout(full()).output().expect("the command runs");
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(text(&output.stderr).contains("MC0710"), "{command:?}: {}", text(&output.stderr));
    }
}
