//! Reductions along axes: sums, extremes, means, moments, positions of extremes. `axes.rs` reduces plain numbers, `quantized.rs` and
//! `quantized_product.rs` quantized ones.

mod axes;
mod quantized;
mod quantized_product;
#[cfg(test)]
mod tests;

pub use axes::{
    Axes, centred_squares, count, integer_mean, inverse_root, mean, moments, normalized, position, reduce, scaled_differences, without,
};
pub use quantized::{Rescaling, quantized_mean, quantized_sum};
pub use quantized_product::quantized_product;
