//! A method as one body: a tree of straight-line pieces over one set of values.

use crate::ir::{Function, Inst, State, Value};

/// A method's body.
#[derive(Clone, Default, Debug)]
pub struct Flow {
    /// Function that holds every value and instruction of the method and its callees. Its results are the method's outputs.
    pub function: Function,
    /// The items in execution order.
    pub items: Vec<Item>,
    /// The states that the method reads or writes.
    pub states: Vec<StateFlow>,
}

/// A state in a method.
#[derive(Clone, Copy, Debug)]
pub struct StateFlow {
    /// The state.
    pub state: State,
    /// Contents when the method begins.
    pub entry: Value,
    /// Contents when the method ends: `entry` if the method does not write the state.
    pub exit: Value,
}

/// An instruction, a branch or a loop.
#[derive(Clone, Debug)]
pub enum Item {
    /// An instruction that is neither control flow nor state.
    Inst(Inst),
    /// One of two bodies. Result *i* of the branch taken becomes value *i* of `results`.
    If {
        /// One truth value.
        condition: Value,
        /// The values of the results after the branch.
        results: Vec<Value>,
        /// Body when true, and the values it hands on.
        then: (Vec<Item>, Vec<Value>),
        /// Body when false, and the values it hands on.
        otherwise: (Vec<Item>, Vec<Value>),
    },
    /// `head`, then while `condition` is true: `body`, `head` again.
    While {
        /// Loop-carried values. They can be read in `head`, in `body`, and after the loop.
        carried: Vec<Carried>,
        /// Computes the condition.
        head: Vec<Item>,
        /// One truth value.
        condition: Value,
        /// One round.
        body: Vec<Item>,
    },
}

/// A value that a loop carries from round to round.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// The value in all iterations and after the loop.
    pub value: Value,
    /// The value before the first iteration.
    pub initial: Value,
    /// The value after an iteration.
    pub next: Value,
}

/// Calls `visit` for every instruction of a body and of nested bodies.
pub(super) fn each_inst(items: &[Item], visit: &mut impl FnMut(Inst)) {
    for item in items {
        match item {
            Item::Inst(inst) => visit(*inst),
            Item::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|(body, _)| each_inst(body, visit)),
            Item::While { head, body, .. } => [head, body].into_iter().for_each(|items| each_inst(items, visit)),
        }
    }
}
