//! Places of states: one after the other in the instance's own memory, alike for all methods.

use crate::diagnostic::{Diagnostic, codes};
use crate::fuse::unroll;
use crate::ir::{Module, State};
use crate::lower::pool::Pool;
use crate::program::Variable;
use std::collections::{BTreeMap, BTreeSet};

/// Variables start at a multiple of this, as tensors in the arena do.
const ALIGNMENT: u64 = 16;

/// The states that some method reads or writes; others take no memory.
#[derive(Default)]
pub(in crate::lower) struct Variables {
    offsets: BTreeMap<State, u64>,
    /// For the program, in order.
    pub list: Vec<Variable>,
    /// Bytes of all.
    pub bytes: u64,
}

impl Variables {
    /// Lays out the states of a module.
    ///
    /// # Errors
    /// When a state has no static size, or all of them no size at all.
    pub fn new(module: &Module, pool: &mut Pool) -> Result<Self, Diagnostic> {
        let used: BTreeSet<State> = module.methods.iter().flat_map(|method| unroll::states(module, method.function)).collect();
        let mut variables = Self::default();
        for state in used {
            let data = &module.states[state];
            let end = |offset: u64| Some((offset, offset.checked_add(data.ty.static_bytes()?)?));
            let place = variables.bytes.checked_next_multiple_of(ALIGNMENT).and_then(end);
            let Some((offset, end)) = place.filter(|(_, end)| *end <= i64::MAX as u64 / 2) else {
                return Err(Diagnostic::new(codes::VARIABLE_EXTENT, "a variable of dynamic size").about_tensor(&data.name));
            };
            let initial = data.initial.map(|constant| &module.constants[constant].data);
            // Memory is zero without first contents; what open constants hold does not count.
            let initial = initial.filter(|data| module.open_constants || data.bytes().iter().any(|&byte| byte != 0));
            variables.list.push(Variable {
                name: data.name.clone(),
                offset,
                bytes: end - offset,
                initial: initial.map(|contents| pool.constant(contents, || data.name.clone()) as usize),
            });
            variables.offsets.insert(state, offset);
            variables.bytes = end;
        }
        Ok(variables)
    }

    /// The offset of a state that some method names.
    pub fn offset(&self, state: State) -> u64 {
        self.offsets.get(&state).copied().unwrap_or(0)
    }
}
