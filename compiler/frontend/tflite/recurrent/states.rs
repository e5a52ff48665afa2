//! States of recurrent operators: variable tensors with a row for each sequence of a batch.
//!
//! With a run-time batch, they have as many rows as its bound. A call with another batch than the previous one has other sequences, so it begins with
//! initial states. LiteRT's variables do the same when tensors are allocated again.

use super::super::error::invalid;
use super::super::operator::{Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Comparison, ElementType, Extent, Scalar, State, Value};
use crate::operators::Error;
use crate::operators::indexing::boxes;
use ElementType::{I8, I32};

/// The batch of a call.
#[derive(Clone, Copy)]
pub(super) struct Batch {
    /// The number of sequences.
    extent: Extent,
    /// `true` at run time if the previous call had the same number; `None` for a static batch.
    is_same: Option<Value>,
}

/// A state before a call.
pub(super) struct Before {
    /// Its description in the file; its value is `[batch, width]`.
    pub operand: Operand,
    /// The state with rows for the bound, if the batch is a run-time extent.
    rows: Option<(State, Value)>,
}

impl Batch {
    /// The batch that an input has along a dimension.
    ///
    /// # Errors
    /// When the operator is called with several bounds of it.
    pub fn of(operator: &mut Operator<'_, '_, '_>, input: &Operand, dimension: usize) -> Result<Self, Diagnostic> {
        let extent = input.extents[dimension];
        if extent.as_static().is_some() {
            return Ok(Self { extent, is_same: None });
        }
        let state = operator.own_state("batch", I32, &[])?;
        let before = operator.load(state)?;
        let g = operator.graph();
        let now = g.extent_tensor(extent, I32)?;
        let is_same = g.compute::<Error>(&[before, now], |terms, x| Ok(terms.compare(Comparison::Equal, x[0], x[1])?))?;
        operator.store(state, now)?;
        Ok(Self { extent, is_same: Some(is_same) })
    }

    /// The number of sequences.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Operand number `index`, a variable tensor with this many elements for each sequence.
    ///
    /// # Errors
    /// When it is none, or has another size.
    pub fn load(&self, operator: &mut Operator<'_, '_, '_>, index: usize, width: u64) -> Result<Before, Diagnostic> {
        let most = operator.graph().bound(self.extent);
        let elements = most.checked_mul(width);
        let elements = elements.ok_or_else(|| invalid(codes::TOO_MANY_ELEMENTS, "the state has too many elements"))?;
        let Some(is_same) = self.is_same else {
            let mut operand = operator.variable_input(index, elements)?;
            operand.value = operator.reshape(operand.value, &[most, width])?;
            return Ok(Before { operand, rows: None });
        };
        let (state, info) = operator.variable_state(index, &[most, width])?;
        let all = operator.load(state)?;
        let first = match info.quantization.as_ref().and_then(|q| q.zero_points.first()) {
            Some(&zero_point) if info.element == I8 => Scalar::int(I8, zero_point),
            _ => Scalar::from_bits(info.element, 0),
        };
        let g = operator.graph();
        let rows = g.slice_along(all, 0, Extent::Static(0), self.extent)?;
        let value = g.compute::<Error>(&[is_same, rows], |terms, x| {
            let first = terms.constant(first);
            Ok(terms.select(x[0], x[1], first)?)
        })?;
        Ok(Before { operand: operator.operand(value, info), rows: Some((state, all)) })
    }

    /// New contents of a state.
    ///
    /// # Errors
    /// When they do not fit it.
    pub fn store(&self, operator: &mut Operator<'_, '_, '_>, index: usize, before: &Before, after: Value) -> Result<(), Diagnostic> {
        let Some((state, all)) = before.rows else { return operator.update_variable(index, after) };
        let g = operator.graph();
        let [_, width] = g.extents(all)[..] else { return Err(Error::NoMatrix { rank: g.rank(all) }.into()) };
        let after = g.reshape(after, &[self.extent, width])?;
        let corner = g.constant_i32(&[2], &[0, 0])?;
        let all = boxes::overwritten(g, all, after, corner)?;
        operator.store(state, all)
    }
}
