//! Element-wise work: alone, and before and after the roots of other groups.

pub mod access;
mod apart;
mod division;
pub mod epilogue;
pub mod expression;
pub mod lanes;
mod look_ups;
pub mod map;
pub mod neighbours;
pub mod operands;
pub mod packed;
pub mod positions;
pub mod ranges;
pub mod requantize;
mod scalar_operations;
mod scaled_floats;
pub mod specialise;
mod streams;
pub mod sum_of_two;
pub mod sums;
