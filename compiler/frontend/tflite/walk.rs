//! Subgraphs to functions: the walk over operators, and the collection of errors.

use super::error::invalid;
use super::given::Given;
use super::operator::Operator;
use super::ports::Port;
use super::shared::Shared;
use super::subgraph::{Lowering, Slot};
use super::{external, registry};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Func, Module, SourceData, Value};
use crate::schema::tflite as schema;

/// Models with more mistakes than this are told the first ones only.
const MAX_DIAGNOSTICS: usize = 200;

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

/// Lowers subgraph number `index`, with the settings of its inputs.
///
/// # Errors
/// All errors found in it.
pub(super) fn lower(
    index: usize,
    given: &Given<'_>,
    module: &mut Module,
    shared: &mut Shared<'_>,
) -> Result<LoweredSubgraph, Vec<Diagnostic>> {
    let subgraph = shared.open(index).map_err(|diagnostic| vec![diagnostic])?;
    let mut lowering = Lowering::new(subgraph, shared, module, false);
    lowering.graph.facts = given.facts(index);
    let inputs = lowering.parameters(index, given);
    lowering.operators();
    let outputs = lowering.results();
    let facts = std::mem::take(&mut lowering.graph.facts);
    lowering.shared.found.facts.insert(index, facts);
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

impl<'a> Lowering<'a, '_> {
    /// Lowers every operator. Errors of one operator are kept, and lowering goes on with the next.
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
        // A user's function is called even if there is a kernel for the operator.
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
        let source = SourceData {
            function: self.subgraph.name.clone(),
            operator: index as u32,
            operator_name: code.name.clone(),
            tensor,
            gpu: false,
        };
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

    /// Replaces the results of the instructions from `start` on by constants, if they depend on small constants only.
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
