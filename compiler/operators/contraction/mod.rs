//! Convolutions and products of matrices: sums of products, and what becomes of the sums.
//!
//! - `convolution.rs`: grouped, depthwise, dilated, of any number of spatial dimensions; `transposed.rs`, `phases.rs`: their transposes;
//! - `gradients.rs`: what a convolution's result owes its filter;
//! - `products.rs`: products of matrices, wide ones among them;
//! - `reduced.rs`: both of types that products of tiles do not take, 64-bit integers and floats among them;
//! - `output.rs`: the numerics: bias, scale, zero point, activation;
//! - `rows.rs`: floats quantized row by row when the program runs; `dynamic_range.rs`, `blockwise.rs`: such rows against integer weights;
//! - `matrix.rs`: those weights as a file has them.

pub mod blockwise;
mod convolution;
pub mod dynamic_range;
pub mod gradients;
mod matrix;
mod output;
mod phases;
pub mod products;
mod reduced;
pub mod rows;
#[cfg(test)]
mod tests;
mod transposed;

pub use convolution::{Convolution, Crop, Transposed, depthwise_filter};
pub use matrix::Matrix;
pub use output::{IntegerOutput, Numerics, Scaling, nearest, scale_wide};
pub use transposed::transposed_filter;
