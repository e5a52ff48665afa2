//! Compiled models in memory: the same code as in an object, with the same entry functions.

mod arguments;
pub mod custom;
pub mod devices;
mod direct;
mod failure;
pub mod gpu;
pub mod hooks;
mod imports;
mod instance;
mod loaded;
pub mod memory;
mod options;
pub mod peaks;
mod placing;
pub mod regions;
pub mod room;
mod threads;
mod weights;

use crate::codegen::compile::{CompiledFunction, CompiledModel, compile};
use crate::codegen::vulkan::GpuOptions;
use crate::codegen::{DriverOptions, WeightsFrom};
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::interface::{Footprint, Interface, MethodInterface};
use crate::ir::data::Pages;
use crate::machine::CpuMachine;
use crate::program::{Blob, Level, Program};
use crate::target::{self, Target};
use cranelift_module::FuncId;
use failure::failed;
pub use instance::{Instance, check_status};
use loaded::Loaded;
pub use loaded::Symbol;
pub use options::{JitOptions, LiveRanges};
use placing::placed;
use std::sync::Arc;
pub use threads::Order;

/// A compiled model in memory.
#[derive(Clone)]
pub struct Jit {
    model: Arc<Loaded>,
}

impl Jit {
    /// Compiles a program for this computer.
    ///
    /// # Errors
    /// The errors of [`compile`]; or a diagnostic if this computer cannot run the machine's code, or has no memory.
    pub fn new(program: &Program, machine: &CpuMachine) -> Result<Self, Diagnostics> {
        Self::with_options(program, machine, JitOptions::default())
    }

    /// Compiles a program for this computer.
    ///
    /// # Errors
    /// The errors of [`Jit::new`].
    pub fn with_options(program: &Program, machine: &CpuMachine, options: JitOptions) -> Result<Self, Diagnostics> {
        let compiled = compiled(program, machine, &options)?;
        let weights = gathered(&mut program.constants.clone(), &compiled)?;
        Ok(Self::load(program, machine, options, (&compiled, weights))?)
    }

    /// Compiles a program, and moves its constants to the memory that the code reads, so that they are in memory once.
    ///
    /// # Errors
    /// The errors of [`Jit::new`].
    pub fn taking(program: &mut Program, machine: &CpuMachine, options: JitOptions) -> Result<Self, Diagnostics> {
        let compiled = compiled(program, machine, &options)?;
        let weights = gathered(&mut program.constants, &compiled)?;
        Ok(Self::load(program, machine, options, (&compiled, weights))?)
    }

    /// Places a compiled program in memory.
    fn load(
        program: &Program,
        machine: &CpuMachine,
        options: JitOptions,
        (compiled, weights): (&CompiledModel, Arc<Pages>),
    ) -> Result<Self, Diagnostic> {
        let host = target::in_process()?;
        let (module, functions) = placed(program, host, machine, &options.customs, compiled)?;
        let entry = |name: &str| {
            let position = compiled.functions.iter().position(|f| f.entry && f.name == name);
            position.map(|p| module.get_finalized_function(functions[p])).ok_or_else(|| failed(&format!("there is no {name}")))
        };
        let splits = compiled.interface.methods.iter().map(|m| entry(&format!("{}_split", m.identifier))).collect::<Result<_, _>>()?;
        let scratch = |m: &MethodInterface| m.gives_scratch().then(|| entry(&format!("{}_scratch", m.identifier))).transpose();
        let scratches = compiled.interface.methods.iter().map(scratch).collect::<Result<_, _>>()?;
        let (init, reset, deinit) = (entry("init")?, entry("reset")?, entry("deinit")?);
        let gpu = program.device.as_ref().map(|_| entry("gpu")).transpose()?;
        let symbol = |(function, &id): (&CompiledFunction, &FuncId)| Symbol {
            name: compiled.interface.plain(&function.name),
            address: module.get_finalized_function(id) as u64,
            bytes: function.code.bytes.len() as u64,
        };
        let symbols = compiled.functions.iter().zip(&functions).map(symbol).collect();
        Ok(Self {
            model: Arc::new(Loaded {
                init,
                reset,
                deinit,
                gpu,
                splits,
                scratches,
                module: Some(module),
                weights,
                interface: compiled.interface.clone(),
                methods: program.methods.clone(),
                device: program.device.clone(),
                options,
                footprint: compiled.footprint(),
                symbols,
            }),
        })
    }

    /// Returns the number of the method with a name.
    pub fn method(&self, name: &str) -> Option<usize> {
        self.model.methods.iter().position(|m| m.name == name)
    }

    /// Returns the interface that C programs would see.
    pub fn interface(&self) -> &Interface {
        &self.model.interface
    }

    /// Returns the functions of the model, for profilers.
    pub fn symbols(&self) -> &[Symbol] {
        &self.model.symbols
    }

    /// Returns the memory that the model needs.
    pub fn footprint(&self) -> &Footprint {
        &self.model.footprint
    }

    /// Makes an instance with its own memory, and initializes it.
    ///
    /// # Errors
    /// A diagnostic if there is no memory, or if `init` rejects this computer.
    pub fn instance(&self) -> Result<Instance, Diagnostic> {
        self.instance_on(self.model.options.threads)
    }

    /// Makes an instance that runs kernels on `threads` threads, independent of the options.
    ///
    /// # Errors
    /// The errors of [`Jit::instance`].
    pub fn instance_on(&self, threads: u32) -> Result<Instance, Diagnostic> {
        self.instance_in_order(threads, Order::Any)
    }

    /// Makes an instance that runs the ranges of kernels on `threads` threads in a given order.
    ///
    /// # Errors
    /// The errors of [`Jit::instance`].
    pub fn instance_in_order(&self, threads: u32, order: Order) -> Result<Instance, Diagnostic> {
        Instance::new(self.model.clone(), threads, order, std::ptr::null())
    }

    /// Makes an instance that uses a device of the caller.
    ///
    /// # Errors
    /// The errors of [`Jit::instance`].
    ///
    /// # Safety
    /// `host` must be a `modelc_vk_host` whose handles and functions stay valid while the instance lives.
    pub unsafe fn instance_with_device(&self, host: *const u8) -> Result<Instance, Diagnostic> {
        Instance::new(self.model.clone(), self.model.options.threads, Order::Any, host)
    }
}

/// Compiles a program for this computer, with external weights.
fn compiled(program: &Program, machine: &CpuMachine, options: &JitOptions) -> Result<CompiledModel, Diagnostics> {
    let host = target::in_process()?;
    check_host(host, machine)?;
    let profile_hooks = options.profile || options.live.is_some() || options.observe;
    let gpu = GpuOptions { measures: options.profile, ..options.gpu.clone() };
    let driver = DriverOptions { name: "net".into(), profile_hooks, small: false, gpu, weights: WeightsFrom::Memory };
    compile(&[Level { machine, program }], &[0; 32], host, &driver)
}

/// Returns the weights in memory, in the layout of a weights file.
fn gathered(constants: &mut [Blob], compiled: &CompiledModel) -> Result<Arc<Pages>, Diagnostic> {
    let (header, _) = compiled.external.as_ref().ok_or_else(|| failed(&"its weights are in no file"))?;
    weights::gather(constants, &compiled.constants, header)
}

fn check_host(host: &Target, machine: &CpuMachine) -> Result<(), Diagnostic> {
    let lacking = target::required_features(machine) & !target::host_features();
    if host.isa == machine.isa && lacking == 0 {
        return Ok(());
    }
    let message = format!("this computer cannot run code for CPU level {}", machine.level);
    Err(Diagnostic::new(codes::OTHER_CPU, message).help("leave --cpu out, or use `--cpu native`"))
}
