//! Convolutions and products of matrices.

pub mod bias;
pub mod block_panels;
pub mod blocks;
pub mod choice;
pub mod cuts;
pub mod depthwise;
mod depthwise_rows;
mod depthwise_tile;
pub mod direct;
mod filling;
pub mod form;
pub mod geometry;
pub mod image_sizes;
mod loops;
pub mod packing;
pub mod panels;
pub mod phases;
pub mod products;
mod right;
mod row_pairs;
pub mod sparse;
pub mod staging;
pub mod strips;
mod sums;
mod tile;
pub mod weights;
