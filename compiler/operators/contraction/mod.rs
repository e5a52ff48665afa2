//! Convolutions and products of matrices: sums of products, and the outputs computed from the sums.
//!
//! - `convolution.rs`: grouped, depthwise, dilated, of any number of spatial dimensions; `transposed.rs`, `phases.rs`: their transposes;
//! - `gradients.rs`: the gradient of a convolution's filter;
//! - `products.rs`: products of matrices, wide ones among them;
//! - `reduced.rs`: both for types without tiled kernels, among them 64-bit integers and floats;
//! - `output.rs`: the numerics: bias, scale, zero point, activation;
//! - `rows.rs`: floats quantized row by row at run time; `dynamic_range.rs`, `blockwise.rs`: such rows times integer weights;
//! - `matrix.rs`: integer weights in a file's format.

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
