//! Mathematical functions as kernel instructions: polynomials and integer operations on exponents, without tables or a library.
//!
//! Functions take any number of binary32 or binary64 lanes, unless they name others, and return as many lanes. Most binary64 functions are in
//! `wide/`, which states their errors. Errors are in units of the last place (ulp) of the true result. They hold in round-to-nearest with denormals
//! on. Tests measure them over the whole range with the kernel interpreter. A NaN operand gives NaN unless stated otherwise.
//!
//! Functions with an [`Arithmetic`] use fused products and sums if the machine has them. Their results have equal bits on all machines with fused
//! products, for any number of lanes, and other bits on machines without. All other functions use separate products and sums. They have equal bits
//! everywhere.
//!
//! Polynomials, and quotients of polynomials, are minimax fits (Remez exchange). Coefficients were rounded to the working precision one by one, and
//! the others were fitted again after each.

mod arithmetic;
mod atan2;
mod cos;
mod erf;
mod erfc;
mod exp;
mod log;
mod logistic;
mod narrow;
mod normal;
mod numbers;
mod pow;
mod quadrant;
mod reciprocal;
mod remainder;
mod rsqrt;
mod sin;
mod special;
mod tanh;
mod turns;
mod wide;

#[cfg(test)]
mod tests;

pub use arithmetic::Arithmetic;
pub use atan2::atan2;
pub use cos::cos;
pub use erf::erf;
pub use erfc::erfc;
pub use exp::exp;
pub use log::log;
pub use logistic::logistic;
pub use narrow::{bf16_of_f32, f32_of_bf16, f32_to_odd};
pub use normal::normal_cdf;
pub use pow::pow;
pub use remainder::remainder;
pub use rsqrt::rsqrt;
pub use sin::sin;
pub use tanh::tanh;

use arithmetic::polynomial;
use numbers::{ROUNDER, add_constant, between, constant, integer_lane, is_wide, mul_constant, with_sign};
