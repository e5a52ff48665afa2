//! The commands of README.md and `docs/`: each line of a block marked `sh` runs, and ends with the documented exit status.
//!
//! The blocks of a page run in order, in a folder with the files that pages mention (`FILES`). A block whose first line is a C comment with a
//! file name is written to that file. `# exit status N` after a command is its status; the default is 0. Commands of cargo are in blocks
//! without a mark; `.ci/run` runs those of README.md.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files that commands name, with their substitutes.
const FILES: &[(&str, &str)] = &[
    ("model.tflite", "examples/digits/digits_int8.tflite"),
    ("retrained.tflite", "examples/digits/digits_int8.tflite"),
    ("part.tflite", "examples/digits/digits_int8.tflite"),
    ("in.npz", "examples/digits/digits_int8.inputs.npz"),
    ("out.npz", "examples/digits/digits_int8.expected.npz"),
    ("model.pte", "examples/decoder/poem.pte"),
    ("model.bpte", "tests/models/executorch/perceptron.bpte"),
];

/// Commands whose results readers already have: the object of README's first command, and outputs of other inputs.
const BEFORE: &[&str] = &["modelc model.tflite -o digits.o", "modelc run model.tflite --random 7 --outputs wrong.npz"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns README.md and the pages of `docs/`.
fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs")).expect("docs can be read").map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// A fenced block: the word after its fence, and its lines.
struct Block<'p> {
    mark: &'p str,
    text: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = vec![];
    let mut is_open = false;
    for line in page.lines() {
        match (line.strip_prefix("```"), is_open) {
            (Some(mark), false) => blocks.push(Block { mark, text: String::new() }),
            (None, true) => blocks.last_mut().expect("a block is open").text.extend([line, "\n"]),
            _ => {}
        }
        is_open ^= line.starts_with("```");
    }
    blocks
}

/// A folder with the files. `modelc` is the compiler under test there.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, original) in FILES {
            fs::copy(root().join(original), folder.path().join(name)).expect("the file is copied");
        }
        let folder = Self(folder);
        for command in BEFORE {
            assert_eq!(folder.run(command), Ok(()));
        }
        folder
    }

    /// Runs a line. Returns an error if it does not end as documented.
    fn run(&self, line: &str) -> Result<(), String> {
        let promised = line.rsplit_once("# exit status ").map_or(0, |(_, status)| status.trim().parse().expect("a status is a number"));
        let compiler = Path::new(env!("CARGO_BIN_EXE_modelc")).parent().expect("the compiler is in a folder");
        let path = std::env::join_paths(
            std::iter::once(compiler.to_owned()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.0.path()).env("PATH", path.expect("folders of PATH"));
        let output = command.output().expect("a shell");
        if output.status.code() == Some(promised) {
            return Ok(());
        }
        Err(format!("{line}\n{}\n{}{}", output.status, String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
    }
}

#[test]
fn commands_do_what_pages_say() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page is text");
        let folder = Folder::new();
        for Block { mark, text } in blocks(&text) {
            if let Some(name) = text.strip_prefix("/* ").and_then(|rest| rest.split_once(" */\n")).map(|(name, _)| name) {
                fs::write(folder.0.path().join(name), &text).expect("the file is written");
            }
            for line in text.lines().filter(|_| mark == "sh") {
                count += 1;
                folder.run(line).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
            }
        }
    }
    assert!(count >= 30, "{count} commands");
}

/// Unmarked commands are not run and become outdated unnoticed.
#[test]
fn commands_stand_in_blocks_that_run() {
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page is text");
        for Block { text, .. } in blocks(&text).iter().filter(|block| block.mark != "sh") {
            let forgotten = text.lines().find(|line| ["modelc ", "$ modelc ", "cc "].iter().any(|start| line.starts_with(start)));
            assert_eq!(forgotten, None, "{}: mark the block `sh`", page.display());
        }
        let indented = text.lines().find(|line| line.starts_with("    modelc "));
        assert_eq!(indented, None, "{}: commands stand in fenced blocks", page.display());
    }
}
