//! Products of a depthwise convolution of bytes in paired rows.

use super::form::Form;
use crate::machine::{DotProduct, Machine};
use crate::schedule::context::Context;

/// The kind of instruction that multiplies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Products {
    /// Four bytes at a time.
    Fours,
    /// Two rows at a time, as 16 bits.
    Pairs,
    /// Two rows at a time, as bytes with products added in 16 bits.
    In16Bits,
}

impl Products {
    /// Returns the kind of a machine. `None` if it multiplies no bytes of paired rows.
    pub fn on(machine: &Machine) -> Option<Self> {
        match machine.dot {
            // Machines without vectors can hold neither rows of vectors nor their sums.
            _ if !machine.combines_lanes() => None,
            DotProduct::Signed8 if machine.adds_in_16_bits && !machine.byte_fours => Some(Self::In16Bits),
            DotProduct::UnsignedSigned8 | DotProduct::Signed8 => Some(Self::Fours),
            DotProduct::Signed16 => machine.word_pairs.then_some(Self::Pairs),
        }
    }

    /// Returns the form of the operands. They are signed if one of the machines that read the weights needs signed bytes.
    pub fn form(self, cx: &Context<'_>) -> Form {
        let signed = cx.levels.iter().chain([&cx.machine]).any(|machine| machine.dot == DotProduct::Signed8);
        match self {
            Self::In16Bits => Form::Signed8,
            Self::Fours if signed => Form::Signed8,
            Self::Fours => Form::Unsigned8,
            Self::Pairs => Form::EvenAndOdd { signed },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_that_multiply_bytes_or_pairs_read_rows_in_pairs() {
        let found = |level| crate::machine::machine(level).and_then(|machine| Products::on(machine));
        assert_eq!(found("x86-64-v4"), Some(Products::Fours));
        assert_eq!([found("x86-64-v2"), found("x86-64-v3")], [Some(Products::Pairs); 2]);
        assert_eq!([found("aarch64"), found("aarch64+dotprod")], [Some(Products::In16Bits), Some(Products::Fours)]);
        assert_eq!([found("riscv64"), found("rv64gcv")], [None; 2]);
    }
}
