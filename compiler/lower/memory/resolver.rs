//! Resolution of a value to the memory that holds it. Every stage asks here.
//!
//! A view has the memory of its **root**. A root may be a subtensor of another value, which may be a subtensor, too. The **base** is the outermost value
//! of this chain. A base may share the place of another value that is never live at the same time: its **owner**. Owners are in the arena or outside.

use super::places::{Holder, Places};
use super::values::{known_extent, root_of};
use crate::fuse::Move;
use crate::ir::{Data, Function, Module, Operation, State, Value};
use crate::lower::stages::frame::Frame;
use crate::lower::stages::grouped::Grouped;
use rustc_hash::FxHashMap;

/// The memory that contains a place.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::lower) enum Memory {
    Arena,
    /// The caller's buffer for the input with this number.
    Input(u32),
    /// The caller's buffer for the output with this number.
    Output(u32),
    State(State),
    /// The object's read-only data: a constant, an index number, an extent.
    Constant(Data),
}

/// Location of a value in its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lower) struct Location {
    /// The base: the value whose memory contains its bytes.
    pub base: Value,
    /// Its first byte in the base.
    pub start: u64,
}

/// Resolves the values of a method: see the module.
pub(in crate::lower) struct Resolver<'a> {
    module: &'a Module,
    pub grouped: &'a Grouped,
    /// States, by the values that hold their contents on entry and at the end.
    held: FxHashMap<Value, State>,
    inputs: FxHashMap<Value, u32>,
    outputs: FxHashMap<Value, u32>,
    places: Places,
}

impl<'a> Resolver<'a> {
    /// Makes a resolver before places are shared: each base is its own owner. The last contents of a state are in the state.
    pub fn new(frame: &Frame<'a>, grouped: &'a Grouped) -> Self {
        let inputs = (0..).zip(grouped.inputs()).map(|(i, &v)| (v, i)).collect();
        let outputs = (0..).zip(&grouped.outputs).map(|(i, &v)| (root_of(&grouped.function, v), i)).collect();
        let held = grouped.states.iter().flat_map(|s| [(s.flow.entry, s.flow.state), (s.left, s.flow.state)]).collect();
        Self { module: frame.module, grouped, held, inputs, outputs, places: Places::default() }
    }

    /// Adds the shared places.
    pub fn with_places(self, places: Places) -> Self {
        Self { places, ..self }
    }

    /// Returns the function that defines the values.
    pub fn function(&self) -> &'a Function {
        &self.grouped.function
    }

    /// Returns the root of a value: the value that it is a view of, or itself.
    pub fn root(&self, value: Value) -> Value {
        root_of(self.function(), value)
    }

    /// Returns the host of a subtensor, and the subtensor's first byte there. `None` if the root is not a subtensor.
    pub fn host(&self, root: Value) -> Option<(Value, u64)> {
        self.grouped.subtensors.host(root)
    }

    /// Returns the base of a value, and its first byte there.
    pub fn locate(&self, value: Value) -> Location {
        let (mut base, mut start) = (self.root(value), 0);
        while let Some((host, first)) = self.host(base) {
            (base, start) = (self.root(host), start + first);
        }
        Location { base, start }
    }

    /// Returns the base of a value.
    pub fn base(&self, value: Value) -> Value {
        self.locate(value).base
    }

    /// Returns the owner of a base's place.
    pub fn owner(&self, root: Value) -> Value {
        self.places.owner(root)
    }

    /// Tests whether a move needs no copy, because both values have one place.
    pub fn is_free(&self, moved: Move) -> bool {
        self.places.same(self.root(moved.from), moved.to)
    }

    /// Tests whether a value that is read shares the place of a value that is written, independent of the plan.
    pub fn is_in_place(&self, read: Value, written: Value) -> bool {
        self.places.same(self.base(read), self.root(written))
    }

    /// Returns the memory that contains an owner's place.
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

    /// Returns the constraint on the place of a root.
    pub fn holder(&self, root: Value) -> Holder {
        match self.memory(root) {
            Memory::Arena => Holder::Anywhere(self.bytes(root)),
            Memory::Output(_) | Memory::State(_) => Holder::Pinned(self.bytes(root)),
            Memory::Input(_) | Memory::Constant(_) => Holder::ReadOnly,
        }
    }

    /// Returns the bytes of a root at its bound.
    pub fn bytes(&self, root: Value) -> u64 {
        self.function().bound_bytes(self.function().stored_type(root)).unwrap_or(0)
    }

    /// Returns the data of a value that is known at compile time: a constant, an index constant or a static extent.
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
            &[&MACHINES[0].capabilities],
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
            &[&MACHINES[0].capabilities],
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
