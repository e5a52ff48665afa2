//! Elements chosen by truth values or by index.

use super::super::fault::Fault;
use super::super::translate::Register;
use super::Translate;
use super::call::{Call, Operand};
use crate::ir::{Attribute, ElementType, Op, ScalarOp, Value};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::where.self_out", choose),
    ("aten::masked_fill.Scalar_out", masked_fill),
    ("aten::embedding.out", |c| pick(c, 1, 0)),
    ("aten::index_select.out", index_select),
    ("aten::index.Tensor_out", index),
];

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

/// Slices of argument 0 along an axis, by the integers of another argument.
fn pick(c: &mut Call<'_, '_, '_>, indices: usize, axis: usize) -> Outcome {
    let (data, indices) = (c.tensor(0)?, c.tensor(indices)?);
    let picked = gather(c, data, indices, axis)?;
    c.finish(picked)
}

fn gather(c: &mut Call<'_, '_, '_>, data: Value, indices: Value, axis: usize) -> Result<Value, Fault> {
    let attributes = vec![Attribute::Int(axis as i64), Attribute::Int(0)];
    Ok(c.builder().inst(Op::Gather, &[data, indices], attributes)?[0])
}

fn index_select(c: &mut Call<'_, '_, '_>) -> Outcome {
    let data = c.tensor(0)?;
    let axis = c.axis(c.int(1)?, c.shape(data)?.len())?;
    pick(c, 2, axis)
}

/// Slices by one index tensor; negative indices count from the end.
fn index(c: &mut Call<'_, '_, '_>) -> Outcome {
    let registers = c.tensor_registers(1)?;
    let given: Vec<(usize, usize)> = registers.iter().enumerate().filter_map(|(i, r)| r.map(|r| (i, r))).collect();
    let [(axis, register)] = given[..] else {
        return Err(
            Fault::unsupported("indexing by several tensors is not supported yet").expected("one index tensor", given.len().to_string())
        );
    };
    if !matches!(c.translator.environment.registers[register], Register::Tensor(_)) {
        return Err(Fault::invalid("an index is no tensor"));
    }
    let (data, indices) = (c.tensor(0)?, c.translator.read(register)?);
    if c.element(indices) == ElementType::Bool || c.element(indices) == ElementType::U8 {
        return Err(Fault::unsupported("indexing by truth values is not supported yet"));
    }
    let extent = *c.shape(data)?.get(axis).ok_or_else(|| Fault::invalid("more indices than dimensions"))?;
    let wrapped = c.map(&[indices], |b, n| {
        let index = b.convert(n[0], ElementType::I64);
        let zero = b.constant(crate::ir::Scalar::int(ElementType::I64, 0));
        let count = b.constant(crate::ir::Scalar::int(ElementType::I64, extent as i64));
        let negative = b.op(ScalarOp::Compare(crate::ir::Comparison::Less), &[index, zero])?;
        let moved = b.op(ScalarOp::Add, &[index, count])?;
        Ok(b.op(ScalarOp::Select, &[negative, moved, index])?)
    })?;
    let picked = gather(c, data, wrapped, axis)?;
    c.finish(picked)
}
