//! Search for the first kernel call of a compiled model whose results differ from the interpreter's.
//!
//! The model is compiled as usual, and the results of each kernel in memory are kept ([`JitOptions::observe`]). So the search cannot hide the
//! fault. Every tensor in memory is the result of one instruction, and the interpreter computes its expected value.

use crate::compare::{Difference, Tolerance, compare};
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::ir::interpret::Interpreter;
use crate::ir::{Func, Inst, Module, Source, Tensor};
use crate::jit::{Jit, JitOptions};
use crate::machine::CpuMachine;
use crate::program::{Program, Written, calls};
use std::collections::{HashMap, HashSet};

/// A kernel call whose results differ.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Number of the call of a method.
    pub call: usize,
    /// The kernel.
    pub kernel: String,
    /// Its schedule.
    pub schedule: String,
    /// Operators of the kernel: position, and name in the file's vocabulary.
    pub operators: Vec<(u32, String)>,
    /// Name of the tensor in the file.
    pub tensor: String,
    /// Difference of the tensor.
    pub difference: Difference,
}

/// Gives every instruction a copy of its source, so that lowered programs identify instructions exactly.
pub fn separate_sources(module: &mut Module) {
    for function in module.functions.values_mut() {
        let body = function.body.clone();
        for inst in body {
            let data = &mut function.insts[inst];
            data.source = data.source.map(|source| {
                let copy = module.sources[source].clone();
                module.sources.push(copy)
            });
        }
    }
}

/// Expected values of a program's tensors, in the order in which the interpreter computes them. Loops compute several values of one tensor.
#[derive(Default)]
struct Expected {
    wanted: HashSet<(Source, u32)>,
    values: HashMap<(Source, u32), Vec<Tensor>>,
}

impl Expected {
    fn of(program: &Program) -> Self {
        let calls = program.methods.iter().flat_map(|method| calls(&method.steps));
        let wanted = calls.flat_map(|call| call.origin.results.iter().filter_map(|written| written.definition)).collect();
        Self { wanted, values: HashMap::new() }
    }

    fn note(&mut self, module: &Module, function: Func, inst: Inst, results: &[Tensor]) {
        let Some(source) = module.functions[function].insts[inst].source else { return };
        for (number, tensor) in (0..).zip(results) {
            if self.wanted.contains(&(source, number)) {
                self.values.entry((source, number)).or_default().push(tensor.clone());
            }
        }
    }
}

/// Returns the first kernel call whose results differ from the interpreter's, over calls on one instance; `None` if all agree. `module` is the
/// source of `program`, after [`separate_sources`].
///
/// # Errors
/// Diagnostics if the program cannot be placed in memory, or if a call fails in code or in the interpreter.
pub fn first_difference(
    module: &Module,
    program: &Program,
    machine: &CpuMachine,
    calls: &[(usize, Vec<Tensor>)],
    tolerance: Tolerance,
) -> Result<Option<Finding>, Diagnostics> {
    let options = JitOptions { observe: true, ..JitOptions::default() };
    let mut instance = Jit::with_options(program, machine, options)?.instance()?;
    let mut interpreter = Interpreter::new(module);
    for (number, (method, inputs)) in calls.iter().enumerate() {
        let mut expected = Expected::of(program);
        let mut trace = |function, inst, results: &[Tensor]| expected.note(module, function, inst, results);
        interpreter.run_with_trace(*method, inputs, &mut trace).map_err(|error| interpreter_failed(&error))?;
        instance.call_tensors(*method, inputs)?;
        let steps = crate::program::calls(&program.methods[*method].steps);
        let mut seen: HashMap<(Source, u32), usize> = HashMap::new();
        for observation in instance.observations() {
            let call = steps[observation.call];
            for (written, bytes) in call.origin.results.iter().zip(observation.results) {
                let Some(definition) = written.definition else { continue };
                let turn = seen.entry(definition).or_default();
                let value = expected.values.get(&definition).and_then(|values| values.get(*turn));
                *turn += 1;
                let Some(difference) = value.and_then(|value| difference(written, bytes, value, tolerance)) else { continue };
                return Ok(Some(Finding {
                    call: number,
                    kernel: program.kernels[call.kernel].name.clone(),
                    schedule: call.origin.schedule.clone(),
                    operators: call.origin.operators.clone(),
                    tensor: written.name.clone().unwrap_or_else(|| module.sources[definition.0].tensor.clone()),
                    difference,
                }));
            }
        }
    }
    Ok(None)
}

/// Compares the bytes of a tensor with the expected ones; `None` if they agree, or if the tensor was not observed.
fn difference(written: &Written, bytes: Vec<u8>, expected: &Tensor, tolerance: Tolerance) -> Option<Difference> {
    if bytes.len() as u64 != written.bytes {
        return None;
    }
    let found = Tensor { element: written.element, shape: written.shape.clone(), bytes };
    match compare(&found, expected, tolerance) {
        Difference::None { .. } => None,
        difference => Some(difference),
    }
}

/// Converts an error of the interpreter to a diagnostic.
pub fn interpreter_failed(error: &crate::ir::interpret::InterpretError) -> Diagnostic {
    let code = if error.is_out_of_memory() { codes::NO_MEMORY } else { codes::INTERPRETER_FAILED };
    Diagnostic::new(code, format!("the model cannot be interpreted on these inputs: {error}"))
}
