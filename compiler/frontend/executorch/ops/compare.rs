//! Comparisons and logic: truth values of two operands.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use super::complex;
use crate::ir::{Comparison, ElementType, ScalarOp};
use crate::operators::promotion::Operand;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::eq.Tensor_out", |c| compare(c, Comparison::Equal)),
    ("aten::eq.Scalar_out", |c| compare(c, Comparison::Equal)),
    ("aten::ne.Tensor_out", |c| compare(c, Comparison::NotEqual)),
    ("aten::ne.Scalar_out", |c| compare(c, Comparison::NotEqual)),
    ("aten::lt.Tensor_out", |c| compare(c, Comparison::Less)),
    ("aten::lt.Scalar_out", |c| compare(c, Comparison::Less)),
    ("aten::le.Tensor_out", |c| compare(c, Comparison::LessEqual)),
    ("aten::le.Scalar_out", |c| compare(c, Comparison::LessEqual)),
    ("aten::gt.Tensor_out", |c| compare(c, Comparison::Greater)),
    ("aten::gt.Scalar_out", |c| compare(c, Comparison::Greater)),
    ("aten::ge.Tensor_out", |c| compare(c, Comparison::GreaterEqual)),
    ("aten::ge.Scalar_out", |c| compare(c, Comparison::GreaterEqual)),
    ("aten::logical_and.out", |c| logic(c, ScalarOp::And)),
    ("aten::logical_or.out", |c| logic(c, ScalarOp::Or)),
    ("aten::logical_xor.out", |c| logic(c, ScalarOp::Xor)),
];

fn compare(c: &mut Call<'_, '_, '_>, comparison: Comparison) -> Result<(), Fault> {
    let operands = [c.operand(0)?, c.operand(1)?];
    if complex::is_among(c, &operands) {
        return complex::compare(c, operands, comparison);
    }
    let ty = c.common_type(&operands)?;
    apply(c, &operands, ty, ScalarOp::Compare(comparison))
}

fn logic(c: &mut Call<'_, '_, '_>, operation: ScalarOp) -> Result<(), Fault> {
    let operands = [c.operand(0)?, c.operand(1)?];
    apply(c, &operands, ElementType::Bool, operation)
}

fn apply(c: &mut Call<'_, '_, '_>, operands: &[Operand], ty: ElementType, operation: ScalarOp) -> Result<(), Fault> {
    let out = c.out_form(c.out())?.element;
    let y = c.map_operands(operands, ty, |b, n| {
        let y = b.op(operation, n)?;
        Ok(b.convert(y, out))
    })?;
    c.finish(y)
}
