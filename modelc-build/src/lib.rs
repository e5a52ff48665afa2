//! Compiles a model in the build script of a package: an object for the package's target, and a safe module of Rust that calls it.
//!
//! In `build.rs`:
//!
//! ```no_run
//! fn main() -> Result<(), modelc_build::Error> {
//!     modelc_build::Model::new("net.tflite").compile()
//! }
//! ```
//!
//! In the package, the module comes from the folder of the build script's outputs:
//!
//! ```ignore
//! mod net {
//!     include!(concat!(env!("OUT_DIR"), "/net.rs"));
//! }
//!
//! let mut arena = net::Arena::new();
//! let mut model = net::Model::new(&mut arena)?;
//! model.forward(&net::forward::Inputs { in0: &image }, &mut net::forward::Outputs { out0: &mut scores })?;
//! ```
//!
//! The script runs the program `modelc`, from the search path or from the environment variable `MODELC`. With the feature `library` it has the
//! compiler in itself instead.

mod compiler;
mod error;

pub use error::Error;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A model that a build script compiles.
#[derive(Clone, Debug)]
pub struct Model {
    path: PathBuf,
    name: String,
    options: Vec<OsString>,
    inputs: Vec<PathBuf>,
}

impl Model {
    /// A model file. A relative path begins at the folder of `Cargo.toml`. The module and the symbols get the name of the file, without its
    /// suffix and as an identifier.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let stem = path.file_stem().map_or_else(|| "net".into(), |stem| stem.to_string_lossy().into_owned());
        Self { name: identifier(&stem), path, options: vec![], inputs: vec![] }
    }

    /// Another name for the module and the symbols.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = identifier(name);
        self
    }

    /// An option of the command line with its value: `option("--bound", "in0.0=8")`.
    #[must_use]
    pub fn option(mut self, option: &str, value: &str) -> Self {
        self.options.push(format!("{option}={value}").into());
        self
    }

    /// A file of tensors beside an ExecuTorch program: `--data`.
    #[must_use]
    pub fn data(mut self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let mut option = OsString::from("--data=");
        option.push(&path);
        self.options.push(option);
        self.inputs.push(path);
        self
    }

    /// Compiles the model for the target of the package, and tells Cargo what to link and when to run the script again.
    ///
    /// # Errors
    /// Outside a build script, without a compiler, and if the compiler refuses the model: its message says why.
    pub fn compile(&self) -> Result<(), Error> {
        let variable = |name: &'static str| env::var_os(name).ok_or(Error::NoBuildScript { variable: name });
        let (folder, target) = (PathBuf::from(variable("OUT_DIR")?), variable("TARGET")?.to_string_lossy().into_owned());
        compiler::run(&self.arguments(&folder, &target))?;
        self.instructions(&folder).iter().for_each(|line| println!("cargo::{line}"));
        Ok(())
    }

    /// The command line of the compiler, without its name.
    fn arguments(&self, folder: &Path, target: &str) -> Vec<OsString> {
        let library = if target.ends_with("-msvc") { format!("{}.lib", self.name) } else { format!("lib{}.a", self.name) };
        let mut module = OsString::from("--emit=rust=");
        module.push(folder.join(format!("{}.rs", self.name)));
        let mut arguments: Vec<OsString> = vec![self.path.clone().into(), "-o".into(), folder.join(library).into(), module];
        arguments.extend([format!("--name={}", self.name).into(), format!("--target={target}").into(), "--quiet".into()]);
        arguments.extend(self.options.iter().cloned());
        arguments
    }

    /// Returns the lines that Cargo reads.
    fn instructions(&self, folder: &Path) -> Vec<String> {
        let changed = |path: &PathBuf| format!("rerun-if-changed={}", path.display());
        let mut lines: Vec<String> = std::iter::once(&self.path).chain(&self.inputs).map(changed).collect();
        lines.push(format!("rerun-if-env-changed={}", compiler::VARIABLE));
        lines.push(format!("rustc-link-search=native={}", folder.display()));
        lines.push(format!("rustc-link-lib=static={}", self.name));
        lines
    }
}

/// A name made an identifier of Rust.
fn identifier(name: &str) -> String {
    let mut result: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if result.is_empty() || result.starts_with(|c: char| c.is_ascii_digit()) {
        result.insert(0, '_');
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_follow_the_names_of_files() {
        let model = Model::new("models/my-net.v2.tflite").option("--optimize", "size").data("weights.ptd");
        let arguments = |target| -> Vec<String> {
            model.arguments(Path::new("out"), target).into_iter().map(|argument| argument.to_string_lossy().into_owned()).collect()
        };
        let unix = arguments("thumbv7em-none-eabihf");
        let out = |name: &str| Path::new("out").join(name).display().to_string();
        assert_eq!(unix[..3], ["models/my-net.v2.tflite".to_owned(), "-o".into(), out("libmy_net_v2.a")]);
        assert!(unix.ends_with(&["--optimize=size".into(), "--data=weights.ptd".into()]));
        assert_eq!(arguments("x86_64-pc-windows-msvc")[2], out("my_net_v2.lib"));
        assert_eq!(Model::new("2nd.pte").name, "_2nd");
        assert_eq!(Model::new("net.pte").name("a b").name, "a_b");
    }

    #[test]
    fn cargo_is_told_what_to_watch_and_to_link() {
        let lines = Model::new("net.tflite").data("w.ptd").instructions(Path::new("out"));
        let expected =
            ["rerun-if-changed=net.tflite", "rerun-if-changed=w.ptd", "rerun-if-env-changed=MODELC", "rustc-link-search=native=out"];
        assert_eq!(lines[..4], expected);
        assert_eq!(lines[4], "rustc-link-lib=static=net");
    }

    #[test]
    fn the_library_compiles_what_the_program_compiles() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/digits/digits_int8.tflite");
        let arguments = Model::new(path).arguments(folder.path(), "x86_64-unknown-linux-gnu");
        compiler::run_library(&arguments).expect("a model that compiles");
        let module = std::fs::read_to_string(folder.path().join("digits_int8.rs")).expect("the module");
        assert!(module.contains("pub const ARENA_BYTES") && folder.path().join("libdigits_int8.a").exists());
        let error = compiler::run_library(&Model::new("missing.tflite").arguments(folder.path(), "x86_64-unknown-linux-gnu"));
        assert!(format!("{:?}", error.expect_err("no such model")).contains("missing.tflite"));
    }

    #[test]
    fn errors_say_what_to_do() {
        let missing = Error::NoCompiler { program: "modelc".into(), cause: std::io::ErrorKind::NotFound.into() };
        assert!(format!("{missing:?}").contains("MODELC"), "{missing:?}");
        assert!(Error::NoBuildScript { variable: "OUT_DIR" }.to_string().contains("OUT_DIR"));
    }
}
