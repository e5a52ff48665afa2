//! Project chores, run as `cargo xtask COMMAND`; one file a command.
//!
//! A library as well as a program, so that the project's own tests can run the examples without a second cargo.
//! Builds in seconds on a machine that has nothing but Rust: it uses the standard library, and one crate that reads object files.

pub mod count;
pub mod emulate;
pub mod examples;
pub mod fuzz;
pub mod peers;
pub mod process;
pub mod replay;
pub mod setup;
pub mod shaders;
pub mod test;

/// What a command answers: nothing, or a message for the person who ran it.
pub type Outcome = Result<(), String>;
