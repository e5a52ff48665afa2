//! ExecuTorch programs (`.pte`): reader → IR.
//!
//! ```text
//! bytes ─ reader ─▶ header, segments, constants
//!           └─ program ─▶ methods: registers, instructions, memory areas, all indices checked
//!                └─ method, ports ─▶ parameters, states, results
//!                     └─ translate, run, branch, rounds, memory, extents, ops ─▶ IR
//! ```
//!
//! Values are memory in a program: registers name bytes, kernels write to given addresses, moves copy handles. The translator runs the instructions
//! once, at compile time, and follows each byte to the definition that reaches it. The result is SSA.

mod branch;
mod callee;
mod caller;
mod captures;
mod choices;
mod counted;
mod data_file;
mod draws;
pub(super) mod effects;
mod extents;
pub(super) mod fault;
mod flow;
mod graph;
mod layouts;
pub(super) mod memory;
mod merge;
mod method;
pub(super) mod ops;
mod ports;
pub mod program;
pub mod reader;
pub(super) mod registers;
mod rounds;
mod run;
mod shared;
mod states;
mod survey;
pub(super) mod tensors;
#[cfg(test)]
mod tests;
mod traced;
pub(super) mod translate;
mod written;

use super::delegates::known;
use super::{Bound, LoadOptions};
use crate::diagnostic::{Diagnostic, Diagnostics, Kind, codes};
use crate::ir::data::Bytes;
use crate::ir::{Data, ImportedPlan, Module};
use program::{EValue, Instruction, Plan};
use std::sync::Arc;

pub use super::delegates::vulkan::operators as operators_of_vulkan;
pub use ops::operators;
pub use reader::Header;
pub(super) use survey::survey;

/// Loads a program: one method of the module for each method of the file. Methods that return only strings are left out beside others: a training
/// export names its parameters this way.
///
/// # Errors
/// All errors of the file, and one for each unsupported operator.
pub fn load(bytes: &Arc<dyn Bytes>, options: &LoadOptions) -> Result<Module, Diagnostics> {
    load_file(bytes.clone(), options).map_err(Diagnostics)
}

fn load_file(bytes: Arc<dyn Bytes>, options: &LoadOptions) -> Result<Module, Vec<Diagnostic>> {
    if let Some((input, _)) = options.values.first() {
        let message = format!("a value is given for input {input}: programs of this format take theirs when they run");
        return Err(vec![Diagnostic::new(codes::VALUE_GIVEN, message)]);
    }
    let file = reader::File::open(bytes).map_err(|fault| vec![fault])?;
    let (strings, plans): (Vec<Plan>, Vec<Plan>) = program::plans(&file, known::read)?.into_iter().partition(Plan::gives_strings);
    let (strings, mut plans) = if plans.is_empty() { (plans, strings) } else { (strings, plans) };
    plans.iter_mut().for_each(draws::count);
    let mut faults = unknown_operators(&plans);
    // Without the results of an unknown operator, their readers seem wrong, too.
    let all_known = faults.is_empty();
    let open = |(path, data): &(String, Data)| data_file::DataFile::open(data).map_err(|fault| fault.in_file(path));
    let data = options.data.iter().map(open).collect::<Result<_, _>>().map_err(|fault| vec![fault])?;
    let mut shared = shared::Shared::new(file, options, data, &plans);
    check_bounds(&shared.bounds, &plans)?;
    method::note_states(&mut shared.states, &plans);
    let (mut module, more) = translate(&mut shared, &plans).map_err(|fault| vec![fault])?;
    module.left_out = strings.into_iter().map(|plan| plan.name).collect();
    faults.extend(more.into_iter().filter(|fault| all_known || fault.kind() == Kind::Unsupported));
    if faults.is_empty() { Ok(module) } else { Err(faults) }
}

/// The maximum number of translations. Each one uses the facts about the inputs' extents that were found before.
const MOST_TRANSLATIONS: usize = 64;

/// Returns the module of all methods, and all errors in them. Facts found about the inputs' extents hold from the beginning, so the methods are
/// translated until no new ones are found.
///
/// # Errors
/// Extents that need too many translations.
fn translate(shared: &mut shared::Shared, plans: &[Plan]) -> Result<(Module, Vec<Diagnostic>), Diagnostic> {
    for _ in 0..MOST_TRANSLATIONS {
        shared.begin_again();
        let translated = translate_once(shared, plans);
        if shared.is_renewed() {
            continue;
        }
        if translated.1.is_empty() || !shared.unrelated || shared.checks_extents {
            return Ok(translated);
        }
        // All conditions on inputs are found. The remaining ones are compared at run time.
        shared.checks_extents = true;
    }
    let message = "the extents of the inputs depend on each other in too many ways";
    Err(Diagnostic::new(codes::PROGRAM_UNSUPPORTED, message).help("give the shapes of the inputs: --shape in0=…"))
}

fn translate_once(shared: &mut shared::Shared, plans: &[Plan]) -> (Module, Vec<Diagnostic>) {
    let mut module = Module::default();
    let mut imported = ImportedPlan::default();
    let mut faults = Vec::new();
    for plan in plans {
        match method::translate(shared, &mut module, plan) {
            Ok((method, memory)) => {
                module.methods.push(method);
                imported.methods.push(memory);
            }
            Err(more) => faults.extend(more),
        }
    }
    module.imported_plan = Some(imported);
    (module, faults)
}

/// Reports bounds that no method takes: bounds of outputs, whose shapes follow from the inputs', and of inputs with static shapes.
fn check_bounds(bounds: &[Bound], plans: &[Plan]) -> Result<(), Vec<Diagnostic>> {
    let is_dynamic = |plan: &Plan, input: usize| {
        let value = plan.inputs.get(input).map(|&register| &plan.values[register]);
        matches!(value, Some(EValue::Tensor(meta)) if meta.dynamic)
    };
    let takes = |bound: &Bound| !bound.is_output && plans.iter().any(|plan| is_dynamic(plan, bound.port));
    let refused = bounds.iter().filter(|bound| !takes(bound)).map(|bound| {
        let port = format!("{}{}", if bound.is_output { "output " } else { "input " }, bound.port);
        Diagnostic::new(codes::SHAPE_GIVEN, format!("a bound is given for {port}, whose shape the program does not leave open"))
    });
    let refused: Vec<Diagnostic> = refused.collect();
    if refused.is_empty() { Ok(()) } else { Err(refused) }
}

/// One diagnostic for each use of an operator or back end that is not supported.
fn unknown_operators(plans: &[Plan]) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for plan in plans {
        for (pc, instruction) in plan.instructions.iter().enumerate() {
            let mut report = |code, what: String| {
                let fault = Diagnostic::new(code, format!("{what} is not supported"));
                faults.push(fault.in_function(&plan.name).at_operator(pc as u32, plan.instruction_name(pc)));
            };
            match instruction {
                Instruction::Kernel { operator, .. } if ops::find(&plan.operators[*operator]).is_none() => {
                    report(codes::OPERATOR_UNSUPPORTED, format!("the operator {}", plan.instruction_name(pc)));
                }
                Instruction::Delegate { delegate, .. } => match &plan.delegates[*delegate].graph {
                    None => report(codes::USE_UNSUPPORTED, format!("the back end {}", plan.instruction_name(pc))),
                    Some(graph) => {
                        for (name, _) in graph.operators().into_iter().filter(|(_, is_known)| !is_known) {
                            report(codes::OPERATOR_UNSUPPORTED, format!("the operator {name} of the delegate"));
                        }
                    }
                },
                _ => {}
            }
        }
    }
    faults
}
