//! The GPU runtime without a model: for objects that leave it out, and for the survey of this computer's devices.

use super::compile::CompiledModel;
use super::constants::ConstantLayout;
use super::driver::language::Function;
use super::failure::{self, guarded};
use super::function::{Below, Body};
use super::gpu::Parts;
use super::select::back_end;
use super::vulkan::{self, FORMAT, GpuOptions, LoaderChoice, Own, RUNTIME_NAME, Runtime, SURVEY};
use modelc_diagnostic::Diagnostics;
use modelc_interface::Interface;
use modelc_machine::CpuMachine;
use modelc_program::Program;
use modelc_target::Target;

/// Compiles the GPU runtime alone. Objects that leave it out link against the result.
///
/// # Errors
/// A diagnostic if no back end generates code for the target.
pub fn runtime(machine: &CpuMachine, target: &Target, loader: LoaderChoice) -> Result<CompiledModel, Diagnostics> {
    alone(machine, target, loader, |_| None)
}

/// Compiles the GPU runtime with the survey of devices.
///
/// # Errors
/// A diagnostic if no back end generates code for the target.
pub fn survey(machine: &CpuMachine, target: &Target) -> Result<CompiledModel, Diagnostics> {
    alone(machine, target, LoaderChoice::System, |runtime| Some((SURVEY, vulkan::survey(runtime))))
}

fn alone(
    machine: &CpuMachine,
    target: &Target,
    loader: LoaderChoice,
    more: impl Fn(&Runtime) -> Option<(&'static str, Function)>,
) -> Result<CompiledModel, Diagnostics> {
    let back_end = back_end(machine, target).map_err(|error| failure::diagnostic(&error, "the target"))?;
    let (mut functions, mut data, mut imports, mut below) = (vec![], vec![], vec![], Below::default());
    let options = GpuOptions { loader, ..GpuOptions::default() };
    let mut parts = Parts { functions: &mut functions, data: &mut data, imports: &mut imports, below: &mut below };
    let added = guarded("the runtime", || {
        let runtime = parts.place(&*back_end, options.loader(target.platform), false)?;
        let added = more(&runtime).map(|(name, function)| Ok((name, back_end.driver(&function)?, function)));
        added.transpose()
    })?;
    let program = Program::default();
    let interface = Interface { abi_hash: FORMAT, ..Interface::new(&program, RUNTIME_NAME, back_end.layout()) };
    for function in &mut functions {
        function.entry = Own::ENTRIES.iter().any(|entry| entry.name() == function.name);
    }
    functions.extend(added.map(|(name, code, written)| Body { code, written: Some(written) }.into_function(name.into(), true, None)));
    Ok(CompiledModel {
        functions,
        levels: vec![machine.level],
        stack_bytes: below.init.max(below.steps),
        interface,
        constants: ConstantLayout::new(&program),
        data,
        imports,
        external: None,
        module_bytes: vec![],
    })
}
