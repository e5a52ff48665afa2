//! The logistic function and the hyperbolic tangent of 16-bit integers. Both use one table of the logistic function with 24 steps to a unit, and
//! lines between its points.

use super::Graph;
use super::quantization::exponent;
use super::terms::{Term, Terms};
use crate::ir::{Comparison, Constant, ElementType, Node, ScalarOp};
use ElementType::{I32, U16};

/// The scaling of an input to the table's steps, 512 (256 for the hyperbolic tangent) to each: `(x × multiplier + half) >> shift`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steps {
    multiplier: i32,
    shift: i32,
}

impl Steps {
    /// Creates the scaling for an input's scale. Powers of two from 2⁻¹² to 2^(most − 12) are exact.
    pub fn new(scale: f32, most: i32) -> Self {
        let exponent = exponent(scale).map(|exponent| exponent + 12);
        if let Some(left) = exponent.filter(|left| (0..=most).contains(left)) {
            return Self { multiplier: 3 << left, shift: 0 };
        }
        let mut steps = Self { multiplier: 0, shift: 0 };
        let mut real = f64::from(scale) * 4096.0 * 3.0;
        while real <= 32767.0 / 2.0 && steps.shift <= 30 {
            steps.shift += 1;
            real *= 2.0;
        }
        steps.multiplier = real as i32;
        steps
    }

    /// Creates the scaling for inputs whose scale is 2 to a power from −27 to 0.
    pub fn of_power(exponent: i32) -> Self {
        let left = exponent + 12;
        if left >= 0 { Self { multiplier: 3 << left, shift: 0 } } else { Self { multiplier: 3, shift: -left } }
    }

    fn apply(self, terms: &mut Terms, x: Node) -> Term {
        let (x, multiplier) = (terms.convert(x, I32), terms.i32(self.multiplier));
        let product = terms.mul(x, multiplier)?;
        if self.shift == 0 {
            return Ok(product);
        }
        let (half, shift) = (terms.i32(1 << (self.shift - 1)), terms.i32(self.shift));
        let sum = terms.add(product, half)?;
        terms.op(ScalarOp::ShiftRight, &[sum, shift])
    }
}

/// σ(n ÷ 24) in 65536ths as TFLite's reference kernels have it, which rounds some of the numbers up that are nearer to the one below.
#[rustfmt::skip]
const SIGMOID: [u16; 256] = [
    32768, 33451, 34133, 34813, 35493, 36169, 36843, 37513, 38180, 38841, 39498, 40149, 40794, 41432, 42064, 42688, 43304, 43912, 44511,
    45102, 45683, 46255, 46817, 47369, 47911, 48443, 48964, 49475, 49975, 50464, 50942, 51409, 51865, 52311, 52745, 53169, 53581, 53983,
    54374, 54755, 55125, 55485, 55834, 56174, 56503, 56823, 57133, 57433, 57724, 58007, 58280, 58544, 58800, 59048, 59288, 59519, 59743,
    59959, 60168, 60370, 60565, 60753, 60935, 61110, 61279, 61441, 61599, 61750, 61896, 62036, 62172, 62302, 62428, 62549, 62666, 62778,
    62886, 62990, 63090, 63186, 63279, 63368, 63454, 63536, 63615, 63691, 63765, 63835, 63903, 63968, 64030, 64090, 64148, 64204, 64257,
    64308, 64357, 64405, 64450, 64494, 64536, 64576, 64614, 64652, 64687, 64721, 64754, 64786, 64816, 64845, 64873, 64900, 64926, 64950,
    64974, 64997, 65019, 65039, 65060, 65079, 65097, 65115, 65132, 65149, 65164, 65179, 65194, 65208, 65221, 65234, 65246, 65258, 65269,
    65280, 65291, 65301, 65310, 65319, 65328, 65337, 65345, 65352, 65360, 65367, 65374, 65381, 65387, 65393, 65399, 65404, 65410, 65415,
    65420, 65425, 65429, 65433, 65438, 65442, 65445, 65449, 65453, 65456, 65459, 65462, 65465, 65468, 65471, 65474, 65476, 65479, 65481,
    65483, 65485, 65488, 65489, 65491, 65493, 65495, 65497, 65498, 65500, 65501, 65503, 65504, 65505, 65507, 65508, 65509, 65510, 65511,
    65512, 65513, 65514, 65515, 65516, 65517, 65517, 65518, 65519, 65520, 65520, 65521, 65522, 65522, 65523, 65523, 65524, 65524, 65525,
    65525, 65526, 65526, 65526, 65527, 65527, 65528, 65528, 65528, 65529, 65529, 65529, 65529, 65530, 65530, 65530, 65530, 65531, 65531,
    65531, 65531, 65531, 65532, 65532, 65532, 65532, 65532, 65532, 65533, 65533, 65533, 65533, 65533, 65533, 65533, 65533, 65534, 65534,
    65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65535,
];

/// The table's value at |x|, with `bits` bits between two points as fraction bits; `end` from the last point on.
fn interpolated(terms: &mut Terms, table: Constant, x: Node, bits: i32, end: i32) -> Term {
    let (size, count, mask) = (terms.op(ScalarOp::Abs, &[x])?, terms.i32(bits), terms.i32((1 << bits) - 1));
    let (one, last, end) = (terms.i32(1), terms.i32(255), terms.i32(end));
    let point = terms.op(ScalarOp::ShiftRight, &[size, count])?;
    let next = terms.add(point, one)?;
    let place = terms.op(ScalarOp::And, &[size, mask])?;
    let (from, to) = (terms.lut(table, U16, point), terms.lut(table, U16, next));
    let (from, to) = (terms.convert(from, I32), terms.convert(to, I32));
    let slope = terms.sub(to, from)?;
    let rise = terms.mul(slope, place)?;
    let base = terms.op(ScalarOp::ShiftLeft, &[from, count])?;
    let value = terms.add(base, rise)?;
    let beyond = terms.compare(Comparison::GreaterEqual, point, last)?;
    terms.select(beyond, end, value)
}

/// The table, to be used by [`logistic_of`] and [`tanh_of`].
pub fn table(g: &mut Graph<'_>) -> Constant {
    g.table(U16, SIGMOID.iter().flat_map(|n| n.to_le_bytes()).collect())
}

/// σ(x) in 32768ths, i32: 1 − σ(|x|) below zero.
///
/// # Errors
/// When x is no integer.
pub fn logistic_of(terms: &mut Terms, table: Constant, steps: Steps, x: Node) -> Term {
    let x = steps.apply(terms, x)?;
    let value = interpolated(terms, table, x, 9, 0x7fff << 10)?;
    let (zero, half, mirror, ten) = (terms.i32(0), terms.i32(1 << 9), terms.i32((1 << 25) + (1 << 9) - 1), terms.i32(10));
    let (above, below) = (terms.add(value, half)?, terms.sub(mirror, value)?);
    let not_negative = terms.compare(Comparison::GreaterEqual, x, zero)?;
    let value = terms.select(not_negative, above, below)?;
    terms.op(ScalarOp::ShiftRight, &[value, ten])
}

/// 2σ(2x) − 1 in 32768ths, i32, with the sign of x.
///
/// # Errors
/// When x is no integer.
pub fn tanh_of(terms: &mut Terms, table: Constant, steps: Steps, x: Node) -> Term {
    let x = steps.apply(terms, x)?;
    let value = interpolated(terms, table, x, 8, 0xffff << 8)?;
    let (zero, centre, eight) = (terms.i32(0), terms.i32(1 << 23), terms.i32(8));
    let (nudge, below_nudge) = (terms.i32(1 << 7), terms.i32((1 << 7) - 1));
    let (above, below) = (terms.sub(value, centre)?, terms.sub(centre, value)?);
    let (above, below) = (terms.add(above, nudge)?, terms.add(below, below_nudge)?);
    let not_negative = terms.compare(Comparison::GreaterEqual, x, zero)?;
    let value = terms.select(not_negative, above, below)?;
    terms.op(ScalarOp::ShiftRight, &[value, eight])
}
