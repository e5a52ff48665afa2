//! Comparison of two tensors within a tolerance.

use super::super::fault::Fault;
use super::super::tensors::shape_text;
use super::call::{Call, Translate};
use crate::ir::{Comparison, ElementType, Reduction, ScalarOp};
use crate::operators::reduction::{Axes, reduce};
use crate::operators::terms::{Term, Terms};
use ElementType::F64;

pub(super) const OPERATORS: &[(&str, Translate)] = &[("aten::allclose.out", all_close)];

/// (self, other, rtol, atol, …). Floats are close if |self − other| is finite and at most atol + |rtol·other|, in binary64. If both tolerances are 0,
/// they must be equal. Infinities are thus close to nothing with tolerances. NaN never is, whatever the arguments say of NaN. Other numbers must be
/// equal.
fn all_close(c: &mut Call<'_, '_, '_>) -> Result<(), Fault> {
    let (x, y, tolerances) = (c.tensor(0)?, c.tensor(1)?, [c.double(2)?, c.double(3)?]);
    let (element, other) = (c.element(x), c.element(y));
    if element != other {
        return Err(Fault::invalid("the tensors are of two types").expected(element.to_string(), other.to_string()));
    }
    let (shape, expected) = (c.extents(y), c.extents(x));
    if shape.len() != expected.len() {
        return Err(Fault::invalid("the tensors are of two ranks").expected(shape_text(&expected), shape_text(&shape)));
    }
    for (&a, &b) in expected.iter().zip(&shape) {
        c.translator.equate(a, b)?;
    }
    let mut terms = Terms::new(&[element, element]);
    let close = close(&mut terms, element, tolerances)?;
    let close = c.graph().map(&[x, y], terms.finish(close))?;
    let axes: Vec<usize> = (0..shape.len()).collect();
    let all = reduce(c.graph(), close, Reduction::All, &axes, Axes::Dropped)?;
    let out = c.out_form(c.out())?.shape;
    let all = c.reshape_to(all, &out)?;
    c.finish(all)
}

fn close(terms: &mut Terms, element: ElementType, [relative, absolute]: [f64; 2]) -> Term {
    let (x, y) = (terms.input(0), terms.input(1));
    if !element.is_float() || relative == 0.0 && absolute == 0.0 {
        return terms.compare(Comparison::Equal, x, y);
    }
    let difference = terms.sub(x, y)?;
    let difference = terms.op(ScalarOp::Abs, &[difference])?;
    let (difference, y) = (terms.convert(difference, F64), terms.convert(y, F64));
    let [relative, absolute, infinity] = [relative, absolute, f64::INFINITY].map(|n| terms.f64(n));
    let scaled = terms.mul(relative, y)?;
    let scaled = terms.op(ScalarOp::Abs, &[scaled])?;
    let allowed = terms.add(absolute, scaled)?;
    let is_finite = terms.compare(Comparison::Less, difference, infinity)?;
    let within = terms.compare(Comparison::LessEqual, difference, allowed)?;
    terms.op(ScalarOp::And, &[is_finite, within])
}
