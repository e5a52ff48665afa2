//! The error function and its complement: quotients of polynomials on five intervals (Remez; FDLIBM's intervals and coefficients).

use super::super::{add_constant, constant, mul_constant, polynomial, with_sign};
use super::exp::exp;
use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, UnaryOp, Value};

/// Ends of the intervals.
const ENDS: [f64; 3] = [0.84375, 1.25, 1.0 / 0.35];
/// Argument from which the error function is 1 in binary64.
const ONE_FROM: f64 = 6.0;
/// Argument from which the complement is 0 in binary64.
const ZERO_FROM: f64 = 27.3;
/// Approximation of erf 1. The second interval is relative to it.
const AT_ONE: f64 = 0.845_062_911_510_467_5;

/// Coefficients of p and q in erf x = x + x p(x²) ÷ q(x²), up to 0.84375.
const NEAR: [&[f64]; 2] = [
    &[
        0.128_379_167_095_512_56,
        -0.325_042_107_247_001_5,
        -0.028_481_749_575_598_51,
        -0.005_770_270_296_489_442,
        -2.376_301_665_665_016_3e-5,
    ],
    &[
        1.0,
        0.397_917_223_959_155_35,
        0.065_022_249_988_767_3,
        0.005_081_306_281_875_766,
        0.000_132_494_738_004_321_64,
        -3.960_228_278_775_368e-6,
    ],
];
/// Coefficients of p and q in erf x = [`AT_ONE`] + p(x − 1) ÷ q(x − 1), up to 1.25.
const AROUND_ONE: [&[f64]; 2] = [
    &[
        -0.002_362_118_560_752_659_4,
        0.414_856_118_683_748_33,
        -0.372_207_876_035_701_3,
        0.318_346_619_901_161_75,
        -0.110_894_694_282_396_68,
        0.035_478_304_325_618_236,
        -0.002_166_375_594_868_791,
    ],
    &[
        1.0,
        0.106_420_880_400_844_23,
        0.540_397_917_702_171,
        0.071_828_654_414_196_27,
        0.126_171_219_808_761_64,
        0.013_637_083_912_029_05,
        0.011_984_499_846_799_107,
    ],
];
/// Coefficients of p and q in erfc x = e^(−x² − 0.5625 + p(1/x²) ÷ q(1/x²)) ÷ x, up to 2.857.
const MIDDLE: [&[f64]; 2] = [
    &[
        -0.009_864_944_034_847_148,
        -0.693_858_572_707_181_8,
        -10.558_626_225_323_291,
        -62.375_332_450_326_006,
        -162.396_669_462_573_47,
        -184.605_092_906_711_04,
        -81.287_435_506_306_6,
        -9.814_329_344_169_145,
    ],
    &[
        1.0,
        19.651_271_667_439_257,
        137.657_754_143_519_04,
        434.565_877_475_229_23,
        645.387_271_733_267_9,
        429.008_140_027_567_83,
        108.635_005_541_779_44,
        6.570_249_770_319_282,
        -0.060_424_415_214_858_1,
    ],
];
/// Coefficients of p and q in the form of [`MIDDLE`], beyond 2.857.
const FAR: [&[f64]; 2] = [
    &[
        -0.009_864_942_924_700_1,
        -0.799_283_237_680_523,
        -17.757_954_917_754_752,
        -160.636_384_855_821_92,
        -637.566_443_368_389_6,
        -1_025.095_131_611_077_2,
        -483.519_191_608_651_4,
    ],
    &[
        1.0,
        30.338_060_743_482_46,
        325.792_512_996_573_9,
        1_536.729_586_084_437,
        3_199.858_219_508_595_5,
        2_553.050_406_433_164_4,
        474.528_541_206_955_37,
        -22.440_952_446_585_82,
    ],
];

/// Computes the error function, 2/√π ∫₀ˣ e^(−t²) dt, within 2 ulp. The sign of zero is kept.
pub fn erf(b: &mut KernelBuilder, x: Value) -> Value {
    let magnitude = b.unary(UnaryOp::Abs, x);
    let near = near_zero(b, magnitude);
    let near = b.add(magnitude, near);
    let around = around_one(b, magnitude);
    let around = add_constant(b, around, AT_ONE);
    let limit = constant(b, x, ONE_FROM);
    let limited = b.binary(BinaryOp::FloatMinFirst, magnitude, limit);
    let complement = complement_of_large(b, limited);
    let one = constant(b, x, 1.0);
    let large = b.sub(one, complement);
    let result = by_interval(b, magnitude, [near, around, large]);
    with_sign(b, result, x)
}

/// Computes 1 − erf x within 4 ulp if the result is normal.
pub fn erfc(b: &mut KernelBuilder, x: Value) -> Value {
    let magnitude = b.unary(UnaryOp::Abs, x);
    let tail = near_zero(b, magnitude);
    let half = constant(b, x, 0.5);
    let rest = b.sub(magnitude, half);
    let rest = b.add(rest, tail);
    let near = b.sub(half, rest);
    let around = around_one(b, magnitude);
    let complement = constant(b, x, 1.0 - AT_ONE);
    let around = b.sub(complement, around);
    let limit = constant(b, x, ZERO_FROM);
    let limited = b.binary(BinaryOp::FloatMinFirst, magnitude, limit);
    let large = complement_of_large(b, limited);
    let right = by_interval(b, magnitude, [near, around, large]);
    let two = constant(b, x, 2.0);
    let left = b.sub(two, right);
    let zero = constant(b, x, 0.0);
    let is_left = b.compare(CompareOp::Less, x, zero);
    b.select(is_left, left, right)
}

/// Selects the first value up to 0.84375, the second up to 1.25, and the third beyond.
fn by_interval(b: &mut KernelBuilder, x: Value, [first, second, third]: [Value; 3]) -> Value {
    let (low, high) = (constant(b, x, ENDS[0]), constant(b, x, ENDS[1]));
    let is_first = b.compare(CompareOp::Less, x, low);
    let is_second = b.compare(CompareOp::Less, x, high);
    let rest = b.select(is_second, second, third);
    b.select(is_first, first, rest)
}

fn quotient(b: &mut KernelBuilder, x: Value, [numerator, denominator]: [&[f64]; 2]) -> Value {
    let (numerator, denominator) = (polynomial(b, x, numerator), polynomial(b, x, denominator));
    b.binary(BinaryOp::FloatDiv, numerator, denominator)
}

/// Computes erf x − x.
fn near_zero(b: &mut KernelBuilder, x: Value) -> Value {
    let square = b.mul(x, x);
    let quotient = quotient(b, square, NEAR);
    b.mul(x, quotient)
}

/// Computes erf x − [`AT_ONE`].
fn around_one(b: &mut KernelBuilder, x: Value) -> Value {
    let s = add_constant(b, x, -1.0);
    quotient(b, s, AROUND_ONE)
}

/// Computes erfc x for x from 1.25 to 28. The lower half of x's digits is cut, so that the square is exact.
fn complement_of_large(b: &mut KernelBuilder, x: Value) -> Value {
    let one = constant(b, x, 1.0);
    let square = b.mul(x, x);
    let s = b.binary(BinaryOp::FloatDiv, one, square);
    let (middle, far) = (quotient(b, s, MIDDLE), quotient(b, s, FAR));
    let end = constant(b, x, ENDS[2]);
    let is_middle = b.compare(CompareOp::Less, x, end);
    let ratio = b.select(is_middle, middle, far);
    let bits = b.convert(ConvertOp::Bitcast, x, Lane::I64);
    let integers = b.ty(bits);
    let mask = b.int(integers, -1 << 32);
    let cut = b.binary(BinaryOp::And, bits, mask);
    let cut = b.convert(ConvertOp::Bitcast, cut, Lane::F64);
    let square = mul_constant(b, cut, -1.0);
    let square = b.mul(square, cut);
    let first = add_constant(b, square, -0.5625);
    let (below, above) = (b.sub(cut, x), b.add(cut, x));
    let rest = b.mul(below, above);
    let second = b.add(rest, ratio);
    let (first, second) = (exp(b, first), exp(b, second));
    let power = b.mul(first, second);
    b.binary(BinaryOp::FloatDiv, power, x)
}
