//! State that outlives a call. Resource variables (VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE) get their initial contents from the subgraph of
//! CALL_ONCE. Recurrent operators update variable tensors in place.

use super::error::{invalid, missing_options, unsupported};
use super::operator::{Lowered, Operand, Operator};
use super::subgraph::Lowering;
use super::tensor::TensorInfo;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Constant, ElementType, State, StateData, TensorType, Value};
use std::rc::Rc;

/// First contents that are made here and become a constant of the object. States of recurrent operators have some kilobytes.
const MOST_FILLED: u64 = 1 << 26;

/// VAR_HANDLE
pub(super) fn handle(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(0..=0, 1..=1)?;
    let options = operator.record.builtin_options_as_var_handle_options();
    let container = options.and_then(|o| o.container()).unwrap_or_default();
    let name = options.and_then(|o| o.shared_name()).unwrap_or_default();
    let number = operator.lowering.shared.variables.number(container, name);
    operator.bind_variable(0, number);
    Ok(())
}

/// READ_VARIABLE
pub(super) fn read(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let number = operator.variable(0)?;
    let output = operator.output(0)?;
    let lowering = &mut *operator.lowering;
    let state = lowering.shared.variables.state(lowering.graph.builder.module, number, &TensorType::of(output.element, &output.shape))?;
    let value = lowering.load_state(state)?;
    operator.bind(0, value)
}

/// ASSIGN_VARIABLE
pub(super) fn assign(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 0..=0)?;
    let number = operator.variable(0)?;
    let value = operator.input(1)?;
    let contents: Option<Constant> = operator.graph().constant_of(value.value);
    let lowering = &mut *operator.lowering;
    let ty = lowering.graph.builder.tensor(value.value).clone();
    let state = lowering.shared.variables.state(lowering.graph.builder.module, number, &ty)?;
    if !lowering.is_initialising {
        return lowering.store_state(state, value.value);
    }
    let contents = contents.ok_or_else(|| unsupported("first contents that are not constant are not supported"))?;
    lowering.graph.builder.module.states[state].initial = Some(contents);
    Ok(())
}

/// CALL_ONCE: the subgraph is lowered only for the initial contents that it assigns. It does not run later.
pub(super) fn call_once(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(0..=0, 0..=0)?;
    let options = operator.record.builtin_options_as_call_once_options().ok_or_else(missing_options)?;
    let lowering = &mut *operator.lowering;
    if lowering.is_initialising {
        return Err(unsupported("CALL_ONCE within a subgraph that initialises is not supported"));
    }
    let index = usize::try_from(options.init_subgraph_index());
    let index = index.map_err(|_| {
        invalid(codes::SUBGRAPH_INDEX, "there is no such subgraph").expected("0 or more", options.init_subgraph_index().to_string())
    })?;
    if !lowering.shared.variables.initialised.insert(index) {
        return Ok(());
    }
    lowering.initialise(index)
}

impl Lowering<'_, '_> {
    fn load_state(&mut self, state: State) -> Result<Value, Diagnostic> {
        let effect = self.effect()?;
        let results = self.graph.builder.load_state(effect, state)?;
        self.effect = Some(results[0]);
        Ok(results[1])
    }

    fn store_state(&mut self, state: State, value: Value) -> Lowered {
        let effect = self.effect()?;
        self.effect = Some(self.graph.builder.store_state(effect, value, state)?);
        Ok(())
    }

    /// The contents of a variable tensor.
    pub(super) fn load_variable_tensor(&mut self, tensor: usize, info: &TensorInfo) -> Result<Value, Diagnostic> {
        let state = self.variable_tensor(tensor, info, &info.shape)?;
        self.load_state(state)
    }

    /// New contents of a variable tensor, in its own shape.
    fn store_variable_tensor(&mut self, tensor: usize, info: &TensorInfo, value: Value) -> Lowered {
        let state = self.variable_tensor(tensor, info, &info.shape)?;
        self.store_state(state, value)?;
        self.write(tensor, value);
        Ok(())
    }

    /// The state of a variable tensor, made at its first use, of its own shape or another one. Integers of 8 bits begin at their zero point, which the reference
    /// fills them with; everything else begins at zero.
    fn variable_tensor(&mut self, tensor: usize, info: &TensorInfo, shape: &[u64]) -> Result<State, Diagnostic> {
        let key = (self.subgraph.index, tensor);
        let module = &mut *self.graph.builder.module;
        let ty = TensorType::of(info.element, shape);
        if let Some(&state) = self.shared.variables.tensors.get(&key) {
            let found = &module.states[state].ty;
            if *found == ty {
                return Ok(state);
            }
            let message = "a variable tensor is used with several shapes";
            return Err(unsupported(message).about_tensor(&info.name).expected(format!("{found:?}"), format!("{ty:?}")));
        }
        if info.data.is_some() && *shape != info.shape[..] {
            let message = "a variable tensor of another batch than the file's cannot begin with the file's contents";
            return Err(unsupported(message).about_tensor(&info.name));
        }
        let zero_point = info.quantization.as_ref().and_then(|q| q.zero_points.first()).map_or(0, |&zero_point| zero_point as u8);
        let initial = match &info.data {
            Some(data) => Some(module.add_constant(ty.clone(), data.clone())),
            None if info.element == ElementType::I8 && zero_point != 0 => {
                let bytes = ty.static_bytes().filter(|&bytes| bytes <= MOST_FILLED).ok_or_else(|| {
                    let message =
                        format!("a variable tensor of more than {MOST_FILLED} bytes that begins with others than zeros is not supported");
                    unsupported(message).about_tensor(&info.name)
                })?;
                let bytes = vec![zero_point; bytes as usize];
                Some(module.add_constant(ty.clone(), bytes.into()))
            }
            None => None,
        };
        let state = module.states.push(StateData { name: info.name.clone(), ty, initial });
        self.shared.variables.tensors.insert(key, state);
        Ok(state)
    }
}

impl Operator<'_, '_, '_> {
    /// A state that only this operator reads and writes, and that begins with zeros. `holds` distinguishes several states of one operator.
    pub(super) fn own_state(&mut self, holds: &'static str, element: ElementType, shape: &[u64]) -> Result<State, Diagnostic> {
        let name = self.output(0)?.name.clone();
        let ty = TensorType::of(element, shape);
        let key = (self.lowering.subgraph.index, self.outputs[0], holds);
        let (own, module) = (&mut self.lowering.shared.variables.own, &mut *self.lowering.graph.builder.module);
        let make = || module.states.push(StateData { name: format!("{name} {holds}"), ty: ty.clone(), initial: None });
        let state = *own.entry(key).or_insert_with(make);
        let found = &self.lowering.graph.builder.module.states[state].ty;
        if *found != ty {
            let message = "an operator that keeps something from call to call is called with inputs of several shapes";
            return Err(invalid(codes::VARIABLE, message).about_tensor(&name).expected(found.to_string(), ty.to_string()));
        }
        Ok(state)
    }

    /// The contents of a state.
    pub(super) fn load(&mut self, state: State) -> Result<Value, Diagnostic> {
        self.lowering.load_state(state)
    }

    /// New contents of a state.
    pub(super) fn store(&mut self, state: State, value: Value) -> Lowered {
        self.lowering.store_state(state, value)
    }

    /// Operand number `index`, which must be a variable tensor with this many elements.
    pub(super) fn variable_input(&mut self, index: usize, elements: u64) -> Result<Operand, Diagnostic> {
        let operand = self.input(index)?;
        let at = |diagnostic: Diagnostic| diagnostic.about_tensor(&operand.info.name);
        if !operand.info.is_variable {
            return Err(at(invalid(codes::VARIABLE, format!("input {index} must be a variable tensor"))));
        }
        if operand.elements() != elements {
            let found = format!("{:?}", operand.shape);
            return Err(
                at(invalid(codes::SHAPES_DIFFER, "the state has a wrong number of elements").expected(elements.to_string(), found)),
            );
        }
        Ok(operand)
    }

    /// The state of operand number `index`, a variable tensor, where its shape is another one than in the file.
    pub(super) fn variable_state(&mut self, index: usize, shape: &[u64]) -> Result<(State, Rc<TensorInfo>), Diagnostic> {
        let tensor = self.inputs.get(index).copied().flatten();
        let tensor = tensor.ok_or_else(|| invalid(codes::OPERAND_COUNT, format!("input {index} is missing")))?;
        let info = self.lowering.info(tensor)?;
        if !info.is_variable {
            let message = format!("input {index} must be a variable tensor");
            return Err(invalid(codes::VARIABLE, message).about_tensor(&info.name));
        }
        Ok((self.lowering.variable_tensor(tensor, &info, shape)?, info))
    }

    /// New contents of operand number `index`, a variable tensor; their shape may be another one.
    pub(super) fn update_variable(&mut self, index: usize, value: Value) -> Lowered {
        let tensor =
            self.inputs.get(index).copied().flatten().ok_or_else(|| invalid(codes::OPERAND_COUNT, format!("input {index} is missing")))?;
        let info = self.lowering.info(tensor)?;
        let value = self.reshape(value, &info.shape)?;
        self.lowering.store_variable_tensor(tensor, &info, value)
    }
}
