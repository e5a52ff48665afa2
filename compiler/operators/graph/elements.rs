//! Single elements of integer tensors that are computed from numbers and extents, as lists of sizes are: their values, or else their ranges.

use super::Graph;
use super::multiples::Multiple;
use super::origin::{ElementPlace, MAX_DEPTH, Origin, constant_element, is_one, origin, place_of};
use super::ranges::{Range, apply};
use crate::ir::operators::Scatter;
use crate::ir::{Combination, Comparison, ElementType, Extent, InstData, Interval, Operation, Reduction, Scalar, ScalarOp, Value};
use crate::operators::Error;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;
use std::fmt;

/// Integers that are combined into one element.
const MOST_COMBINED: u64 = 32;

/// Elements of a constant that are looked at for the smallest and the largest.
const MOST_ELEMENTS: u64 = 1 << 12;

/// One number of a list, a shape for instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListItem {
    /// A static number.
    Number(i64),
    /// A run-time number; 0 or more, unless the list was read with a smaller minimum.
    Index(Value),
}

/// `?` for a number that is known when the program runs.
impl fmt::Display for ListItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Index(_) => f.write_str("?"),
        }
    }
}

impl ListItem {
    /// The item for an extent.
    pub fn of(extent: Extent) -> Self {
        match extent {
            Extent::Static(n) => Self::Number(i64::try_from(n).unwrap_or(i64::MAX)),
            Extent::Value(index) => Self::Index(index),
        }
    }

    /// The extent for this item; `None` for a number below 0.
    pub fn extent(self) -> Option<Extent> {
        match self {
            Self::Number(n) => u64::try_from(n).ok().map(Extent::Static),
            Self::Index(index) => Some(Extent::Value(index)),
        }
    }
}

/// The known value of an element while it is followed: an integer, or a real between integers.
#[derive(Clone, Copy)]
enum Known {
    Item(ListItem),
    Multiple(Multiple),
    Real(f64),
}

impl Known {
    fn item(self) -> Option<ListItem> {
        if let Self::Item(item) = self { Some(item) } else { None }
    }

    fn extent(self) -> Option<Extent> {
        self.item().and_then(ListItem::extent)
    }
}

/// A cache of visited elements: operators may share operands, so elements would be visited many times.
#[derive(Default)]
pub struct Elements {
    items: FxHashMap<ElementPlace, Option<Known>>,
    ranges: FxHashMap<ElementPlace, Option<Range>>,
}

impl Elements {
    /// Returns one element of an integer tensor if it follows from numbers and extents, else `None`.
    ///
    /// # Errors
    /// The errors of extents that exceed 64 bits.
    pub fn item(&mut self, g: &mut Graph<'_>, value: Value, position: u64) -> Result<Option<ListItem>, Error> {
        Ok(self.known(g, value, position, 0)?.and_then(Known::item))
    }

    /// The largest integer that one element of a tensor can be, if it follows from numbers and the bounds of extents; at least 0.
    pub fn most(&mut self, g: &Graph<'_>, value: Value, position: u64) -> Option<u64> {
        self.range(g, value, position, 0).map(|range| range.high.max(0.0) as u64)
    }

    /// Returns the range of one element of a tensor, rounded to integers.
    pub fn interval(&mut self, g: &Graph<'_>, value: Value, position: u64) -> Option<Interval> {
        let Range { low, high } = self.range(g, value, position, 0)?;
        Some(Interval { low: low.floor() as i64, high: high.ceil() as i64 })
    }

    fn known(&mut self, g: &mut Graph<'_>, value: Value, position: u64, depth: usize) -> Result<Option<Known>, Error> {
        if let Some(known) = self.items.get(&(value, position)) {
            return Ok(*known);
        }
        let known = match origin(g, value, position).filter(|_| depth < MAX_DEPTH) {
            Some(Origin::Result(data, position)) => self.known_of(g, &data, position, depth)?,
            Some(Origin::Counter(index)) => Some(Known::Item(ListItem::Index(index))),
            None => None,
        };
        self.items.insert((value, position), known);
        Ok(known)
    }

    fn known_of(&mut self, g: &mut Graph<'_>, data: &InstData, position: u64, depth: usize) -> Result<Option<Known>, Error> {
        match &data.operation {
            Operation::Constant(_) => Ok(constant_element(g, data, position).and_then(number)),
            Operation::IndexTensor(_) => Ok(Some(Known::Item(ListItem::Index(data.operands[0])))),
            Operation::Broadcast(_) if is_one(g, data.operands[0]) => self.known(g, data.operands[0], 0, depth + 1),
            Operation::Map(_) => self.computed(g, data, position, depth),
            Operation::Reduce(reduce) if reduce.reduction == Reduction::Product => {
                let shape = g.extents(data.operands[0]);
                let [Extent::Static(count)] = shape[..] else { return Ok(None) };
                let mut product = Extent::Static(1);
                for position in 0..count {
                    let known = self.known(g, data.operands[0], position, depth + 1)?;
                    let Some(factor) = known.and_then(Known::extent) else { return Ok(None) };
                    product = g.mul(factor, product)?;
                }
                Ok(Some(Known::Item(ListItem::of(product))))
            }
            Operation::Scatter(scatter) if scatter.axis == 0 && scatter.batch == 0 => self.gathered_up(g, data, scatter, position, depth),
            _ => Ok(None),
        }
    }

    /// An element of a list that few integers are combined into, at positions that are known.
    fn gathered_up(
        &mut self,
        g: &mut Graph<'_>,
        data: &InstData,
        scatter: &Scatter,
        position: u64,
        depth: usize,
    ) -> Result<Option<Known>, Error> {
        let [start, positions, updates] = data.operands[..] else { return Ok(None) };
        let is_column = |shape: &[Extent]| shape.iter().skip(1).all(|&extent| extent == Extent::Static(1));
        let (Some(&Extent::Static(count)), true) = (g.extents(updates).first(), is_column(&g.extents(updates))) else { return Ok(None) };
        if count > MOST_COMBINED {
            return Ok(None);
        }
        let Some(mut whole) = self.known(g, start, position, depth + 1)?.and_then(Known::extent) else { return Ok(None) };
        for update in 0..count {
            let at = self.known(g, positions, update, depth + 1)?.and_then(Known::item);
            let Some(ListItem::Number(at)) = at else { return Ok(None) };
            if u64::try_from(at) != Ok(position) {
                continue;
            }
            let part = self.known(g, updates, update, depth + 1)?.and_then(Known::extent);
            let combined = part.map_or(Ok(None), |part| joined_extents(g, scatter.combination, whole, part))?;
            let Some(combined) = combined else { return Ok(None) };
            whole = combined;
        }
        Ok(Some(Known::Item(ListItem::of(whole))))
    }

    /// An element of an expression of sums, products and the like.
    fn computed(&mut self, g: &mut Graph<'_>, data: &InstData, position: u64, depth: usize) -> Result<Option<Known>, Error> {
        let expression = data.expression();
        let mut nodes: Vec<Known> = Vec::new();
        for node in expression.nodes.values() {
            let operand = |i: usize| nodes[node.operands[i].index()];
            let known = match node.op {
                ScalarOp::Input(i) => match place_of(g, data, i as usize, position) {
                    Some((value, position)) => self.known(g, value, position, depth + 1)?,
                    None => None,
                },
                ScalarOp::Constant(constant) => number(constant),
                op if node.operands.len() == 1 => rounded(g, op, node.ty, operand(0))?,
                op if node.ty.is_float() => multiplied(g, op, node.ty, operand(0), operand(1)),
                op if node.ty.is_integer() => match (operand(0).extent(), operand(1).extent()) {
                    (Some(a), Some(b)) => combined(g, op, a, b)?.map(|extent| Known::Item(ListItem::of(extent))),
                    _ => None,
                },
                _ => None,
            };
            let Some(known) = known else { return Ok(None) };
            nodes.push(known);
        }
        Ok(expression.results.first().map(|&result| nodes[result.index()]))
    }

    fn range(&mut self, g: &Graph<'_>, value: Value, position: u64, depth: usize) -> Option<Range> {
        if let Some(known) = self.ranges.get(&(value, position)) {
            return *known;
        }
        let range = match origin(g, value, position).filter(|_| depth < MAX_DEPTH) {
            Some(Origin::Result(data, position)) => self.range_of(g, &data, position, depth),
            Some(Origin::Counter(index)) => Range::of(g.interval(Extent::Value(index))),
            None => None,
        };
        self.ranges.insert((value, position), range);
        range
    }

    fn range_of(&mut self, g: &Graph<'_>, data: &InstData, position: u64, depth: usize) -> Option<Range> {
        match &data.operation {
            Operation::Constant(_) => Range::exactly(constant_element(g, data, position)?),
            Operation::IndexTensor(tensor) => Range::of(g.interval(Extent::Value(data.operands[0])))?.held(tensor.element),
            Operation::Map(_) => {
                let expression = data.expression();
                let mut ranges: Vec<Range> = Vec::new();
                for node in expression.nodes.values() {
                    let operands: Vec<Range> = node.operands.iter().map(|operand| ranges[operand.index()]).collect();
                    ranges.push(match node.op {
                        ScalarOp::Input(i) => {
                            let (value, position) = place_of(g, data, i as usize, position)?;
                            self.range(g, value, position, depth + 1)?
                        }
                        ScalarOp::Constant(number) => Range::exactly(number)?,
                        // A comparison of a value with itself tests for NaN. A value with a range is a number.
                        ScalarOp::Compare(Comparison::Equal) if node.operands[0] == node.operands[1] => Range::TRUE,
                        op => {
                            let types: Vec<ElementType> = node.operands.iter().map(|&operand| expression.nodes[operand].ty).collect();
                            apply(op, node.ty, &types, &operands)?
                        }
                    });
                }
                expression.results.first().map(|&result| ranges[result.index()])
            }
            Operation::Broadcast(_) => range_of_all(g, data.operands[0]),
            Operation::Reduce(reduce) if matches!(reduce.reduction, Reduction::Max | Reduction::Min) => {
                let may_be_empty = g.extents(data.operands[0]).iter().any(|&extent| g.interval(extent).low < 1);
                range_of_all(g, data.operands[0]).filter(|_| !may_be_empty)
            }
            _ => None,
        }
    }
}

/// The range of all elements of a tensor that repeats or moves constants.
fn range_of_all(g: &Graph<'_>, mut value: Value) -> Option<Range> {
    for _ in 0..MAX_DEPTH {
        let data = &g.function().insts[g.function().defining_inst(value)?];
        value = match &data.operation {
            Operation::Reshape(_) | Operation::Broadcast(_) | Operation::Slice(_) | Operation::Transpose(_) => data.operands[0],
            Operation::Constant(_) => {
                let count = g.shape(value).ok()?.iter().product::<u64>();
                let elements = (0..count.min(MOST_ELEMENTS + 1)).map(|position| Range::exactly(constant_element(g, data, position)?));
                let ranges =
                    elements.collect::<Option<Vec<Range>>>().filter(|ranges| (1..=MOST_ELEMENTS).contains(&(ranges.len() as u64)))?;
                return ranges.into_iter().reduce(Range::with);
            }
            _ => return None,
        };
    }
    None
}

fn number(number: Scalar) -> Option<Known> {
    match number.element() {
        element if element.is_integer() => Some(Known::Item(ListItem::Number(number.as_i64()))),
        element if element.is_float() => Some(Known::Real(number.as_f64())),
        _ => None,
    }
}

/// Applies a unary operation: a conversion, or a rounding of a real to an extent.
fn rounded(g: &mut Graph<'_>, op: ScalarOp, ty: ElementType, x: Known) -> Result<Option<Known>, Error> {
    let item = |extent| Some(Known::Item(ListItem::of(extent)));
    Ok(match (op, x) {
        (ScalarOp::Convert, Known::Item(_)) if ty.is_integer() => Some(x),
        (ScalarOp::Convert, Known::Item(item)) => item.extent().and_then(|extent| Multiple::of(g, extent, ty)).map(Known::Multiple),
        (ScalarOp::Convert, Known::Multiple(multiple)) if ty.is_integer() => item(multiple.floor(g)?),
        (ScalarOp::Trunc | ScalarOp::Floor, Known::Multiple(multiple)) => {
            let extent = multiple.floor(g)?;
            Multiple::of(g, extent, ty).map(Known::Multiple)
        }
        (ScalarOp::Ceil, Known::Multiple(multiple)) => {
            let extent = multiple.ceil(g)?;
            Multiple::of(g, extent, ty).map(Known::Multiple)
        }
        _ => None,
    })
}

/// The product of a multiple and a number, or its quotient.
fn multiplied(g: &Graph<'_>, op: ScalarOp, ty: ElementType, a: Known, b: Known) -> Option<Known> {
    let (multiple, factor) = match (op, a, b) {
        (ScalarOp::Mul, Known::Multiple(multiple), Known::Real(factor))
        | (ScalarOp::Mul, Known::Real(factor), Known::Multiple(multiple)) => (multiple, factor),
        // Of a power of two: quotients by others are rounded.
        (ScalarOp::Div, Known::Multiple(multiple), Known::Real(divisor)) if divisor.to_bits() << 12 == 0 => (multiple, 1.0 / divisor),
        _ => return None,
    };
    multiple.times(g, factor, ty).map(Known::Multiple)
}

/// Combines two extents.
fn joined_extents(g: &mut Graph<'_>, combination: Combination, a: Extent, b: Extent) -> Result<Option<Extent>, Error> {
    Ok(match combination {
        Combination::Set => Some(b),
        Combination::Sum => Some(g.add(a, b)?),
        Combination::Product => Some(g.mul(a, b)?),
        _ => None,
    })
}

/// Applies an operation to two extents, both of which are then at least 0. `None` if the operation is not supported on extents.
fn combined(g: &mut Graph<'_>, op: ScalarOp, a: Extent, b: Extent) -> Result<Option<Extent>, Error> {
    Ok(Some(match op {
        ScalarOp::Add => g.add(a, b)?,
        ScalarOp::Mul => g.mul(a, b)?,
        ScalarOp::Min(_) => g.min(a, b)?,
        ScalarOp::Max(_) => g.max(a, b)?,
        // A difference of extents saturates at 0, a difference of integers does not.
        ScalarOp::Sub if g.follows_rounds && g.interval(a).low >= g.interval(b).high => g.sub(a, b)?,
        _ => return Ok(None),
    }))
}
