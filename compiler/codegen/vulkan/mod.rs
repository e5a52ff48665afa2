//! The runtime that runs regions on a Vulkan device: functions in the driver language, and the tables that they read.
//!
//! The runtime is the same for every model; the differences are in the model's table. Handles and addresses of functions are in a part of the state.
//! There is no heap and no writable data. After a failure, the state holds the number of the call and its result.

mod all;
mod check;
mod choose;
mod close;
pub mod common;
mod flags;
pub mod functions;
mod layout;
mod measure;
mod memory;
mod modules;
mod open;
mod options;
mod pipelines;
mod record;
mod report;
mod run;
mod runtime;
mod survey;
pub mod tables;
#[cfg(test)]
mod tests;
mod write;

pub use check::DeviceFault;
pub use modules::Modules;
pub use open::clear;
pub use options::{GpuOptions, LoaderChoice, RuntimePlace};
pub use run::passed;
pub use runtime::{FORMAT, Loader, Own, RUNTIME_NAME, Runtime};
pub use survey::{SURVEY, SURVEYED, survey, survey_row};
pub use tables::{Tables, Wishes, tables};
