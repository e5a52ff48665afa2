//! Elements chosen by truth values.

use super::super::fault::Fault;
use super::call::{Call, Translate};
use super::complex;
use crate::ir::{ElementType, ScalarOp, Value};
use crate::operators::promotion::Operand;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[("aten::where.self_out", choose), ("aten::masked_fill.Scalar_out", masked_fill)];

fn choose(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (condition, x, y) = (c.operand(0)?, c.operand(1)?, c.operand(2)?);
    select(c, condition, x, y)
}

fn masked_fill(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, mask, value) = (c.operand(0)?, c.operand(1)?, Operand::Number(c.number(2)?));
    select(c, mask, value, x)
}

/// condition ? x : y, in the result's type.
fn select(c: &mut Call<'_, '_, '_>, condition: Operand, x: Operand, y: Operand) -> Outcome {
    let Operand::Tensor(condition) = condition else { return Err(Fault::unsupported("the condition is a number")) };
    let condition = c.cast(condition, ElementType::Bool)?;
    if complex::is_result(c)? {
        return complex::chosen(c, condition, [x, y]);
    }
    let out = c.out_form(c.out())?.element;
    let ty = c.common_type(&[x, y])?;
    let numbers: Vec<Operand> = vec![x, y];
    let tensors: Vec<Value> = numbers.iter().filter_map(|o| if let Operand::Tensor(v) = o { Some(*v) } else { None }).collect();
    let operands: Vec<Value> = std::iter::once(condition).chain(tensors).collect();
    let value = c.map(&operands, |b, n| {
        let mut next = 1;
        let mut nodes = vec![n[0]];
        for operand in &numbers {
            nodes.push(match operand {
                Operand::Number(number) => b.constant(number.to_scalar(ty)),
                Operand::Tensor(_) => {
                    next += 1;
                    b.convert(n[next - 1], ty)
                }
            });
        }
        let chosen = b.op(ScalarOp::Select, &nodes)?;
        Ok(b.convert(chosen, out))
    })?;
    c.finish(value)
}
