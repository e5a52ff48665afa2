//! Single elements of tensors that are computed from numbers and extents, as lists of sizes are: what they are, and else between which
//! numbers.

use super::extents::{IndexOperation, ListItem};
use super::operator::Operator;
use super::ranges::{Range, apply};
use crate::diagnostic::Diagnostic;
use crate::ir::{Attribute, Comparison, Constant, ElementType, Extent, InstData, Op, Scalar, ScalarOp, Value};
use cranelift_entity::EntityRef;
use std::collections::HashMap;

/// Elements are followed through so many operators.
const MAX_DEPTH: usize = 64;

type Place = (Value, u64);

/// Elements that were looked at: an operator may read one twice, and what it reads again twice.
#[derive(Default)]
pub(super) struct Elements {
    items: HashMap<Place, Option<ListItem>>,
    ranges: HashMap<Place, Option<Range>>,
}

impl Elements {
    /// What one element of an integer tensor is, where it follows from numbers and extents; `None` where it does not.
    pub fn item(&mut self, operator: &mut Operator<'_, '_, '_>, value: Value, position: u64) -> Result<Option<ListItem>, Diagnostic> {
        self.item_within(operator, value, position, 0)
    }

    /// The largest integer that one element of a tensor can be, where that follows from numbers and the bounds of extents; 0 for smaller ones.
    pub fn most(&mut self, operator: &Operator<'_, '_, '_>, value: Value, position: u64) -> Option<u64> {
        self.range(operator, value, position, 0).map(|range| range.high.max(0.0) as u64)
    }

    fn item_within(
        &mut self,
        operator: &mut Operator<'_, '_, '_>,
        value: Value,
        position: u64,
        depth: usize,
    ) -> Result<Option<ListItem>, Diagnostic> {
        if let Some(known) = self.items.get(&(value, position)) {
            return Ok(*known);
        }
        let item = match origin(operator, value, position).filter(|_| depth < MAX_DEPTH) {
            Some((data, position)) => self.item_of(operator, &data, position, depth)?,
            None => None,
        };
        self.items.insert((value, position), item);
        Ok(item)
    }

    fn item_of(
        &mut self,
        operator: &mut Operator<'_, '_, '_>,
        data: &InstData,
        position: u64,
        depth: usize,
    ) -> Result<Option<ListItem>, Diagnostic> {
        match data.op {
            Op::Constant => {
                let number = constant_element(operator, data, position);
                Ok(number.filter(|number| number.element().is_integer()).map(|number| ListItem::Number(number.as_i64())))
            }
            Op::IndexTensor => Ok(Some(ListItem::Index(data.operands[0]))),
            Op::Map => self.computed(operator, data, position, depth),
            Op::Reduce if data.word("reduction") == "product" => {
                let shape = operator.extents_of(data.operands[0]);
                let [Extent::Static(count)] = shape[..] else { return Ok(None) };
                let mut product = Extent::Static(1);
                for position in 0..count {
                    let item = self.item_within(operator, data.operands[0], position, depth + 1)?;
                    let Some(factor) = item.and_then(ListItem::extent) else { return Ok(None) };
                    product = operator.combine(IndexOperation::Multiply, factor, product)?;
                }
                Ok(Some(ListItem::of(product)))
            }
            _ => Ok(None),
        }
    }

    /// An element of an expression of sums, products and the like.
    fn computed(
        &mut self,
        operator: &mut Operator<'_, '_, '_>,
        data: &InstData,
        position: u64,
        depth: usize,
    ) -> Result<Option<ListItem>, Diagnostic> {
        let expression = data.expression();
        let mut items: Vec<ListItem> = Vec::new();
        for node in expression.nodes.values() {
            if !node.ty.is_integer() {
                return Ok(None);
            }
            let operand = |i: usize| items[node.operands[i].index()];
            let item = match node.op {
                ScalarOp::Input(i) => match place_of(operator, data, i as usize, position) {
                    Some((value, position)) => self.item_within(operator, value, position, depth + 1)?,
                    None => None,
                },
                ScalarOp::Constant(number) => Some(ListItem::Number(number.as_i64())),
                ScalarOp::Convert => Some(operand(0)),
                op => match (index_operation(op), operand(0).extent(), node.operands.get(1).and_then(|_| operand(1).extent())) {
                    (Some(operation), Some(a), Some(b)) => Some(ListItem::of(operator.combine(operation, a, b)?)),
                    _ => None,
                },
            };
            let Some(item) = item else { return Ok(None) };
            items.push(item);
        }
        Ok(expression.results.first().map(|&result| items[result.index()]))
    }

    fn range(&mut self, operator: &Operator<'_, '_, '_>, value: Value, position: u64, depth: usize) -> Option<Range> {
        if let Some(known) = self.ranges.get(&(value, position)) {
            return *known;
        }
        let origin = origin(operator, value, position).filter(|_| depth < MAX_DEPTH);
        let range = origin.and_then(|(data, position)| self.range_of(operator, &data, position, depth));
        self.ranges.insert((value, position), range);
        range
    }

    fn range_of(&mut self, operator: &Operator<'_, '_, '_>, data: &InstData, position: u64, depth: usize) -> Option<Range> {
        match data.op {
            Op::Constant => Range::exactly(constant_element(operator, data, position)?),
            Op::IndexTensor => Range::of(operator.interval(Extent::Value(data.operands[0])))?.held(data.element("element")),
            Op::Map => {
                let expression = data.expression();
                let mut ranges: Vec<Range> = Vec::new();
                for node in expression.nodes.values() {
                    let operands: Vec<Range> = node.operands.iter().map(|operand| ranges[operand.index()]).collect();
                    ranges.push(match node.op {
                        ScalarOp::Input(i) => {
                            let (value, position) = place_of(operator, data, i as usize, position)?;
                            self.range(operator, value, position, depth + 1)?
                        }
                        ScalarOp::Constant(number) => Range::exactly(number)?,
                        // How it is asked whether something is a number, which what has a range is.
                        ScalarOp::Compare(Comparison::Equal) if node.operands[0] == node.operands[1] => Range::TRUE,
                        op => apply(op, node.ty, &operands)?,
                    });
                }
                expression.results.first().map(|&result| ranges[result.index()])
            }
            _ => None,
        }
    }
}

/// Follows an element through what only moves it, to the instruction that makes it and its position there.
fn origin(operator: &Operator<'_, '_, '_>, mut value: Value, mut position: u64) -> Option<(InstData, u64)> {
    let function = &operator.lowering.builder.function;
    for _ in 0..MAX_DEPTH {
        let data = &function.insts[function.defining_inst(value)?];
        value = match data.op {
            Op::Reshape => data.operands[0],
            Op::Slice => {
                let [Extent::Static(start)] = data.extents("start") else { return None };
                let from = i64::try_from(*start).ok()?.checked_add(data.ints("stride")[0].saturating_mul(i64::try_from(position).ok()?))?;
                position = u64::try_from(from).ok()?;
                data.operands[0]
            }
            Op::Concat => joined(operator, data, &mut position)?,
            Op::Gather if operator.extents_of(data.operands[0]).len() == 1 => {
                let (indices, at) = origin(operator, data.operands[1], position)?;
                position = match indices.op {
                    Op::Constant => u64::try_from(constant_element(operator, &indices, at)?.as_i64()).ok()?,
                    _ => return None,
                };
                data.operands[0]
            }
            _ => return Some((data.clone(), position)),
        };
    }
    None
}

/// The tensor of some joined ones that holds a position, which is then that within it.
fn joined(operator: &Operator<'_, '_, '_>, data: &InstData, position: &mut u64) -> Option<Value> {
    let axis = usize::try_from(data.int("axis")).ok()?;
    let known = |value: Value| operator.extents_of(value).iter().map(|extent| extent.as_static()).collect::<Option<Vec<u64>>>();
    let shape = known(data.results[0])?;
    let inner = shape.get(axis + 1..)?.iter().product::<u64>();
    let (line, within) = (position.checked_div(inner)?, position.checked_rem(inner)?);
    let (outer, mut along) = (line.checked_div(shape[axis])?, line.checked_rem(shape[axis])?);
    for &operand in &data.operands {
        let extent = known(operand)?[axis];
        if along < extent {
            *position = outer.checked_mul(extent)?.checked_add(along)?.checked_mul(inner)?.checked_add(within)?;
            return Some(operand);
        }
        along -= extent;
    }
    None
}

/// Where an input of an element-wise instruction is read for an element of its result: nowhere in particular where shapes differ in more than
/// that the input is a single number.
fn place_of(operator: &Operator<'_, '_, '_>, data: &InstData, input: usize, position: u64) -> Option<Place> {
    let value = data.operands[input];
    let shape = operator.extents_of(value);
    if shape.iter().all(|extent| *extent == Extent::Static(1)) {
        return Some((value, 0));
    }
    (shape == operator.extents_of(data.results[0])).then_some((value, position))
}

fn constant_element(operator: &Operator<'_, '_, '_>, data: &InstData, position: u64) -> Option<Scalar> {
    let Some(Attribute::Constant(constant)) = data.attributes.first() else { return None };
    let constant: Constant = *constant;
    let data = &operator.lowering.builder.module.constants[constant];
    let element = data.ty.element;
    let numbers = (element.is_integer() || element.is_float() || element == ElementType::Bool) && (8..=64).contains(&element.bits());
    let width = element.bits() as usize / 8;
    let bytes = data.data.bytes().chunks_exact(width.max(1)).nth(usize::try_from(position).ok()?).filter(|_| numbers)?;
    Some(Scalar::from_bits(element, bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))))
}

/// The index operation that does on numbers of 0 or more, where none is below 0 between, what a scalar one does.
fn index_operation(op: ScalarOp) -> Option<IndexOperation> {
    Some(match op {
        ScalarOp::Add => IndexOperation::Add,
        ScalarOp::Mul => IndexOperation::Multiply,
        ScalarOp::Min(_) => IndexOperation::Minimum,
        ScalarOp::Max(_) => IndexOperation::Maximum,
        _ => return None,
    })
}
