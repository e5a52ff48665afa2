//! Operations with wider intermediate results, and operations across lanes.

use super::lane;
use crate::types::signed;
use crate::*;

fn product(a: u64, b: u64) -> i64 {
    signed(Lane::I32, a) * signed(Lane::I32, b)
}

fn i32_bits(number: i64) -> u64 {
    u64::from(number as u32)
}

/// Computes the high half of a product of i32 lanes, signed or unsigned.
pub fn mul_high(signed: bool, a: u64, b: u64) -> u64 {
    if signed { i32_bits(product(a, b) >> 32) } else { (a * b) >> 32 }
}

/// Computes `(a·b + 2³⁰) >> 31`, with saturation.
pub fn saturating_rounding_doubling_high_mul(a: u64, b: u64) -> u64 {
    i32_bits(((product(a, b) + (1 << 30)) >> 31).min(i32::MAX.into()))
}

/// Computes a / 2ᵇ, rounded to nearest with ties away from zero.
pub fn rounding_divide_by_power_of_two(a: u64, b: u64) -> u64 {
    let a = signed(Lane::I32, a);
    let rounded = (a.abs() + (1 << b >> 1)) >> b;
    i32_bits(if a < 0 { -rounded } else { rounded })
}

/// Adds dot products of groups of lanes to accumulators, with wrapping.
pub fn dot(op: DotOp, accumulator: &[u64], a: &[u64], b: &[u64]) -> Vec<u64> {
    if op.is_of_squares() {
        return squares(op, accumulator, a, b);
    }
    let group = a.len() / accumulator.len();
    let lane = op.factor_lane();
    let term = |(&a, &b): (&u64, &u64)| {
        let a = if op.has_unsigned_factor() { a as i64 } else { signed(lane, a) };
        a * signed(lane, b)
    };
    let groups = a.chunks_exact(group).zip(b.chunks_exact(group));
    let sums = groups.map(|(a, b)| a.iter().zip(b).map(term).sum::<i64>());
    let added = |(&acc, sum): (&u64, i64)| match op {
        DotOp::UnsignedSigned8To16 => {
            let pair = sum.clamp(i16::MIN.into(), i16::MAX.into());
            u64::from((signed(Lane::I16, acc) + pair) as u16)
        }
        _ => i32_bits(signed(Lane::I32, acc) + sum),
    };
    accumulator.iter().zip(sums).map(added).collect()
}

/// Adds the products of two rows with two others to squares of four accumulators, with wrapping.
fn squares(op: DotOp, accumulator: &[u64], a: &[u64], b: &[u64]) -> Vec<u64> {
    let factor = |bits: u64| if op.has_unsigned_factor() { bits as i64 } else { signed(Lane::I8, bits) };
    let sum = |at: usize| {
        let (square, row, column) = (at / 4, at / 2 % 2, at % 2);
        let rows = |factors: &[u64], number: usize| factors[16 * square + 8 * number..][..8].to_vec();
        let products = rows(a, row).into_iter().zip(rows(b, column)).map(|(x, y)| factor(x) * signed(Lane::I8, y));
        i32_bits(signed(Lane::I32, accumulator[at]) + products.sum::<i64>())
    };
    (0..accumulator.len()).map(sum).collect()
}

/// Reduces all lanes to one, half by half: lane i with lane i + n/2.
pub fn horizontal(op: HorizontalOp, lane: Lane, a: &[u64]) -> Vec<u64> {
    let op = match (op, lane.is_float()) {
        (HorizontalOp::Add, _) => BinaryOp::Add,
        (HorizontalOp::Max, true) => BinaryOp::FloatMaxFirst,
        (HorizontalOp::Max, false) => BinaryOp::SignedMax,
        (HorizontalOp::Min, true) => BinaryOp::FloatMinFirst,
        (HorizontalOp::Min, false) => BinaryOp::SignedMin,
    };
    let mut lanes = a.to_vec();
    while lanes.len() > 1 {
        let high = lanes.split_off(lanes.len() / 2);
        lanes = lanes.iter().zip(&high).map(|(&a, &b)| lane::binary(op, lane, a, b)).collect();
    }
    lanes
}
