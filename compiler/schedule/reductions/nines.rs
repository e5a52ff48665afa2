//! Sums and maxima of windows nine taps at a time, down the columns: `Summation::Nines`, see [`crate::ir::Summation`].

use crate::kernel::{BinaryOp, KernelBuilder, Value};

/// Taps that are added as one.
const GROUP: u64 = 9;

/// Windows of more taps than this, 8 × 8, are summed in a loop.
const WRITTEN_OUT: u64 = 64;

/// What nine taps, of which some may be missing, give together with those before them.
pub type Group = fn(&mut KernelBuilder, Value, &[Option<Value>; GROUP as usize]) -> Value;

/// What a window of `rows` and `columns` combines to, from `neutral` on. `tap` gives the element at a row and column of the window.
pub fn combined(
    b: &mut KernelBuilder,
    [rows, columns]: [u64; 2],
    neutral: Value,
    group_with: Group,
    mut tap: impl FnMut(&mut KernelBuilder, [Value; 2]) -> Value,
) -> Value {
    let taps = rows.saturating_mul(columns);
    let looped = if taps > WRITTEN_OUT { taps / GROUP } else { 0 };
    let (first, end, rows_value) = (b.index(0), b.index(looped as i64), b.index(rows as i64));
    let mut sum = neutral;
    if looped > 0 {
        let whole = |b: &mut KernelBuilder, group: Value, sum: &[Value]| {
            let mut nine = [None; GROUP as usize];
            for (i, value) in nine.iter_mut().enumerate() {
                let place = b.scale_index(group, GROUP as i64, i as i64);
                let row = b.binary(BinaryOp::SignedRem, place, rows_value);
                let column = b.binary(BinaryOp::SignedDiv, place, rows_value);
                *value = Some(tap(b, [row, column]));
            }
            vec![group_with(b, sum[0], &nine)]
        };
        sum = b.for_carry(first, end, 1, &[sum], whole)[0];
    }
    let mut start = looped * GROUP;
    while start < taps {
        let mut nine = [None; GROUP as usize];
        for (value, place) in nine.iter_mut().zip(start..taps) {
            let at = [b.index((place % rows) as i64), b.index((place / rows) as i64)];
            *value = Some(tap(b, at));
        }
        sum = group_with(b, sum, &nine);
        start += GROUP;
    }
    sum
}

/// A sum and that of a group. What the last group lacks is 0: left out, it changes no more than the sign of a zero, which is added to a sum that is
/// never -0.
pub fn added(b: &mut KernelBuilder, sum: Value, i: &[Option<Value>; GROUP as usize]) -> Value {
    let mut pair = |x: Option<Value>, y: Option<Value>| match (x, y) {
        (Some(x), Some(y)) => Some(b.add(x, y)),
        (one, other) => one.or(other),
    };
    let (early, late) = (pair(i[2], i[3]), pair(i[4], i[5]));
    let middle = pair(early, late);
    let (first, last) = (pair(i[0], i[1]), pair(i[6], i[7]));
    let first = pair(first, i[8]);
    let ends = pair(first, last);
    let group = pair(middle, ends);
    pair(Some(sum), group).unwrap_or(sum)
}

/// The largest so far and that of a group. What the last group lacks is its first tap.
pub fn largest(b: &mut KernelBuilder, before: Value, i: &[Option<Value>; GROUP as usize]) -> Value {
    let i = i.map(|tap| tap.or(i[0]).unwrap_or(before));
    // `y < x ? x : y`, so NaN in either gives y.
    let mut larger = |x: Value, y: Value| if x == y { x } else { b.binary(BinaryOp::FloatMaxFirst, y, x) };
    let (early, late) = (larger(i[2], i[3]), larger(i[4], i[5]));
    let middle = larger(early, late);
    let (first, last) = (larger(i[0], i[1]), larger(i[6], i[7]));
    let first = larger(first, i[8]);
    let ends = larger(first, last);
    let group = larger(middle, ends);
    larger(group, before)
}
