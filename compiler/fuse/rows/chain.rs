//! Chains of operators that work row by row.

use super::rearranged::{Rearranged, rearranged};
use crate::fuse::flow::{Flow, Item};
use crate::fuse::row_major;
use crate::ir::{Axis, Function, Inst, InstData, Module, Operation, Value};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The dimension of `[1, rows, columns, channels]` that is cut.
pub const ROWS: usize = 1;

/// Which rows of its operand an operator needs.
#[derive(Clone, Copy, Debug)]
pub struct RowWindow {
    /// Taps.
    pub size: u64,
    /// Rows from one position to the next.
    pub stride: u64,
    /// Rows from one tap to the next.
    pub dilation: u64,
    /// Rows of border above the operand.
    pub low: i64,
    /// Rows of the operand.
    pub rows: u64,
    /// Rows of the result at each position.
    pub results: u64,
}

/// What an operator needs for some rows of its result.
pub struct Needs {
    /// The operand's rows.
    pub rows: Range<u64>,
    /// Rows of border that the window sees above and below the operand.
    pub border: (i64, i64),
    /// The rows of the result that come of these: at least those that are wanted.
    pub computed: Range<u64>,
}

impl RowWindow {
    /// One row for each row of the result, at the same place.
    fn same(rows: u64) -> Self {
        Self { size: 1, stride: 1, dilation: 1, low: 0, rows, results: 1 }
    }

    /// Groups of `of` rows, for each of which the result has a group of `results` rows.
    pub fn of_groups(rows: u64, of: u64, results: u64) -> Self {
        Self { size: of, stride: of, results, ..Self::same(rows) }
    }

    /// What some rows of the result need. `None` where the window sees only border.
    pub fn needs(&self, result: &Range<u64>) -> Option<Needs> {
        let positions = result.start / self.results..result.end.div_ceil(self.results);
        let first = i64::try_from(positions.start.checked_mul(self.stride)?).ok()? - self.low;
        let last = i64::try_from((positions.end - 1).checked_mul(self.stride)?).ok()? - self.low;
        let end = last + i64::try_from((self.size - 1).checked_mul(self.dilation)?).ok()? + 1;
        let rows = self.rows as i64;
        let seen = first.clamp(0, rows)..end.clamp(0, rows);
        (seen.start < seen.end).then(|| Needs {
            rows: seen.start as u64..seen.end as u64,
            border: ((-first).max(0), (end - rows).max(0)),
            computed: positions.start * self.results..positions.end * self.results,
        })
    }
}

/// An operator of a chain, or several that are one.
#[derive(Clone, Debug)]
pub struct Link {
    /// The instruction that computes the value.
    pub inst: Inst,
    /// Those before it whose results it alone needs, the first of which reads the chain's value: of a rearrangement.
    pub before: Vec<Inst>,
    /// What it needs of the chain's value before it, row by row.
    pub window: RowWindow,
    /// Its other operands of which it needs the rows that it computes.
    pub kept: Vec<usize>,
    /// Multiply-accumulate operations, or elements, of a row of its result.
    pub work_per_row: u64,
}

/// Operators of which each reads the result of the one before it, which nobody else reads. Value 0 is what the first one reads, value
/// *i* + 1 the result of link *i*.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The operators.
    pub links: Vec<Link>,
    /// The values between them, one more.
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

/// The rows, columns and channels of an image that lies row by row.
pub fn image(function: &Function, value: Value) -> Option<[u64; 3]> {
    match row_major(function, value)?[..] {
        [1, rows, columns, channels] if rows > 0 => Some([rows, columns, channels]),
        _ => None,
    }
}

/// The operands of an operator that works row by row of which it needs rows, not all, and what it needs of them.
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

/// The link that ends with an instruction, and the value that it reads of the chain: one that is open for another link, if it reads one.
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
    // What is computed from the operand itself, as a filter may be, is not row by row.
    let others = (0..data.operands.len()).filter(|&i| !operands.iter().any(|(kept, _)| *kept == i));
    if others.into_iter().any(|i| data.operands[i] == value) {
        return None;
    }
    let elements = columns.checked_mul(channels)?;
    let work_per_row = elements.checked_mul(taps(function, data)?)?;
    let kept = operands.into_iter().map(|(i, _)| i).filter(|&i| data.operands[i] != value).collect();
    Some(Link { inst, before: vec![], window, kept, work_per_row })
}

/// Multiply-accumulate operations, or elements looked at, for an element of the result.
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
