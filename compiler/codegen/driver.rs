//! The driver: the functions that a C program calls. They check their arguments, keep the state, and call kernels in order.

mod addresses;
mod checks;
mod context;
pub mod external;
mod gpu;
mod hooks;
pub mod language;
mod lifecycle;
mod members;
mod method;
mod moving;
mod ports;
mod rows;
mod steps;
mod tasks;

pub(super) use context::{Context, Gpu, LevelKernels, Numbers};
pub use context::{DriverOptions, Import, ImportKind, WeightsFrom};
pub(super) use gpu::gpu;
pub use hooks::{AFTER, BEFORE, measured_as};
pub(super) use lifecycle::lifecycle;
pub(super) use members::width;
pub(super) use method::{Callees, by_level, split, whole};
pub(super) use moving::scratch;
pub(super) use rows::{Rows, longest, rows_of, walk_rows};
pub(super) use tasks::{in_tasks, task};

#[cfg(test)]
mod tests;
