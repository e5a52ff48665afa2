//! The inputs and outputs of a subgraph that is a method.

use super::error::invalid;
use super::extents::bound_input;
use super::given::{Given, Input};
use super::subgraph::{Lowering, Slot};
use crate::diagnostic::{Diagnostic, codes};
use crate::frontend::Bound;
use crate::ir::{Data, Quantization, TensorType, Type, Value};
use std::collections::BTreeSet;

/// One input or output of a lowered subgraph.
#[derive(Clone)]
pub(super) struct Port {
    /// The tensor.
    pub tensor: usize,
    /// Its name in the file.
    pub name: String,
    /// Its quantization.
    pub quantization: Option<Quantization>,
    /// The only value that an input may have, when it is one that operators must know.
    pub value: Option<Data>,
}

impl Lowering<'_, '_> {
    fn port(&self, tensor: usize, value: Option<Data>) -> Result<Port, Diagnostic> {
        let info = self.info(tensor)?;
        Ok(Port { tensor, name: info.name.clone(), quantization: info.quantization.clone(), value })
    }

    /// Makes the inputs parameters. One whose value is known stays a parameter, and is a constant for the operators.
    pub(super) fn parameters(&mut self, subgraph: usize, given: &Given<'_>) -> Result<Vec<Port>, Diagnostic> {
        let list = self.indices(self.subgraph.record.inputs())?;
        // Every input becomes poisoned first, so that one bad input is one error.
        for tensor in list.iter().flatten() {
            self.slots[*tensor] = Slot::Poisoned;
        }
        let mut ports = Vec::new();
        for (position, tensor) in list.into_iter().enumerate() {
            let tensor = tensor.ok_or_else(|| invalid(codes::TENSOR_INDEX, "an input of the subgraph is missing"))?;
            if matches!(self.slots[tensor], Slot::Value(_)) {
                return Err(invalid(codes::INPUT_TWICE, "a tensor is an input twice").about_tensor(self.info(tensor)?.name.clone()));
            }
            let info = self.info(tensor)?;
            let input = (subgraph, position);
            let ty = TensorType::of(info.element, &given.shape(input, &info)?);
            let parameter = self.graph.builder.param(Type::Tensor(ty.clone()), info.name.clone());
            let bounds: Vec<Bound> = given.bounds(input).copied().collect();
            bound_input(&mut self.graph, parameter, position, &bounds)?;
            let value = given.value(input, info.element, &ty.static_shape().unwrap_or_default())?;
            let known = match &value {
                Some(bytes) => {
                    let constant = self.graph.builder.module.add_constant(ty, bytes.clone());
                    self.graph.builder.constant(constant)?
                }
                // Operators compute with a byte for each integer.
                None if info.element.is_packed() => self.graph.builder.repack(parameter, info.element.unpacked())?,
                None => parameter,
            };
            self.inputs.insert(parameter, input);
            self.slots[tensor] = Slot::Value(known);
            ports.push(self.port(tensor, value)?);
        }
        Ok(ports)
    }

    /// The outputs, and their ports.
    pub(super) fn results(&mut self) -> Result<(Vec<Value>, Vec<Port>), Diagnostic> {
        let mut values = Vec::new();
        let mut ports = Vec::new();
        for tensor in self.indices(self.subgraph.record.outputs())? {
            let tensor = tensor.ok_or_else(|| invalid(codes::TENSOR_INDEX, "an output of the subgraph is missing"))?;
            let (value, element) = (self.read(tensor)?, self.info(tensor)?.element);
            // Integers that are packed in a port were computed in a byte each.
            let is_packed = self.graph.builder.tensor(value).element != element;
            values.push(if is_packed { self.graph.builder.repack(value, element)? } else { value });
            ports.push(self.port(tensor, None)?);
        }
        Ok((values, ports))
    }

    /// Notes that an operator must know the numbers of a value. Returns the inputs that they depend on.
    pub(super) fn ask(&mut self, value: Value) -> Vec<usize> {
        let inputs = self.inputs_of(value);
        self.shared.found.asked.extend(&inputs);
        inputs.into_iter().map(|(_, input)| input).collect()
    }

    /// Notes that an operator would better know the numbers of a value, but can do without.
    pub(super) fn wish(&mut self, value: Value) {
        let inputs = self.inputs_of(value);
        self.shared.wished.extend(&inputs);
    }

    /// The inputs that a value depends on.
    fn inputs_of(&self, value: Value) -> Vec<Input> {
        let function = &self.graph.builder.function;
        let (mut seen, mut open, mut inputs) = (BTreeSet::new(), vec![value], Vec::new());
        while let Some(value) = open.pop() {
            match function.defining_inst(value) {
                Some(inst) if seen.insert(inst) => open.extend(function.uses(inst)),
                Some(_) => {}
                None => inputs.extend(self.inputs.get(&value).copied()),
            }
        }
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }
}
