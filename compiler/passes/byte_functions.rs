//! Element-wise work from one byte to another is a function of 256 inputs, so it is replaced by a cheaper form.
//!
//! Contract: a chain of maps that reads one tensor of bytes and constants only, and computes bytes, is evaluated for every byte. The chain may fork
//! and join again.
//! An identity is removed. A chain that only limits bytes becomes a clamp. A chain that costs more than a table becomes a table. Everything else
//! stays.

use super::byte_chains::{Chain, byte, longest};
use super::edit::{Edit, Visit, rewrite};
use crate::ir::*;

/// The cost, on four lanes of 32 bits, above which a table replaces operations. Sixteen bytes looked up one by one take about sixty instructions.
/// A requantization alone costs less.
const TABLE: u64 = 15;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| simpler(edit, inst).map_or(Visit::Keep, Visit::Replace))
}

fn simpler(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let results = data.results.clone();
    let elements: Vec<ElementType> = results.iter().map(|&result| byte(edit, result)).collect::<Option<_>>()?;
    let chain = longest(edit, *results.first().filter(|_| data.op() == Op::Map)?)?;
    let bytes =
        |result: usize| -> Option<Vec<i64>> { Some(chain.results(edit.module, result)?.iter().map(|scalar| scalar.as_i64()).collect()) };
    let columns: Vec<Vec<i64>> = (0..results.len()).map(bytes).collect::<Option<_>>()?;
    // A table that can be replaced after compilation must not decide the form of the code.
    let is_known = !edit.module.open_constants || !chain.looks_up();
    if let ([element], [column]) = (&elements[..], &columns[..])
        && is_known
        && let Some(bounds) = limits(column, *element).filter(|_| byte(edit, chain.root) == Some(*element))
    {
        return within(edit, &chain, *element, bounds).map(|value| vec![value]);
    }
    // The cost of the table form: one index, and one lookup for each result. A chain without a lookup must also cost more than `TABLE` to be
    // replaced.
    let alone = 2 + 3 * results.len() as u64;
    let least = if chain.has_table { alone } else { alone.max(TABLE) };
    (chain.cost > least).then(|| tables(edit, chain.root, &elements, &columns))?
}

/// The bounds of a function of bytes that only limits bytes to these bounds; `None` for other functions.
fn limits(results: &[i64], element: ElementType) -> Option<[i64; 2]> {
    let (first, last) = element.integer_range()?;
    let [low, high] = [*results.iter().min()?, *results.iter().max()?];
    let limits = (first as i64..=last as i64).zip(results).all(|(byte, &result)| byte.clamp(low, high) == result);
    limits.then_some([low, high])
}

/// The bytes of a chain's root between two of them.
fn within(edit: &mut Edit<'_>, chain: &Chain, element: ElementType, bounds: [i64; 2]) -> Option<Value> {
    let limits_nothing = element.integer_range() == Some((bounds[0].into(), bounds[1].into()));
    match limits_nothing {
        true => Some(chain.root),
        false if chain.cost > 2 => clamp(edit, chain, element, bounds),
        false => None,
    }
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
    /// The new values of these two numbers.
    bounds: [i64; 2],
    /// The integer that is added after the clamp.
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

/// The map that looks up each result in a table of its own.
fn tables(edit: &mut Edit<'_>, root: Value, elements: &[ElementType], columns: &[Vec<i64>]) -> Option<Vec<Value>> {
    let from = byte(edit, root)?;
    let (first, _) = from.integer_range()?;
    let mut b = ExpressionBuilder::new(&[from]);
    let x = b.input(0);
    let (x, first) = (b.convert(x, ElementType::I32), b.constant(Scalar::i32(-first as i32)));
    let index = b.op(ScalarOp::Add, &[x, first]).ok()?;
    let mut results = vec![];
    for (&element, column) in elements.iter().zip(columns) {
        let entries: Vec<u8> = column.iter().map(|&byte| byte as u8).collect();
        let table = edit.module.add_constant(TensorType::of(element, &[entries.len() as u64]), entries.into());
        results.push(b.lut(table, element, index));
    }
    edit.insert(operators::Map { expression: b.finish(results) }, &[root]).ok()
}
