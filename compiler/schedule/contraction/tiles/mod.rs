//! Register tiles of pixels × output channels, and the loops that compute an output of them.

mod chains;
mod copied_windows;
pub mod depthwise_in_16_bits;
pub mod depthwise_tile;
pub mod hoisted;
pub mod in_16_bits;
pub mod lowering;
mod matrices;
pub mod pairs;
mod panel_loops;
mod pixel_pairs;
pub mod places;
pub mod plane_weights;
pub mod register_tile;
pub mod round_in_squares;
mod row_loops;
pub mod squares;
pub mod table;
pub mod tile;
