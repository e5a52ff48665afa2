//! The elements of a dimension in order: all, the first ones, the one in the middle.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::{Comparison, Extent, Order, ScalarOp, Value};
use crate::operators::graph::movement::inverse;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::topk.values", top_k),
    ("aten::sort.values", |c| sort(c, 1)),
    ("aten::sort.values_stable", |c| sort(c, 2)),
    ("aten::median.dim_values", median_along),
    ("aten::median.out", median_of_all),
];

/// A tensor whose dimension `axis` is the last.
struct Line {
    value: Value,
    permutation: Vec<usize>,
    is_scalar: bool,
}

impl Line {
    fn of(c: &mut Call<'_, '_, '_>, dim: i64) -> Result<Self, Fault> {
        let x = c.tensor(0)?;
        let is_scalar = c.rank(x) == 0;
        let axis = c.axis(dim, c.rank(x))?;
        // A scalar is a line of one element.
        let x = if is_scalar { c.reshape(x, &[1])? } else { x };
        let mut permutation: Vec<usize> = (0..c.rank(x)).filter(|&d| d != axis).collect();
        permutation.push(axis);
        Ok(Self { value: c.transpose(x, &permutation)?, permutation, is_scalar })
    }

    /// The extent of the dimension.
    fn extent(&self, c: &Call<'_, '_, '_>) -> Extent {
        c.extents(self.value)[self.permutation.len() - 1]
    }

    /// A result of the same rank with its dimensions in their original places.
    fn restored(&self, c: &mut Call<'_, '_, '_>, value: Value) -> Result<Value, Fault> {
        let value = c.transpose(value, &inverse(&self.permutation))?;
        if self.is_scalar { c.reshape(value, &[]) } else { Ok(value) }
    }
}

/// The first elements in order and their positions, as results `out` and the one after it.
fn first(c: &mut Call<'_, '_, '_>, line: &Line, order: Order, count: Extent, out: usize) -> Outcome {
    let results = c.builder().top_k(line.value, order, count)?;
    for (index, result) in results.into_iter().enumerate() {
        let result = line.restored(c, result)?;
        c.define(out + index, result)?;
    }
    Ok(())
}

fn order(is_descending: bool) -> Order {
    if is_descending { Order::Largest } else { Order::Smallest }
}

/// (self, k, dim, largest, sorted, values, indices).
fn top_k(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (count, largest) = (c.int(1)?, c.flag(3)?);
    let line = Line::of(c, c.int(2)?)?;
    let count = u64::try_from(count).map_err(|_| Fault::invalid("a count is negative").expected("0 or more", count.to_string()))?;
    first(c, &line, order(largest), Extent::Static(count), 5)
}

/// (self, …, dim, descending, values, indices): argument `at` is the dimension. Equal elements keep their order.
fn sort(c: &mut Call<'_, '_, '_>, at: usize) -> Outcome {
    let descending = c.flag(at + 1)?;
    let line = Line::of(c, c.int(at)?)?;
    let count = line.extent(c);
    first(c, &line, order(descending), count, at + 2)
}

/// (self, dim, keepdim, values, indices).
fn median_along(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (dim, keep) = (c.int(1)?, c.flag(2)?);
    let line = Line::of(c, dim)?;
    for (index, middle) in middle(c, &line)?.into_iter().enumerate() {
        let mut middle = line.restored(c, middle)?;
        if !keep && !line.is_scalar {
            let axis = c.axis(dim, c.rank(middle))?;
            let mut shape = c.extents(middle);
            shape.remove(axis);
            middle = c.reshape_to(middle, &shape)?;
        }
        c.define(3 + index, middle)?;
    }
    Ok(())
}

fn median_of_all(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let extents = c.extents(x);
    let count = c.graph().product(&extents)?;
    let row = c.reshape_to(x, &[count])?;
    let [value, _] = middle(c, &Line { value: row, permutation: vec![0], is_scalar: false })?;
    let value = c.reshape(value, &[])?;
    c.finish(value)
}

/// The lower of the elements in the middle and its position; NaN if there is one, which comes last, and where it is.
fn middle(c: &mut Call<'_, '_, '_>, line: &Line) -> Result<[Value; 2], Fault> {
    let axis = line.permutation.len() - 1;
    let extent = line.extent(c);
    if extent == Extent::Static(0) {
        return Err(Fault::unsupported("the median of no elements"));
    }
    let last = c.graph().sub(extent, Extent::Static(1))?;
    let lower = c.graph().floor_div(last, Extent::Static(2))?;
    let sorted = c.builder().top_k(line.value, Order::Smallest, extent)?;
    let mut at = |position: Extent, value: Value| c.graph().slice_along(value, axis, position, Extent::Static(1));
    let [middle, largest] = [lower, last].map(|position| [at(position, sorted[0]), at(position, sorted[1])]);
    let ([middle, middle_at], [largest, largest_at]) = (all(middle)?, all(largest)?);
    if !c.element(largest).is_float() {
        return Ok([middle, middle_at]);
    }
    Ok([unless_unknown(c, largest, [largest, middle])?, unless_unknown(c, largest, [largest_at, middle_at])?])
}

fn all<E>([a, b]: [Result<Value, E>; 2]) -> Result<[Value; 2], E> {
    Ok([a?, b?])
}

/// Returns the first of two values where `probe` is NaN, else the second.
fn unless_unknown(c: &mut Call<'_, '_, '_>, probe: Value, [unknown, known]: [Value; 2]) -> Result<Value, Fault> {
    c.map(&[probe, unknown, known], |b, n| {
        let is_unknown = b.op(ScalarOp::Compare(Comparison::NotEqual), &[n[0], n[0]])?;
        Ok(b.op(ScalarOp::Select, &[is_unknown, n[1], n[2]])?)
    })
}
