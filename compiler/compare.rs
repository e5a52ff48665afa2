//! Comparison of tensors: integers bit for bit, floats within a tolerance, NaN and infinities at the same positions.

use crate::ir::{ElementType, Tensor, packed};
use std::fmt;

/// Permitted difference of floats: `absolute + relative × the largest finite expected magnitude of the tensor`. The magnitude is at least the
/// smallest normal binary32, because smaller numbers have too few digits.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Factor of the largest magnitude.
    pub relative: f64,
    /// Addend.
    pub absolute: f64,
}

/// Measures for differences of floats.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Unit in which differences are reported: the largest magnitude; 1 if all elements are zero.
    pub unit: f64,
    /// Limit of a difference; 0 for integers.
    pub allowed: f64,
}

/// Computes the measures for an expected tensor.
pub fn scale(expected: &Tensor, tolerance: Tolerance) -> Scale {
    let largest = numbers(expected).iter().filter(|x| x.is_finite()).fold(0f64, |largest, x| largest.max(x.abs()));
    let magnitude = largest.max(f32::MIN_POSITIVE.into());
    let exact = !expected.element.part().is_float();
    let allowed = if exact { 0.0 } else { tolerance.absolute + tolerance.relative * magnitude };
    Scale { unit: if largest > 0.0 { magnitude } else { 1.0 }, allowed }
}

/// The outcome of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub enum Difference {
    /// Within the tolerance.
    None {
        /// The largest difference, relative to the largest expected magnitude.
        worst: f64,
    },
    /// Another type or shape.
    Type {
        /// The type or shape found.
        found: String,
        /// The type or shape expected.
        expected: String,
    },
    /// Elements beyond the tolerance.
    Elements {
        /// Number of these elements.
        count: usize,
        /// Number of all elements.
        of: usize,
        /// Position, value and expected value of the first element.
        first: (usize, f64, f64),
        /// Position, value and expected value of the element with the largest difference.
        furthest: (usize, f64, f64),
        /// The largest difference, relative to the largest expected magnitude; infinite if NaN or infinities differ.
        worst: f64,
    },
}

impl Difference {
    /// Tests whether the tensors agree within the tolerance.
    pub fn agrees(&self) -> bool {
        matches!(self, Self::None { .. })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None { worst } => write!(f, "agrees, {worst:.1e} of the largest magnitude apart"),
            Self::Type { found, expected } => write!(f, "is {found}, expected {expected}"),
            Self::Elements { count, of, first: (position, found, expected), worst, .. } => write!(
                f,
                "{count} of {of} elements differ, up to {worst:.1e} of the largest magnitude; element {position} is {found}, expected {expected}"
            ),
        }
    }
}

/// Returns the elements as binary64. Empty for 64-bit integers, which binary64 cannot hold, and for types without arithmetic.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    use crate::ir::Scalar;
    let element = tensor.element.part();
    let size = (element.bits() / 8).max(1) as usize;
    let number = |bytes: &[u8]| {
        let mut raw = [0; 8];
        raw[..size].copy_from_slice(bytes);
        Scalar::from_bits(element, u64::from_le_bytes(raw)).as_f64()
    };
    tensor.bytes.chunks_exact(size).map(number).collect()
}

/// Compares a tensor with the expected one.
pub fn compare(found: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Difference {
    // NumPy has no bfloat16, so recordings hold its bits.
    if (found.element, expected.element) == (ElementType::Bf16, ElementType::U16) {
        return compare(found, &Tensor { element: ElementType::Bf16, ..expected.clone() }, tolerance);
    }
    // NumPy has no packed integers, so recordings have a byte for each.
    if found.element.is_packed() && expected.element == found.element.unpacked() {
        let bytes = packed::unpack(found.element, &found.bytes, found.elements());
        return compare(&Tensor { element: expected.element, shape: found.shape.clone(), bytes }, expected, tolerance);
    }
    if (found.element, &found.shape) != (expected.element, &expected.shape) {
        let describe = |t: &Tensor| format!("{}{:?}", t.element, t.shape);
        return Difference::Type { found: describe(found), expected: describe(expected) };
    }
    let exact = !found.element.part().is_float();
    let (ours, theirs) = (numbers(found), numbers(expected));
    let Scale { unit, allowed } = scale(expected, tolerance);
    let size = (found.bytes.len() / ours.len().max(1)).max(1);
    let mut worst = 0f64;
    let mut first = None;
    let mut furthest = (0.0, (0, 0.0, 0.0));
    let mut count = 0;
    for (i, (&a, &b)) in ours.iter().zip(&theirs).enumerate() {
        let same_bits = found.bytes[i * size..(i + 1) * size] == expected.bytes[i * size..(i + 1) * size];
        if same_bits || (!exact && (a == b || (a.is_nan() && b.is_nan()))) {
            continue;
        }
        let distance = (a - b).abs();
        let distance = if distance.is_nan() { f64::INFINITY } else { distance };
        worst = worst.max(distance / unit);
        if exact || distance > allowed {
            count += 1;
            first.get_or_insert((i, a, b));
            if distance > furthest.0 || count == 1 {
                furthest = (distance, (i, a, b));
            }
        }
    }
    match first {
        Some(first) => Difference::Elements { count, of: ours.len(), first, furthest: furthest.1, worst },
        None => Difference::None { worst },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Tensor {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Tensor { element: ElementType::F32, shape: vec![values.len() as u64], bytes }
    }

    const TOLERANCE: Tolerance = Tolerance { relative: 1e-5, absolute: 0.0 };

    #[test]
    fn floats_differ_by_a_part_of_the_largest() {
        let expected = floats(&[100.0, 1.0, f32::NAN, f32::INFINITY]);
        let near = floats(&[100.0005, 1.0005, f32::NAN, f32::INFINITY]);
        assert!(matches!(compare(&near, &expected, TOLERANCE), Difference::None { .. }));
        for far in [[100.01, 1.0, f32::NAN, f32::INFINITY], [100.0, 1.0, 0.0, f32::INFINITY], [100.0, 1.0, f32::NAN, 1e30]] {
            assert!(matches!(compare(&floats(&far), &expected, TOLERANCE), Difference::Elements { count: 1, .. }), "{far:?}");
        }
    }

    #[test]
    fn integers_are_equal_or_not() {
        let tensor = |values: &[i8]| Tensor { element: ElementType::I8, shape: vec![2], bytes: values.iter().map(|&v| v as u8).collect() };
        assert_eq!(compare(&tensor(&[1, -2]), &tensor(&[1, -2]), TOLERANCE), Difference::None { worst: 0.0 });
        let differ = |found: &[i8]| compare(&tensor(found), &tensor(&[1, -2]), TOLERANCE);
        assert!(matches!(differ(&[1, -1]), Difference::Elements { count: 1, .. }));
        let Difference::Elements { first, furthest, .. } = differ(&[2, 5]) else { panic!("both differ") };
        assert_eq!((first, furthest), ((0, 2.0, 1.0), (1, 5.0, -2.0)));
    }
}
