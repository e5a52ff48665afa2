//! Whose memory a value has: the one answer for every stage.
//!
//! A value that is a view has the memory of its **root**. A root may be a subtensor of another value, which may be one itself.
//! The **base** is the value that is none. A base may have the place of another value, which never is needed together with it: its
//! **owner**. And owners are held in the arena or outside of it.

use super::places::{Holder, Places};
use super::values::{known_extent, root_of};
use crate::fuse::Move;
use crate::ir::{Data, Function, Module, Operation, State, Value};
use crate::lower::stages::frame::Frame;
use crate::lower::stages::grouped::Grouped;
use rustc_hash::FxHashMap;

/// The memory that holds a place.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::lower) enum Memory {
    Arena,
    /// The caller's buffer for an input of this number.
    Input(u32),
    /// The caller's buffer for an output of this number.
    Output(u32),
    State(State),
    /// The object's read-only data: a constant, an index number, an extent.
    Constant(Data),
}

/// The place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lower) struct Location {
    /// The value whose memory its bytes are in. It is no subtensor.
    pub base: Value,
    /// The byte at which it starts there.
    pub start: u64,
}

/// See the module.
pub(in crate::lower) struct Resolver<'a> {
    module: &'a Module,
    pub grouped: &'a Grouped,
    /// The state that a value is in.
    held: FxHashMap<Value, State>,
    inputs: FxHashMap<Value, u32>,
    outputs: FxHashMap<Value, u32>,
    places: Places,
}

impl<'a> Resolver<'a> {
    /// Resolves the values of a method while each has a place of its own, but for what a state holds at the end.
    pub fn new(frame: &Frame<'a>, grouped: &'a Grouped) -> Self {
        let inputs = (0..).zip(grouped.inputs()).map(|(i, &v)| (v, i)).collect();
        let outputs = (0..).zip(&grouped.outputs).map(|(i, &v)| (root_of(&grouped.function, v), i)).collect();
        let held = grouped.states.iter().flat_map(|s| [(s.flow.entry, s.flow.state), (s.left, s.flow.state)]).collect();
        Self { module: frame.module, grouped, held, inputs, outputs, places: Places::default() }
    }

    /// Resolves them when some values have places of others.
    pub fn with_places(self, places: Places) -> Self {
        Self { places, ..self }
    }

    /// Holds the values.
    pub fn function(&self) -> &'a Function {
        &self.grouped.function
    }

    /// The value that a value is a view of; itself if it is none.
    pub fn root(&self, value: Value) -> Value {
        root_of(self.function(), value)
    }

    /// The value that a root is a subtensor of, and the byte of it at which the root starts.
    pub fn host(&self, root: Value) -> Option<(Value, u64)> {
        self.grouped.subtensors.host(root)
    }

    /// The place of a value.
    pub fn locate(&self, value: Value) -> Location {
        let (mut base, mut start) = (self.root(value), 0);
        while let Some((host, first)) = self.host(base) {
            (base, start) = (self.root(host), start + first);
        }
        Location { base, start }
    }

    /// The value whose memory a value's bytes are in.
    pub fn base(&self, value: Value) -> Value {
        self.locate(value).base
    }

    /// The value whose place a root has.
    pub fn owner(&self, root: Value) -> Value {
        self.places.owner(root)
    }

    /// Tells whether a value has the place already that it is moved to.
    pub fn is_free(&self, moved: Move) -> bool {
        self.places.same(self.root(moved.from), moved.to)
    }

    /// Tells whether the value that is read is in the place of the one that is written, without help of the plan.
    pub fn is_in_place(&self, read: Value, written: Value) -> bool {
        self.places.same(self.base(read), self.root(written))
    }

    /// The memory that holds the place of an owner.
    pub fn memory(&self, owner: Value) -> Memory {
        if let Some(&input) = self.inputs.get(&owner) {
            Memory::Input(input)
        } else if let Some(&output) = self.outputs.get(&owner) {
            Memory::Output(output)
        } else if let Some(&state) = self.held.get(&owner) {
            Memory::State(state)
        } else {
            self.constant(owner).map_or(Memory::Arena, Memory::Constant)
        }
    }

    /// The places that a root may have.
    pub fn holder(&self, root: Value) -> Holder {
        match self.memory(root) {
            Memory::Arena => Holder::Anywhere(self.bytes(root)),
            Memory::Output(_) | Memory::State(_) => Holder::Pinned(self.bytes(root)),
            Memory::Input(_) | Memory::Constant(_) => Holder::ReadOnly,
        }
    }

    /// Bytes of a root at its bound.
    pub fn bytes(&self, root: Value) -> u64 {
        self.function().bound_bytes(self.function().stored_type(root)).unwrap_or(0)
    }

    /// The data of a value that is known: a constant, an index number, an extent.
    fn constant(&self, root: Value) -> Option<Data> {
        let number = |n: i64| Data::from(n.to_le_bytes().to_vec());
        let function = self.function();
        let data = &function.insts[function.defining_inst(root)?];
        match &data.operation {
            Operation::Constant(constant) => Some(self.module.constants[constant.data].data.clone()),
            Operation::IndexConstant(index) => Some(number(index.value)),
            Operation::ExtentOf(extent) => known_extent(function, data, extent).map(number),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{ElementType, Extent, TensorType};
    use crate::lower::testing::{input, negated, operand, with_groups};
    use crate::machine::MACHINES;

    #[test]
    fn views_and_slices_are_in_the_memory_of_their_operand() {
        let number = Extent::Static;
        with_groups(
            &[&MACHINES[0]],
            |b| {
                let x = input(b, &[3, 8]);
                let whole = negated(b, x);
                let flat = b.reshape(whole, vec![number(24)]).expect("as many elements");
                let rows = b.slice(whole, vec![number(1), number(0)], vec![number(2), number(8)], vec![1, 1]).expect("inside");
                let row = b.slice(rows, vec![number(1), number(0)], vec![number(1), number(8)], vec![1, 1]).expect("inside");
                vec![negated(b, flat), negated(b, row)]
            },
            |frame, grouped| {
                let resolver = Resolver::new(frame, grouped);
                let function = &grouped.function;
                let [flat, row] = [0, 1].map(|i| operand(function, grouped.outputs[i]));
                let whole = operand(function, flat);
                assert_eq!(resolver.locate(flat), Location { base: whole, start: 0 });
                assert_eq!(resolver.locate(operand(function, row)), Location { base: whole, start: 32 });
                assert_eq!(resolver.locate(row), Location { base: whole, start: 64 });
                assert_eq!(resolver.root(row), row);
                assert_eq!((resolver.memory(whole), resolver.holder(whole)), (Memory::Arena, Holder::Anywhere(96)));
                assert_eq!(resolver.memory(grouped.inputs()[0]), Memory::Input(0));
                assert_eq!(resolver.memory(grouped.outputs[1]), Memory::Output(1));
                assert_eq!(resolver.holder(grouped.outputs[1]), Holder::Pinned(32));
            },
        );
    }

    #[test]
    fn what_is_joined_lies_in_the_result() {
        with_groups(
            &[&MACHINES[0]],
            |b| {
                let x = input(b, &[2, 4]);
                let constant = b.literal(TensorType::of(ElementType::F32, &[1, 4]), vec![0; 16]).expect("16 bytes");
                let first = negated(b, x);
                vec![b.concat(&[first, constant], 0).expect("rows of four")]
            },
            |frame, grouped| {
                let resolver = Resolver::new(frame, grouped);
                let joined = grouped.outputs[0];
                let data = &grouped.function.insts[grouped.function.defining_inst(joined).expect("an instruction")];
                assert_eq!(resolver.locate(data.operands[0]), Location { base: joined, start: 0 });
                // A constant cannot be written there; its copy can.
                assert_eq!(resolver.base(data.operands[1]), data.operands[1]);
                assert_eq!(resolver.memory(data.operands[1]), Memory::Constant(vec![0; 16].into()));
                assert_eq!(grouped.subtensors.counts()[&joined], 2);
            },
        );
    }
}
