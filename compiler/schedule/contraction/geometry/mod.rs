//! The geometry of contractions: their extents, windows and images, and their memory needs.

pub mod bias;
pub mod contraction;
pub mod image_sizes;
pub mod joined_rows;
pub mod long_row;
pub mod needs;
pub mod phases;
pub mod places;
pub mod windows;
