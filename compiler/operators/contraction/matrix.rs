//! Integers that quantized rows are multiplied with, as a file holds them.

use crate::ir::packed::element_at;
use crate::ir::{ElementType, Value};

/// Integers of eight bits or fewer, `[units, depth]`.
#[derive(Clone, Copy)]
pub struct Matrix {
    /// The integers.
    pub value: Value,
    /// `true` for packed constants in excess code, as in XNNPACK's files: unsigned, 8 more than the weight for four bits.
    pub excess: bool,
}

impl From<Value> for Matrix {
    fn from(value: Value) -> Self {
        Self { value, excess: false }
    }
}

impl Matrix {
    /// The sums of each `count` consecutive integers in `bytes`.
    pub(super) fn sums(self, element: ElementType, bytes: &[u8], count: u64) -> Vec<i32> {
        let total = bytes.len() as u64 * 8 / u64::from(element.bits());
        let mut numbers = self.numbers(element, bytes);
        (0..total.checked_div(count).unwrap_or(0)).map(|_| numbers.by_ref().take(count as usize).sum()).collect()
    }

    fn numbers(self, element: ElementType, bytes: &[u8]) -> impl Iterator<Item = i32> + '_ {
        // The sign is the other way round in excess code.
        let turned = if self.excess { -1 << (element.bits() - 1) } else { 0 };
        (0..bytes.len() * element.per_byte() as usize).map(move |index| i32::from(element_at(element, bytes, index) ^ turned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;

    #[test]
    fn sums_know_both_codes() {
        let sums = |excess, element, bytes: &[u8], count| Matrix { value: Value::new(0), excess }.sums(element, bytes, count);
        assert_eq!(sums(false, ElementType::I4, &[0x21, 0xf7], 2), [3, 6]);
        assert_eq!(sums(true, ElementType::I4, &[0xa9, 0x7f], 2), [3, 6]);
        assert_eq!(sums(false, ElementType::I4, &[0x21, 0xf7, 0x08], 3), [10, -9]);
        assert_eq!(sums(false, ElementType::I8, &[1, 255, 128], 3), [-128]);
        assert_eq!(sums(false, ElementType::I2, &[0b11_10_01_00, 0b10], 4), [-2, -2]);
        assert_eq!(sums(true, ElementType::I2, &[0b11_10_01_00], 2), [-3, 1]);
    }
}
