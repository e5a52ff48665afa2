//! Subgraphs to functions: the walk over operators, tensors as SSA values, and the collection of errors.

use super::given::Given;
use super::operator::{Operator, invalid, unsupported};
use super::ports::Port;
use super::shared::Shared;
use super::tensor::TensorInfo;
use super::{Subgraph, external, registry};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Func, Module, SourceData, TensorType, Type, Value};
use crate::operators::Graph;
use crate::schema::tflite as schema;
use std::collections::HashMap;
use std::rc::Rc;

/// Models with more mistakes than this are told the first ones only.
const MAX_DIAGNOSTICS: usize = 200;

/// What is known of a tensor while walking.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    /// Nothing has written it yet.
    Unwritten,
    /// Its value.
    Value(Value),
    /// The variable that it is a handle of.
    Variable(usize),
    /// The operator that writes it could not be lowered; what depends on it is skipped without another error.
    Poisoned,
}

/// A subgraph on its way into a function.
pub(super) struct Lowering<'a, 'm> {
    pub(super) graph: Graph<'m>,
    pub(super) shared: &'m mut Shared<'a>,
    /// Orders reads and writes of variables; none before the first of them.
    pub(super) effect: Option<Value>,
    /// Whether this subgraph gives variables their first contents.
    pub(super) is_initialising: bool,
    pub(super) subgraph: Rc<Subgraph<'a>>,
    pub(super) slots: Vec<Slot>,
    /// The input of the method that a parameter is.
    pub(super) inputs: HashMap<Value, (usize, usize)>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// A subgraph as a function of the module.
#[derive(Clone)]
pub(super) struct LoweredSubgraph {
    /// The function.
    pub function: Func,
    /// Its inputs.
    pub inputs: Vec<Port>,
    /// Its outputs.
    pub outputs: Vec<Port>,
}

/// Lowers subgraph number `index`, with what is given for its inputs.
///
/// # Errors
/// Everything found wrong with it.
pub(super) fn lower(
    index: usize,
    given: &Given<'_>,
    module: &mut Module,
    shared: &mut Shared<'_>,
) -> Result<LoweredSubgraph, Vec<Diagnostic>> {
    let subgraph = shared.open(index).map_err(|diagnostic| vec![diagnostic])?;
    let mut lowering = Lowering::new(subgraph, shared, module, false);
    let inputs = lowering.parameters(index, given);
    lowering.operators();
    let outputs = lowering.results();
    let lowered = match (inputs, outputs) {
        (Ok(inputs), Ok((values, outputs))) if lowering.diagnostics.is_empty() => {
            Ok(LoweredSubgraph { function: lowering.finish(values), inputs, outputs })
        }
        (inputs, outputs) => {
            let mut diagnostics = std::mem::take(&mut lowering.diagnostics);
            diagnostics.extend(inputs.err());
            diagnostics.extend(outputs.err().filter(|_| diagnostics.is_empty()));
            let name = lowering.subgraph.name.clone();
            Err(diagnostics.into_iter().map(|d| d.in_function(&name)).collect())
        }
    };
    shared.close();
    lowered
}

/// Lowers a subgraph for the first contents of variables alone; its function is dropped.
///
/// # Errors
/// The first thing found wrong with it.
pub(super) fn initialise(index: usize, module: &mut Module, shared: &mut Shared<'_>) -> Result<(), Diagnostic> {
    let subgraph = shared.open(index)?;
    let mut lowering = Lowering::new(subgraph, shared, module, true);
    lowering.operators();
    let name = lowering.subgraph.name.clone();
    let first = lowering.diagnostics.into_iter().next();
    shared.close();
    first.map_or(Ok(()), |diagnostic| Err(diagnostic.in_function(name)))
}

impl<'a, 'm> Lowering<'a, 'm> {
    pub(super) fn new(subgraph: Rc<Subgraph<'a>>, shared: &'m mut Shared<'a>, module: &'m mut Module, is_initialising: bool) -> Self {
        let graph = Graph::new(module, shared.function_name(&subgraph.name));
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
    /// What the file says of a tensor.
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

    /// A list of tensor indices, −1 for those left out.
    pub(super) fn indices(&self, list: Option<flatbuffers::Vector<'_, i32>>) -> Result<Vec<Option<usize>>, Diagnostic> {
        let count = self.subgraph.tensors.len();
        let check = |index: i32| match usize::try_from(index) {
            Ok(index) if index < count => Ok(Some(index)),
            _ if index == -1 => Ok(None),
            _ => Err(invalid(codes::TENSOR_INDEX, "a tensor index is out of range").expected(format!("below {count}"), index.to_string())),
        };
        list.into_iter().flatten().map(check).collect()
    }

    /// Lowers every operator; what is wrong with one is kept, and the others go on.
    pub(super) fn operators(&mut self) {
        let Some(operators) = self.subgraph.record.operators() else { return };
        let file = self.shared.file;
        for (index, record) in operators.iter().enumerate() {
            let name = file.codes.get(record.opcode_index() as usize).map_or("?", |code| code.name.as_str());
            if let Err(diagnostic) = self.operator(index, record) {
                self.poison(record);
                self.diagnostics.push(diagnostic.at_operator(index as u32, name));
                if self.diagnostics.len() >= MAX_DIAGNOSTICS {
                    return;
                }
            }
        }
    }

    fn poison(&mut self, record: schema::Operator<'a>) {
        for tensor in self.indices(record.outputs()).unwrap_or_default().into_iter().flatten() {
            self.slots[tensor] = Slot::Poisoned;
        }
    }

    fn operator(&mut self, index: usize, record: schema::Operator<'a>) -> Result<(), Diagnostic> {
        let codes = &self.shared.file.codes;
        let code = codes.get(record.opcode_index() as usize).ok_or_else(|| {
            invalid(codes::OPERATOR_CODE, "the operator's code is out of range")
                .expected(format!("below {}", codes.len()), record.opcode_index().to_string())
        })?;
        self.shared.spend()?;
        let inputs = self.indices(record.inputs())?;
        let outputs = self.unwritten_outputs(record)?;
        // What the user leaves to a function is so even where there are kernels for it.
        let symbol = registry::symbol(code, self.shared.file.customs);
        let lower = symbol.map_or_else(|| registry::lowering(code).map(Some), |_| Ok(None))?;
        if inputs.iter().flatten().any(|&tensor| matches!(self.slots[tensor], Slot::Poisoned)) {
            self.poison(record);
            return Ok(());
        }
        let tensor = outputs
            .first()
            .and_then(|&tensor| self.subgraph.tensors[tensor].as_ref().ok())
            .map_or_else(String::new, |info| info.name.clone());
        let source = SourceData { function: self.subgraph.name.clone(), operator: index as u32, operator_name: code.name.clone(), tensor };
        self.graph.builder.source = Some(self.graph.builder.module.sources.push(source));
        let start = self.graph.builder.function.body.len();
        let mut operator = Operator { lowering: self, record, inputs, outputs: outputs.clone() };
        match (lower, symbol) {
            (Some(lower), _) => lower(&mut operator)?,
            (None, symbol) => external::external(&mut operator, symbol.unwrap_or_default())?,
        }
        self.fold(start, &outputs);
        match outputs.iter().find(|&&tensor| matches!(self.slots[tensor], Slot::Unwritten)) {
            Some(_) => Err(invalid(codes::OPERAND_COUNT, "the operator has more outputs than it computes")),
            None => Ok(()),
        }
    }

    /// Replaces the results of the instructions from `start` on by constants, where they depend on small constants only.
    fn fold(&mut self, start: usize, outputs: &[usize]) {
        let written =
            outputs.iter().filter_map(|&tensor| if let Slot::Value(value) = self.slots[tensor] { Some((tensor, value)) } else { None });
        let (tensors, values): (Vec<usize>, Vec<Value>) = written.unzip();
        let Some(folded) = self.graph.fold_from(start, &values) else { return };
        for (tensor, value) in tensors.into_iter().zip(folded) {
            self.write(tensor, value);
        }
    }

    /// The outputs of an operator: each is written once, and is neither an input nor a constant.
    fn unwritten_outputs(&self, record: schema::Operator<'a>) -> Result<Vec<usize>, Diagnostic> {
        let mut outputs: Vec<usize> = Vec::new();
        for tensor in self.indices(record.outputs())? {
            let tensor = tensor.ok_or_else(|| invalid(codes::TENSOR_INDEX, "an output of the operator is missing"))?;
            let constant = matches!(&self.subgraph.tensors[tensor], Ok(info) if info.data.is_some());
            if constant || outputs.contains(&tensor) || matches!(self.slots[tensor], Slot::Value(_) | Slot::Variable(_)) {
                let name = self.info(tensor).map_or_else(|_| format!("#{tensor}"), |info| info.name.clone());
                return Err(invalid(codes::WRITTEN_TWICE, "the operator writes a tensor that has a value already").about_tensor(name));
            }
            outputs.push(tensor);
        }
        Ok(outputs)
    }
}
