//! Subgraphs within subgraphs: their operators in place, and their inputs and outputs.

use super::error::invalid;
use super::subgraph::{Lowering, Slot};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Value;

impl<'a> Lowering<'a, '_> {
    /// Lowers the operators of subgraph number `index` in place; `None` when that failed, and the diagnostics are kept.
    pub fn inline(&mut self, index: usize, operands: &[Slot]) -> Result<Option<Vec<Slot>>, Diagnostic> {
        let subgraph = self.shared.open(index)?;
        let name = subgraph.name.clone();
        let slots = vec![Slot::Unwritten; subgraph.tensors.len()];
        let outer = (std::mem::replace(&mut self.subgraph, subgraph), std::mem::replace(&mut self.slots, slots), self.graph.builder.source);
        let first = self.diagnostics.len();
        let outcome = self.give(operands).and_then(|()| {
            self.operators();
            if self.diagnostics.len() > first { Ok(None) } else { self.outputs().map(Some) }
        });
        (self.subgraph, self.slots, self.graph.builder.source) = outer;
        self.shared.close();
        let found = self.diagnostics.split_off(first);
        self.diagnostics.extend(found.into_iter().map(|diagnostic| diagnostic.in_function(&name)));
        outcome.map_err(|diagnostic| diagnostic.in_function(name))
    }

    /// Lowers subgraph number `index` for the first contents of variables alone; its function is dropped.
    ///
    /// # Errors
    /// The first thing found wrong with it.
    pub fn initialise(&mut self, index: usize) -> Result<(), Diagnostic> {
        let subgraph = self.shared.open(index)?;
        let mut inner = Lowering::new(subgraph, &mut *self.shared, &mut *self.graph.builder.module, true);
        inner.operators();
        let name = inner.subgraph.name.clone();
        let first = inner.diagnostics.into_iter().next();
        self.shared.close();
        first.map_or(Ok(()), |diagnostic| Err(diagnostic.in_function(name)))
    }

    /// Sets the contents of this subgraph's inputs.
    pub(super) fn give(&mut self, given: &[Slot]) -> Result<(), Diagnostic> {
        let inputs = self.indices(self.subgraph.record.inputs())?;
        if inputs.len() != given.len() {
            let found = given.len().to_string();
            return Err(
                invalid(codes::OPERAND_COUNT, "the subgraph takes another number of inputs").expected(inputs.len().to_string(), found)
            );
        }
        for (tensor, &slot) in inputs.into_iter().zip(given) {
            let tensor = tensor.ok_or_else(|| invalid(codes::TENSOR_INDEX, "an input of the subgraph is missing"))?;
            if let Slot::Value(value) = slot {
                self.check_element(tensor, value)?;
            }
            self.slots[tensor] = slot;
        }
        Ok(())
    }

    /// An input has the element type that the subgraph declares.
    fn check_element(&self, tensor: usize, value: Value) -> Result<(), Diagnostic> {
        let info = self.info(tensor)?;
        let element = self.graph.builder.tensor(value).element;
        if [info.element, info.element.unpacked()].contains(&element) {
            return Ok(());
        }
        let message = "the type of a subgraph input does not match the value passed to it";
        Err(invalid(codes::ELEMENT_TYPE, message).about_tensor(&info.name).expected(info.element.name(), element.name()))
    }

    /// The contents of the outputs.
    pub(super) fn outputs(&mut self) -> Result<Vec<Slot>, Diagnostic> {
        let mut slots = Vec::new();
        for tensor in self.indices(self.subgraph.record.outputs())? {
            let tensor = tensor.ok_or_else(|| invalid(codes::TENSOR_INDEX, "an output of the subgraph is missing"))?;
            slots.push(match self.slots[tensor] {
                Slot::Variable(variable) => Slot::Variable(variable),
                Slot::Poisoned => Slot::Poisoned,
                _ => Slot::Value(self.read(tensor)?),
            });
        }
        Ok(slots)
    }
}
