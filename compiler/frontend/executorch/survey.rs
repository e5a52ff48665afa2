//! The contents of an ExecuTorch program, without translation.

use super::program::{self, EValue, Instruction, Plan};
use super::{ops, reader};
use crate::diagnostic::Diagnostics;
use crate::frontend::delegates::graph::Delegate;
use crate::frontend::delegates::known::{self, Known, known};
use crate::frontend::delegates::xnnpack::{Node, Subgraph};
use crate::frontend::survey::{DelegateContents, Frame, InstructionSource, MethodContents, MethodNames, NodeContents, Survey};
use crate::ir::data::Bytes;
use crate::schema::program as schema;
use std::sync::Arc;

/// Counts the operators and delegates of all methods. Inputs and outputs have no names in this format.
///
/// # Errors
/// When the file is no sound program.
pub(in crate::frontend) fn survey(bytes: Arc<dyn Bytes>) -> Result<Survey, Diagnostics> {
    let file = reader::File::open(bytes)?;
    let mut survey = Survey::default();
    let plans = program::plans(&file, known::read).map_err(Diagnostics)?;
    let tables = file.program()?.execution_plan();
    for (plan, table) in plans.into_iter().zip(tables.into_iter().flatten()) {
        for (pc, instruction) in plan.instructions.iter().enumerate() {
            match instruction {
                Instruction::Kernel { .. } => {
                    let name = plan.instruction_name(pc);
                    survey.count(name, ops::find(name).is_some());
                }
                Instruction::Delegate { delegate, .. } => {
                    let graph = plan.delegates[*delegate].graph.as_ref();
                    survey.count(plan.instruction_name(pc), graph.is_some());
                    for (name, is_known) in graph.into_iter().flat_map(|graph| graph.operators()) {
                        survey.count(name, is_known);
                    }
                }
                Instruction::Move { .. } | Instruction::JumpFalse { .. } | Instruction::Free => {}
            }
        }
        survey.contents.push(contents(&plan, table));
        let unnamed = |count: usize| vec![String::new(); count];
        let (inputs, outputs) = (unnamed(plan.inputs.len()), unnamed(plan.outputs.len()));
        survey.methods.push(MethodNames { name: plan.name, inputs, outputs });
    }
    Ok(survey)
}

fn contents(plan: &Plan, table: schema::ExecutionPlan<'_>) -> MethodContents {
    let delegate = |delegate: &Delegate| DelegateContents {
        name: delegate.name.clone(),
        nodes: match delegate.graph.as_deref().and_then(known) {
            Some(Known::Xnnpack(graph)) => nodes(graph),
            Some(Known::Vulkan(graph)) => kernels(&graph.plan),
            None => Vec::new(),
        },
    };
    MethodContents {
        area_bytes: plan.area_bytes.clone(),
        delegates: plan.delegates.iter().map(delegate).collect(),
        sources: sources(plan, table),
    }
}

/// The nodes of XNNPACK's graph.
fn nodes(graph: &Subgraph) -> Vec<NodeContents> {
    let node = |node: &Node| {
        let result = &graph.tensors[node.output];
        NodeContents { name: node.name.to_owned(), result: format!("{}{:?}", result.datatype, result.dims) }
    };
    graph.nodes.iter().map(node).collect()
}

/// The instructions of a graph that is read as a method.
fn kernels(plan: &Plan) -> Vec<NodeContents> {
    let result = |pc: usize| match plan.result_of(pc).map(|register| &plan.values[register]) {
        Some(EValue::Tensor(meta)) => format!("{}{:?}", meta.form.element, meta.form.shape),
        _ => String::new(),
    };
    (0..plan.instructions.len()).map(|pc| NodeContents { name: plan.instruction_name(pc).to_owned(), result: result(pc) }).collect()
}

/// The source lines of instructions, one list an instruction, as far as the file has them. The file's lists begin with the outermost line.
fn sources(plan: &Plan, table: schema::ExecutionPlan<'_>) -> Vec<InstructionSource> {
    let mut sources = Vec::new();
    let mut first = 0;
    for chain in table.chains().into_iter().flatten() {
        let count = chain.instructions().map_or(0, |list| list.len());
        for (number, list) in chain.stacktrace().into_iter().flatten().enumerate().take(count) {
            let mut frames: Vec<Frame> = list.items().into_iter().flatten().map(frame).collect();
            frames.reverse();
            if !frames.is_empty() {
                let index = first + number;
                sources.push(InstructionSource { index, name: plan.instruction_name(index).to_owned(), frames });
            }
        }
        first += count;
    }
    sources
}

fn frame(frame: schema::Frame<'_>) -> Frame {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    Frame { file: text(frame.filename()), line: frame.lineno().into(), function: text(frame.name()), text: text(frame.context()) }
}
