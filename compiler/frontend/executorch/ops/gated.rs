//! Elements that pass or do not: gates and triangles of matrices.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use crate::ir::{Comparison, ElementType, Extent, Scalar, ScalarOp};
use crate::operators::promotion::float_type;
use crate::operators::slices;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[("aten::glu.out", gated_half), ("aten::tril.out", lower_triangle)];

/// The first half of a dimension times the logistic function of the second.
fn gated_half(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(1)?, c.rank(x))?;
    let shape = c.extents(x);
    let whole = *shape.get(axis).ok_or_else(|| Fault::invalid("a scalar has no halves"))?;
    let half = c.graph().floor_div(whole, Extent::Static(2))?;
    let twice = c.graph().mul(half, Extent::Static(2))?;
    c.translator.equate(whole, twice)?;
    let halves = slices::parts(c.graph(), x, axis, &[half, half])?;
    let (value, gate) = (halves[0], halves[1]);
    let (ty, out) = (float_type(c.element(x)), c.out_form(c.out())?.element);
    let y = c.map(&[value, gate], |b, n| {
        let (value, gate) = (b.convert(n[0], ty), b.convert(n[1], ty));
        let gate = b.op(ScalarOp::Logistic, &[gate])?;
        let y = b.op(ScalarOp::Mul, &[value, gate])?;
        Ok(b.convert(y, out))
    })?;
    c.finish(y)
}

/// (self, diagonal): zeros where the column is more than the row and the diagonal.
fn lower_triangle(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, diagonal) = (c.tensor(0)?, c.int(1)?);
    let shape = c.extents(x);
    let [.., rows, columns] = shape[..] else { return Err(Fault::invalid("a triangle needs a matrix")) };
    let one = Extent::Static(1);
    let row = c.builder().iota(vec![rows, one], 0, ElementType::I64)?;
    let column = c.builder().iota(vec![one, columns], 1, ElementType::I64)?;
    let element = c.element(x);
    let y = c.map(&[x, row, column], |b, n| {
        let diagonal = b.constant(Scalar::int(ElementType::I64, diagonal));
        let last = b.op(ScalarOp::Add, &[n[1], diagonal])?;
        let kept = b.op(ScalarOp::Compare(Comparison::LessEqual), &[n[2], last])?;
        let zero = b.constant(Scalar::from_bits(element, 0));
        Ok(b.op(ScalarOp::Select, &[kept, n[0], zero])?)
    })?;
    c.finish(y)
}
