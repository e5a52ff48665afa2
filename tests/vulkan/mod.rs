//! Programs part of which is for a device, and what tests need to run them.

pub mod modules;
pub mod pretend;
pub mod program;
