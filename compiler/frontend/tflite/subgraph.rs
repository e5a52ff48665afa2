//! A subgraph on its way into a function: its tensors as SSA values.

use super::error::{invalid, unsupported};
use super::file::Subgraph;
use super::shared::Shared;
use super::tensor::TensorInfo;
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Func, Module, TensorType, Type, Value};
use crate::operators::Graph;
use crate::operators::graph::Compared;
use std::collections::HashMap;
use std::rc::Rc;

/// The contents of a tensor during lowering.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    /// No contents: nothing has written it yet.
    Unwritten,
    /// Its value.
    Value(Value),
    /// A handle of a variable.
    Variable(usize),
    /// The operator that writes it could not be lowered. Operators that depend on it are skipped without another error.
    Poisoned,
}

/// A subgraph on its way into a function.
pub(super) struct Lowering<'a, 'm> {
    pub(super) graph: Graph<'m>,
    pub(super) shared: &'m mut Shared<'a>,
    /// The effect token that orders reads and writes of variables; `None` before the first of them.
    pub(super) effect: Option<Value>,
    /// `true` if this subgraph gives variables their initial contents.
    pub(super) is_initialising: bool,
    pub(super) subgraph: Rc<Subgraph<'a>>,
    pub(super) slots: Vec<Slot>,
    /// The method's input for each parameter that is one.
    pub(super) inputs: HashMap<Value, (usize, usize)>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl<'a, 'm> Lowering<'a, 'm> {
    pub(super) fn new(subgraph: Rc<Subgraph<'a>>, shared: &'m mut Shared<'a>, module: &'m mut Module, is_initialising: bool) -> Self {
        let mut graph = Graph::new(module, shared.function_name(&subgraph.name));
        graph.compares = Compared::Read;
        let slots = vec![Slot::Unwritten; subgraph.tensors.len()];
        Self { graph, shared, effect: None, is_initialising, subgraph, slots, inputs: HashMap::new(), diagnostics: Vec::new() }
    }

    /// Ends the function; the token of its effects, if there are any, is its last result.
    pub(super) fn finish(&mut self, mut results: Vec<Value>) -> Func {
        results.extend(self.effect);
        let function = std::mem::take(&mut self.graph.builder.function);
        self.graph.builder.module.functions.push(crate::ir::Function { results, ..function })
    }

    /// The token that orders the next read or write of a variable. The first one is the function's last parameter.
    pub(super) fn effect(&mut self) -> Result<Value, Diagnostic> {
        if self.is_initialising {
            return Err(unsupported("a variable that is read to initialise others is not supported"));
        }
        let builder = &mut self.graph.builder;
        Ok(*self.effect.get_or_insert_with(|| builder.param(Type::Effect, None)))
    }

    /// Makes a tensor the handle of a variable.
    pub(super) fn write_variable(&mut self, tensor: usize, variable: usize) {
        self.slots[tensor] = Slot::Variable(variable);
    }

    /// The variable that a tensor is a handle of.
    pub(super) fn variable(&self, tensor: usize) -> Option<usize> {
        if let Slot::Variable(variable) = self.slots[tensor] { Some(variable) } else { None }
    }
}

impl<'a> Lowering<'a, '_> {
    /// The file's description of a tensor.
    pub(super) fn info(&self, tensor: usize) -> Result<Rc<TensorInfo>, Diagnostic> {
        self.subgraph.tensors[tensor].clone()
    }

    /// The value of a tensor at this point: written before, a constant, or the contents of a variable tensor.
    pub(super) fn read(&mut self, tensor: usize) -> Result<Value, Diagnostic> {
        if let Slot::Value(value) = self.slots[tensor] {
            return Ok(value);
        }
        let info = self.info(tensor)?;
        if info.is_variable {
            let value = self.load_variable_tensor(tensor, &info)?;
            self.write(tensor, value);
            return Ok(value);
        }
        let ty = TensorType::of(info.element, &info.shape);
        let data = match &info.data {
            Some(data) => data.clone(),
            None if ty.static_elements() == Some(0) => Vec::new().into(),
            None => {
                return Err(invalid(codes::READ_BEFORE_WRITTEN, "the tensor is read before anything writes it").about_tensor(&info.name));
            }
        };
        let constant = self.graph.builder.module.add_constant(ty, data);
        let value = self.graph.builder.constant(constant)?;
        self.write(tensor, value);
        Ok(value)
    }

    /// Makes a value the contents of a tensor.
    pub(super) fn write(&mut self, tensor: usize, value: Value) {
        self.slots[tensor] = Slot::Value(value);
        let data = &mut self.graph.builder.function.values[value];
        if let (None, Ok(info)) = (&data.name, &self.subgraph.tensors[tensor]) {
            data.name = Some(info.name.clone());
        }
    }

    /// A list of tensor indices. −1 stands for a missing tensor.
    pub(super) fn indices(&self, list: Option<flatbuffers::Vector<'_, i32>>) -> Result<Vec<Option<usize>>, Diagnostic> {
        let count = self.subgraph.tensors.len();
        let check = |index: i32| match usize::try_from(index) {
            Ok(index) if index < count => Ok(Some(index)),
            _ if index == -1 => Ok(None),
            _ => Err(invalid(codes::TENSOR_INDEX, "a tensor index is out of range").expected(format!("below {count}"), index.to_string())),
        };
        list.into_iter().flatten().map(check).collect()
    }
}
