//! Names of operations in errors: as the text of kernels has them, where `--emit kernels` shows them.

use modelc_kernel::text::name;
use modelc_kernel::{BinaryOp, CompareOp, ConvertOp, DotOp, HorizontalOp, Rounding, UnaryOp};
use std::fmt;

/// An operation of the kernel language, without its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// An operation on two values.
    Binary(BinaryOp),
    /// An operation on one value.
    Unary(UnaryOp),
    /// A comparison.
    Compare(CompareOp),
    /// A conversion.
    Convert(ConvertOp),
    /// Dot products, added to an accumulator.
    Dot(DotOp),
    /// A reduction of all lanes.
    Horizontal(HorizontalOp),
    /// A product and a sum, rounded once.
    Fused(Rounding),
    /// A mask of a number of lanes that only the running kernel knows.
    FirstLanes,
    /// A load of the lanes of a mask.
    MaskedLoad,
    /// A store of the lanes of a mask.
    MaskedStore,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary(op) => f.write_str(&name(op)),
            Self::Unary(op) => f.write_str(&name(op)),
            Self::Compare(op) => f.write_str(&name(op)),
            Self::Convert(op) => f.write_str(&name(op)),
            Self::Dot(op) => write!(f, "dot_{}", name(op)),
            Self::Horizontal(op) => write!(f, "horizontal_{}", name(op)),
            Self::Fused(Rounding::Nearest) => f.write_str("fma"),
            Self::Fused(Rounding::TowardZero) => f.write_str("fma.toward_zero"),
            Self::FirstLanes => f.write_str("first_lanes"),
            Self::MaskedLoad => f.write_str("a masked load"),
            Self::MaskedStore => f.write_str("a masked store"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelc_kernel::text::parse_kernel;

    /// Checks that the names of operations begin lines of the text that can be read.
    #[test]
    fn operations_have_their_names_in_the_text() {
        let reads = |operation: Operation, from: &str, rest: &str, to: &str| {
            let text = format!("kernel @k(x: input {from}[64] align 64) {{ %1: {from}x4 = load x[0] %2: {to} = {operation} %1{rest} }}");
            parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        };
        reads(Operation::Binary(BinaryOp::FloatMinFirst), "f32", ", %1", "f32x4");
        reads(Operation::Unary(UnaryOp::CountLeadingZeros), "i32", "", "i32x4");
        reads(Operation::Compare(CompareOp::UnsignedLess), "i32", ", %1", "maskx4");
        reads(Operation::Convert(ConvertOp::SignedToFloat), "i32", "", "f32x4");
        reads(Operation::Horizontal(HorizontalOp::Add), "i32", "", "i32");
        reads(Operation::Fused(Rounding::TowardZero), "f32", ", %1, %1", "f32x4");
        let dot = "kernel @k(x: input i8[64] align 64, y: input i32[64] align 64) { %1: i8x16 = load x[0] %2: i32x4 = load y[0]";
        let text = format!("{dot} %3: i32x4 = {} %2, %1, %1 }}", Operation::Dot(DotOp::SignedSquares));
        parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
}
