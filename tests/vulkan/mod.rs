//! Programs with a part for a device, helpers to run them, and the tests.

pub mod barriers;
mod instances;
pub mod linked;
pub mod loaded;
mod modules;
mod pretend;
pub mod pretended;
mod program;
pub mod software;
