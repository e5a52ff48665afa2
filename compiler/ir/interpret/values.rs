//! Contents of values at run time.

use super::array::Array;
use super::error::{Step, fail};
use crate::entities::Value;
use crate::types::Extent;
use cranelift_entity::EntityRef;

/// The contents of a value at run time.
#[derive(Clone)]
pub(crate) enum Slot<'m> {
    Tensor(Array<'m>),
    Index(i64),
    Effect,
}

impl<'m> Slot<'m> {
    /// The tensor that it is.
    pub fn tensor(&self) -> Step<&Array<'m>> {
        if let Self::Tensor(array) = self { Ok(array) } else { fail("an operand is no tensor") }
    }

    /// One tensor as all results.
    pub fn one(array: Array<'m>) -> Vec<Self> {
        vec![Self::Tensor(array)]
    }

    /// Tensors as the results.
    pub fn all(arrays: Vec<Array<'m>>) -> Vec<Self> {
        arrays.into_iter().map(Self::Tensor).collect()
    }
}

/// The contents of the values of a function that runs; `None` for those that are not computed yet, or have no further use.
pub(crate) struct Values<'m>(Vec<Option<Slot<'m>>>);

impl<'m> Values<'m> {
    /// No contents of any value of a function.
    pub fn none(count: usize) -> Self {
        Self(vec![None; count])
    }

    /// Gives contents to a value.
    pub fn set(&mut self, value: Value, slot: Slot<'m>) {
        self.0[value.index()] = Some(slot);
    }

    /// Drops the contents of a value.
    pub fn forget(&mut self, value: Value) {
        self.0[value.index()] = None;
    }

    /// The contents of a value.
    pub fn get(&self, value: Value) -> Step<Slot<'m>> {
        match self.0.get(value.index()) {
            Some(Some(slot)) => Ok(slot.clone()),
            _ => fail(format!("{value} is used before it is computed")),
        }
    }

    /// The number that an extent is now.
    pub fn extent(&self, extent: Extent) -> Step<i64> {
        match extent {
            Extent::Static(n) => i64::try_from(n).or_else(|_| fail("an extent is too large")),
            Extent::Value(value) => match self.get(value)? {
                Slot::Index(n) => Ok(n),
                _ => fail(format!("{value} is no index")),
            },
        }
    }
}
