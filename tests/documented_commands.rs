//! The commands of README.md and `docs/`: each line of a block marked `sh` runs, and ends with the documented exit status.
//!
//! The blocks of a page run in order, in a folder with the files that pages mention (`FILES`). A block of another mark whose first line is a comment
//! with a file name is written to that file. `# exit status N` after a command is its status; the default is 0. Programs that a block needs stand
//! after its mark, as in `sh cmake`: a block is skipped where one is missing. Other tests run the blocks of `ELSEWHERE`. Commands of `cargo xtask` are
//! in blocks without a mark; `.ci/run` runs those of README.md.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::process::find;

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

/// The repository and its examples, by the names that they have in pages.
const FOLDERS: &[(&str, &str)] = &[("modelc", "."), ("examples", "examples")];

/// Needs of blocks that another test runs, and that test.
const ELSEWHERE: &[(&str, &str)] = &[("bazel", "tests/build_systems.rs"), ("python", "python/tests/test_pages.py")];

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

/// A fenced block: the words after its fence, and its lines.
struct Block<'p> {
    mark: &'p str,
    text: String,
}

impl Block<'_> {
    fn is_commands(&self) -> bool {
        self.mark.split(' ').next() == Some("sh")
    }

    /// Programs that the commands need.
    fn needs(&self) -> impl Iterator<Item = &str> {
        self.mark.split(' ').skip(1)
    }

    /// The file that the block is, by the comment in its first line.
    fn file(&self) -> Option<&str> {
        let first = self.text.lines().next()?;
        let name = ["/* ", "# ", "// "].iter().find_map(|start| first.strip_prefix(start))?.trim_end_matches(" */");
        (!self.is_commands() && name.contains('.') && !name.contains(' ')).then_some(name)
    }

    /// The commands, where what they need is there.
    fn commands(&self) -> impl Iterator<Item = &str> {
        let runs = self.is_commands() && self.needs().all(|need| !ELSEWHERE.iter().any(|(name, _)| *name == need) && find(need).is_some());
        self.text.lines().filter(move |_| runs)
    }
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
        for (name, original) in FOLDERS {
            std::os::unix::fs::symlink(root().join(original), folder.path().join(name)).expect("the folder is linked");
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
        // CMake would find a release build of this repository first; Cargo builds in the folder, from what is there.
        command.env("CMAKE_PROGRAM_PATH", compiler).env("CARGO_NET_OFFLINE", "true");
        for variable in ["CARGO_TARGET_DIR", "MAKEFLAGS", "MFLAGS", "MODELC"] {
            command.env_remove(variable);
        }
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
        for block in blocks(&text) {
            if let Some(name) = block.file() {
                let file = folder.0.path().join(name);
                fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("the folder is made");
                fs::write(file, &block.text).expect("the file is written");
            }
            for line in block.commands() {
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
        for Block { text, .. } in blocks(&text).iter().filter(|block| !block.is_commands()) {
            let starts = ["modelc ", "$ modelc ", "cc ", "cmake ", "make ", "meson ", "bazel ", "pip ", "python "];
            let forgotten = text.lines().find(|line| starts.iter().any(|start| line.starts_with(start)));
            assert_eq!(forgotten, None, "{}: mark the block `sh`", page.display());
        }
        let indented = text.lines().find(|line| line.starts_with("    modelc "));
        assert_eq!(indented, None, "{}: commands stand in fenced blocks", page.display());
    }
}

/// A block that no test runs would go out of date, too.
#[test]
fn other_tests_run_the_blocks_of_their_tools() {
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page is text");
        let name = page.file_name().and_then(|name| name.to_str()).expect("pages have names");
        for need in blocks(&text).iter().filter(|block| block.is_commands()).flat_map(Block::needs) {
            if let Some((_, test)) = ELSEWHERE.iter().find(|(tool, _)| *tool == need) {
                let source = fs::read_to_string(root().join(test)).expect("a test is text");
                assert!(source.contains(name), "{test} does not run the commands of {name}");
            }
        }
    }
}

/// Chores and tests that pages name exist.
#[test]
fn commands_of_cargo_name_what_there_is() {
    let usage = fs::read_to_string(root().join("xtask/src/main.rs")).expect("a source is text");
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page is text");
        let after = |start: &'static str| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            text.split(start).skip(1).map(|rest| rest.split(|c| !is_name(c)).next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        for chore in after("cargo xtask ") {
            assert!(usage.contains(&format!("\ncargo xtask {chore} ")), "{}: cargo xtask {chore}", page.display());
            count += 1;
        }
        for (start, folder) in [("--test ", "tests"), ("cargo bench --bench ", "benches")] {
            for test in after(start) {
                let there =
                    [format!("{folder}/{test}.rs"), format!("{folder}/{test}/main.rs")].iter().any(|file| root().join(file).exists());
                assert!(there, "{}: {start}{test}", page.display());
                count += 1;
            }
        }
    }
    assert!(count >= 10, "{count} commands of cargo");
}
