//! A folder with a model, in which the tests run commands.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A small model of the repository.
pub const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/digits/digits_int8.tflite");

/// A folder with a model in it, in which commands run.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        fs::copy(MODEL, folder.at("m.tflite")).expect("the model is copied");
        folder
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn put(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.at(name), contents).expect("a file is written");
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_modelc"));
        command.args(arguments).current_dir(self.0.path());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command runs")
    }

    /// Runs a command that must fail. Returns its messages.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let before = self.contents();
        let output = self.run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(self.contents(), before, "{arguments:?} wrote something");
        said
    }

    /// Runs a shell script, in which `$0` is modelc.
    pub fn shell(&self, script: &str) -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_modelc")]).current_dir(self.0.path());
        command.output().expect("the shell runs")
    }

    /// Runs a command that must succeed, on a terminal of some columns. Returns what the terminal receives.
    #[cfg(target_os = "linux")]
    pub fn on_terminal(&self, columns: u32, arguments: &str) -> String {
        let inner = format!("stty cols {columns} rows 40; exec '{}' {arguments}", env!("CARGO_BIN_EXE_modelc"));
        let mut command = Command::new("script");
        command
            .args(["--quiet", "--return", "--command", &inner, "/dev/null"])
            .current_dir(self.0.path())
            .stdin(std::process::Stdio::null());
        let output = command.output().expect("script, of util-linux, runs");
        assert!(output.status.success(), "{arguments}: {}", text(&output.stdout));
        text(&output.stdout)
    }

    /// Runs a command that must succeed.
    pub fn done(&self, arguments: &[&str]) -> Output {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        output
    }

    /// Runs a command that must end with a status. Returns its messages.
    pub fn fails(&self, status: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        said
    }

    /// Returns name, shape and scale of the model's input.
    pub fn input(&self) -> (String, Vec<u64>, f64) {
        let input = json(&self.run(&["inspect", "m.tflite", "--json"]))["methods"][0]["inputs"][0].clone();
        let shape = input["shape"].as_array().expect("a shape").iter().map(|n| n.as_u64().expect("an extent")).collect();
        (input["name"].as_str().expect("a name").to_owned(), shape, input["scale"][0].as_f64().expect("a scale"))
    }

    /// Returns all files with their contents.
    pub fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(self.0.path()).expect("the folder is read").map(|entry| entry.expect("an entry").path());
        let mut files: Vec<_> = entries.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).expect("a file"))).collect();
        files.sort();
        files
    }
}

/// Converts bytes to text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Parses the standard output of a successful command as JSON.
pub fn json(output: &Output) -> serde_json::Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("standard output is JSON")
}
