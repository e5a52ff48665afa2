//! The numbers that name values, instructions, functions, constants, states and places of a model file.

use cranelift_entity::entity_impl;
use cranelift_entity::packed_option::ReservedValue;

/// An SSA value of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// An instruction of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inst(u32);
entity_impl!(Inst, "inst");

/// A function of a module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Func(u32);
entity_impl!(Func, "fn");

/// A constant tensor of a module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Constant(u32);
entity_impl!(Constant, "const");

/// A piece of named storage that outlives a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State(u32);
entity_impl!(State, "state");

/// A place in the model file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Source(u32);
entity_impl!(Source, "src");

/// Names nothing.
macro_rules! names_nothing {
    ($($entity:ty),*) => {$(
        impl Default for $entity {
            fn default() -> Self {
                Self::reserved_value()
            }
        }
    )*};
}

names_nothing!(Func, Constant, State);
