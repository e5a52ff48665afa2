//! The variables of a file, and the states of the module that they are.

use super::error::invalid;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Module, State, StateData, TensorType};
use std::collections::{HashMap, HashSet};

/// The variables of a file, shared by its subgraphs.
#[derive(Default)]
pub(super) struct Variables {
    numbers: HashMap<(String, String), usize>,
    list: Vec<Variable>,
    /// Subgraphs that have given first contents.
    pub initialised: HashSet<usize>,
    /// The states of variable tensors, by subgraph and tensor.
    pub tensors: HashMap<(usize, usize), State>,
    /// The states that operators have of their own, by subgraph, first result, and purpose.
    pub own: HashMap<(usize, usize, &'static str), State>,
}

struct Variable {
    name: String,
    /// The state, from the first operator on that reads or writes it.
    state: Option<State>,
}

impl Variables {
    /// The number of a variable by its container and name.
    pub fn number(&mut self, container: &str, name: &str) -> usize {
        let next = self.list.len();
        let number = *self.numbers.entry((container.to_owned(), name.to_owned())).or_insert(next);
        if number == next {
            let name = if name.is_empty() { format!("variable{next}") } else { name.to_owned() };
            self.list.push(Variable { name, state: None });
        }
        number
    }

    /// The state of a variable, made for this type if it is the first use.
    pub fn state(&mut self, module: &mut Module, number: usize, ty: &TensorType) -> Result<State, Diagnostic> {
        let variable = &mut self.list[number];
        let state = *variable.state.get_or_insert_with(|| {
            let data = StateData { name: variable.name.clone(), ty: ty.clone(), initial: None };
            module.states.push(data)
        });
        if module.states[state].ty != *ty {
            let (want, have) = (module.states[state].ty.to_string(), ty.to_string());
            return Err(invalid(codes::VARIABLE, format!("the variable {:?} changes its type", variable.name)).expected(want, have));
        }
        Ok(state)
    }
}
