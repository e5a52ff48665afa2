//! Requantization by constant multipliers as few instructions, each channel proven to give the reference's integers.
//!
//! After a requantization stands a clamp to a few hundred integers, from `low` to `high`. The rule's result never falls as the sum grows, so for
//! each of these integers there is one sum from which on it is reached: a **threshold**. Any other function that never falls and has the same
//! thresholds gives the same integers after the clamp, whatever it rounds inside. So parameters are searched for which a cheap sequence has
//! the thresholds of the rule: by bounds that are exact where one product and one sum are rounded, by computing both sides of every threshold
//! elsewhere. Only thresholds that sums reach count: the many dead channels of trained models, whose scales are tiny and whose biases are huge, have
//! none, and their result is a constant. These are tried:
//!
//! - The low 16 bits of `(sum + offset) · scale + c` in binary32, where c is so large that the last place is one: the sum rounds, to nearest, and
//!   nothing is left to convert. The offset places the thresholds: it takes no instruction where sums can begin with it. For results that are
//!   narrowed to bytes at once, by instructions that take the low halves of lanes. A rule that is one product of binary32 needs no search: the
//!   product is rounded, then the sum.
//! - `trunc(sum · scale + c)` in binary32, with c below one half or above as the windows say, and with the sum's sign where negative results matter.
//!   The sum of 24 bits is rounded once more, which places the thresholds of multipliers above 2⁻⁹ or so.
//! - The same where that rounding is towards zero, and so takes nothing from what is truncated anyway: 24 bits of the scale remain, for
//!   multipliers above 2⁻¹¹ or so. The kernel has to set the processor's mode for it.
//! - `trunc(sum · scale + (sum · rest + c))`, rounded towards zero, the scale in two numbers: for all others. The inner sum is below 2, so it is
//!   rounded by less than the outer grows from one sum to the next, and the results never fall.
//! - The same of a product of two integers, which binary32 has: nothing is added to it or converted that the factor of a channel can be.
//! - `((sum + offset) · multiplier >> 32) >> shift` with one unsigned product. The offset makes every sum positive; it is also what rounds, since
//!   some offset leaves the wanted fraction. The double rounding takes ties away from zero, which moves the thresholds of negative results by
//!   one unit before the shift: 1 is subtracted below a pivot. Sums can begin with the offset, so it takes no instruction.
//!
//! Machines without floats, or with few, take one product of signed integers instead: `(sum · multiplier + c) >> shift` in 32 bits where sums are small, else
//! `(((sum + offset) · multiplier >> 32) + c) >> shift`, with one shift for all channels.
//!
//! `stairs.rs` has the thresholds, `rounded.rs`, `float.rs`, `product.rs` and `signed.rs` the searches, `sequence.rs` the instructions, and `solve.rs` takes the cheapest.

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
pub use stairs::{Floats, MOST_ADDED, Problem, Rule, Scale};
