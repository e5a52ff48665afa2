//! The five stages of a method: grouped, chosen, placed, planned, written. Each is a file, a function and a value.

pub(super) mod apart;
pub(super) mod calls;
pub(super) mod chosen;
mod emission;
pub(super) mod extents;
pub(super) mod frame;
pub(super) mod grouped;
pub(super) mod memory_map;
pub(super) mod placed;
pub(super) mod planned;
pub(super) mod work;
pub(super) mod written;
