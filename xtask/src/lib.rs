//! Project chores, run as `cargo xtask COMMAND`; one file a command.
//!
//! The package is also a library, so that the project's tests can run the examples without a second cargo. It builds in seconds on a machine
//! with only Rust: it uses the standard library, and one crate that reads object files.

#[path = "../../tests/support/bless.rs"]
mod bless;
pub mod count;
pub mod docs;
pub mod emulate;
pub mod examples;
pub mod fuzz;
pub mod peers;
pub mod process;
pub mod replay;
pub mod setup;
pub mod shaders;
pub mod test;

/// Result of a command: success, or a message for the user.
pub type Outcome = Result<(), String>;
