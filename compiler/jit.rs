//! Compiled models in memory: the same code as in an object, placed here, called through the same entries.

pub mod custom;
pub mod hooks;
pub mod memory;
pub mod peaks;
mod threads;

use crate::codegen::clif::{Optimise, isa_for};
use crate::codegen::compile::{CompiledFunction, CompiledModel, compile};
use crate::codegen::{Code, DriverOptions, RelocationTarget};
use crate::diagnostic::{Diagnostic, Diagnostics, Kind};
use crate::interface::{CONFIG_BYTES, Field, Interface, STATUSES, has_shape};
use crate::ir::Tensor;
use crate::machine::Machine;
use crate::program::{ALIGNMENT, Level, Method, Port, Program};
use crate::target::{self, Target};
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{DataDescription, FuncId, Linkage, Module, ModuleError, ModuleReloc, ModuleRelocTarget};
use custom::CustomOperator;
use hooks::{Hooks, LiveRanges};
use memory::{Memory, Placement};
use std::sync::Arc;

/// How a model is to be run.
#[derive(Clone, Debug, Default)]
pub struct JitOptions {
    /// Measure every kernel.
    pub profile: bool,
    /// Where the caller's buffers lie; with guards, state and scratch memory lie against guards too.
    pub placement: Placement,
    /// After each kernel call, in the order of [`crate::codegen::driver::calls`], the scratch bytes still needed, a list a
    /// method. All others are overwritten.
    pub live: Option<Vec<LiveRanges>>,
    /// The functions of custom operators, by symbol. Their first argument is not for them to use: no application is there to set it.
    pub customs: Vec<(String, CustomOperator)>,
    /// Keep what every kernel call writes, for [`Instance::observations`].
    pub observe: bool,
    /// Threads that run kernels in parts; 0 and 1 are the caller's own alone.
    pub threads: u32,
}

/// A compiled model in memory.
#[derive(Clone)]
pub struct Jit {
    model: Arc<Loaded>,
}

/// What instances share.
struct Loaded {
    /// Holds the code; taken out to be freed.
    module: Option<JITModule>,
    interface: Interface,
    methods: Vec<Method>,
    options: JitOptions,
    init: *const u8,
    reset: *const u8,
    /// The split entry of each method.
    splits: Vec<*const u8>,
    stack_bytes: u64,
    code_bytes: u64,
    symbols: Vec<Symbol>,
}

/// A function in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Its name, as in an object.
    pub name: String,
    /// Its first byte.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
}

// SAFETY: the pointers lead to code, which nobody writes after it is placed; the module behind them is only touched on drop.
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

macro_rules! entry_types {
    ($abi:literal) => {
        type Init = unsafe extern $abi fn(*mut u8, usize, *const u8) -> i32;
        type Reset = unsafe extern $abi fn(*mut u8) -> i32;
        type Split = unsafe extern $abi fn(*mut u8, *mut u8, *const u8, *mut u8) -> i32;
    };
}
// Code is generated for the System V convention, which is not C's on every system.
#[cfg(target_arch = "x86_64")]
entry_types!("sysv64");
#[cfg(not(target_arch = "x86_64"))]
entry_types!("C");

impl Jit {
    /// Compiles a program for this computer.
    ///
    /// # Errors
    /// As [`compile`]; or when this computer cannot run the machine's code, or has no memory.
    pub fn new(program: &Program, machine: &Machine) -> Result<Self, Diagnostics> {
        Self::with_options(program, machine, JitOptions::default())
    }

    /// Compiles a program for this computer.
    ///
    /// # Errors
    /// As [`Jit::new`].
    pub fn with_options(program: &Program, machine: &Machine, options: JitOptions) -> Result<Self, Diagnostics> {
        let host = target::host()?;
        check_host(host, machine)?;
        let profile_hooks = options.profile || options.live.is_some() || options.observe;
        let driver = DriverOptions { name: "net".into(), profile_hooks, ..DriverOptions::default() };
        let compiled = compile(&[Level { machine, program }], &[0; 32], host, &driver)?;
        Ok(Self::load(program, host, machine, options, &compiled)?)
    }

    /// Places a compiled program.
    pub(crate) fn load(
        program: &Program,
        host: &Target,
        machine: &Machine,
        options: JitOptions,
        compiled: &CompiledModel,
    ) -> Result<Self, Diagnostic> {
        let isa = isa_for(&host.triple(), machine, Optimise::Driver).map_err(|error| failed(&error))?;
        let forwards = custom::forwards(program, compiled, &options.customs, &*isa)?;
        let mut builder = JITBuilder::with_isa(isa, Box::new(|call| format!("{call:?}")));
        let provider = ArenaMemoryProvider::new_with_size(reserved_bytes(compiled)).map_err(|error| failed(&error))?;
        builder.memory_provider(Box::new(provider));
        let mut module = JITModule::new(builder);
        let functions = place(&mut module, program, compiled, &forwards).map_err(|error| failed(&error))?;
        let entry = |name: &str| {
            let position = compiled.functions.iter().position(|f| f.entry && f.name == name);
            position.map(|p| module.get_finalized_function(functions[p])).ok_or_else(|| failed(&format!("there is no {name}")))
        };
        let splits = compiled.interface.methods.iter().map(|m| entry(&format!("{}_split", m.identifier))).collect::<Result<_, _>>()?;
        let (init, reset) = (entry("init")?, entry("reset")?);
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
                splits,
                module: Some(module),
                interface: compiled.interface.clone(),
                methods: program.methods.clone(),
                options,
                stack_bytes: compiled.stack_bytes,
                code_bytes: compiled.code_bytes(None),
                symbols,
            }),
        })
    }

    /// The number of the method of a name.
    pub fn method(&self, name: &str) -> Option<usize> {
        self.model.methods.iter().position(|m| m.name == name)
    }

    /// What C programs would see.
    pub fn interface(&self) -> &Interface {
        &self.model.interface
    }

    /// The functions of the model, for profilers.
    pub fn symbols(&self) -> &[Symbol] {
        &self.model.symbols
    }

    /// Bytes of code, and the most stack that a call needs.
    pub fn sizes(&self) -> (u64, u64) {
        (self.model.code_bytes, self.model.stack_bytes)
    }

    /// A new instance with memory of its own, initialised.
    ///
    /// # Errors
    /// When there is no memory, or `init` refuses this computer.
    pub fn instance(&self) -> Result<Instance, Diagnostic> {
        self.instance_on(self.model.options.threads)
    }

    /// A new instance that runs kernels on so many threads, whatever the options say.
    ///
    /// # Errors
    /// As [`Jit::instance`].
    pub fn instance_on(&self, threads: u32) -> Result<Instance, Diagnostic> {
        Instance::new(self.model.clone(), threads)
    }
}

fn check_host(host: &Target, machine: &Machine) -> Result<(), Diagnostic> {
    let lacking = target::required_features(machine) & !target::host_features();
    if host.isa == machine.isa && lacking == 0 {
        return Ok(());
    }
    let message = format!("this computer cannot run code for CPU level {}", machine.level);
    Err(Diagnostic::new(704, Kind::Usage, message).help("leave --cpu out, or use `--cpu native`"))
}

/// Address space for code and data in one piece, so that code reaches everything; only what is used becomes memory.
fn reserved_bytes(compiled: &CompiledModel) -> usize {
    const PAGE: usize = 1 << 16;
    let code: usize = compiled.functions.iter().map(|f| f.code.bytes.len() + 32 * f.code.relocations.len() + 2 * PAGE).sum();
    code + compiled.constants.bytes as usize + (16 + compiled.externals.len()) * PAGE
}

fn place(module: &mut JITModule, program: &Program, compiled: &CompiledModel, forwards: &[Code]) -> Result<Vec<FuncId>, Box<ModuleError>> {
    // Only the address of an entry is used, so one signature does for all.
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
    let weights = module.declare_data("weights", Linkage::Local, false, false)?;
    let mut data = DataDescription::new();
    data.define(compiled.constants.contents(program).into_boxed_slice());
    data.set_align(ALIGNMENT);
    module.define_data(weights, &data)?;
    for (function, &id) in compiled.functions.iter().zip(&functions) {
        let target = |target| match target {
            RelocationTarget::Function(number) => ModuleRelocTarget::from(functions[number as usize]),
            RelocationTarget::External(number) => ModuleRelocTarget::from(forwarded[number as usize]),
            RelocationTarget::Data(_) => ModuleRelocTarget::from(weights),
            RelocationTarget::Here(offset) => ModuleRelocTarget::FunctionOffset(id, offset),
        };
        let relocations: Vec<_> = (function.code.relocations.iter())
            .map(|r| ModuleReloc { offset: r.offset, kind: r.kind, name: target(r.target), addend: r.addend })
            .collect();
        module.define_function_bytes(id, function.code.alignment, &function.code.bytes, &relocations)?;
    }
    module.finalize_definitions()?;
    Ok(functions)
}

fn failed(error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::new(904, Kind::Bug, format!("the code could not be placed in memory: {error}"))
        .help("this is a mistake in modelc; please report it with the model")
}

/// A model's state, its scratch memory, and buffers for the arguments of its methods.
pub struct Instance {
    model: Arc<Loaded>,
    state: Memory,
    scratch: Memory,
    /// Of each method, made at its first call.
    arguments: Vec<Option<Arguments>>,
    hooks: Box<Hooks>,
}

/// Buffers and structs of one method.
struct Arguments {
    inputs: Side,
    outputs: Side,
}

/// Inputs or outputs: the struct, and a buffer for each port that has one.
struct Side {
    record: Memory,
    buffers: Vec<Option<Memory>>,
}

impl Instance {
    fn new(model: Arc<Loaded>, threads: u32) -> Result<Self, Diagnostic> {
        let alignment = ALIGNMENT as usize;
        let placement = if model.options.placement == Placement::Aligned { Placement::Aligned } else { Placement::AgainstGuard };
        let mut state = Memory::new(model.interface.state_bytes as usize, alignment, placement)?;
        let scratch = Memory::new(model.interface.scratch_bytes as usize, alignment, placement)?;
        let mut hooks = Box::new(Hooks::new(&model.methods, &model.options, threads));
        let config = config_bytes(&mut hooks, threads);
        // SAFETY: the code is placed and lives as long as the model; its type is what the driver generates.
        let init: Init = unsafe { std::mem::transmute(model.init) };
        // SAFETY: state has state_bytes bytes; the configuration has the size it says; both outlive the call, and the hooks, which
        // the state keeps, live as long as the instance.
        let status = unsafe { init(state.address(), model.interface.state_bytes as usize, config.as_ptr()) };
        check_status("init", status)?;
        let arguments = model.methods.iter().map(|_| None).collect();
        Ok(Self { model, state, scratch, arguments, hooks })
    }

    /// The initial state again.
    ///
    /// # Errors
    /// Never, unless the state was overwritten.
    pub fn reset(&mut self) -> Result<(), Diagnostic> {
        // SAFETY: the code is placed and lives as long as the model; its type is what the driver generates.
        let reset: Reset = unsafe { std::mem::transmute(self.model.reset) };
        // SAFETY: the state is that of this model.
        check_status("reset", unsafe { reset(self.state.address()) })
    }

    /// Calls a method on tensors whose shapes need not be the largest ones.
    ///
    /// # Errors
    /// As [`Instance::call`]; `MODELC_E_SHAPE` for shapes that the method does not take.
    pub fn call_tensors(&mut self, method: usize, inputs: &[Tensor]) -> Result<Vec<Tensor>, Diagnostic> {
        let slices: Vec<(&[u8], Option<&[u64]>)> = inputs.iter().map(|t| (t.bytes.as_slice(), Some(t.shape.as_slice()))).collect();
        self.write(method, &slices)?;
        let status = self.run(method)?;
        check_status(&self.model.methods[method].name, status)?;
        Ok(self.output_tensors(method))
    }

    /// Calls a method: copies the inputs in, runs, copies the outputs out. Where extents are dynamic, inputs are of the largest shapes.
    ///
    /// # Errors
    /// When inputs do not fit the method, or the call ends with a status.
    pub fn call(&mut self, method: usize, inputs: &[&[u8]], outputs: &mut Vec<Vec<u8>>) -> Result<(), Diagnostic> {
        self.write_inputs(method, inputs)?;
        let status = self.run(method)?;
        check_status(&self.model.methods[method].name, status)?;
        *outputs = self.outputs(method);
        Ok(())
    }

    /// Copies the inputs of a method to where [`Instance::run`] takes them from.
    ///
    /// # Errors
    /// When there is no such method, or an input has not the bytes that it should have.
    pub fn write_inputs(&mut self, method: usize, inputs: &[&[u8]]) -> Result<(), Diagnostic> {
        let inputs: Vec<(&[u8], Option<&[u64]>)> = inputs.iter().map(|&bytes| (bytes, None)).collect();
        self.write(method, &inputs)
    }

    /// Copies inputs in, with their shapes where they are not the largest ones.
    fn write(&mut self, method: usize, inputs: &[(&[u8], Option<&[u64]>)]) -> Result<(), Diagnostic> {
        self.prepare(method)?;
        let description = &self.model.methods[method];
        if inputs.len() != description.inputs.len() {
            return Err(Diagnostic::new(510, Kind::Invalid, format!("method {} takes another number of inputs", description.name))
                .expected(description.inputs.len().to_string(), inputs.len().to_string()));
        }
        let Some(arguments) = &mut self.arguments[method] else {
            return Err(failed(&"buffers are missing"));
        };
        for (index, (port, &(bytes, shape))) in description.inputs.iter().zip(inputs).enumerate() {
            let shape = shape.filter(|_| has_shape(port));
            if !fits(port, bytes, shape) {
                return Err(Diagnostic::new(511, Kind::Invalid, format!("input {index} of {} has the wrong size", description.name))
                    .about_tensor(&port.name)
                    .expected(format!("{} bytes", port.bytes), format!("{} bytes", bytes.len())));
            }
            let field = &self.model.interface.methods[method].inputs[index];
            arguments.inputs.set(index, field, port, bytes);
            arguments.inputs.set_shape(field, shape.unwrap_or(&port.shape));
        }
        Ok(())
    }

    /// Runs a method on the inputs written last; its status.
    ///
    /// # Errors
    /// When there is no such method or no memory; in a checking mode, when the code wrote where it may not.
    pub fn run(&mut self, method: usize) -> Result<i32, Diagnostic> {
        self.prepare(method)?;
        let Some(arguments) = &mut self.arguments[method] else {
            return Err(failed(&"buffers are missing"));
        };
        // SAFETY: the code is placed and lives as long as the model; its type is what the driver generates.
        let split: Split = unsafe { std::mem::transmute(self.model.splits[method]) };
        let observed = if self.hooks.observes() { arguments.outputs.memory() } else { vec![] };
        self.hooks.start(method, self.scratch.contents_mut(), observed);
        let (state, scratch) = (self.state.address(), self.scratch.address());
        let (inputs, outputs) = (arguments.inputs.record.address(), arguments.outputs.record.address());
        // SAFETY: the state was initialised by this model; scratch memory has its size; the structs hold the addresses of buffers of
        // the sizes in the model, and all of them outlive the call. The hooks write scratch memory only between kernels.
        let status = unsafe { split(state, scratch, inputs, outputs) };
        if self.model.options.placement != Placement::Aligned {
            self.check_padding(method)?;
        }
        Ok(status)
    }

    /// The outputs of the last run of a method.
    pub fn outputs(&self, method: usize) -> Vec<Vec<u8>> {
        let Some(Some(arguments)) = self.arguments.get(method) else {
            return vec![];
        };
        let (ports, fields) = (&self.model.methods[method].outputs, &self.model.interface.methods[method].outputs);
        let side = &arguments.outputs;
        ports.iter().zip(fields).enumerate().map(|(index, (port, field))| side.bytes(index, field, port).to_vec()).collect()
    }

    /// The outputs of the last run of a method, each of the shape that it had.
    pub fn output_tensors(&self, method: usize) -> Vec<Tensor> {
        let Some(Some(arguments)) = self.arguments.get(method) else {
            return vec![];
        };
        let (ports, fields) = (&self.model.methods[method].outputs, &self.model.interface.methods[method].outputs);
        let side = &arguments.outputs;
        let tensor = |(index, (port, field)): (usize, (&Port, &Field))| {
            let shape = side.shape(field, port);
            let bytes = shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent)).and_then(|n| port.element.bytes_for(n));
            let whole = side.bytes(index, field, port);
            let bytes = whole.get(..bytes.unwrap_or(u64::MAX) as usize).unwrap_or(whole).to_vec();
            Tensor { element: port.element, shape, bytes }
        };
        ports.iter().zip(fields).enumerate().map(tensor).collect()
    }

    /// What the kernels of the last run wrote, in the order in which they ran; each run can be asked once. Empty without `observe`.
    pub fn observations(&mut self) -> Vec<hooks::Observation> {
        self.hooks.take_observations()
    }

    /// Nanoseconds spent in each kernel call since the instance was made, and how often it ran. Empty without `profile`.
    pub fn kernel_times(&self) -> &[hooks::KernelTime] {
        self.hooks.times()
    }

    /// Forgets the times of kernels.
    pub fn clear_kernel_times(&mut self) {
        self.hooks.clear_times();
    }

    fn prepare(&mut self, method: usize) -> Result<(), Diagnostic> {
        let Some(description) = self.model.methods.get(method) else {
            return Err(Diagnostic::new(512, Kind::Usage, format!("there is no method {method}")));
        };
        if self.arguments[method].is_none() {
            let fields = &self.model.interface.methods[method];
            let placement = self.model.options.placement;
            self.arguments[method] = Some(Arguments {
                inputs: Side::new(&description.inputs, &fields.inputs, placement)?,
                outputs: Side::new(&description.outputs, &fields.outputs, placement)?,
            });
        }
        Ok(())
    }

    fn check_padding(&mut self, method: usize) -> Result<(), Diagnostic> {
        let sides = self.arguments[method].iter_mut().flat_map(|a| [&mut a.inputs, &mut a.outputs]);
        let buffers = sides.flat_map(|side| side.buffers.iter_mut().flatten().chain([&mut side.record]));
        if buffers.chain([&mut self.state, &mut self.scratch]).all(Memory::is_untouched_before) {
            return Ok(());
        }
        let name = &self.model.methods[method].name;
        Err(Diagnostic::new(905, Kind::Bug, format!("method {name} wrote before the start of a buffer"))
            .help("this is a mistake in modelc; please report it with the model"))
    }
}

impl Side {
    fn new(ports: &[Port], fields: &[Field], placement: Placement) -> Result<Self, Diagnostic> {
        let end = |(port, field): (&Port, &Field)| match field.shape_offset {
            Some(offset) => offset + 8 * port.shape.len() as u64,
            None => field.offset + if port.scalar { port.bytes } else { 8 },
        };
        let bytes = ports.iter().zip(fields).map(end).max().unwrap_or(4).next_multiple_of(8);
        let mut record = Memory::new(bytes as usize, 8, Placement::Aligned)?;
        let mut buffers = Vec::new();
        for (port, field) in ports.iter().zip(fields) {
            if port.scalar {
                buffers.push(None);
                continue;
            }
            let mut buffer = Memory::new(port.bytes as usize, port.element.alignment() as usize, placement)?;
            let address = buffer.address() as u64;
            record.contents_mut()[field.offset as usize..][..8].copy_from_slice(&address.to_le_bytes());
            buffers.push(Some(buffer));
        }
        Ok(Self { record, buffers })
    }

    /// Address and size of each buffer; nothing for a number.
    fn memory(&self) -> Vec<(*const u8, usize)> {
        self.buffers.iter().map(|buffer| buffer.as_ref().map_or(&[][..], Memory::contents)).map(|b| (b.as_ptr(), b.len())).collect()
    }

    fn bytes(&self, index: usize, field: &Field, port: &Port) -> &[u8] {
        match &self.buffers[index] {
            Some(buffer) => buffer.contents(),
            None => &self.record.contents()[field.offset as usize..][..port.bytes as usize],
        }
    }

    /// Writes the contents of an input. They end where the buffer ends, so that what reads past them is seen.
    fn set(&mut self, index: usize, field: &Field, port: &Port, bytes: &[u8]) {
        let Some(buffer) = &mut self.buffers[index] else {
            self.record.contents_mut()[field.offset as usize..][..bytes.len()].copy_from_slice(bytes);
            return;
        };
        let start =
            (port.bytes as usize).saturating_sub(bytes.len()) / port.element.alignment() as usize * port.element.alignment() as usize;
        buffer.contents_mut()[start..][..bytes.len()].copy_from_slice(bytes);
        let address = buffer.address() as u64 + start as u64;
        self.record.contents_mut()[field.offset as usize..][..8].copy_from_slice(&address.to_le_bytes());
    }

    fn set_shape(&mut self, field: &Field, shape: &[u64]) {
        let Some(offset) = field.shape_offset else { return };
        for (slot, extent) in self.record.contents_mut()[offset as usize..].chunks_exact_mut(8).zip(shape) {
            slot.copy_from_slice(&extent.to_le_bytes());
        }
    }

    fn shape(&self, field: &Field, port: &Port) -> Vec<u64> {
        let Some(offset) = field.shape_offset else { return port.shape.clone() };
        let words = self.record.contents()[offset as usize..].chunks_exact(8).take(port.shape.len());
        words.map(|word| word.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte))).collect()
    }
}

/// Whether contents, and a shape where the port has a dynamic one, fit a port's buffer.
fn fits(port: &Port, bytes: &[u8], shape: Option<&[u64]>) -> bool {
    let Some(shape) = shape else { return bytes.len() as u64 == port.bytes };
    let elements = shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent));
    let wanted = elements.and_then(|n| port.element.bytes_for(n));
    shape.len() == port.shape.len() && wanted == Some(bytes.len() as u64) && bytes.len() as u64 <= port.bytes
}

/// A `modelc_config` with the hooks.
fn config_bytes(hooks: &mut Hooks, threads: u32) -> [u8; CONFIG_BYTES as usize] {
    use crate::codegen::driver::config;
    let mut bytes = [0; CONFIG_BYTES as usize];
    let mut set = |offset: i32, value: u64| bytes[offset as usize..][..8].copy_from_slice(&value.to_le_bytes());
    set(config::STRUCT_SIZE, CONFIG_BYTES);
    set(config::ON_KERNEL, hooks.callback());
    set(config::PARALLEL_FOR, hooks.parallel_for());
    set(config::THREADS, threads.into());
    set(config::USER, std::ptr::from_mut(hooks) as u64);
    bytes
}

fn check_status(what: &str, status: i32) -> Result<(), Diagnostic> {
    if status == 0 {
        return Ok(());
    }
    let (name, meaning) = STATUSES.iter().find(|s| s.1 == status).map_or(("an unknown status", ""), |s| (s.0, s.2));
    Err(Diagnostic::new(513, Kind::Invalid, format!("{what} ended with {name} ({status}): {meaning}")))
}
