//! Element-wise work from one byte to another is what it does to the 256 bytes.
//!
//! Contract: a chain of maps that begins and ends with bytes of one type, and reads nothing else but numbers, is evaluated for every byte. What leaves all
//! as they are goes; what only limits them becomes a clamp; a longer chain in which a function is approximated becomes a table. All else stays.

use super::edit::{Edit, Visit, rewrite};
use super::unary::{Unary, unary};
use crate::ir::scalar::Exactness;
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| simpler(edit, inst).map_or(Visit::Keep, |value| Visit::Replace(vec![value])))
}

/// What a chain does to every byte.
pub(super) struct Chain {
    /// The bytes that it begins with.
    pub root: Value,
    /// The result for each, from the least integer on.
    pub results: Vec<Scalar>,
    /// Whether a function in it is approximated.
    approximated: bool,
    /// How many operations it has.
    operations: usize,
}

fn simpler(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = &edit.function.insts[inst];
    let [result] = data.results[..] else { return None };
    let element = byte(edit, result).filter(|_| data.op() == Op::Map)?;
    let chain = chain(edit, result)?;
    if byte(edit, chain.root) != Some(element) {
        return None;
    }
    let bytes: Vec<i64> = chain.results.iter().map(|scalar| scalar.as_i64()).collect();
    let (first, last) = element.integer_range().map(|(low, high)| (low as i64, high as i64))?;
    let (low, high) = (*bytes.iter().min()?, *bytes.iter().max()?);
    let limits = (first..=last).zip(&bytes).all(|(byte, &result)| byte.clamp(low, high) == result);
    match (limits, (low, high) == (first, last)) {
        (true, true) => Some(chain.root),
        (true, false) if chain.operations > 2 => clamp(edit, &chain, element, [low, high]),
        (false, _) if chain.approximated => table(edit, &chain, element, &bytes),
        _ => None,
    }
}

/// The type of a tensor of bytes.
pub(super) fn byte(edit: &Edit<'_>, value: Value) -> Option<ElementType> {
    let element = edit.function.values[value].ty.as_tensor()?.element;
    matches!(element, ElementType::I8 | ElementType::U8).then_some(element)
}

/// The chain of maps that computes a value from bytes of the same shape.
pub(super) fn chain(edit: &Edit<'_>, value: Value) -> Option<Chain> {
    let Unary { operand, expression } = unary(edit, value)?;
    let mut chain = match byte(edit, operand) {
        Some(element) => Chain { root: operand, results: every_byte(element)?, approximated: false, operations: 0 },
        None => chain(edit, operand)?,
    };
    chain.results = applied(edit.module, expression, &chain.results)?;
    let work = || expression.nodes.values().filter(|data| !matches!(data.op, ScalarOp::Input(_) | ScalarOp::Constant(_)));
    chain.operations += work().count();
    chain.approximated |= work().any(|data| data.op.row().exactness == Exactness::Near);
    Some(chain)
}

/// Every integer of eight bits, from the least one on.
fn every_byte(element: ElementType) -> Option<Vec<Scalar>> {
    let (low, high) = element.integer_range()?;
    Some((low as i64..=high as i64).map(|byte| Scalar::int(element, byte)).collect())
}

/// An expression over bytes at each of them, from the least one on.
pub(super) fn at_each_byte(module: &Module, element: ElementType, expression: &Expression) -> Option<Vec<Scalar>> {
    applied(module, expression, &every_byte(element)?)
}

/// An expression over one operand at each of some numbers.
fn applied(module: &Module, expression: &Expression, numbers: &[Scalar]) -> Option<Vec<Scalar>> {
    let element = numbers.first()?.element();
    let bytes = numbers.iter().flat_map(|number| number.to_bytes()).collect();
    let column = Tensor { element, shape: vec![numbers.len() as u64], bytes };
    let result = interpret::evaluate_map(module, expression, &column)?;
    let size = result.element.bits() as usize / 8;
    let number = |bytes: &[u8]| Scalar::from_bytes(result.element, bytes);
    Some(result.bytes.chunks(size.max(1)).map(number).collect())
}

fn clamp(edit: &mut Edit<'_>, chain: &Chain, element: ElementType, bounds: [i64; 2]) -> Option<Value> {
    if let Some(value) = tightened(edit, chain.root, bounds) {
        return Some(value);
    }
    let mut b = ExpressionBuilder::new(&[element]);
    let mut x = b.input(0);
    let (first, last) = element.integer_range()?;
    let operations = [ScalarOp::Max(NanRule::First), ScalarOp::Min(NanRule::First)];
    for ((bound, op), end) in bounds.into_iter().zip(operations).zip([first, last]) {
        if i128::from(bound) == end {
            continue;
        }
        let bound = b.constant(Scalar::int(element, bound));
        x = b.op(op, &[x, bound]).ok()?;
    }
    edit.insert_one(operators::Map { expression: b.finish(vec![x]) }, &[chain.root])
}

/// The map that computes a value, with narrower bounds: it ends with `convert(round(min(max(low, x), high))) + zero`. Clamping floats between integers,
/// rounding and converting them is rounding and converting them and clamping between the same integers.
fn tightened(edit: &mut Edit<'_>, value: Value, bounds: [i64; 2]) -> Option<Value> {
    let data = edit.defined_by(value, Op::Map)?.clone();
    let mut expression = data.expression().clone();
    let clamp = Clamp::before(&expression)?;
    let only_there = |node: Node| expression.nodes.values().flat_map(|data| &data.operands).filter(|&&n| n == node).count() == 1;
    let inside = clamp.bounds[0] <= bounds[0] && bounds[1] <= clamp.bounds[1];
    if edit.uses[value] != 1 || expression.results.len() != 1 || !inside || !clamp.nodes.into_iter().all(only_there) {
        return None;
    }
    for (node, bound) in clamp.nodes.into_iter().zip(bounds) {
        expression.nodes[node].op = ScalarOp::Constant(Scalar::f32((bound - clamp.zero) as f32));
    }
    edit.insert_one(operators::Map { expression }, &data.operands)
}

/// The clamp of a float before it is rounded and becomes an integer.
struct Clamp {
    /// The numbers that are its bounds.
    nodes: [Node; 2],
    /// What the bounds become.
    bounds: [i64; 2],
    /// What is added to the integer.
    zero: i64,
}

impl Clamp {
    /// The clamp before the result of an expression.
    fn before(expression: &Expression) -> Option<Self> {
        let nodes = &expression.nodes;
        let number = |node: Node| if let ScalarOp::Constant(number) = nodes[node].op { Some(number) } else { None };
        let through =
            |node: Node, op: ScalarOp| (nodes[node].op == op).then(|| (nodes[node].operands[0], nodes[node].operands.get(1).copied()));
        let integer = |node: Node| (nodes[node].ty == ElementType::I32).then_some(node);
        let (sum, _) = through(*expression.results.first()?, ScalarOp::Convert)?;
        let (converted, zero) = through(integer(sum)?, ScalarOp::Add).unwrap_or((sum, None));
        let zero = zero.map_or(Some(0), |zero| Some(number(zero)?.as_i64()))?;
        let (rounded, _) = through(integer(converted)?, ScalarOp::Convert)?;
        let (limited, _) = through(rounded, ScalarOp::RoundEven)?;
        let (above, high) = through(limited, ScalarOp::Min(NanRule::First))?;
        let (low, _) = through(above, ScalarOp::Max(NanRule::First))?;
        let nodes = [low, high?];
        let whole = |node: Node| number(node).map(Scalar::as_f64).filter(|n| n.fract() == 0.0).map(|n| n as i64 + zero);
        Some(Self { nodes, bounds: [whole(low)?, whole(high?)?], zero })
    }
}

fn table(edit: &mut Edit<'_>, chain: &Chain, element: ElementType, bytes: &[i64]) -> Option<Value> {
    let entries: Vec<u8> = bytes.iter().map(|&byte| byte as u8).collect();
    let table = edit.module.add_constant(TensorType::of(element, &[entries.len() as u64]), entries.into());
    let (first, _) = element.integer_range()?;
    let mut b = ExpressionBuilder::new(&[element]);
    let x = b.input(0);
    let (x, first) = (b.convert(x, ElementType::I32), b.constant(Scalar::i32(-first as i32)));
    let index = b.op(ScalarOp::Add, &[x, first]).ok()?;
    let x = b.lut(table, element, index);
    edit.insert_one(operators::Map { expression: b.finish(vec![x]) }, &[chain.root])
}
