//! Chains of operators that work row by row.

use crate::fuse::flow::{Flow, Item};
use crate::fuse::row_major;
use crate::ir::{Function, Inst, Op, Value};
use std::collections::HashMap;
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
}

impl RowWindow {
    /// The operand's rows for some rows of the result, and how many rows of border above and below the window sees there. `None` where
    /// it sees only border.
    pub fn needs(&self, result: &Range<u64>) -> Option<(Range<u64>, i64, i64)> {
        let first = i64::try_from(result.start.checked_mul(self.stride)?).ok()? - self.low;
        let last = i64::try_from((result.end - 1).checked_mul(self.stride)?).ok()? - self.low;
        let end = last + i64::try_from((self.size - 1).checked_mul(self.dilation)?).ok()? + 1;
        let rows = self.rows as i64;
        let seen = first.clamp(0, rows)..end.clamp(0, rows);
        let range = seen.start as u64..seen.end as u64;
        (seen.start < seen.end).then_some((range, (-first).max(0), (end - rows).max(0)))
    }
}

/// An operator of a chain.
#[derive(Clone, Debug)]
pub struct Link {
    /// The instruction.
    pub inst: Inst,
    /// Its place among the items.
    pub position: usize,
    /// What it needs of the chain's value before it.
    pub window: RowWindow,
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
pub fn chains(flow: &Flow, uses: &HashMap<Value, usize>) -> Vec<Chain> {
    let mut chains: Vec<Chain> = Vec::new();
    let mut ends: HashMap<Value, usize> = HashMap::new();
    for (position, item) in flow.items.iter().enumerate() {
        let Item::Inst(inst) = *item else { continue };
        let Some(operands) = row_operands(&flow.function, inst) else { continue };
        let open = operands.iter().find(|v| ends.contains_key(v) && uses.get(v) == Some(&1));
        let Some(&input) = open.or(operands.first()) else { continue };
        let Some(link) = link(&flow.function, inst, position, input) else { continue };
        let result = flow.function.insts[inst].results[0];
        let number = match ends.remove(&input).filter(|_| open.is_some()) {
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

/// The operands of an operator that works row by row of which it needs rows, not all.
fn row_operands(function: &Function, inst: Inst) -> Option<Vec<Value>> {
    let data = &function.insts[inst];
    let [result] = data.results[..] else { return None };
    let [rows, ..] = image(function, result)?;
    match data.op {
        Op::Conv | Op::Window if !data.extents("positions").is_empty() => None,
        Op::Pad if !data.extents("padded").is_empty() => None,
        Op::Conv if data.ints("input_dilation").iter().any(|&d| d != 1) => None,
        Op::Conv | Op::Window | Op::Pad => Some(vec![data.operands[0]]),
        Op::Map => Some(data.operands.iter().copied().filter(|&v| image(function, v).is_some_and(|[n, ..]| n == rows)).collect()),
        _ => None,
    }
}

fn link(function: &Function, inst: Inst, position: usize, input: Value) -> Option<Link> {
    let data = &function.insts[inst];
    let result = data.results[0];
    let [_, columns, channels] = image(function, result)?;
    let [input_rows, ..] = image(function, input)?;
    let whole = RowWindow { size: 1, stride: 1, dilation: 1, low: 0, rows: input_rows };
    let number = |name: &str| u64::try_from(data.ints(name)[0]).ok().filter(|&n| n > 0);
    let windowed = |size: u64| {
        Some(RowWindow {
            size,
            stride: number("strides")?,
            dilation: number("dilation")?,
            low: data.ints("padding_low")[0],
            rows: input_rows,
        })
    };
    let elements = columns.checked_mul(channels)?;
    let (window, work_per_row) = match data.op {
        Op::Conv => {
            let filter = row_major(function, data.operands[1])?;
            let taps = filter[1..].iter().try_fold(1u64, |product, &n| product.checked_mul(n))?;
            // A filter that is computed from the operand itself is not row by row.
            (windowed(filter[1]).filter(|_| data.operands[1] != input)?, elements.checked_mul(taps)?)
        }
        Op::Window => (windowed(number("size")?)?, elements.checked_mul(number("size")?)?),
        Op::Pad => {
            let low = *data.ints("low").get(ROWS)?;
            let high = *data.ints("high").get(ROWS)?;
            (Some(RowWindow { low, ..whole }).filter(|_| low >= 0 && high >= 0)?, 0)
        }
        _ => (whole, elements),
    };
    Some(Link { inst, position, window, work_per_row })
}
