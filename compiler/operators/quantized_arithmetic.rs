//! Sums and products of two quantized tensors as XNNPACK computes them. Operands broadcast.

use super::contraction::{IntegerOutput, nearest};
use super::quantization::Affine;
use super::terms::{Terms, shifted_right};
use super::{Error, Graph};
use crate::ir::{ElementType, Value};
use ElementType::I32;

/// Fractional bits of the larger of two factors.
const BITS: i32 = 20;

/// Two tensors and their quantization.
pub type Operands = [(Value, Affine); 2];

/// a + b, or a − b. The ratios of both scales to the result's become integers with equal numbers of fractional bits. The larger one has 21 bits.
/// Their sum is shifted back, halves up. A ratio much smaller than the other becomes 0. Half a unit of the shift plus 2 · 2²¹ · 255 fits 32 bits.
///
/// # Errors
/// When the larger ratio of the scales leaves no shift between 1 and 31 bits, or operands do not fit each other.
pub fn sum(g: &mut Graph<'_>, operands: Operands, scale: f32, output: &IntegerOutput, is_difference: bool) -> Result<Value, Error> {
    let ratios = operands.map(|(_, affine)| affine.scale / scale);
    let larger = ratios[0].max(ratios[1]);
    let shift = BITS.saturating_sub(libm::ilogbf(larger));
    if !ratios.iter().all(|ratio| ratio.is_finite()) || !(1..32).contains(&shift) {
        return Err(Error::ScaleRatio { ratio: f64::from(larger) });
    }
    let mut factors = ratios.map(|ratio| libm::rint(libm::ldexp(f64::from(ratio), shift)) as i32);
    if is_difference {
        factors[1] = -factors[1];
    }
    let zero_points = operands.map(|(_, affine)| affine.zero_point);
    let offset = (1 << (shift - 1)) - factors[0] * zero_points[0] - factors[1] * zero_points[1];
    g.compute::<Error>(&operands.map(|(value, _)| value), |terms, x| {
        let mut sum = terms.i32(offset);
        for (&x, factor) in x.iter().zip(factors) {
            let (x, factor) = (terms.convert(x, I32), terms.i32(factor));
            let product = terms.mul(x, factor)?;
            sum = terms.add(sum, product)?;
        }
        let scaled = shifted_right(terms, sum, i64::from(shift))?;
        let zero_point = terms.i32(output.zero_point);
        let moved = terms.add(scaled, zero_point)?;
        let limited = terms.clamp_i32(moved, output.bounds)?;
        Ok(terms.convert(limited, output.element))
    })
}

/// a × b, scaled in binary32.
///
/// # Errors
/// When operands do not fit each other.
pub fn product(g: &mut Graph<'_>, operands: Operands, scale: f32, output: &IntegerOutput) -> Result<Value, Error> {
    let [a, b] = operands.map(|(_, affine)| affine);
    let factor = a.scale * b.scale / scale;
    if !factor.is_finite() {
        return Err(Error::ScaleRatio { ratio: f64::from(factor) });
    }
    g.compute::<Error>(&operands.map(|(value, _)| value), |terms, x| {
        let difference = |terms: &mut Terms, x, zero_point| {
            let (x, zero_point) = (terms.convert(x, I32), terms.i32(zero_point));
            terms.sub(x, zero_point)
        };
        let (a, b) = (difference(terms, x[0], a.zero_point)?, difference(terms, x[1], b.zero_point)?);
        let product = terms.mul(a, b)?;
        let factor = terms.f32(factor);
        let result = nearest(terms, product, factor, output)?;
        Ok(terms.convert(result, output.element))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Interval, Module};

    /// The results of an operation for all pairs of 8-bit integers.
    fn all_pairs(build: impl Fn(&mut Graph<'_>, [Value; 2]) -> Value) -> Vec<i8> {
        let mut module = Module::default();
        let mut g = Graph::new(&mut module, "f");
        let numbers: Vec<u8> = (0..=255).collect();
        let a = g.constant(ElementType::I8, &[256, 1], numbers.clone()).expect("a constant");
        let b = g.constant(ElementType::I8, &[256], numbers).expect("a constant");
        let result = build(&mut g, [a, b]);
        g.evaluated(result).expect("it folds").iter().map(|&byte| byte as i8).collect()
    }

    fn pairs() -> impl Iterator<Item = (i32, i32)> {
        (0..65536).map(|i| (i32::from((i / 256) as u8 as i8), i32::from(i as u8 as i8)))
    }

    #[test]
    fn products_are_rounded_once() {
        let (a, b) = (Affine { scale: 0.031, zero_point: 3 }, Affine { scale: 0.5, zero_point: -7 });
        let output = IntegerOutput { element: ElementType::I8, zero_point: 5, bounds: Interval::new(-100, 127) };
        let found = all_pairs(|g, [x, y]| product(g, [(x, a), (y, b)], 0.25, &output).expect("it is built"));
        for ((x, y), found) in pairs().zip(found) {
            let exact = ((x - 3) * (y + 7)) as f32 * (0.031f32 * 0.5 / 0.25);
            assert_eq!(i32::from(found), (exact.round_ties_even() as i32 + 5).clamp(-100, 127), "{x} {y}");
        }
    }

    #[test]
    fn sums_are_within_a_step_of_the_real_sum() {
        let (a, b) = (Affine { scale: 0.1, zero_point: 3 }, Affine { scale: 0.02, zero_point: -7 });
        let output = IntegerOutput { element: ElementType::I8, zero_point: 5, bounds: Interval::new(-128, 127) };
        for is_difference in [false, true] {
            let found = all_pairs(|g, [x, y]| sum(g, [(x, a), (y, b)], 0.11, &output, is_difference).expect("it is built"));
            for ((x, y), found) in pairs().zip(found) {
                let second = 0.02 * f64::from(y + 7);
                let exact = (0.1 * f64::from(x - 3) + if is_difference { -second } else { second }) / 0.11 + 5.0;
                let error = f64::from(found) - exact.clamp(-128.0, 127.0);
                assert!(error.abs() <= 0.5 + 1e-3, "{x} {y} {found} {exact}");
            }
        }
    }

    #[test]
    fn sums_of_any_two_ratios_are_within_a_step_of_the_real_sum() {
        let output = IntegerOutput { element: ElementType::I8, zero_point: 5, bounds: Interval::new(-128, 127) };
        for scales in [[300.0, 300.0], [4653.85, 4653.85], [1.0, 2.4e-5], [2.4e-5, 0.04], [6e-4, 5e-4], [524_288.0, 1e-30]] {
            let [a, b] = [(scales[0], 3), (scales[1], -7)].map(|(scale, zero_point)| Affine { scale, zero_point });
            let found = all_pairs(|g, [x, y]| sum(g, [(x, a), (y, b)], 1.0, &output, true).expect("it is built"));
            for ((x, y), found) in pairs().zip(found) {
                let exact = f64::from(a.scale) * f64::from(x - 3) - f64::from(b.scale) * f64::from(y + 7) + 5.0;
                let error = f64::from(found) - exact.clamp(-128.0, 127.0);
                assert!(error.abs() <= 0.5 + 1e-3, "{scales:?} {x} {y} {found} {exact}");
            }
        }
    }

    #[test]
    fn ratios_that_leave_no_shift_are_refused() {
        let output = IntegerOutput { element: ElementType::I8, zero_point: 0, bounds: Interval::new(-128, 127) };
        let mut module = Module::default();
        let mut g = Graph::new(&mut module, "f");
        let x = g.constant(ElementType::I8, &[1], vec![1]).expect("a constant");
        for scale in [1_048_576.0, 1e-4, 0.0, f32::INFINITY, f32::NAN] {
            let operands = [(x, Affine { scale, zero_point: 0 }), (x, Affine { scale: 0.0, zero_point: 0 })];
            assert!(matches!(sum(&mut g, operands, 1.0, &output, false), Err(Error::ScaleRatio { .. })), "{scale}");
        }
    }
}
