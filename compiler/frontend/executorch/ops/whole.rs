//! Integer arguments, some of which may be known only at run time.

use super::super::fault::Fault;
use super::super::program::EValue;
use super::super::registers::Register;
use super::call::{Call, wrong_kind};
use crate::ir::{Extent, Interval, Value};
use crate::operators::graph::elements::{Elements, ListItem};
use crate::operators::promotion::Number;

/// An integer: of sizes, positions and axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whole {
    /// A static integer.
    Known(i64),
    /// A run-time integer: an index.
    Index(Value),
}

impl From<Whole> for ListItem {
    fn from(whole: Whole) -> Self {
        match whole {
            Whole::Known(n) => Self::Number(n),
            Whole::Index(index) => Self::Index(index),
        }
    }
}

impl Call<'_, '_, '_> {
    /// The integer in a register; one that a tensor holds is read as an index.
    fn whole_in(&mut self, register: usize) -> Result<Whole, Fault> {
        match &self.translator.environment.registers[register] {
            Register::Number(Number::Int(n)) => Ok(Whole::Known(*n)),
            Register::Number(Number::Bool(b)) => Ok(Whole::Known(i64::from(*b))),
            Register::Index(depth, index) => {
                let (depth, index) = (*depth, *index);
                Ok(Whole::Index(self.translator.localize_index(depth, index)?))
            }
            Register::Loaded(definition) => {
                let definition = definition.clone();
                let value = self.translator.localize(&definition);
                let most = self.translator.most_loaded(register);
                self.loaded_up_to(value, most).map(Whole::Index)
            }
            Register::Unavailable(fault) => Err(fault.clone()),
            _ => Err(Fault::invalid("an argument is of the wrong kind").expected("an integer", "something else")),
        }
    }

    /// The integer that a tensor holds as an index, the same for every reader. It is read when the program runs, unless it follows from extents.
    ///
    /// # Errors
    /// When it holds no integer.
    pub fn loaded(&mut self, value: Value) -> Result<Value, Fault> {
        self.loaded_up_to(value, i64::MAX)
    }

    /// The integer as an index with an upper bound.
    fn loaded_up_to(&mut self, value: Value, most: i64) -> Result<Value, Fault> {
        if let Some(&index) = self.translator.scope.loads.get(&value) {
            return Ok(index);
        }
        if !self.element(value).is_integer() {
            return Err(Fault::unsupported("a size or position is not an integer").expected("an integer", self.element(value).to_string()));
        }
        let mut elements = Elements::default();
        let index = match elements.item(self.graph(), value, 0)? {
            Some(ListItem::Number(n)) => self.graph().integer(n)?,
            Some(ListItem::Index(index)) => index,
            None => {
                let found = elements.most(self.graph(), value, 0);
                let found = found.and_then(|most| i64::try_from(most).ok()).unwrap_or(i64::MAX);
                self.graph().load_integer(value, Interval { low: i64::MIN, high: found.min(most) })?
            }
        };
        self.translator.scope.loads.insert(value, index);
        Ok(index)
    }

    /// An integer, perhaps one that is known only when the program runs.
    ///
    /// # Errors
    /// When it is none.
    pub fn whole(&mut self, index: usize) -> Result<Whole, Fault> {
        let register = self.register(index)?;
        self.whole_in(register)
    }

    /// An integer that may be None.
    ///
    /// # Errors
    /// When it is neither.
    pub fn optional_whole(&mut self, index: usize) -> Result<Option<Whole>, Fault> {
        if self.is_none(index)? { Ok(None) } else { self.whole(index).map(Some) }
    }

    /// A list of integers, some of which may be known only at run time.
    ///
    /// # Errors
    /// When it is no such list.
    pub fn wholes(&mut self, index: usize) -> Result<Vec<Whole>, Fault> {
        let Some(EValue::Ints(items)) = self.in_file(index)? else { return Err(wrong_kind(index, "a list of integers", "something else")) };
        let items = items.clone();
        items.into_iter().map(|register| self.whole_in(register)).collect()
    }

    /// An integer as an index.
    ///
    /// # Errors
    /// Never.
    pub fn index(&mut self, n: Whole) -> Result<Value, Fault> {
        match n {
            Whole::Known(n) => Ok(self.graph().integer(n)?),
            Whole::Index(index) => Ok(index),
        }
    }

    /// An integer as an extent.
    ///
    /// # Errors
    /// When it is negative.
    pub fn extent(&mut self, n: Whole) -> Result<Extent, Fault> {
        match n {
            Whole::Known(n) => {
                u64::try_from(n).map(Extent::Static).map_err(|_| Fault::invalid("a size is negative").expected("0 or more", n.to_string()))
            }
            Whole::Index(index) => Ok(self.graph().max(Extent::Value(index), Extent::Static(0))?),
        }
    }

    /// A list of integers as extents.
    ///
    /// # Errors
    /// When it is no such list, or one is negative.
    pub fn sizes(&mut self, index: usize) -> Result<Vec<Extent>, Fault> {
        let list = self.wholes(index)?;
        list.into_iter().map(|size| self.extent(size)).collect()
    }
}
