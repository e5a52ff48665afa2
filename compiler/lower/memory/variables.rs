//! Layout of states: one after the other in the memory of an instance, with the same offsets for all methods.

use crate::diagnostic::{Diagnostic, codes};
use crate::fuse::unroll;
use crate::ir::{Module, State};
use crate::lower::pool::Pool;
use crate::machine::Alignment;
use crate::program::{RECORD_BYTES, Variable};
use std::collections::{BTreeMap, BTreeSet};

/// The states that a method reads or writes. Unused states take no memory.
#[derive(Default)]
pub(in crate::lower) struct Variables {
    offsets: BTreeMap<State, u64>,
    /// The program's variables, by offset.
    pub list: Vec<Variable>,
    /// Total bytes.
    pub bytes: u64,
    /// Alignment of the state.
    pub alignment: Alignment,
}

impl Variables {
    /// Lays out the states of a module.
    ///
    /// # Errors
    /// A diagnostic if a state has a dynamic size, or if the total size overflows.
    pub fn new(module: &Module, alignment: Alignment, pool: &mut Pool) -> Result<Self, Diagnostic> {
        let used: BTreeSet<State> = module.methods.iter().flat_map(|method| unroll::states(module, method.function)).collect();
        let mut variables = Self { alignment, ..Self::default() };
        for state in used {
            let data = &module.states[state];
            let end = |offset: u64| Some((offset, offset.checked_add(data.ty.static_bytes()?)?));
            let place = variables.bytes.checked_next_multiple_of(alignment.of_tensors().bytes()).and_then(end);
            let Some((offset, end)) = place.filter(|(_, end)| *end <= i64::MAX as u64 / 2) else {
                return Err(Diagnostic::new(codes::VARIABLE_EXTENT, "a variable of dynamic size").about_tensor(&data.name));
            };
            let initial = data.initial.map(|constant| &module.constants[constant].data);
            // A variable without initial contents starts as zero. The contents of an open constant are not known, so it always counts.
            let initial = initial.filter(|data| module.open_constants || data.bytes().iter().any(|&byte| byte != 0));
            variables.list.push(Variable {
                name: data.name.clone(),
                offset,
                bytes: end - offset,
                is_copy: false,
                initial: initial.map(|contents| pool.constant(contents, || data.name.clone()) as usize),
            });
            variables.offsets.insert(state, offset);
            variables.bytes = end;
        }
        Ok(variables)
    }

    /// Returns the bytes of the whole state: the runtime's record, then the variables.
    pub fn state_bytes(&self) -> u64 {
        RECORD_BYTES + self.alignment.up(self.bytes)
    }

    /// Returns the offset of a state that a method uses.
    pub fn offset(&self, state: State) -> u64 {
        self.offsets.get(&state).copied().unwrap_or(0)
    }
}
