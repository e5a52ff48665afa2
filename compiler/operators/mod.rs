//! The operator library: what models compute, above the tensor language and below every front end.
//!
//! A front end reads an operator's arguments from its file, calls a function of this library and names the error. The contract:
//!
//! - Operators work on a [`Graph`], a function being built, and give values of it. They know the tensor language and no file format.
//! - Operands are values. Beside them an operator takes its *geometry* (windows, axes, positions) and its *numerics*: whose rounding, which rule
//!   for NaN, what sums are held in, where results are clamped. Two formats that differ in numerics alone share all the rest.
//! - Shapes are extents, any of which may be known only when the program runs. An operator that needs a known one says so by
//!   [`Error::DynamicExtent`]; one whose numbers follow from known extents gives constants there.
//! - Channels are last, as the tensor language has them. A front end whose format has them elsewhere transposes.
//! - Errors are variants with their data ([`Error`]). Whose fault it is, and at which tensor, is the front end's to say.

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
