//! A model in the JIT compiler, with one instance.

use super::source::Loaded;
use crate::codegen::vulkan::{GpuOptions, RuntimePlace};
use crate::compile::{self, Settings};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::emit::ObjectOptions;
use crate::interface::Footprint;
use crate::ir::Tensor;
use crate::jit::{Instance, Jit, JitOptions, Symbol};
use crate::lower::{self, Lowered, Threads};
use crate::machine::CpuMachine;
use crate::program::{Method, Port, Program};
use crate::{pipeline, target};
use std::time::{Duration, Instant};

/// A compiled model and its instance.
pub struct Engine {
    /// The lowered program with its plans.
    pub lowered: Lowered,
    /// The machine that the code is for.
    pub machine: &'static CpuMachine,
    /// Memory that the model needs.
    pub footprint: Footprint,
    /// Addresses of its functions.
    pub symbols: Vec<Symbol>,
    /// The instance.
    pub instance: Instance,
    /// Time of compilation, from the tensor language on.
    pub compile_time: Duration,
    /// Outputs of each method in the source.
    ports: Vec<Vec<crate::ir::Port>>,
}

/// Returns the machine for which a model is compiled to run here: the level that `init` would choose among the requested ones.
///
/// # Errors
/// A diagnostic if a level does not exist, or if this computer is not supported.
pub fn machine(settings: &Settings) -> Result<&'static CpuMachine, Diagnostic> {
    let Some(names) = &settings.cpu else { return target::host_machine() };
    let machines = target::levels(target::in_process()?, Some(names))?;
    let runs = |machine: &&&CpuMachine| target::required_features(machine) & !target::host_features() == 0;
    Ok(machines.iter().find(runs).unwrap_or(&machines[0]))
}

/// Lowers a model for a machine. Memory is planned for the threads of the settings; if they have none, for `threads`.
fn lowered(model: &Loaded, settings: &Settings, machine: &'static CpuMachine, threads: u32) -> Result<Lowered, Diagnostics> {
    let threads = Threads::new(if settings.threads == 0 { threads } else { settings.threads });
    let gpu = &settings.gpu;
    let options = gpu.lowering(target::in_process()?, lower::Options { threads, ..settings.lower_options(machine)? })?;
    let mut lowered = pipeline::lower(&model.module, &model.path, options)?;
    gpu.check(&model.module, &lowered)?;
    lowered.set_max_iterations(settings.max_iterations);
    Ok(lowered)
}

/// Returns the report of a model as an engine compiles it.
///
/// # Errors
/// The errors of [`Engine::new`].
pub fn report(model: &Loaded, settings: &Settings, machine: &'static CpuMachine, threads: u32) -> Result<serde_json::Value, Diagnostics> {
    let lowered = lowered(model, settings, machine, threads)?;
    let options = ObjectOptions { gpu: settings.gpu.options(), ..ObjectOptions::new("net", target::in_process()?, machine) };
    Ok(compile::object_files(&lowered, &model.module, &compile::model_info(&*model.bytes, &model.path), &options)?.report)
}

impl Engine {
    /// Compiles a model for this computer. Memory is planned for the threads of the settings; if they have none, for those of the options.
    ///
    /// # Errors
    /// The errors of lowering; and a diagnostic if this computer does not have the CPU level.
    pub fn new(model: &Loaded, settings: &Settings, options: JitOptions) -> Result<Self, Diagnostics> {
        let machine = machine(settings)?;
        let start = Instant::now();
        let mut lowered = lowered(model, settings, machine, options.threads)?;
        let gpu = GpuOptions { runtime: RuntimePlace::Embedded, ..settings.gpu.options() };
        let jit = Jit::taking(&mut lowered.program, machine, JitOptions { gpu, ..options })?;
        let compile_time = start.elapsed();
        let instance = jit.instance()?;
        let ports = model.module.methods.iter().map(|method| method.outputs.clone()).collect();
        let (symbols, footprint) = (jit.symbols().to_vec(), jit.footprint().clone());
        Ok(Self { lowered, machine, footprint, symbols, instance, compile_time, ports })
    }

    /// Returns the program.
    pub fn program(&self) -> &Program {
        &self.lowered.program
    }

    /// Returns the most bytes of one call: the model's memory, and its arguments as arrays, buffers and files.
    pub fn bytes_of_call(&self) -> u64 {
        let bytes = |ports: &[Port]| ports.iter().fold(0u64, |sum, port| sum.saturating_add(port.bytes));
        let of_method = |method: &Method| bytes(&method.inputs).saturating_mul(2).saturating_add(bytes(&method.outputs).saturating_mul(4));
        let arguments = self.program().methods.iter().map(of_method).max().unwrap_or(0);
        let own = self.footprint.area_bytes.iter().fold(self.footprint.arena_bytes(), |sum, &bytes| sum.saturating_add(bytes));
        own.saturating_add(arguments)
    }

    /// Returns the position of an output among the outputs of the source's method, which files use.
    pub fn position(&self, method: usize, output: usize) -> usize {
        self.ports[method][output].position(output)
    }

    /// Calls a method. Inputs are in the layout of its buffers; outputs have the shapes of the source, like arrays in files.
    ///
    /// # Errors
    /// A diagnostic if the call returns an error status.
    pub fn call(&mut self, method: usize, inputs: &[Tensor]) -> Result<Vec<Tensor>, Diagnostic> {
        let outputs = self.instance.call_tensors(method, inputs)?;
        Ok(outputs.into_iter().zip(&self.ports[method]).map(|(tensor, port)| port.from_buffer(&tensor).unwrap_or(tensor)).collect())
    }
}
