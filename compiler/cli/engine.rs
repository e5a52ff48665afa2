//! A model in the JIT, with one instance.

use super::io::Model;
use super::options::Common;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ir::Tensor;
use crate::jit::{Instance, Jit, JitOptions};
use crate::lower::Lowered;
use crate::machine::Machine;
use crate::program::Program;
use crate::{pipeline, target};
use std::time::{Duration, Instant};

/// A compiled model and its instance.
pub struct Engine {
    /// What was compiled.
    pub lowered: Lowered,
    /// For which machine.
    pub machine: &'static Machine,
    /// The instance.
    pub instance: Instance,
    /// How long compiling took, from the tensor language on.
    pub compile_time: Duration,
}

impl Engine {
    /// Compiles a model for this computer.
    ///
    /// # Errors
    /// As lowering; and when the CPU level is not this computer's.
    pub fn new(model: &Model, common: &Common, profile: bool) -> Result<Self, Diagnostics> {
        let machine = match &common.cpu {
            Some(level) => target::level(target::host()?, Some(level))?,
            None => target::host_machine()?,
        };
        let start = Instant::now();
        let lowered = pipeline::lower(&model.module, &model.path, common.lower_options(machine))?;
        let jit = Jit::with_options(&lowered.program, machine, JitOptions { profile, ..JitOptions::default() })?;
        let compile_time = start.elapsed();
        let instance = jit.instance()?;
        Ok(Self { lowered, machine, instance, compile_time })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.lowered.program
    }

    /// Calls a method.
    ///
    /// # Errors
    /// When the call ends with a status.
    pub fn call(&mut self, method: usize, inputs: &[Tensor]) -> Result<Vec<Tensor>, Diagnostic> {
        let slices: Vec<&[u8]> = inputs.iter().map(|t| t.bytes.as_slice()).collect();
        let mut outputs = Vec::new();
        self.instance.call(method, &slices, &mut outputs)?;
        let ports = &self.lowered.program.methods[method].outputs;
        let tensor = |(bytes, port): (Vec<u8>, &crate::program::Port)| Tensor { element: port.element, shape: port.shape.clone(), bytes };
        Ok(outputs.into_iter().zip(ports).map(tensor).collect())
    }
}
