//! Properties of rows that do not depend on the way to compute them.

use crate::fuse::Rowwise;
use crate::ir::{Inst, Operation, Value as Tensor};
use crate::schedule::context::Context;
use crate::schedule::quantity::{Quantity, product};
use crate::schedule::reductions::reduction::Reduction;
use crate::schedule::unsupported::Unsupported;

/// Properties of a group's rows: see the module.
pub(super) struct Facts<'a> {
    pub cx: Context<'a>,
    pub rows: &'a Rowwise,
    pub shape: Vec<Quantity>,
    /// Number of elements in a row, and its maximum.
    pub length: Quantity,
    pub longest: u64,
}

impl<'a> Facts<'a> {
    /// Finds the properties of a group's rows.
    ///
    /// # Errors
    /// [`Unsupported`] if the length of a row has no bound.
    pub fn new(cx: Context<'a>, rows: &'a Rowwise) -> Result<Self, Unsupported> {
        let shape: Vec<Quantity> = rows.shape.iter().map(|&extent| Quantity::of(cx.function.resolved(extent))).collect();
        let length = shape.last().cloned().unwrap_or(Quantity::known(1));
        let longest = length.most(cx.function)?;
        Ok(Self { cx, rows, shape, length, longest })
    }

    /// Returns the number of rows.
    pub fn count(&self) -> Quantity {
        product(&self.shape[..self.shape.len() - 1])
    }

    /// Returns the reduction of an instruction.
    ///
    /// # Errors
    /// [`Unsupported`] for types without lowering.
    pub fn reduction(&self, inst: Inst) -> Result<Reduction, Unsupported> {
        let data = &self.cx.function.insts[inst];
        let Operation::Reduce(reduce) = &data.operation else { return Err(Unsupported::ReductionBy(data.op())) };
        Reduction::new(reduce.reduction, self.cx.element(data.operands[0]))
    }

    /// Returns the lanes that a reduction would have as a kernel of its own.
    pub fn lanes_of(&self, reduction: Inst) -> u16 {
        let readers = self.rows.readers.iter().find(|(inst, _)| *inst == reduction).map_or(&[][..], |(_, readers)| readers);
        let several = readers.iter().filter(|&&v| !self.cx.quantities(v).iter().all(|extent| extent.is(1)));
        let smallest = several.map(|&v| self.cx.element(v).bits().div_ceil(8)).min().unwrap_or(4);
        self.cx.lanes_for(smallest, self.longest)
    }

    /// Tests whether a tensor has one element for each element of every row.
    pub fn is_wide(&self, tensor: Tensor) -> bool {
        self.cx.function.values[tensor].ty.as_tensor().is_some() && self.cx.quantities(tensor) == self.shape
    }
}
