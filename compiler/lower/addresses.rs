//! Where values are once memory is planned.

use super::pool::Pool;
use super::resolver::{Location, Memory, Resolver};
use super::variables::Variables;
use crate::ir::Value;
use crate::plan::{Plan, TensorId};
use crate::program::Address;
use std::collections::HashMap;

/// Addresses of a planned method's values.
pub(super) struct Addresses<'a> {
    pub resolver: &'a Resolver<'a>,
    pub variables: &'a Variables,
    pub ids: &'a HashMap<Value, TensorId>,
    pub plan: &'a Plan,
}

impl Addresses<'_> {
    /// Where a value is.
    pub fn of(&self, pool: &mut Pool, value: Value) -> Address {
        let Location { base, start } = self.resolver.locate(value);
        let owner = self.resolver.owner(base);
        let address = match self.resolver.memory(owner) {
            Memory::Input(input) => Address::Input(input, 0),
            Memory::Output(output) => Address::Output(output, 0),
            Memory::State(state) => Address::Variable(self.variables.offset(state)),
            Memory::Constant(data) => {
                let name = || self.resolver.function().values[owner].name.clone().unwrap_or_else(|| owner.to_string());
                Address::Constant(pool.constant(&data, name), 0)
            }
            // A tensor without an offset has no bytes; no access reaches it.
            Memory::Arena => Address::Scratch(self.offset(base).unwrap_or(0)),
        };
        address.plus(start)
    }

    /// Whether a pair of a kernel's tensors has one place.
    pub fn shares(&self, (read, written): (Value, Value)) -> bool {
        let in_arena = |value: Value| {
            let root = self.resolver.root(value);
            let holds = self.resolver.memory(self.resolver.owner(root)) == Memory::Arena;
            if holds { self.offset(root) } else { None }
        };
        self.resolver.is_in_place(read, written) || in_arena(read).is_some_and(|offset| in_arena(written) == Some(offset))
    }

    /// The offset in the arena that the plan gives a root.
    fn offset(&self, root: Value) -> Option<u64> {
        self.ids.get(&root).and_then(|id| self.plan.offset[id.index()])
    }
}
