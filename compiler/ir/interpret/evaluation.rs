//! The view of an operator during evaluation: its operands, and the values that its fields name.

use super::array::Array;
use super::column::Column;
use super::error::{Step, fail};
use super::map;
use super::values::{Slot, Values};
use crate::entities::Constant;
use crate::scalar::Expression;
use crate::storage::ConstantData;
use crate::types::Extent;
use cranelift_entity::PrimaryMap;

/// The operands of one instruction, in a function that runs.
pub(crate) struct Evaluation<'a, 'm> {
    /// The constants of the module.
    pub(super) constants: &'m PrimaryMap<Constant, ConstantData>,
    /// The values of the function, some of which extents name.
    pub(super) values: &'a Values<'m>,
    /// The operands.
    pub(super) operands: &'a [Slot<'m>],
}

impl<'m> Evaluation<'_, 'm> {
    fn operand(&self, index: usize) -> Step<&Slot<'m>> {
        self.operands.get(index).map_or_else(|| fail(format!("there is no operand {index}")), Ok)
    }

    /// An operand that is a tensor.
    pub fn tensor(&self, index: usize) -> Step<&Array<'m>> {
        self.operand(index)?.tensor()
    }

    /// All operands, which are tensors.
    pub fn tensors(&self) -> Step<Vec<&Array<'m>>> {
        self.operands.iter().map(Slot::tensor).collect()
    }

    /// The number of operands.
    pub fn operands(&self) -> usize {
        self.operands.len()
    }

    /// An operand that is an index.
    pub fn index(&self, index: usize) -> Step<i64> {
        if let Slot::Index(n) = self.operand(index)? { Ok(*n) } else { fail("an operand is no index") }
    }

    /// The values of extents in this run.
    pub fn numbers(&self, extents: &[Extent]) -> Step<Vec<i64>> {
        extents.iter().map(|&extent| self.values.extent(extent)).collect()
    }

    /// The values of a tensor's extents in this run.
    pub fn shape(&self, extents: &[Extent]) -> Step<Vec<usize>> {
        let number = |n: i64| usize::try_from(n).or_else(|_| fail(format!("an extent is {n}")));
        self.numbers(extents)?.into_iter().map(number).collect()
    }

    /// A constant of the module.
    pub fn constant(&self, id: Constant) -> Step<Array<'m>> {
        constant(self.constants, id)
    }

    /// The results of an expression on the operands.
    pub fn map(&self, expression: &Expression) -> Step<Vec<Slot<'m>>> {
        Ok(Slot::all(map::map(self.constants, expression, &self.tensors()?)?))
    }

    /// The error of an operator with control flow or state, which the interpreter executes itself.
    pub fn unexpected<T>(&self) -> Step<T> {
        fail("it has control flow or state, and no value of its own")
    }
}

/// A constant of the module.
pub(super) fn constant(constants: &PrimaryMap<Constant, ConstantData>, id: Constant) -> Step<Array<'_>> {
    let Some(constant) = constants.get(id) else { return fail(format!("there is no {id}")) };
    let Some(shape) = constant.ty.static_shape() else { return fail(format!("{id} has a dynamic shape")) };
    Array::taken_from_packed(constant.ty.element, &shape, constant.data.bytes())
}

impl Array<'_> {
    /// The elements of an integer array.
    pub fn integers(&self) -> Step<Vec<i64>> {
        let column = Column::decode(self.element, &self.bytes, 0..self.len());
        if let Column::Int(numbers) = column { Ok(numbers) } else { fail("indices are no integers") }
    }

    /// The number in a one-element integer tensor.
    pub fn index(&self) -> Step<i64> {
        match self.integers()?[..] {
            [n] => Ok(n),
            _ => fail("an index must be one integer"),
        }
    }

    /// The truth in a one-element tensor.
    pub fn truth(&self) -> Step<bool> {
        Ok(self.index()? != 0)
    }
}
