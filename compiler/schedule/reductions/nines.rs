//! Sums and maxima of windows nine taps at a time, down the columns: `Summation::Nines`, see [`crate::ir::Summation`].

use crate::kernel::{BinaryOp, KernelBuilder, Value};

/// Taps that are added as one.
const GROUP: u64 = 9;

/// Windows of more taps than this, 8 × 8, are summed in a loop.
const WRITTEN_OUT: u64 = 64;

/// Nine taps, of which some may be missing.
type Nine = [Option<Value>; GROUP as usize];

/// How nine taps are combined with those before them.
#[derive(Clone, Copy)]
pub struct Combination {
    /// How the first nine are combined with the neutral value, if not as all others are.
    pub first: Option<fn(&mut KernelBuilder, Value, &Nine) -> Value>,
    pub next: fn(&mut KernelBuilder, Value, &Nine) -> Value,
}

/// Sums.
pub const SUM: Combination = Combination { first: None, next: added };

/// Maxima.
pub const MAXIMUM: Combination = Combination { first: Some(largest_of_first), next: larger };

/// What a window of `rows` and `columns` combines to, from `neutral` on. `tap` gives the element at a row and column of the window.
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

/// A sum and that of a group. What the last group lacks is 0: left out, it changes no more than the sign of a zero, which is added to a sum that is
/// never -0.
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

/// The largest of the first nine; the neutral value where it is NaN.
fn largest_of_first(b: &mut KernelBuilder, neutral: Value, i: &Nine) -> Value {
    let nine = largest(b, i, neutral);
    second_if_nan(b, nine, neutral)
}

/// The larger of the largest so far and that of nine; +∞ where the latter is NaN.
fn larger(b: &mut KernelBuilder, before: Value, i: &Nine) -> Value {
    let nine = largest(b, i, before);
    let either = second_if_nan(b, before, nine);
    let ty = b.ty(either);
    let infinity = b.float(ty, f64::INFINITY);
    b.binary(BinaryOp::FloatMinFirst, infinity, either)
}

/// The largest of nine. What the last nine lack is their first tap.
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

/// `y < x ? x : y`, so NaN in either gives `y`.
fn second_if_nan(b: &mut KernelBuilder, x: Value, y: Value) -> Value {
    b.binary(BinaryOp::FloatMaxFirst, y, x)
}
