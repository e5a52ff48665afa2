//! Compilation of FlatBuffers schemas (`.fbs`) to Rust readers and writers over the `flatbuffers` crate.
//!
//! A build script calls [`compile_file`] for each schema and includes the result:
//!
//! ```text
//! text ─ lexer ─▶ tokens ─ parser ─▶ syntax ─ load (includes) ─ check ─▶ model ─ generate ─▶ Rust
//! ```
//!
//! The language is FlatBuffers without what model files never use. It lacks structs, fixed arrays, vectors of vectors or unions, optional scalars,
//! and services. It also lacks attributes other than `deprecated` and `force_align`. Each of these is an error, never a silent omission. A skipped
//! field would shift the slots of all later fields.
//!
//! The output for `schemas/NAME.fbs` is the text of one module, named `NAME`; types from an included `OTHER.fbs` are expected in
//! `super::OTHER`. It contains:
//!
//! - an enum is an *open* newtype over its integer: a value that the schema does not know is kept,
//!   and `variant_name` is `None` for it. `KNOWN` lists the known values with their names;
//! - a union is such an enum (over `u8`) for its tag, with one typed accessor for each member;
//! - a table is a `Copy` view with one accessor a field, a verifier, a `Debug` form, and
//!   `create` with its `…Args` to write one;
//! - a root type has `root_as_…_with_opts`, `finish_…_buffer`, and its file identifier.
//!
//! A [`Schema`] also finds every value in a buffer, so that tests can damage them one at a time.

mod check;
mod error;
mod generate;
mod lexer;
mod load;
mod model;
mod names;
mod parser;
mod sites;
mod syntax;
mod values;

use std::path::{Path, PathBuf};

pub use error::{Error, Position};
pub use sites::{Schema, Site, SiteKind};

/// The result of compiling one schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The text of the module.
    pub rust: String,
    /// Every file read: the schema itself and all it includes, for `rerun-if-changed`.
    pub files: Vec<PathBuf>,
}

/// Compiles the schema at `path`; includes are relative to the file that names them.
///
/// # Errors
/// The first error, with file, line and column, and the expected text.
pub fn compile_file(path: &Path) -> Result<Output, Error> {
    compile(path, &|file| std::fs::read_to_string(file))
}

/// Compiles the schema at `path`, with `read` in place of the file system.
///
/// # Errors
/// The errors of [`compile_file`]; an error of `read` has the position of the `include`.
pub fn compile(path: &Path, read: &dyn Fn(&Path) -> std::io::Result<String>) -> Result<Output, Error> {
    let sources = load::load(path, read)?;
    let modules = check::check(&sources)?;
    let files = sources.into_iter().map(|source| source.path).collect();
    Ok(Output { rust: modules.first().map(generate::generate).unwrap_or_default(), files })
}
