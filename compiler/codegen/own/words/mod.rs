//! Lowering for machines with 32-bit registers: each lane is in one register, a 64-bit lane in two. An instruction set provides operations on words
//! ([`Ops`]), and loads, stores and floats ([`Words`]). This folder lowers kernel instructions to these.

mod arithmetic;
mod back_end;
mod compile;
mod convert;
mod double;
mod driver;
mod enter;
mod factors;
mod fixed;
mod float;
mod functions;
mod held;
mod inst;
mod lanes;
mod long;
mod masks;
mod memory;
mod ops;
mod permute;
mod plain;
mod pointers;
mod rounds;
mod set;
mod soft;
mod software;
mod value;
mod vector_ops;
mod vectors;

#[cfg(test)]
mod tests;

pub use back_end::{Compilers, WordBackEnd};
pub use compile::{word_driver, word_support};
pub use factors::{factors, shared_factors};
pub use held::DOUBLES;
pub use inst::{Arg, Inst, Op, Operations};
pub use lanes::lanes;
pub use ops::{Half, Operand, Ops, Test, WordOp, Words};
pub use plain::{clamp, divide_by_number, leading_zeros, long_less, long_product, long_sum};
pub use pointers::{Numbers, step_pointers};
pub use rounds::{Round, Stepped, Term, sum, sum_of};
pub use set::{Rows, WordSet, exponent};
pub use soft::divide_words;
pub use vector_ops::{ByteOp, Element, Filled, LaneOp, LaneShift, LaneTest, VECTOR, VectorOps, WithWord};
pub use vectors::vectors;
