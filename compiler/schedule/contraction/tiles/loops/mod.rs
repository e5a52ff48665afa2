//! The loops around the tiles of a direct convolution: matrices, rows of windows, panels, and the tiles of a row.

mod copied_windows;
pub mod hoisted;
pub mod lowering;
mod matrices;
mod panel_loops;
pub mod places;
mod row_loops;
