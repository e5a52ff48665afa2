//! Affine quantization of all front ends: multipliers in fixed point, ranges of activations.

use super::Error;
use crate::ir::{ElementType, Interval};
use std::fmt;

/// One scale and one zero point: `real = scale × (integer − zero point)`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Affine {
    /// Real value of one step; above zero.
    pub scale: f32,
    /// The integer that stands for zero.
    pub zero_point: i32,
}

impl fmt::Display for Affine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scale {}, zero point {}", self.scale, self.zero_point)
    }
}

/// The multiplier of a ratio of scales.
///
/// # Errors
/// [`Error::ScaleRatio`] where it is not finite.
pub fn multiplier(ratio: f64) -> Result<Multiplier, Error> {
    Multiplier::from_real(ratio).ok_or(Error::ScaleRatio { ratio })
}

/// The exponent of a scale that is a power of two, within the tolerance that the reference has.
pub fn exponent(scale: f32) -> Option<i32> {
    let logarithm = libm::logf(scale) * (1.0 / libm::logf(2.0));
    let rounded = libm::roundf(logarithm);
    ((logarithm - rounded).abs() < 1e-3).then_some(rounded as i32)
}

/// A real factor as TFLite holds it: `mantissa × 2^(shift − 31)`, with |mantissa| in 2³⁰..2³¹ or zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multiplier {
    /// The factor's significant bits, a fraction of 2³¹.
    pub mantissa: i32,
    /// Binary exponent; a positive one shifts to the left.
    pub shift: i32,
}

impl Multiplier {
    /// The nearest multiplier to `real` (TFLite's `QuantizeMultiplier`): the fraction of `frexp` in 31 bits, rounded half away from zero; a factor
    /// below 2⁻³² becomes zero. Models with an output that is always zero have factors of 2³⁰ or more. These become the largest multiplier, as in
    /// TFLite's variant that rounds once. The other variant shifts by more bits than there are, which has no meaning. `None` when it is not finite.
    pub fn from_real(real: f64) -> Option<Self> {
        if !real.is_finite() {
            return None;
        }
        if real == 0.0 {
            return Some(Self { mantissa: 0, shift: 0 });
        }
        let (fraction, mut shift) = libm::frexp(real);
        let mut fixed = libm::round(fraction * f64::from(1u32 << 31)) as i64;
        if fixed == 1 << 31 {
            fixed /= 2;
            shift += 1;
        }
        if shift < -31 {
            return Some(Self { mantissa: 0, shift: 0 });
        }
        if shift > 30 {
            return Some(Self { mantissa: if fixed < 0 { -i32::MAX } else { i32::MAX }, shift: 30 });
        }
        // −2³¹ is the one negative fraction that fits without the correction above.
        Some(Self { mantissa: i32::try_from(fixed).ok()?, shift })
    }
}

/// The smallest and largest integer of a quantized type of 2, 4, 8 or 16 bits.
pub fn integer_range(element: ElementType) -> Option<Interval<i32>> {
    match element {
        ElementType::I2 => Some(Interval::new(-2, 1)),
        ElementType::I4 => Some(Interval::new(-8, 7)),
        ElementType::U4 => Some(Interval::new(0, 15)),
        ElementType::I8 => Some(Interval::new(-128, 127)),
        ElementType::U8 => Some(Interval::new(0, 255)),
        ElementType::I16 => Some(Interval::new(-32768, 32767)),
        _ => None,
    }
}

/// The integer nearest to `real`, half away from zero, on a quantized scale: `zero_point + round(real ÷ scale)` in f32 as TFLite
/// computes it. `None` when it leaves 32 bits.
pub fn quantize(real: f32, scale: f32, zero_point: i32) -> Option<i32> {
    let rounded = libm::roundf(real / scale);
    let fits = rounded >= i32::MIN as f32 && rounded < -(i32::MIN as f32);
    if fits { zero_point.checked_add(rounded as i32) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_are_normalised_fractions() {
        let of = |real| Multiplier::from_real(real).map(|m| (m.mantissa, m.shift));
        assert_eq!(of(1.0), Some((1 << 30, 1)));
        assert_eq!(of(0.5), Some((1 << 30, 0)));
        assert_eq!(of(0.0), Some((0, 0)));
        // The fraction rounds up to 1: it becomes one half, one binary place higher.
        assert_eq!(of(1.0 - 2f64.powi(-40)), Some((1 << 30, 1)));
        assert_eq!(of(2f64.powi(-33)), Some((0, 0)));
        assert_eq!(of(-0.75), Some((-1_610_612_736, 0)));
        assert_eq!(of(f64::NAN), None);
        assert_eq!(of(2f64.powi(30)), Some((i32::MAX, 30)));
        assert_eq!(of(-2f64.powi(40)), Some((-i32::MAX, 30)));
    }

    #[test]
    fn quantized_numbers_round_half_away_from_zero() {
        assert_eq!(quantize(2.5, 1.0, 3), Some(6));
        assert_eq!(quantize(-2.5, 1.0, 3), Some(0));
        assert_eq!(quantize(6.0, f32::MIN_POSITIVE, 0), None);
    }
}
