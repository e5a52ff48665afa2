//! Project chores, run as `cargo xtask COMMAND`; one file a command.
//!
//! A library as well as a program, so that the project's own tests can run the examples without a second cargo.
//! Uses the standard library alone: it must build in seconds on a machine that has nothing but Rust.

pub mod emulate;
pub mod examples;
pub mod fuzz;
pub mod peers;
pub mod process;
pub mod setup;
pub mod shaders;
pub mod test;

/// What a command answers: nothing, or a message for the person who ran it.
pub type Outcome = Result<(), String>;
