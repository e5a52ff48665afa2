//! Convolutions and matrix products.
//!
//! The files of this folder are the schedules, and the choice among them. The folders are what they share:
//! - [`geometry`]: one geometry for convolutions and matrix products, the places of windows, and what a contraction needs of memory;
//! - [`operands`]: the forms of operands, and the right one in panels: packed at compile time, or filled by the kernel;
//! - [`rows`]: input rows in scratch memory, staged once, in the order in which tiles read them;
//! - [`table`]: limits of tiles, unrolled loops and rows, for machines and forms;
//! - [`tiles`]: pixels × output channels whose sums are in registers, and the loops over them.

pub mod blocks;
pub mod choice;
pub mod depthwise;
mod depthwise_columns;
mod depthwise_in_place;
mod depthwise_planes;
mod depthwise_rows;
pub mod direct;
pub mod geometry;
pub mod operands;
pub mod products;
mod rows;
mod sparse_products;
mod table;
mod tiles;
