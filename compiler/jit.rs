//! Compiled models in memory: the same code as in an object, with the same entry functions.

mod arguments;
pub mod custom;
pub mod devices;
mod direct;
pub mod gpu;
pub mod hooks;
mod imports;
mod instance;
pub mod memory;
pub mod peaks;
pub mod regions;
pub mod room;
mod threads;
mod weights;

use crate::codegen::clif::{Optimise, code, isa_for};
use crate::codegen::compile::{CompiledFunction, CompiledModel, compile};
use crate::codegen::vulkan::GpuOptions;
use crate::codegen::{Code, DriverOptions, RelocationTarget, WeightsFrom};
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::interface::{Footprint, Interface, MethodInterface};
use crate::ir::data::Pages;
use crate::machine::Machine;
use crate::program::{Blob, Device, Level, Method, Program};
use crate::target::{self, Target};
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{DataDescription, FuncId, Linkage, Module, ModuleError, ModuleReloc, ModuleRelocTarget};
use custom::CustomOperator;
use hooks::LiveRanges;
pub use instance::{Instance, check_status};
use memory::Placement;
use std::sync::Arc;
pub use threads::Order;

/// Options for running a model.
#[derive(Clone, Debug, Default)]
pub struct JitOptions {
    /// `true` to measure every kernel.
    pub profile: bool,
    /// Placement of the caller's buffers. With guards, state and scratch memory have guards too.
    pub placement: Placement,
    /// Live scratch bytes after each kernel call, in the order of [`crate::program::calls`], a list for each method. Other bytes are
    /// overwritten.
    pub live: Option<Vec<LiveRanges>>,
    /// Functions of custom operators, by symbol. They must not use their first argument, because no application sets it.
    pub customs: Vec<(String, CustomOperator)>,
    /// `true` to keep the results of every kernel call, for [`Instance::observations`].
    pub observe: bool,
    /// Number of threads for kernels; 0 and 1 mean the caller's thread alone.
    pub threads: u32,
    /// Options of the GPU part.
    pub gpu: GpuOptions,
}

/// A compiled model in memory.
#[derive(Clone)]
pub struct Jit {
    model: Arc<Loaded>,
}

/// Data that instances share.
struct Loaded {
    /// Owner of the code; `None` after it is freed.
    module: Option<JITModule>,
    /// Weights that `init` receives.
    weights: Arc<Pages>,
    interface: Interface,
    methods: Vec<Method>,
    device: Option<Arc<Device>>,
    options: JitOptions,
    init: *const u8,
    reset: *const u8,
    deinit: *const u8,
    /// Entry function of the GPU information, if the program has a GPU part.
    gpu: Option<*const u8>,
    /// The split entry of each method.
    splits: Vec<*const u8>,
    /// Function of each method that returns its scratch memory, if it has one.
    scratches: Vec<Option<*const u8>>,
    footprint: Footprint,
    symbols: Vec<Symbol>,
}

/// A function in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Name as in an object.
    pub name: String,
    /// Address of the first byte.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
}

// SAFETY: the pointers lead to code, which nobody writes after it is placed; the module that owns them is only touched on drop.
unsafe impl Send for Loaded {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: instances hold the model while they call it; none is left, so no code of it runs or will.
            unsafe { module.free_memory() };
        }
    }
}

impl Jit {
    /// Compiles a program for this computer.
    ///
    /// # Errors
    /// The errors of [`compile`]; or a diagnostic if this computer cannot run the machine's code, or has no memory.
    pub fn new(program: &Program, machine: &Machine) -> Result<Self, Diagnostics> {
        Self::with_options(program, machine, JitOptions::default())
    }

    /// Compiles a program for this computer.
    ///
    /// # Errors
    /// The errors of [`Jit::new`].
    pub fn with_options(program: &Program, machine: &Machine, options: JitOptions) -> Result<Self, Diagnostics> {
        let compiled = compiled(program, machine, &options)?;
        let weights = gathered(&mut program.constants.clone(), &compiled)?;
        Ok(Self::load(program, machine, options, (&compiled, weights))?)
    }

    /// Compiles a program, and moves its constants to the memory that the code reads, so that they are in memory once.
    ///
    /// # Errors
    /// The errors of [`Jit::new`].
    pub fn taking(program: &mut Program, machine: &Machine, options: JitOptions) -> Result<Self, Diagnostics> {
        let compiled = compiled(program, machine, &options)?;
        let weights = gathered(&mut program.constants, &compiled)?;
        Ok(Self::load(program, machine, options, (&compiled, weights))?)
    }

    /// Places a compiled program in memory.
    fn load(
        program: &Program,
        machine: &Machine,
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

    /// Makes an instance that runs the parts of kernels on `threads` threads in a given order.
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
fn compiled(program: &Program, machine: &Machine, options: &JitOptions) -> Result<CompiledModel, Diagnostics> {
    let host = target::in_process()?;
    check_host(host, machine)?;
    let profile_hooks = options.profile || options.live.is_some() || options.observe;
    let gpu = GpuOptions { measures: options.profile, ..options.gpu.clone() };
    let driver = DriverOptions { name: "net".into(), profile_hooks, gpu, weights: WeightsFrom::Memory };
    compile(&[Level { machine, program }], &[0; 32], host, &driver)
}

/// Returns the weights in memory, in the layout of a weights file.
fn gathered(constants: &mut [Blob], compiled: &CompiledModel) -> Result<Arc<Pages>, Diagnostic> {
    let (header, _) = compiled.external.as_ref().ok_or_else(|| failed(&"its weights are in no file"))?;
    weights::gather(constants, &compiled.constants, header)
}

fn check_host(host: &Target, machine: &Machine) -> Result<(), Diagnostic> {
    let lacking = target::required_features(machine) & !target::host_features();
    if Some(host.isa) == machine.isa() && lacking == 0 {
        return Ok(());
    }
    let message = format!("this computer cannot run code for CPU level {}", machine.level);
    Err(Diagnostic::new(codes::OTHER_CPU, message).help("leave --cpu out, or use `--cpu native`"))
}

/// Returns the size of one address range for code and data, so that relative distances suffice. Only used pages take memory.
fn reserved_bytes(compiled: &CompiledModel) -> usize {
    const PAGE: usize = 1 << 16;
    let code: usize = compiled.functions.iter().map(|f| f.code.bytes.len() + 32 * f.code.relocations.len() + 2 * PAGE).sum();
    let data: u64 = compiled.data.iter().map(|section| section.bytes(&compiled.constants)).sum();
    code + data as usize + (16 + compiled.data.len() + compiled.imports.len()) * PAGE
}

/// Places a compiled program in memory, and returns its functions.
fn placed(
    program: &Program,
    host: &Target,
    machine: &Machine,
    customs: &[(String, CustomOperator)],
    compiled: &CompiledModel,
) -> Result<(JITModule, Vec<FuncId>), Diagnostic> {
    let isa = isa_for(&host.triple(), machine, Optimise::Driver).map_err(|error| failed(&error))?;
    let forwards = imports::forwards(program, compiled, customs, &*isa)?;
    let mut builder = JITBuilder::with_isa(isa, Box::new(|call| format!("{call:?}")));
    let provider = ArenaMemoryProvider::new_with_size(reserved_bytes(compiled)).map_err(memory::no_memory)?;
    builder.memory_provider(Box::new(provider));
    let mut module = JITModule::new(builder);
    let functions = place(&mut module, program, compiled, &forwards).map_err(|error| failed(&error))?;
    Ok((module, functions))
}

fn place(module: &mut JITModule, program: &Program, compiled: &CompiledModel, forwards: &[Code]) -> Result<Vec<FuncId>, Box<ModuleError>> {
    // Only addresses of entry functions are used, so one signature is enough.
    let signature = module.make_signature();
    let mut functions = Vec::with_capacity(compiled.functions.len());
    for number in 0..compiled.functions.len() {
        functions.push(module.declare_function(&format!("f{number}"), Linkage::Local, &signature)?);
    }
    let mut forwarded = Vec::with_capacity(forwards.len());
    for (number, code) in forwards.iter().enumerate() {
        let id = module.declare_function(&format!("external{number}"), Linkage::Local, &signature)?;
        module.define_function_bytes(id, code.alignment, &code.bytes, &[])?;
        forwarded.push(id);
    }
    let mut sections = Vec::with_capacity(compiled.data.len());
    for section in &compiled.data {
        let id = module.declare_data(section.name, Linkage::Local, false, false)?;
        let mut data = DataDescription::new();
        data.define(section.to_vec(&compiled.constants, program).into_boxed_slice());
        data.set_align(section.alignment);
        module.define_data(id, &data)?;
        sections.push(id);
    }
    for (function, &id) in compiled.functions.iter().zip(&functions) {
        let target = |target| match target {
            RelocationTarget::Function(number) => ModuleRelocTarget::from(functions[number as usize]),
            RelocationTarget::External(number) => ModuleRelocTarget::from(forwarded[number as usize]),
            RelocationTarget::Support(what) => unreachable!("{what:?} has a number in a compiled model"),
            RelocationTarget::Data(number) => ModuleRelocTarget::from(sections[number as usize]),
            RelocationTarget::Here(offset) => ModuleRelocTarget::FunctionOffset(id, offset),
        };
        let relocations: Vec<_> = (function.code.relocations.iter())
            .map(|r| ModuleReloc { offset: r.offset, kind: code::reloc(r.kind), name: target(r.target), addend: r.addend })
            .collect();
        module.define_function_bytes(id, function.code.alignment, &function.code.bytes, &relocations)?;
    }
    module.finalize_definitions()?;
    Ok(functions)
}

fn failed(error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::PLACEMENT, format!("the code could not be placed in memory: {error}"))
        .help("this is a mistake in modelc; please report it with the model")
}
