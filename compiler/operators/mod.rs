//! The operator library: the operators of models, above the tensor language and below every front end.
//!
//! A front end reads an operator's arguments from its file, calls a function of this library and names the error. The contract:
//!
//! - Operators work on a [`Graph`], a function under construction, and return its values. They know the tensor language and no file format.
//! - Operands are values. An operator also takes its *geometry* (windows, axes, positions) and its *numerics*: rounding, the rule for NaN, the type
//!   of sums, the bounds of results. Two formats that differ only in numerics share all the rest.
//! - Shapes are extents, any of which may be a run-time extent. An operator that needs a static one returns [`Error::DynamicExtent`]. Results that
//!   follow from static extents are constants.
//! - Channels are last, as in the tensor language. A front end for a format with another order transposes.
//! - Errors are variants with their data ([`Error`]). The front end decides whose fault an error is, and names the tensor.

pub mod activation;
pub mod along;
pub mod antialias;
pub mod attention;
pub mod auto_scale;
pub mod blocks;
pub mod borders;
pub mod complex;
pub mod contraction;
pub mod detection;
pub mod distance;
pub mod embedding;
pub mod error;
pub mod experts;
pub mod fixed;
pub mod fixed_point;
pub mod fourier;
pub mod graph;
pub mod grid_sample;
pub mod hadamard;
pub mod indexing;
pub mod joins;
pub mod logarithm;
pub mod max_positions;
pub mod nonlinear;
pub mod norms;
pub mod overwriting;
pub mod pooling;
pub mod promotion;
pub mod quantization;
pub mod quantize;
pub mod quantize_rows;
pub mod quantized_arithmetic;
pub mod random;
pub mod recurrent;
pub mod reduction;
pub mod resize;
pub mod selection;
pub mod sigmoid16;
pub mod slices;
pub mod softmax;
pub mod square_root;
pub mod tables;
pub mod terms;
#[cfg(test)]
pub mod testing;
pub mod unpooling;
pub mod windows;

pub use error::Error;
pub use graph::{Graph, extents};
