//! Register tiles of pixels × output channels, and the loops around them.

mod chains;
pub mod depthwise_in_16_bits;
pub mod depthwise_tile;
pub mod in_16_bits;
pub mod loops;
pub mod pairs;
mod pixel_pairs;
pub mod plane_weights;
pub mod register_tile;
pub mod round_in_squares;
pub mod squares;
pub mod tile;
