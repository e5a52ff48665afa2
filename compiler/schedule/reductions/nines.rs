//! Sums and maxima of windows in groups of nine taps, down the columns: `Summation::Nines`, see [`crate::ir::Summation`].

use crate::kernel::{BinaryOp, KernelBuilder, Value};

/// Number of taps in a group.
const GROUP: u64 = 9;

/// Maximum taps (8 × 8) of a window whose groups are unrolled. Larger windows are a loop.
const WRITTEN_OUT: u64 = 64;

/// Nine taps. The last ones of a window may be absent.
type Nine = [Option<Value>; GROUP as usize];

/// A way to combine a group of nine taps with the result so far.
#[derive(Clone, Copy)]
pub struct Combination {
    /// Combination of the first group with the neutral value, if it differs from `next`.
    pub first: Option<fn(&mut KernelBuilder, Value, &Nine) -> Value>,
    pub next: fn(&mut KernelBuilder, Value, &Nine) -> Value,
}

/// Combination to sums.
pub const SUM: Combination = Combination { first: None, next: added };

/// Combination to maxima.
pub const MAXIMUM: Combination = Combination { first: Some(largest_of_first), next: larger };

/// Combines a window of `rows` and `columns`, from `neutral` on. `tap` returns the element at a row and column of the window.
pub fn combined(
    b: &mut KernelBuilder,
    [rows, columns]: [u64; 2],
    neutral: Value,
    combination: Combination,
    mut tap: impl FnMut(&mut KernelBuilder, [Value; 2]) -> Value,
) -> Value {
    let taps = rows.saturating_mul(columns);
    let looped = if taps > WRITTEN_OUT { taps / GROUP } else { 0 };
    let begun = u64::from(combination.first.is_some());
    let rows_value = b.index(rows as i64);
    let written_out = |b: &mut KernelBuilder, tap: &mut dyn FnMut(&mut KernelBuilder, [Value; 2]) -> Value, start: u64| {
        let mut nine: Nine = [None; GROUP as usize];
        for (value, place) in nine.iter_mut().zip(start..taps) {
            let at = [b.index((place % rows) as i64), b.index((place / rows) as i64)];
            *value = Some(tap(b, at));
        }
        nine
    };
    let mut sum = neutral;
    if let Some(first) = combination.first {
        let nine = written_out(b, &mut tap, 0);
        sum = first(b, sum, &nine);
    }
    if looped > begun {
        let (first, end) = (b.index(begun as i64), b.index(looped as i64));
        let whole = |b: &mut KernelBuilder, group: Value, sum: &[Value]| {
            let mut nine: Nine = [None; GROUP as usize];
            for (i, value) in nine.iter_mut().enumerate() {
                let place = b.scale_index(group, GROUP as i64, i as i64);
                let row = b.binary(BinaryOp::SignedRem, place, rows_value);
                let column = b.binary(BinaryOp::SignedDiv, place, rows_value);
                *value = Some(tap(b, [row, column]));
            }
            vec![(combination.next)(b, sum[0], &nine)]
        };
        sum = b.for_carry(first, end, 1, &[sum], whole)[0];
    }
    for start in (looped.max(begun) * GROUP..taps).step_by(GROUP as usize) {
        let nine = written_out(b, &mut tap, start);
        sum = (combination.next)(b, sum, &nine);
    }
    sum
}

/// Adds a group to a sum. Absent taps of the last group count as 0. To leave them out changes at most the sign of a zero, and this zero is added to a
/// sum that is never -0.
fn added(b: &mut KernelBuilder, sum: Value, i: &Nine) -> Value {
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

/// Returns the largest of the first nine taps, or the neutral value if it is NaN.
fn largest_of_first(b: &mut KernelBuilder, neutral: Value, i: &Nine) -> Value {
    let nine = largest(b, i, neutral);
    second_if_nan(b, nine, neutral)
}

/// Returns the larger of the result so far and the largest of nine taps; +∞ if the latter is NaN.
fn larger(b: &mut KernelBuilder, before: Value, i: &Nine) -> Value {
    let nine = largest(b, i, before);
    let either = second_if_nan(b, before, nine);
    let ty = b.ty(either);
    let infinity = b.float(ty, f64::INFINITY);
    b.binary(BinaryOp::FloatMinFirst, infinity, either)
}

/// Returns the largest of nine taps. The first tap replaces absent taps of the last group.
fn largest(b: &mut KernelBuilder, i: &Nine, otherwise: Value) -> Value {
    let i = i.map(|tap| tap.or(i[0]).unwrap_or(otherwise));
    let mut larger = |x: Value, y: Value| if x == y { x } else { second_if_nan(b, x, y) };
    let (early, late) = (larger(i[2], i[3]), larger(i[4], i[5]));
    let middle = larger(early, late);
    let (first, last) = (larger(i[0], i[1]), larger(i[6], i[7]));
    let first = larger(first, i[8]);
    let ends = larger(first, last);
    larger(middle, ends)
}

/// Returns `y < x ? x : y`. If either is NaN, this is `y`.
fn second_if_nan(b: &mut KernelBuilder, x: Value, y: Value) -> Value {
    b.binary(BinaryOp::FloatMaxFirst, y, x)
}
