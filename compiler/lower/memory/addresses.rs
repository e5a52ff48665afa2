//! Addresses of values, once memory is planned.

use super::lending::Loans;
use super::moving::MovingPlaces;
use super::resolver::{Location, Memory, Resolver};
use super::variables::Variables;
use crate::ir::Value;
use crate::lower::pool::Pool;
use crate::plan::{Plan, TensorId};
use crate::program::Address;
use crate::schedule::Pair;
use rustc_hash::FxHashMap;

/// Addresses of a planned method's values.
pub(in crate::lower) struct Addresses<'a> {
    pub resolver: &'a Resolver<'a>,
    pub variables: &'a Variables,
    pub ids: &'a FxHashMap<Value, TensorId>,
    pub plan: &'a Plan,
    /// Places of the plan that depend on run-time extents.
    pub moving: &'a MovingPlaces,
    /// Tensors that the plan puts into callers' memory.
    pub loans: &'a Loans,
}

impl Addresses<'_> {
    /// Returns the address of a value. A value that is a constant is added to the pool.
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
            Memory::Arena => self.planned(base).unwrap_or(Address::Scratch(0)),
        };
        address.plus(start)
    }

    /// Returns the address of a scratch buffer, by its step and number.
    pub fn of_scratch(&self, step: usize, number: usize) -> Address {
        let in_arena = || scratch(self.moving.of_scratch(step, number), self.plan.scratch[step][number]);
        self.loans.of_scratch(step, number).unwrap_or_else(in_arena)
    }

    /// Tests whether a tensor that a kernel reads and one that it writes have the same address.
    pub fn shares(&self, Pair { read, written }: Pair) -> bool {
        let planned = |value: Value| {
            let root = self.resolver.root(value);
            let is_planned = self.resolver.memory(self.resolver.owner(root)) == Memory::Arena;
            if is_planned { self.planned(root) } else { None }
        };
        self.resolver.is_in_place(read, written) || planned(read).is_some_and(|place| planned(written) == Some(place))
    }

    /// Tests whether a kernel's tensors of at least one pair have the same address.
    pub fn shares_one_of(&self, pairs: &[Pair]) -> bool {
        pairs.iter().any(|&pair| self.shares(pair))
    }

    /// Returns the planned address of a root: in a caller's buffer or in the arena. `None` if the plan gives it no place.
    fn planned(&self, root: Value) -> Option<Address> {
        let id = *self.ids.get(&root)?;
        let in_arena = || Some(scratch(self.moving.of_tensor(id), self.plan.offset[id.index()]?));
        self.loans.of_tensor(id).or_else(in_arena)
    }
}

/// Makes the address of an offset: relative to a moving place if there is one, else in the scratch memory.
fn scratch(place: Option<u32>, offset: u64) -> Address {
    place.map_or(Address::Scratch(offset), |place| Address::Moving(place, offset))
}
