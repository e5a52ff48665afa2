//! Integers that quantized rows are multiplied with, as a file holds them.

use crate::ir::{ElementType, Value};

/// Integers of four or eight bits, `[units, depth]`.
#[derive(Clone, Copy)]
pub struct Matrix {
    /// The integers.
    pub value: Value,
    /// Whether they are constants of four bits in excess-8 code: without a sign, 8 more than they are. XNNPACK's files have such.
    pub excess: bool,
}

impl From<Value> for Matrix {
    fn from(value: Value) -> Self {
        Self { value, excess: false }
    }
}

impl Matrix {
    /// The sums of `count` integers each, one after another, of those in `bytes`.
    pub(super) fn sums(self, element: ElementType, bytes: &[u8], count: u64) -> Vec<i32> {
        let total = bytes.len() as u64 * 8 / u64::from(element.bits());
        let mut numbers = self.numbers(element, bytes);
        (0..total.checked_div(count).unwrap_or(0)).map(|_| numbers.by_ref().take(count as usize).sum()).collect()
    }

    fn numbers(self, element: ElementType, bytes: &[u8]) -> impl Iterator<Item = i32> + '_ {
        // Of two in a byte the first lies in the low bits.
        let shifts: &[u32] = if element == ElementType::I4 { &[4, 0] } else { &[0] };
        let bits = 8 - element.bits().min(8);
        let highest = if self.excess { 1 << 7 } else { 0 };
        // Shifting up and back extends the sign, which is the other way round in excess code.
        bytes.iter().flat_map(move |&byte| shifts.iter().map(move |shift| i32::from(((byte << shift) ^ highest) as i8 >> bits)))
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
    }
}
