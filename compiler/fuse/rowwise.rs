//! Rows: reductions along the last dimension, with element-wise work on the reduced rows and on the results. Softmax and normalizations are of
//! this kind. One kernel reads each row while it is in the cache, and no intermediate tensor goes to memory.

use super::{Group, Kind, MAX_NODES, Rowwise};
use crate::ir::{ElementType, Extent, Function, Inst, Op, Operation, Reduction, Value};

/// Largest number of elements of a row. Rows are read several times, and should stay in the first-level cache.
const LONGEST: i64 = 8192;
/// Rows shorter than this do not fill a vector. Element-wise work that could be vectorized across many short rows stays outside.
const SHORT: u64 = 16;

impl Rowwise {
    /// Returns the rows that a group reduces; `None` for other groups.
    pub(super) fn of(function: &Function, group: &Group) -> Option<Self> {
        let root = match &group.kind {
            Kind::Rows(rows) => return Some(rows.clone()),
            Kind::Root(root) => root,
            Kind::Copy(_) | Kind::Elements(_) => return None,
        };
        let data = &function.insts[root.inst];
        let &[operand] = &data.operands[..] else { return None };
        let ty = function.values[operand].ty.as_tensor()?;
        let last = ty.shape.len().checked_sub(1)?;
        let length = function.interval(ty.shape[last]).high;
        let Operation::Reduce(reduce) = &data.operation else { return None };
        // A product of floats has a fixed order, because partial products can overflow at other places.
        let is_ordered = reduce.reduction == Reduction::Product && ty.element.is_float();
        let is_along_rows = reduce.axes == [last] && !is_ordered;
        let reader = root.prologue.as_ref().map_or_else(|| vec![operand], |work| work.operands.clone());
        (is_along_rows && (2..=LONGEST).contains(&length)).then(|| Self { shape: ty.shape.clone(), readers: vec![(root.inst, reader)] })
    }

    /// Returns the shape of the reductions' results.
    fn reduced(&self) -> Vec<Extent> {
        let mut shape = self.shape.clone();
        shape.iter_mut().rev().take(1).for_each(|last| *last = Extent::Static(1));
        shape
    }

    /// Returns the elements of a row and the number of rows; dynamic dimensions count at their bound.
    fn extents(&self, function: &Function) -> (u64, u64) {
        let high = |&extent: &Extent| u64::try_from(function.interval(extent).high).unwrap_or(u64::MAX);
        let (last, outer) = self.shape.split_last().map_or((1, &[][..]), |(last, outer)| (high(last), outer));
        (last, outer.iter().map(high).fold(1, u64::saturating_mul))
    }

    /// Tests whether a group without a reduction can join these rows, as work on their elements or on one number a row. The latter needs
    /// `has_several`.
    fn takes(&self, function: &Function, group: &Group, has_several: bool) -> bool {
        let Kind::Elements(work) = &group.kind else { return false };
        if group.picks() {
            return false;
        }
        let shape = |value: Value| &function.tensor(value).shape;
        let own = shape(group.outputs[0]);
        if *own == self.reduced() {
            return has_several;
        }
        let (length, rows) = self.extents(function);
        let follows_rows = work.operands.iter().any(|&v| *shape(v) == self.reduced());
        *own == self.shape && (length >= SHORT || rows <= SHORT || follows_rows)
    }

    /// Returns the row work of two groups merged; the second may read results of the first. `None` if they do not fit.
    pub(super) fn joined(function: &Function, first: &Group, second: &Group) -> Option<Self> {
        let is_plain = |group: &Group| group.copied().is_none() && group.insts.iter().all(|&inst| is_dense(function, inst));
        if !is_plain(first) || !is_plain(second) || nodes(function, first) + nodes(function, second) > MAX_NODES {
            return None;
        }
        let has_several = |group: &Group| group.rowwise().is_some();
        match (Self::of(function, first), Self::of(function, second)) {
            (Some(one), Some(other)) if one.shape == other.shape => {
                Some(Self { shape: one.shape, readers: [one.readers, other.readers].concat() })
            }
            (Some(one), None) => one.takes(function, second, has_several(first)).then_some(one),
            (None, Some(other)) => other.takes(function, first, has_several(second)).then_some(other),
            _ => None,
        }
    }
}

/// Counts the scalar operations of a group.
fn nodes(function: &Function, group: &Group) -> usize {
    let of_inst = |&inst: &Inst| if function.insts[inst].op() == Op::Map { function.insts[inst].expression().nodes.len() } else { 1 };
    group.insts.iter().map(of_inst).sum()
}

/// Tests whether an instruction is a map or reduction whose tensors are row-major, real and of whole bytes.
fn is_dense(function: &Function, inst: Inst) -> bool {
    let data = &function.insts[inst];
    let tensors = || data.operands.iter().chain(&data.results).filter_map(|&v| function.values[v].ty.as_tensor());
    matches!(data.op(), Op::Map | Op::Reduce)
        && tensors()
            .all(|ty| ty.layout.order().is_none() && ty.element.bits() >= 8 && !matches!(ty.element, ElementType::C64 | ElementType::C128))
}
