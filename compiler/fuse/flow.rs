//! A method as one body: a tree of straight-line pieces over one set of values.

use crate::ir::{Function, Inst, State, Value};

/// A method's body.
#[derive(Clone, Default, Debug)]
pub struct Flow {
    /// Holds every value and instruction of the method and of what it calls. Its results are the method's outputs.
    pub function: Function,
    /// What happens, in order.
    pub items: Vec<Item>,
    /// The states that the method reads or writes.
    pub states: Vec<StateFlow>,
}

/// A state in a method.
#[derive(Clone, Copy, Debug)]
pub struct StateFlow {
    /// Which.
    pub state: State,
    /// What it holds when the method begins.
    pub entry: Value,
    /// What it is to hold when the method ends: `entry` itself if the method does not write it.
    pub exit: Value,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Item {
    /// An instruction that is neither control flow nor state.
    Inst(Inst),
    /// One of two bodies. Result *i* of the branch taken becomes value *i* of `results`.
    If {
        /// One truth value.
        condition: Value,
        /// The values that stand for the results after it.
        results: Vec<Value>,
        /// Body when true, and the values it hands on.
        then: (Vec<Item>, Vec<Value>),
        /// Body when false, and the values it hands on.
        otherwise: (Vec<Item>, Vec<Value>),
    },
    /// `head`, then while `condition` is true: `body`, `head` again.
    While {
        /// What goes from round to round. It can be read in `head`, in `body`, and after the loop.
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
    /// What stands for it in all rounds and after the loop.
    pub value: Value,
    /// What it is in the first round.
    pub initial: Value,
    /// What it becomes after a round.
    pub next: Value,
}

/// Calls `visit` for every instruction of a body and of those inside it.
pub(super) fn each_inst(items: &[Item], visit: &mut impl FnMut(Inst)) {
    for item in items {
        match item {
            Item::Inst(inst) => visit(*inst),
            Item::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|(body, _)| each_inst(body, visit)),
            Item::While { head, body, .. } => [head, body].into_iter().for_each(|items| each_inst(items, visit)),
        }
    }
}
