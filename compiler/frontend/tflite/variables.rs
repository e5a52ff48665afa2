//! Resource variables: VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE, and CALL_ONCE, whose subgraph gives them their first contents.

use super::operator::{Lowered, Operator, invalid, unsupported};
use super::subgraph::initialise;
use crate::diagnostic::Diagnostic;
use crate::ir::{Attribute, Constant, Module, Op, State, StateData, TensorType};
use std::collections::{HashMap, HashSet};

/// The variables of a file, shared by its subgraphs.
#[derive(Default)]
pub(super) struct Variables {
    numbers: HashMap<(String, String), usize>,
    list: Vec<Variable>,
    /// Subgraphs that have given first contents.
    initialised: HashSet<usize>,
}

struct Variable {
    name: String,
    /// Known from the first operator that reads or writes it.
    state: Option<State>,
}

impl Variables {
    /// The number of a variable by its container and name.
    fn number(&mut self, container: &str, name: &str) -> usize {
        let next = self.list.len();
        let number = *self.numbers.entry((container.to_owned(), name.to_owned())).or_insert(next);
        if number == next {
            let name = if name.is_empty() { format!("variable{next}") } else { name.to_owned() };
            self.list.push(Variable { name, state: None });
        }
        number
    }

    /// The state of a variable, made for this type if it is the first use.
    fn state(&mut self, module: &mut Module, number: usize, ty: &TensorType) -> Result<State, Diagnostic> {
        let variable = &mut self.list[number];
        let state = *variable.state.get_or_insert_with(|| {
            let data = StateData { name: variable.name.clone(), ty: ty.clone(), initial: None };
            module.states.push(data)
        });
        if module.states[state].ty != *ty {
            let (want, have) = (format!("{:?}", module.states[state].ty), format!("{ty:?}"));
            return Err(invalid(316, format!("the variable {:?} changes its type", variable.name)).expected(want, have));
        }
        Ok(state)
    }
}

/// VAR_HANDLE
pub(super) fn handle(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(0..=0, 1..=1)?;
    let options = operator.record.builtin_options_as_var_handle_options();
    let container = options.and_then(|o| o.container()).unwrap_or_default();
    let name = options.and_then(|o| o.shared_name()).unwrap_or_default();
    let number = operator.lowering.variables.number(container, name);
    operator.bind_variable(0, number);
    Ok(())
}

/// READ_VARIABLE
pub(super) fn read(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let number = operator.variable(0)?;
    let output = operator.output(0)?;
    let effect = operator.lowering.effect.ok_or_else(|| unsupported("a variable that is read to initialise others is not supported"))?;
    let lowering = &mut *operator.lowering;
    let state = lowering.variables.state(lowering.builder.module, number, &TensorType::of(output.element, &output.shape))?;
    let results = lowering.builder.inst(Op::LoadState, &[effect], vec![Attribute::State(state)])?;
    lowering.effect = Some(results[0]);
    operator.bind(0, results[1])
}

/// ASSIGN_VARIABLE
pub(super) fn assign(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 0..=0)?;
    let number = operator.variable(0)?;
    let value = operator.input(1)?;
    let contents: Option<Constant> = operator.constant_of(&value);
    let lowering = &mut *operator.lowering;
    let ty = lowering.builder.tensor(value.value).clone();
    let state = lowering.variables.state(lowering.builder.module, number, &ty)?;
    match lowering.effect {
        Some(effect) => {
            let results = lowering.builder.inst(Op::StoreState, &[effect, value.value], vec![Attribute::State(state)])?;
            lowering.effect = Some(results[0]);
        }
        None => {
            let contents = contents.ok_or_else(|| unsupported("first contents that are not constant are not supported"))?;
            lowering.builder.module.states[state].initial = Some(contents);
        }
    }
    Ok(())
}

/// CALL_ONCE: the subgraph is lowered for the first contents that it assigns; nothing of it runs later.
pub(super) fn call_once(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(0..=0, 0..=0)?;
    let options = operator.record.builtin_options_as_call_once_options().ok_or_else(super::convolution::missing_options)?;
    let lowering = &mut *operator.lowering;
    if lowering.is_initialising {
        return Err(unsupported("CALL_ONCE within a subgraph that initialises is not supported"));
    }
    let count = lowering.file.records.len();
    let index = usize::try_from(options.init_subgraph_index()).ok().filter(|&index| index < count);
    let found = options.init_subgraph_index().to_string();
    let index = index.ok_or_else(|| invalid(209, "there is no such subgraph").expected(format!("below {count}"), found))?;
    if !lowering.variables.initialised.insert(index) {
        return Ok(());
    }
    let subgraph = lowering.file.subgraph(index)?;
    initialise(&subgraph, lowering.file, lowering.builder.module, lowering.variables)
}
