//! The public API: a [`Model`] is a file, a [`Session`] runs it, and [`Compiled`](crate::Compiled) is its compiled form.
//!
//! The command line uses the same parts. Items that only it needs are hidden in the documentation.

mod aligned;
mod array;
mod compiled;
pub mod engine;
mod error;
pub mod inputs;
mod method;
mod model;
mod outputs;
mod profile;
pub mod quantize;
mod session;
mod source;
mod specialised;
mod state;

pub use array::{Array, ArrayView, Element};
pub use error::Error;
pub use method::{Method, Port};
pub use model::Model;
pub use profile::KernelTime;
pub use session::Session;
pub use source::{Known, Loaded};
pub use state::State;
