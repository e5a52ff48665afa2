//! Tests of support functions over all operands of binary32, and over many pairs of operands. Each run tests a part.
//!
//! With `MODELC_ALL_FLOATS=1`, functions of one operand are tested with every operand. Functions of two are tested with all pairs of [`patterns`],
//! and with [`PAIRS`] pseudo-random pairs.

use super::tests::{Random, call, host, infinity, is_nan, sign};
use crate::support::{FloatOp, Format, Support};
use modelc_kernel::interpret::lane;
use modelc_kernel::{ConvertOp, Lane};

/// Number of pseudo-random pairs of operands.
const PAIRS: u64 = 1_000_000_000;
/// Number of trials in a run that tests a part.
const TRIALS: u64 = 20_000;

/// Runs numbered trials on all threads: all of them, or [`TRIALS`] at equal distances. The distance is odd, so that all bits of numbers vary.
fn run(count: u64, seed: u64, trial: impl Fn(u64) + Sync) {
    let step = if std::env::var_os("MODELC_ALL_FLOATS").is_some() { 1 } else { (count / TRIALS) | 1 };
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let trial = &trial;
            let first = seed % step + thread * step;
            scope.spawn(move || (first..count).step_by((step * threads) as usize).for_each(trial));
        }
    });
}

/// Makes a float of its fields.
fn float(format: Format, negative: bool, exponent: u64, fraction: u64) -> u64 {
    exponent << format.fraction() | fraction | if negative { sign(format) } else { 0 }
}

/// Returns 4,096 floats of a format. They have both signs, 32 exponents at the edges, near 1 and in between, and 64 fractions at the edges and of
/// single bits.
fn patterns(format: Format) -> Vec<u64> {
    let (bits, most, bias) = (u64::from(format.fraction()), format.most() as u64, format.bias() as u64);
    let near = (0..8).map(|i| bias + i - 4);
    let rounded = (0..8).map(|i| bias + bits + i - 4);
    let small = (0..4).map(|i| bias - bits - i);
    let between = (1..5).map(|i| most * i / 5 + 9);
    let exponents: Vec<u64> = (0..4).chain((0..4).map(|i| most - i)).chain(near).chain(rounded).chain(small).chain(between).collect();
    let (all, half) = ((1u64 << bits) - 1, 1u64 << (bits - 1));
    let of_bits = (0..bits).step_by((bits / 20) as usize).flat_map(|bit| [1 << bit, all >> bit]);
    let random = (1..).map(|i: u64| 0x9E37_79B9_7F4A_7C15u64.wrapping_mul(i) >> 8 & all);
    let mut fractions: Vec<u64> = vec![];
    for fraction in [0, 1, 2, 3, all, all - 1, half - 1, half, half + 1].into_iter().chain(of_bits).chain(random) {
        if fractions.len() == 64 {
            break;
        }
        if !fractions.contains(&fraction) {
            fractions.push(fraction);
        }
    }
    let heads = [false, true].into_iter().flat_map(|negative| exponents.iter().map(move |&exponent| (negative, exponent)));
    heads.flat_map(|(negative, exponent)| fractions.iter().map(move |&rest| float(format, negative, exponent, rest))).collect()
}

/// Compares a float with the wanted one; all NaNs are equal.
fn same(format: Format, found: u64, wanted: u64) -> bool {
    found == wanted || is_nan(format, found) && is_nan(format, wanted)
}

/// Tries a function of one binary32 operand with all operands.
fn of_one(what: Support, result: Format, wanted: impl Fn(u64) -> u64 + Sync) {
    run(1 << 32, 1_234_567, |bits| {
        let (found, wanted) = (call(what, &[bits]), wanted(bits));
        assert!(same(result, found, wanted), "{what:?} of {bits:#x}: {found:#x}, not {wanted:#x}");
    });
}

/// Tries a function of two operands with pairs.
fn of_two(format: Format, op: FloatOp) {
    let what = Support::Float(format, op);
    let gives_float = matches!(op, FloatOp::Add | FloatOp::Multiply | FloatOp::Divide);
    let compare = |a: u64, b: u64| {
        let (found, wanted) = (call(what, &[a, b]), host(format, op, a, b));
        let good = if gives_float { same(format, found, wanted) } else { found == wanted };
        assert!(good, "{what:?} of {a:#x} and {b:#x}: {found:#x}, not {wanted:#x}");
    };
    let patterns = patterns(format);
    let count = patterns.len() as u64;
    run(count * count, 98_765, |pair| compare(patterns[(pair / count) as usize], patterns[(pair % count) as usize]));
    run(PAIRS, 4_321, |number| {
        // Each pair has a generator of its own, whose first numbers are thrown away.
        let mut random = Random((number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let near = (random.next(), random.next()).1;
        let a = random.float(format, near);
        compare(a, random.float(format, a));
    });
}

#[test]
fn the_patterns_are_4096_floats() {
    for format in [Format::Single, Format::Double] {
        let patterns: std::collections::BTreeSet<u64> = patterns(format).into_iter().collect();
        assert_eq!(patterns.len(), 4_096, "{format:?}");
        assert!([0, infinity(format), sign(format), 1, infinity(format) - 1].iter().all(|bits| patterns.contains(bits)), "{format:?}");
        assert!(patterns.iter().any(|&bits| is_nan(format, bits)), "{format:?}");
    }
}

#[test]
fn square_roots() {
    of_one(Support::Float(Format::Single, FloatOp::SquareRoot), Format::Single, |bits| host(Format::Single, FloatOp::SquareRoot, bits, 0));
}

#[test]
fn truncated_numbers() {
    of_one(Support::Float(Format::Single, FloatOp::Truncate), Format::Single, |bits| host(Format::Single, FloatOp::Truncate, bits, 0));
}

#[test]
fn integers_of_floats() {
    for op in [FloatOp::ToSigned, FloatOp::ToUnsigned] {
        let what = Support::Float(Format::Single, op);
        run(1 << 32, 7_654_321, |bits| {
            let (found, wanted) = (call(what, &[bits]), host(Format::Single, op, bits, 0));
            assert_eq!(found, wanted, "{what:?} of {bits:#x}");
        });
    }
}

#[test]
fn promoted_numbers() {
    of_one(Support::Convert(Format::Single, Format::Double), Format::Double, |bits| f64::from(f32::from_bits(bits as u32)).to_bits());
}

#[test]
fn halves_of_numbers() {
    run(1 << 32, 2_345_678, |bits| {
        let found = call(Support::Convert(Format::Single, Format::Half), &[bits]);
        let wanted = lane::convert(ConvertOp::FloatToHalf, Lane::F32, Lane::I16, bits) & 0xFFFF;
        let both_nan = found & 0x7FFF > 0x7C00 && wanted & 0x7FFF > 0x7C00;
        assert!(found == wanted || both_nan, "{bits:#x}: {found:#x}, not {wanted:#x}");
    });
}

#[test]
fn pairs_of_single_precision() {
    for op in [FloatOp::Add, FloatOp::Multiply, FloatOp::Divide, FloatOp::Equal, FloatOp::Less, FloatOp::LessEqual] {
        of_two(Format::Single, op);
    }
}

#[test]
fn pairs_of_double_precision() {
    for op in [FloatOp::Add, FloatOp::Multiply, FloatOp::Divide, FloatOp::Equal, FloatOp::Less, FloatOp::LessEqual] {
        of_two(Format::Double, op);
    }
}
