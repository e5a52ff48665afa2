//! Requantization by constant multipliers in few instructions. Every channel is proven to give the reference's integers.
//!
//! A clamp to a few hundred integers, from `low` to `high`, follows a requantization. The rule's result never falls as the sum grows. So each of
//! these integers has a **threshold**: the least sum that reaches it. Any other function that never falls and has the same thresholds gives the same
//! integers after the clamp. The search looks for parameters with which a cheap sequence has the rule's thresholds. Bounds on the parameters are
//! exact if one product and one sum are rounded; otherwise both sides of every threshold are computed. Only thresholds that sums reach count. Trained
//! models have many dead channels, with tiny scales and huge biases: these have no threshold, and their result is a constant. The sequences are, the
//! cheapest first:
//!
//! - The low 16 bits of `(sum + offset) · scale + c` in binary32. c is so large that its last place is one, so the sum rounds to nearest, and no
//!   conversion is needed. The offset places the thresholds, and takes no instruction if sums can begin with it. This sequence is for results that
//!   are narrowed to bytes at once, by instructions that take the low halves of lanes. A rule that is one product in binary32 needs no search: the
//!   product is rounded, then the sum.
//! - The steps of the rule, on machines on which each is one instruction: a doubling high product, and a shift that rounds ties up. Between them, 1
//!   is subtracted from negative products, unless all of these give the least result.
//! - `trunc(sum · scale + c)` in binary32. c is chosen by the bounds, and has the sum's sign if negative results matter. One more rounding, of the
//!   24-bit sum, is the reason why it suits multipliers above about 2⁻⁹.
//! - `trunc(sum · scale + c)`, rounded towards zero, which truncation does anyway. All 24 bits of the scale count, so it suits multipliers above
//!   about 2⁻¹¹. The kernel must set the processor's rounding mode.
//! - `trunc(sum · scale + (sum · rest + c))`, rounded towards zero, with the scale in two numbers: for all other multipliers. The inner sum is below
//!   2. Its rounding error is less than the growth of the outer sum from one sum to the next, so results never fall.
//! - These sequences for a product of two small integers, which is exact in binary32. Work on the factor of a channel alone can move out of loops.
//! - `((sum + offset) · multiplier >> 32) >> shift`, with one unsigned product. The offset makes every sum positive and also rounds, since some
//!   offset leaves the wanted fraction. Double rounding takes ties away from zero. This moves the thresholds of negative results by one unit before
//!   the shift, so 1 is subtracted below a pivot. Sums can begin with the offset, so it takes no instruction.
//!
//! Machines with few floats or none use one product of signed integers instead. It is `(sum · multiplier + c) >> shift` in 32 bits if sums are small,
//! otherwise `(((sum + offset) · multiplier >> 32) + c) >> shift`. All channels have one shift. It is 0 if the high half of a product takes one
//! instruction, and sums begin with the offset. All channels must have parameters without a shift, too.
//!
//! `stairs.rs` computes the thresholds. `rounded.rs`, `float.rs`, `product.rs` and `signed.rs` are the searches. `sequence.rs` writes the
//! instructions, and `solve.rs` takes the cheapest sequence.

mod float;
mod numbers;
mod product;
mod rounded;
mod sequence;
mod signed;
mod solve;
mod stairs;

pub use float::neighbour;
pub use numbers::ROOM;
pub use sequence::{OfProduct, Precision, Requantizer};
pub use solve::{Solution, Solved};
pub use stairs::{Floats, MOST_ADDED, Problem, Rule, Scale, Unshifted};
