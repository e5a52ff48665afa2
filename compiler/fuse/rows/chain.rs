//! Chains of operators that work row by row.

use super::rearranged::{Rearranged, rearranged};
use super::window::{ROWS, RowWindow, image};
use crate::fuse::flow::{Flow, Item};
use crate::fuse::row_major;
use crate::ir::{Axis, Function, Inst, InstData, Module, Operation, Value};
use rustc_hash::FxHashMap;

/// An operator of a chain, or the three operators of a rearrangement.
#[derive(Clone, Debug)]
pub struct Link {
    /// The instruction that computes the value.
    pub inst: Inst,
    /// The reshape and the transpose of a rearrangement, of which the reshape reads the chain's value. Empty for other operators.
    pub before: Vec<Inst>,
    /// Rows of the previous chain value that each row of the result needs.
    pub window: RowWindow,
    /// Positions of other operands that are sliced by the same rows.
    pub kept: Vec<usize>,
    /// Multiply-accumulate operations, or elements, for one row of the result.
    pub work_per_row: u64,
}

/// Consecutive operators; each reads the result of the one before, and is its only reader. Value 0 is the operand of the first operator, value
/// *i* + 1 the result of link *i*.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The operators.
    pub links: Vec<Link>,
    /// The values before and after each operator: one more than operators.
    pub values: Vec<Value>,
}

/// The longest chains in the outermost body of a method.
pub fn chains(module: &Module, flow: &Flow, uses: &FxHashMap<Value, usize>) -> Vec<Chain> {
    let mut chains: Vec<Chain> = Vec::new();
    let mut ends: FxHashMap<Value, usize> = FxHashMap::default();
    for item in &flow.items {
        let Item::Inst(inst) = *item else { continue };
        let is_open = |v: Value| ends.contains_key(&v) && uses.get(&v) == Some(&1);
        let Some((input, link)) = link_of(module, flow, uses, inst, is_open) else { continue };
        let result = flow.function.insts[inst].results[0];
        let number = match ends.remove(&input).filter(|_| uses.get(&input) == Some(&1)) {
            Some(number) => number,
            None => {
                chains.push(Chain { links: vec![], values: vec![input] });
                chains.len() - 1
            }
        };
        chains[number].links.push(link);
        chains[number].values.push(result);
        ends.insert(result, number);
    }
    chains
}

/// Returns the operands that an operator reads row by row, with the window of each; `None` if the operator does not work row by row.
fn row_operands(module: &Module, function: &Function, inst: Inst) -> Option<Vec<(usize, RowWindow)>> {
    let data = &function.insts[inst];
    let [result] = data.results[..] else { return None };
    let [rows, ..] = image(function, result)?;
    data.operation.part(ROWS, 0, 0)?;
    let axes = data.axes(module, function);
    let window = |i: usize| match *axes.operands.get(i)?.get(ROWS)? {
        Axis::Kept(ROWS) => Some(RowWindow::same(rows)),
        Axis::Windowed(ROWS, taps) => Some(RowWindow {
            size: taps.size,
            stride: u64::try_from(taps.stride).ok().filter(|&n| n > 0)?,
            dilation: u64::try_from(taps.dilation).ok().filter(|&n| n > 0)?,
            low: taps.low,
            ..RowWindow::same(image(function, data.operands[i])?[0])
        }),
        _ => None,
    };
    let read = |i: usize| window(i).filter(|_| image(function, data.operands[i]).is_some()).map(|window| (i, window));
    Some((0..data.operands.len()).filter_map(read).collect())
}

/// Returns the link that ends with an instruction, and the chain value that it reads. It prefers a value at the end of an open chain.
fn link_of(
    module: &Module,
    flow: &Flow,
    uses: &FxHashMap<Value, usize>,
    inst: Inst,
    is_open: impl Fn(Value) -> bool,
) -> Option<(Value, Link)> {
    let function = &flow.function;
    if let Some(Rearranged { before, image: source, window }) = rearranged(function, inst, uses) {
        let [_, columns, channels] = image(function, function.insts[inst].results[0])?;
        let work_per_row = columns.checked_mul(channels)?;
        return Some((source, Link { inst, before: before.to_vec(), window, kept: vec![], work_per_row }));
    }
    let operands = row_operands(module, function, inst)?;
    let data = &function.insts[inst];
    let open = operands.iter().map(|(i, _)| *i).find(|&i| is_open(data.operands[i]));
    let number = open.or(operands.first().map(|(i, _)| *i))?;
    Some((data.operands[number], link(function, inst, number, operands)?))
}

fn link(function: &Function, inst: Inst, input: usize, operands: Vec<(usize, RowWindow)>) -> Option<Link> {
    let data = &function.insts[inst];
    let value = data.operands[input];
    let [_, columns, channels] = image(function, data.results[0])?;
    let window = operands.iter().find(|(i, _)| *i == input)?.1;
    // An operand read as a whole, as a filter is, must not be the chain's value.
    let others = (0..data.operands.len()).filter(|&i| !operands.iter().any(|(kept, _)| *kept == i));
    if others.into_iter().any(|i| data.operands[i] == value) {
        return None;
    }
    let elements = columns.checked_mul(channels)?;
    let work_per_row = elements.checked_mul(taps(function, data)?)?;
    let kept = operands.into_iter().map(|(i, _)| i).filter(|&i| data.operands[i] != value).collect();
    Some(Link { inst, before: vec![], window, kept, work_per_row })
}

/// Returns the multiply-accumulate operations, or elements read, for one element of the result.
fn taps(function: &Function, data: &InstData) -> Option<u64> {
    match &data.operation {
        Operation::Conv(_) => {
            let filter = row_major(function, data.operands[1])?;
            filter[1..].iter().try_fold(1u64, |product, &n| product.checked_mul(n))
        }
        Operation::Window(window) => u64::try_from(*window.size.first()?).ok(),
        Operation::Pad(_) => Some(0),
        _ => Some(1),
    }
}
