//! Subgraphs within subgraphs: as functions of their own, or their operators in place.

use super::error::{invalid, unsupported};
use super::subgraph::{Lowering, Slot};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Constant, Func, TensorType, Type, Value};

/// What a subgraph is given for one of its inputs when it becomes a function.
#[derive(Clone)]
pub(super) enum Argument {
    /// A tensor that is a parameter.
    Tensor(TensorType),
    /// A constant, known inside.
    Constant(Constant),
    /// A handle of a variable, known inside.
    Variable(usize),
}

/// One output of a subgraph that became a function.
pub(super) enum Returned {
    /// The next result of the function.
    Value(TensorType),
    /// A handle of a variable.
    Variable(usize),
}

/// A subgraph as a function: its parameters are the arguments that are tensors, then an effect token if it has effects.
pub(super) struct Callee {
    pub function: Func,
    pub outputs: Vec<Returned>,
    pub has_effect: bool,
}

impl<'a> Lowering<'a, '_> {
    /// Lowers subgraph number `index` as a function; `None` when that failed, and the diagnostics are kept.
    pub fn callee(&mut self, index: usize, arguments: &[Argument]) -> Result<Option<Callee>, Diagnostic> {
        let subgraph = self.shared.open(index)?;
        let name = subgraph.name.clone();
        let mut inner = Lowering::new(subgraph, &mut *self.shared, &mut *self.graph.builder.module, self.is_initialising);
        let outcome = inner.function_of(arguments);
        let found = std::mem::take(&mut inner.diagnostics);
        self.shared.close();
        let failed = !found.is_empty();
        self.diagnostics.extend(found.into_iter().map(|diagnostic| diagnostic.in_function(&name)));
        if failed { Ok(None) } else { outcome.map(Some).map_err(|diagnostic| diagnostic.in_function(name)) }
    }

    /// Lowers everything of this subgraph and ends its function.
    fn function_of(&mut self, arguments: &[Argument]) -> Result<Callee, Diagnostic> {
        let given = arguments.iter().map(|argument| self.argument(argument)).collect::<Result<Vec<Slot>, _>>()?;
        self.give(&given)?;
        self.operators();
        let mut values = Vec::new();
        let mut outputs = Vec::new();
        for slot in self.outputs()? {
            match slot {
                Slot::Value(value) => {
                    values.push(value);
                    outputs.push(Returned::Value(self.graph.builder.tensor(value).clone()));
                }
                Slot::Variable(variable) => outputs.push(Returned::Variable(variable)),
                Slot::Unwritten | Slot::Poisoned => return Err(unsupported("an output depends on an unsupported operator")),
            }
        }
        let has_effect = self.effect.is_some();
        Ok(Callee { function: self.finish(values), outputs, has_effect })
    }

    fn argument(&mut self, argument: &Argument) -> Result<Slot, Diagnostic> {
        Ok(match argument {
            Argument::Tensor(ty) => Slot::Value(self.graph.builder.param(Type::Tensor(ty.clone()), None)),
            Argument::Constant(constant) => Slot::Value(self.graph.builder.constant(*constant)?),
            Argument::Variable(variable) => Slot::Variable(*variable),
        })
    }

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

    /// Gives the inputs of this subgraph their contents.
    fn give(&mut self, given: &[Slot]) -> Result<(), Diagnostic> {
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
        if element == info.element {
            return Ok(());
        }
        let message = "the type of a subgraph input does not match the value passed to it";
        Err(invalid(codes::ELEMENT_TYPE, message).about_tensor(&info.name).expected(info.element.name(), element.name()))
    }

    /// The contents of the outputs.
    fn outputs(&mut self) -> Result<Vec<Slot>, Diagnostic> {
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
