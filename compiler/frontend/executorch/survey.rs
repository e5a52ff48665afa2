//! What an ExecuTorch program holds, without translating it.

use super::delegate::Graph;
use super::program::{self, Instruction};
use super::{ops, reader};
use crate::diagnostic::Diagnostics;
use crate::frontend::survey::{MethodNames, Survey};
use crate::ir::data::Bytes;
use std::sync::Arc;

/// Counts the operators and delegates of all methods. Inputs and outputs have no names in this format.
///
/// # Errors
/// When the file is no sound program.
pub(in crate::frontend) fn survey(bytes: Arc<dyn Bytes>) -> Result<Survey, Diagnostics> {
    let file = reader::File::open(bytes)?;
    let mut survey = Survey::default();
    for plan in program::plans(&file).map_err(Diagnostics)? {
        for (pc, instruction) in plan.instructions.iter().enumerate() {
            match instruction {
                Instruction::Kernel { .. } => {
                    let name = plan.instruction_name(pc);
                    survey.count(name, ops::find(name).is_some());
                }
                Instruction::Delegate { delegate, .. } => {
                    let graph = plan.delegates[*delegate].graph.as_ref();
                    survey.count(plan.instruction_name(pc), graph.is_some());
                    for (name, is_known) in graph.into_iter().flat_map(Graph::operators) {
                        survey.count(name, is_known);
                    }
                }
                Instruction::Move { .. } | Instruction::JumpFalse { .. } | Instruction::Free => {}
            }
        }
        let unnamed = |count: usize| vec![String::new(); count];
        let (inputs, outputs) = (unnamed(plan.inputs.len()), unnamed(plan.outputs.len()));
        survey.methods.push(MethodNames { name: plan.name, inputs, outputs });
    }
    Ok(survey)
}
