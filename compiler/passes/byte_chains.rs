//! Chains of maps that compute from a single tensor of bytes. A chain may fork and join again, like x · logistic(x).

use super::edit::Edit;
use crate::ir::*;
use rustc_hash::FxHashMap;

/// Maps of a chain at most.
const MOST_MAPS: usize = 16;

/// A chain of maps from a tensor of bytes to the results of the last map.
pub(super) struct Chain {
    /// The bytes that it begins with.
    pub root: Value,
    /// The results of the last map, from one byte.
    pub expression: Expression,
    /// The cost of its operations. Operations that only compute other bytes, which are needed anyway, are not counted.
    pub cost: u64,
    /// `true` if one of these operations is a table lookup.
    pub has_table: bool,
}

impl Chain {
    /// The results for every byte, from the least integer on.
    pub fn results(&self, module: &Module, result: usize) -> Option<Vec<Scalar>> {
        let expression = Expression { results: vec![*self.expression.results.get(result)?], ..self.expression.clone() };
        at_each_byte(module, *self.expression.inputs.first()?, &expression)
    }

    /// Tests whether the expression looks up a table of the module.
    pub fn looks_up(&self) -> bool {
        self.expression.nodes.values().any(|node| matches!(node.op, ScalarOp::Lut(_)))
    }
}

/// The type of a tensor of bytes.
pub(super) fn byte(edit: &Edit<'_>, value: Value) -> Option<ElementType> {
    let element = edit.function.values[value].ty.as_tensor()?.element;
    matches!(element, ElementType::I8 | ElementType::U8).then_some(element)
}

/// Evaluates an expression of one byte input for all 256 bytes, from the least one on.
pub(super) fn at_each_byte(module: &Module, element: ElementType, expression: &Expression) -> Option<Vec<Scalar>> {
    let (low, high) = element.integer_range()?;
    let bytes = (low as i64..=high as i64).map(|byte| byte as u8).collect();
    let result = interpret::evaluate_map(module, expression, &Tensor { element, shape: vec![256], bytes })?;
    let size = result.element.bits() as usize / 8;
    Some(result.bytes.chunks(size.max(1)).map(|bytes| Scalar::from_bytes(result.element, bytes)).collect())
}

/// The chain that computes a value from the nearest bytes of its shape. The value must be the only result of the last map.
pub(super) fn nearest(edit: &Edit<'_>, value: Value) -> Option<Chain> {
    edit.definition(value).filter(|data| data.results.len() == 1)?;
    roots(edit, value).into_iter().find_map(|root| chain(edit, value, root))
}

/// The chain for a value that replaces the most work. Among equal ones, the one that begins nearest.
pub(super) fn longest(edit: &Edit<'_>, value: Value) -> Option<Chain> {
    let chains = roots(edit, value).into_iter().filter_map(|root| chain(edit, value, root));
    chains.reduce(|best, other| if other.cost > best.cost { other } else { best })
}

/// The map that computes a value from tensors of its shape, and these.
fn map<'e>(edit: &'e Edit<'_>, value: Value) -> Option<(&'e Expression, &'e [Value])> {
    let data = edit.definition(value)?;
    let Operation::Map(map) = &data.operation else { return None };
    let shape = |value: Value| &edit.function.tensor(value).shape;
    let alike = data.operands.iter().all(|&operand| shape(operand) == shape(value));
    alike.then_some((&map.expression, &data.operands[..]))
}

/// The bytes from which maps lead to a value, the nearest first.
fn roots(edit: &Edit<'_>, value: Value) -> Vec<Value> {
    let (mut roots, mut seen, mut next) = (vec![], vec![value], 0);
    while next < seen.len().min(MOST_MAPS) {
        for &operand in map(edit, seen[next]).map_or(&[][..], |(_, operands)| operands) {
            if seen.contains(&operand) {
                continue;
            }
            seen.push(operand);
            if byte(edit, operand).is_some() {
                roots.push(operand);
            }
        }
        next += 1;
    }
    roots
}

/// The chain that computes a value from `root`. It may skip intermediate bytes that others need only if the last map reads the root anyway.
/// Otherwise the root would stay live longer.
fn chain(edit: &Edit<'_>, value: Value, root: Value) -> Option<Chain> {
    let mut maps = vec![];
    collect(edit, value, root, &mut maps)?;
    let needed = needed_bytes(edit, &maps);
    let (_, operands) = map(edit, value)?;
    if !needed.is_empty() && !operands.contains(&root) {
        return None;
    }
    let mut builder = ExpressionBuilder::new(&[byte(edit, root)?]);
    let mut nodes = FxHashMap::from_iter([(root, builder.input(0))]);
    let (mut cost, mut has_table, mut last) = (0, false, vec![]);
    for &inst in &maps {
        let data = &edit.function.insts[inst];
        let inputs: Vec<Node> = data.operands.iter().map(|operand| nodes[operand]).collect();
        last = builder.inline(data.expression(), &inputs);
        nodes.extend(data.results.iter().copied().zip(last.iter().copied()));
        if !data.results.iter().any(|result| needed.contains(result)) {
            let operations = || data.expression().nodes.values().map(|node| node.op);
            cost += operations().map(|op| op.row().cost).sum::<u64>();
            has_table |= operations().any(|op| matches!(op, ScalarOp::Lut(_)));
        }
    }
    Some(Chain { root, expression: builder.finish(last), cost, has_table })
}

/// Collects the maps on the way from `root` to a value, each after the maps that it reads.
fn collect(edit: &Edit<'_>, value: Value, root: Value, maps: &mut Vec<Inst>) -> Option<()> {
    let inst = edit.function.defining_inst(value).filter(|_| value != root);
    if value == root || inst.is_some_and(|inst| maps.contains(&inst)) {
        return Some(());
    }
    let (_, operands) = map(edit, value).filter(|_| maps.len() < MOST_MAPS)?;
    operands.iter().try_for_each(|&operand| collect(edit, operand, root, maps))?;
    maps.push(inst?);
    Some(())
}

/// The intermediate bytes of some maps that other instructions read, too.
fn needed_bytes(edit: &Edit<'_>, maps: &[Inst]) -> Vec<Value> {
    let (mut needed, mut read) = (vec![], FxHashMap::<Value, u32>::default());
    for (i, &inst) in maps.iter().enumerate().rev() {
        let data = &edit.function.insts[inst];
        let others = |result: &&Value| edit.uses[**result] > read.get(*result).copied().unwrap_or(0);
        let stays = i + 1 < maps.len() && data.results.iter().any(|result| others(&result));
        if stays {
            needed.extend(data.results.iter().filter(|&&result| byte(edit, result).is_some()));
        } else {
            data.operands.iter().for_each(|&operand| *read.entry(operand).or_default() += 1);
        }
    }
    needed
}
