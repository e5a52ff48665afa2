//! Tests of arithmetic on words, with an implementation that computes results.

use super::ops::{Operand, Ops, Test, WordOp};
use super::{fixed, long, plain};
use modelc_kernel::interpret::lane;
use modelc_kernel::{BinaryOp, CompareOp, ConvertOp, Lane, UnaryOp};

/// Operations on words that compute their results.
pub(super) struct Computing;

fn number(operand: Operand<u32>) -> u32 {
    match operand {
        Operand::Word(word) => word,
        Operand::Number(number) => number as u32,
    }
}

fn whole([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn halves(bits: u64) -> [u32; 2] {
    [bits as u32, (bits >> 32) as u32]
}

impl Ops for Computing {
    type Word = u32;

    fn word(&mut self, number: i32) -> u32 {
        number as u32
    }

    fn two(&mut self, op: WordOp, a: u32, b: Operand<u32>) -> u32 {
        let b = number(b);
        let count = || {
            assert!(b < 32, "{op:?} by {b}");
            b
        };
        match op {
            WordOp::Add => a.wrapping_add(b),
            WordOp::Sub => a.wrapping_sub(b),
            WordOp::Mul => a.wrapping_mul(b),
            WordOp::And => a & b,
            WordOp::Or => a | b,
            WordOp::Xor => a ^ b,
            WordOp::Left => a << count(),
            WordOp::RightSigned => (a as i32 >> count()) as u32,
            WordOp::Right => a >> count(),
            WordOp::DivideSigned => (a as i32).checked_div(b as i32).unwrap_or(0) as u32,
            WordOp::Divide => a.checked_div(b).unwrap_or(0),
        }
    }

    fn leading_zeros(&mut self, a: u32) -> u32 {
        a.leading_zeros()
    }

    fn extend(&mut self, a: u32, bits: u32, signed: bool) -> u32 {
        let unused = 32 - bits;
        if signed { ((a << unused) as i32 >> unused) as u32 } else { a << unused >> unused }
    }

    fn clamp(&mut self, a: u32, bits: u32, signed: bool) -> u32 {
        let all = 1i64 << bits;
        let (low, high) = if signed { (-all / 2, all / 2 - 1) } else { (0, all - 1) };
        i64::from(a as i32).clamp(low, high) as u32
    }

    fn long_product(&mut self, signed: bool, a: u32, b: u32) -> [u32; 2] {
        halves(if signed { (i64::from(a as i32) * i64::from(b as i32)) as u64 } else { u64::from(a) * u64::from(b) })
    }

    fn long_sum(&mut self, subtract: bool, a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
        halves(if subtract { whole(a).wrapping_sub(whole(b)) } else { whole(a).wrapping_add(whole(b)) })
    }

    fn long_less(&mut self, signed: bool, a: [u32; 2], b: [u32; 2]) -> u32 {
        let (a, b) = (whole(a), whole(b));
        u32::from(if signed { (a as i64) < b as i64 } else { a < b })
    }

    fn repeat<const N: usize>(&mut self, count: i32, state: [u32; N], mut round: impl FnMut(&mut Self, [u32; N]) -> [u32; N]) -> [u32; N] {
        (0..count).fold(state, |state, _| round(self, state))
    }

    fn truth(&mut self, test: Test<u32>) -> u32 {
        let (a, b) = (test.a, number(test.b));
        let (signed_a, signed_b) = (a as i32, b as i32);
        u32::from(match test.op {
            CompareOp::Equal => a == b,
            CompareOp::NotEqual => a != b,
            CompareOp::Less => signed_a < signed_b,
            CompareOp::LessEqual => signed_a <= signed_b,
            CompareOp::Greater => signed_a > signed_b,
            CompareOp::GreaterEqual => signed_a >= signed_b,
            CompareOp::UnsignedLess => a < b,
            CompareOp::UnsignedLessEqual => a <= b,
        })
    }

    fn choose(&mut self, test: Test<u32>, yes: u32, no: u32) -> u32 {
        if self.truth(test) == 1 { yes } else { no }
    }
}

/// Returns numbers at the limits of formats, and pseudo-random ones.
fn numbers() -> Vec<u64> {
    let edges = [0u64, 1, 2, 31, 32, 33, 63, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1_0000_0000, i64::MAX as u64, 1 << 63, u64::MAX];
    let mut bits = 0x9E37_79B9_7F4A_7C15u64;
    let random = (0..40).map(|i| {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        if i % 2 == 0 { bits } else { bits >> (bits & 63) }
    });
    edges.into_iter().chain(random).collect()
}

#[test]
fn pairs_are_numbers_of_64_bits() {
    use BinaryOp::*;
    let ops =
        [Add, Sub, Mul, And, Or, Xor, SignedMin, SignedMax, UnsignedMin, UnsignedMax, ShiftLeft, ShiftRightSigned, ShiftRightUnsigned];
    let all = numbers();
    for (a, b) in all.iter().flat_map(|&a| all.iter().map(move |&b| (a, b))) {
        for op in ops {
            let shifts = matches!(op, ShiftLeft | ShiftRightSigned | ShiftRightUnsigned);
            let b = if shifts { b & 63 } else { b };
            let wanted = lane::binary(op, Lane::I64, a, b);
            let found = long::binary(&mut Computing, op, halves(a), halves(b)).map(whole);
            assert_eq!(found, Some(wanted), "{op:?} of {a:#x} and {b:#x}");
            if shifts {
                assert_eq!(whole(long::shift(&mut Computing, op, halves(a), b as u32)), wanted, "{op:?} of {a:#x} by {b}");
            }
        }
        use CompareOp::*;
        for op in [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, UnsignedLess, UnsignedLessEqual] {
            let wanted = u32::from(lane::compare(op, Lane::I64, a, b));
            assert_eq!(long::compare(&mut Computing, op, halves(a), halves(b)), wanted, "{op:?} of {a:#x} and {b:#x}");
        }
    }
}

#[test]
fn operations_on_one_number_of_64_bits() {
    for a in numbers() {
        for op in [UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Not, UnaryOp::CountLeadingZeros] {
            let found = long::unary(&mut Computing, op, halves(a)).map(whole);
            assert_eq!(found, Some(lane::unary(op, Lane::I64, a)), "{op:?} of {a:#x}");
        }
        for (op, signed) in [(ConvertOp::NarrowSigned, true), (ConvertOp::NarrowUnsigned, false)] {
            let wanted = lane::convert(op, Lane::I64, Lane::I32, a);
            assert_eq!(u64::from(long::narrow(&mut Computing, signed, halves(a))), wanted, "{op:?} of {a:#x}");
        }
    }
}

#[test]
fn products_and_divisions_of_fixed_point() {
    use modelc_kernel::interpret::wide;
    let words: Vec<u32> = numbers().into_iter().map(|bits| bits as u32).chain([0xC000_0000, 0x4000_0000]).collect();
    for (a, b) in words.iter().flat_map(|&a| words.iter().map(move |&b| (a, b))) {
        let wanted = wide::saturating_rounding_doubling_high_mul(a.into(), b.into());
        assert_eq!(u64::from(fixed::doubling_high_product(&mut Computing, a, b, true)), wanted, "{a:#x} and {b:#x}");
        let count = b & 31;
        let wanted = wide::rounding_divide_by_power_of_two(a.into(), count.into());
        assert_eq!(u64::from(fixed::rounding_divide(&mut Computing, a, count)), wanted, "{a:#x} by {count}");
        assert_eq!(u64::from(fixed::rounding_divide_by(&mut Computing, a, count)), wanted, "{a:#x} by {count}");
    }
}

#[test]
fn what_flags_do_elsewhere_comes_from_comparisons() {
    let all = numbers();
    for (a, b) in all.iter().flat_map(|&a| all.iter().map(move |&b| (halves(a), halves(b)))) {
        for subtract in [false, true] {
            assert_eq!(plain::long_sum(&mut Computing, subtract, a, b), Computing.long_sum(subtract, a, b), "{a:?} and {b:?}");
        }
        for signed in [false, true] {
            assert_eq!(plain::long_less(&mut Computing, signed, a, b), Computing.long_less(signed, a, b), "{a:?} and {b:?}");
            let [low, other] = [a[0], b[0]];
            let wanted = Computing.long_product(signed, low, other);
            assert_eq!(plain::long_product(&mut Computing, signed, low, other), wanted, "{low:#x} and {other:#x}");
        }
    }
    for word in all.into_iter().flat_map(halves).chain((0..32).map(|bit| 1 << bit)) {
        assert_eq!(plain::leading_zeros(&mut Computing, word), word.leading_zeros(), "{word:#x}");
        for (bits, signed) in [(8, true), (8, false), (16, true), (16, false)] {
            assert_eq!(plain::clamp(&mut Computing, word, bits, signed), Computing.clamp(word, bits, signed), "{word:#x} in {bits} bits");
        }
    }
}

#[test]
fn quotients_by_constants_are_exact() {
    let edges = [0, 1, -1, 2, -2, 127, -128, 65_535, -65_536, i32::MAX, i32::MAX - 1, i32::MIN, i32::MIN + 1];
    let mut state = 1u32;
    let random = std::iter::from_fn(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((state ^ state >> 15) as i32)
    });
    let dividends: Vec<i32> = edges.into_iter().chain(random.take(2_000)).collect();
    for divisor in (2..200).chain([255, 256, 1000, 4095, 65_537, 1 << 30, i32::MAX - 1, i32::MAX]) {
        let near = dividends.iter().flat_map(|&a| [a, a / divisor * divisor, (a / divisor * divisor).wrapping_sub(1)]);
        for a in near {
            let found = plain::divide_by_number(&mut Computing, a as u32, divisor);
            assert_eq!(found as i32, a / divisor, "{a} by {divisor}");
        }
    }
}
