//! A running model: its memory, its calls and their results.

use super::arguments::{Arguments, Side};
use super::failure::failed;
use super::gpu::{GpuInfo, RawInfo};
use super::hooks::{self, Hooks};
use super::loaded::Loaded;
use super::memory::{Memory, Placement};
use super::regions::{RegionTimes, Regions};
use super::room;
use super::threads::Order;
use crate::diagnostic::{Diagnostic, codes};
use crate::interface::{CONFIG, Config, E_GPU, Field, STATUSES, Taken, has_shape};
use crate::ir::Tensor;
use crate::machine::Alignment;
use crate::program::{Method, Port, calls};
use std::sync::Arc;
use std::time::Duration;

/// A model's state, its scratch memory, and buffers for the arguments of its methods.
pub struct Instance {
    pub(super) model: Arc<Loaded>,
    pub(super) state: Memory,
    scratch: Memory,
    /// The memory areas beside the scratch memory.
    areas: Areas,
    /// Arguments of each method, allocated at its first call.
    arguments: Vec<Option<Arguments>>,
    /// Structs that point to the caller's buffers, for each method, allocated at its first such call.
    pub(super) direct: Vec<Option<Arguments>>,
    hooks: Box<Hooks>,
    /// The measurement of device regions, if any.
    regions: Option<Regions>,
}

// SAFETY: all pointers in an instance lead to memory that it owns itself or that its model owns. The model's memory is shared and never written. A
// host's device, where there is one, may be used by any thread, one at a time. Calls take the instance alone, so only one thread uses it at a time.
unsafe impl Send for Instance {}

/// Memory areas of the configuration.
struct Areas {
    memory: Vec<Memory>,
    /// Address of each area.
    list: Vec<*mut u8>,
}

impl Areas {
    fn new(bytes: &[u64], placement: Placement) -> Result<Self, Diagnostic> {
        let area = |&bytes: &u64| Memory::new(bytes as usize, Alignment::LINE.bytes() as usize, placement);
        let mut memory: Vec<Memory> = bytes.iter().map(area).collect::<Result<_, _>>()?;
        let list = memory.iter_mut().map(Memory::address).collect();
        Ok(Self { memory, list })
    }
}

/// Filler of scratch memory that a call must not use.
const UNUSED: u8 = 0x5e;

macro_rules! entry_types {
    ($abi:literal) => {
        type Init = unsafe extern $abi fn(*mut u8, usize, *const u8) -> i32;
        type Reset = unsafe extern $abi fn(*mut u8) -> i32;
        type Deinit = unsafe extern $abi fn(*mut u8);
        type Gpu = unsafe extern $abi fn(*mut u8, *mut RawInfo) -> i32;
        type Split = unsafe extern $abi fn(*mut u8, *mut u8, *const u8, *mut u8) -> i32;
        type Scratch = unsafe extern $abi fn(*const u8) -> usize;
    };
}
// Generated code uses the System V convention, which differs from C's on some systems.
#[cfg(target_arch = "x86_64")]
entry_types!("sysv64");
#[cfg(not(target_arch = "x86_64"))]
entry_types!("C");

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the code is placed and lives as long as the model; its type is what the driver generates.
        let deinit: Deinit = unsafe { std::mem::transmute(self.model.deinit) };
        // SAFETY: the state is that of this model, or was overwritten, which it finds out.
        unsafe { deinit(self.state.address()) }
    }
}

impl Instance {
    /// Makes an instance. `host` is a `modelc_vk_host`, or null.
    pub(super) fn new(model: Arc<Loaded>, threads: u32, order: Order, host: *const u8) -> Result<Self, Diagnostic> {
        let alignment = Alignment::LINE.bytes() as usize;
        let placement = if model.options.placement == Placement::Aligned { Placement::Aligned } else { Placement::AgainstGuard };
        room::check_reserved(model.footprint.arena_bytes().saturating_add(model.footprint.area_bytes.iter().sum::<u64>()))?;
        if model.options.observe {
            room::check_used(kept_bytes(&model.methods))?;
        }
        let mut state = Memory::new(model.interface.state_bytes as usize, alignment, placement)?;
        let scratch = Memory::new(model.interface.scratch_bytes as usize, alignment, placement)?;
        let areas = Areas::new(&model.interface.area_bytes, placement)?;
        let device = model.device.as_deref();
        let mut hooks =
            Box::new(Hooks::new(&model.methods, device.map_or(0, |device| device.regions.len()), &model.options, (threads, order)));
        let regions = device.filter(|_| model.options.profile).map(Regions::new);
        hooks.areas = areas.memory.iter().map(|area| (area.contents().as_ptr(), area.contents().len())).collect();
        let config = config_bytes(&model, &mut hooks, &areas, threads, host);
        // SAFETY: the code is placed and lives as long as the model; its type is what the driver generates.
        let init: Init = unsafe { std::mem::transmute(model.init) };
        // SAFETY: state has state_bytes bytes, the configuration has the size it says, and both outlive the call. The state keeps the hooks and the
        // list of areas, which live as long as the instance.
        let status = unsafe { init(state.address(), model.interface.state_bytes as usize, config.as_ptr()) };
        let [arguments, direct] = [(); 2].map(|()| model.methods.iter().map(|_| None).collect());
        let mut instance = Self { model, state, scratch, areas, arguments, direct, hooks, regions };
        let refused = if status == E_GPU { instance.gpu()? } else { None };
        match refused.and_then(|info| info.failed) {
            Some((call, result)) => Err(Diagnostic::new(codes::CALL_FAILED, format!("there is no device to run on: {call} gave {result}"))),
            None => check_status("init", status).map(|()| instance),
        }
    }

    /// Resets the state to the initial one.
    ///
    /// # Errors
    /// Never, unless the state was corrupted.
    pub fn reset(&mut self) -> Result<(), Diagnostic> {
        // SAFETY: the code is placed and lives as long as the model; its type is what the driver generates.
        let reset: Reset = unsafe { std::mem::transmute(self.model.reset) };
        // SAFETY: the state is that of this model.
        check_status("reset", unsafe { reset(self.state.address()) })
    }

    /// Returns the side that runs the GPU part; `None` for a model without one.
    ///
    /// # Errors
    /// Never, unless the state was corrupted.
    pub fn gpu(&mut self) -> Result<Option<GpuInfo>, Diagnostic> {
        let Some(gpu) = self.model.gpu else { return Ok(None) };
        // SAFETY: the code is placed and lives as long as the model; its type is what the driver generates.
        let gpu: Gpu = unsafe { std::mem::transmute(gpu) };
        let mut info = RawInfo::new();
        // SAFETY: the state is that of this model; the record has the size it says.
        check_status("gpu", unsafe { gpu(self.state.address(), &mut info) })?;
        Ok(Some(info.read()))
    }

    /// Calls a method on tensors whose shapes may be smaller than the largest ones.
    ///
    /// # Errors
    /// The errors of [`Instance::write_tensors`]; or an error status of the call, `MODELC_E_SHAPE` if extents disagree.
    pub fn call_tensors(&mut self, method: usize, inputs: &[Tensor]) -> Result<Vec<Tensor>, Diagnostic> {
        self.write_tensors(method, inputs)?;
        let status = self.run(method)?;
        check_status(&self.model.methods[method].name, status)?;
        Ok(self.output_tensors(method))
    }

    /// Calls a method: copies the inputs in, runs it, and copies the outputs out. Inputs have their largest shapes. Bytes have no element type,
    /// so only their number is checked; [`Instance::call_tensors`] also checks types and shapes.
    ///
    /// # Errors
    /// A diagnostic if inputs do not fit the method, or if the call returns an error status.
    pub fn call(&mut self, method: usize, inputs: &[&[u8]], outputs: &mut Vec<Vec<u8>>) -> Result<(), Diagnostic> {
        self.write_inputs(method, inputs)?;
        let status = self.run(method)?;
        check_status(&self.model.methods[method].name, status)?;
        *outputs = self.outputs(method);
        Ok(())
    }

    /// Copies the inputs of a method into its buffers, for [`Instance::run`].
    ///
    /// # Errors
    /// A diagnostic if there is no such method, or if an input has the wrong number of bytes.
    pub fn write_inputs(&mut self, method: usize, inputs: &[&[u8]]) -> Result<(), Diagnostic> {
        let inputs: Vec<(&[u8], Option<&[u64]>)> = inputs.iter().map(|&bytes| (bytes, None)).collect();
        self.write(method, &inputs)
    }

    /// Copies tensors into the buffers of a method, for [`Instance::run`]. Their shapes may be smaller than the largest ones.
    ///
    /// # Errors
    /// MC0512 if there is no such method, MC0510 if inputs are missing, or the errors of [`Taken::check`] for another type or shape.
    pub fn write_tensors(&mut self, method: usize, inputs: &[Tensor]) -> Result<(), Diagnostic> {
        let described = self.model.methods.get(method).filter(|described| described.inputs.len() == inputs.len());
        if let Some(description) = described {
            for (number, (port, given)) in description.inputs.iter().zip(inputs).enumerate() {
                let place = if port.name.is_empty() { format!("in{number}") } else { port.name.clone() };
                let misfit = |error: Diagnostic| error.in_function(&description.name).about_tensor(place);
                Taken::of_port(port).check(given).map_err(misfit)?;
            }
        }
        let slices: Vec<(&[u8], Option<&[u64]>)> = inputs.iter().map(|t| (t.bytes.as_slice(), Some(t.shape.as_slice()))).collect();
        self.write(method, &slices)
    }

    /// Copies inputs in, with their shapes if they are given.
    fn write(&mut self, method: usize, inputs: &[(&[u8], Option<&[u64]>)]) -> Result<(), Diagnostic> {
        self.prepare(method)?;
        let description = &self.model.methods[method];
        if inputs.len() != description.inputs.len() {
            return Err(Diagnostic::new(codes::INPUT_COUNT, format!("method {} takes another number of inputs", description.name))
                .expected(description.inputs.len().to_string(), inputs.len().to_string()));
        }
        let Some(arguments) = &mut self.arguments[method] else {
            return Err(failed(&"buffers are missing"));
        };
        for (index, (port, &(bytes, shape))) in description.inputs.iter().zip(inputs).enumerate() {
            let shape = shape.filter(|_| has_shape(port));
            if !fits(port, bytes, shape) {
                return Err(Diagnostic::new(codes::INPUT_SIZE, format!("input {index} of {} has the wrong size", description.name))
                    .about_tensor(&port.name)
                    .expected(format!("{} bytes", port.bytes), format!("{} bytes", bytes.len())));
            }
            let field = &self.model.interface.methods[method].inputs[index];
            arguments.inputs.set(index, field, port, bytes);
            arguments.inputs.set_shape(field, shape.unwrap_or(&port.shape));
        }
        Ok(())
    }

    /// Runs a method on the inputs written last, and returns its status.
    ///
    /// # Errors
    /// A diagnostic if there is no such method or no memory; in a checking mode, also if the code wrote outside of its buffers.
    pub fn run(&mut self, method: usize) -> Result<i32, Diagnostic> {
        self.prepare(method)?;
        let Some(mut arguments) = self.arguments[method].take() else {
            return Err(failed(&"buffers are missing"));
        };
        let (status, spare) = self.run_on(method, &mut arguments);
        self.arguments[method] = Some(arguments);
        if self.model.options.placement != Placement::Aligned {
            self.check_padding(method, spare)?;
        }
        Ok(status)
    }

    /// Runs a method on arguments. Returns its status, and the bytes of scratch memory that were withheld.
    pub(super) fn run_on(&mut self, method: usize, arguments: &mut Arguments) -> (i32, usize) {
        let needed = scratch_bytes(&self.model, method, &arguments.inputs);
        // SAFETY: the code is placed and lives as long as the model; its type is what the driver generates.
        let split: Split = unsafe { std::mem::transmute(self.model.splits[method]) };
        let (extents, observed) = match self.hooks.follows_extents() {
            true => (
                extents(&self.model.methods[method], &self.model.interface.methods[method].inputs, &arguments.inputs),
                arguments.outputs.memory(),
            ),
            false => (vec![], vec![]),
        };
        // In a checking mode, the call gets only the scratch memory that it needs: the end of the allocation.
        let spare = match self.model.options.placement {
            Placement::Aligned => 0,
            _ => self.scratch.contents().len().saturating_sub(needed),
        };
        let (unused, own) = self.scratch.contents_mut().split_at_mut(spare);
        unused.fill(UNUSED);
        self.hooks.start(method, extents, own, observed);
        let part = self.model.interface.state.device.offset as usize;
        if let Some(regions) = &self.regions {
            regions.clear(&self.state.contents()[part..]);
        }
        let (state, scratch) = (self.state.address(), self.scratch.address().wrapping_add(spare));
        let (inputs, outputs) = (arguments.inputs.record.address(), arguments.outputs.record.address());
        // SAFETY: the state was initialised by this model, and scratch memory has its size. The structs hold the addresses of buffers of the sizes in
        // the model. All of them outlive the call. The hooks write scratch memory only between kernels.
        let status = unsafe { split(state, scratch, inputs, outputs) };
        if let Some(regions) = &mut self.regions {
            regions.take(&self.state.contents()[part..]);
        }
        (status, spare)
    }

    /// Returns the scratch memory of a run on the inputs written last.
    ///
    /// # Errors
    /// The errors of [`Instance::run`].
    pub fn scratch_bytes(&mut self, method: usize) -> Result<u64, Diagnostic> {
        self.prepare(method)?;
        let arguments = self.arguments[method].as_ref().ok_or_else(|| failed(&"buffers are missing"))?;
        Ok(scratch_bytes(&self.model, method, &arguments.inputs) as u64)
    }

    /// Returns the outputs of the last run of a method.
    pub fn outputs(&self, method: usize) -> Vec<Vec<u8>> {
        let Some(Some(arguments)) = self.arguments.get(method) else {
            return vec![];
        };
        let (ports, fields) = (&self.model.methods[method].outputs, &self.model.interface.methods[method].outputs);
        let side = &arguments.outputs;
        ports.iter().zip(fields).enumerate().map(|(index, (port, field))| side.bytes(index, field, port).to_vec()).collect()
    }

    /// Returns the outputs of the last run of a method with their shapes.
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

    /// Returns the results of the last run's kernels, in the order in which they ran, and clears them. Empty without `observe`.
    pub fn observations(&mut self) -> Vec<hooks::Observation> {
        self.hooks.take_observations()
    }

    /// Returns the times of each device region since the instance was made; empty without `profile`, or if the device does not measure.
    pub fn region_times(&self) -> &[RegionTimes] {
        self.regions.as_ref().map_or(&[], Regions::times)
    }

    /// Returns time and number of runs of each kernel call since the instance was made, then of each device region. Empty without `profile`.
    pub fn kernel_times(&self) -> &[hooks::KernelTime] {
        self.hooks.times()
    }

    /// Clears the times of kernels.
    pub fn clear_kernel_times(&mut self) {
        self.hooks.clear_times();
        if let Some(regions) = &mut self.regions {
            regions.forget();
        }
    }

    /// Returns the least nanoseconds of each task of each kernel call. They exist if tasks ran one after the other during a profile.
    pub fn task_times(&self) -> &[Vec<u64>] {
        self.hooks.task_times()
    }

    /// Returns the number of parallel kernel calls.
    pub fn parallel_calls(&self) -> u64 {
        self.hooks.parallel_calls()
    }

    /// Returns the time of a parallel call without work; `None` on one thread.
    pub fn empty_parallel_for(&mut self) -> Option<Duration> {
        self.hooks.empty_call()
    }

    fn prepare(&mut self, method: usize) -> Result<(), Diagnostic> {
        let Some(description) = self.model.methods.get(method) else {
            return Err(Diagnostic::new(codes::METHOD_INDEX, format!("there is no method {method}")));
        };
        if self.arguments[method].is_none() {
            let ports = description.inputs.iter().chain(&description.outputs);
            room::check_reserved(ports.fold(0, |sum, port| port.bytes.saturating_add(sum)))?;
            let fields = &self.model.interface.methods[method];
            let placement = self.model.options.placement;
            self.arguments[method] = Some(Arguments {
                inputs: Side::new(&description.inputs, &fields.inputs, placement)?,
                outputs: Side::new(&description.outputs, &fields.outputs, placement)?,
            });
        }
        Ok(())
    }

    /// Checks that nothing was written before a buffer, or to withheld scratch memory.
    fn check_padding(&mut self, method: usize, spare: usize) -> Result<(), Diagnostic> {
        let sides = self.arguments[method].iter_mut().flat_map(|a| [&mut a.inputs, &mut a.outputs]);
        let buffers = sides.flat_map(|side| side.buffers.iter_mut().flatten().chain([&mut side.record]));
        let untouched = buffers.chain([&mut self.state, &mut self.scratch]).chain(&mut self.areas.memory).all(Memory::is_untouched_before);
        if untouched && self.scratch.contents()[..spare].iter().all(|&byte| byte == UNUSED) {
            return Ok(());
        }
        let name = &self.model.methods[method].name;
        Err(Diagnostic::new(codes::WROTE_OUTSIDE, format!("method {name} wrote before the start of a buffer"))
            .help("this is a mistake in modelc; please report it with the model"))
    }
}

/// Returns the scratch memory of a call of a method; all of it if the model has no function for this.
fn scratch_bytes(model: &Loaded, method: usize, inputs: &Side) -> usize {
    let Some(scratch) = model.scratches[method] else { return model.interface.scratch_bytes as usize };
    // SAFETY: the code is placed and lives as long as the model; its type is what the driver generates.
    let scratch: Scratch = unsafe { std::mem::transmute(scratch) };
    // SAFETY: the struct of inputs outlives the call, which only reads it.
    unsafe { scratch(inputs.record.contents().as_ptr()) }
}

/// Returns the bytes of all results of kernels in a call of each method: an observing instance keeps them, and its reader copies them.
fn kept_bytes(methods: &[Method]) -> u64 {
    let written = methods.iter().flat_map(|method| calls(&method.steps)).flat_map(|call| &call.origin.results);
    written.fold(0u64, |sum, written| sum.saturating_add(written.bytes)).saturating_mul(2)
}

/// Returns the distinct dynamic extents of inputs, limited to their bounds.
fn extents(method: &Method, fields: &[Field], inputs: &Side) -> Vec<u64> {
    let mut seen = Vec::new();
    let mut extents = Vec::new();
    for extent in &method.input_extents {
        if !seen.contains(&extent.cell) {
            let (port, dimension) = (extent.port as usize, extent.dimension as usize);
            seen.push(extent.cell);
            extents.push(inputs.shape(&fields[port], &method.inputs[port])[dimension].min(method.inputs[port].shape[dimension]));
        }
    }
    extents
}

/// Tests whether contents, and a shape for a port with dynamic dimensions, fit a port's buffer.
fn fits(port: &Port, bytes: &[u8], shape: Option<&[u64]>) -> bool {
    let Some(shape) = shape else { return bytes.len() as u64 == port.bytes };
    let elements = shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent));
    let wanted = elements.and_then(|n| port.element.bytes_for(n));
    shape.len() == port.shape.len() && wanted == Some(bytes.len() as u64) && bytes.len() as u64 <= port.bytes
}

/// Makes a `modelc_config` with the weights and the hooks.
fn config_bytes(model: &Loaded, hooks: &mut Hooks, areas: &Areas, threads: u32, host: *const u8) -> Vec<u8> {
    let (layout, weights) = (model.interface.layout, (*model.weights).as_ref());
    let mut bytes = vec![0; CONFIG.bytes(layout) as usize];
    let mut set = |member: Config, value: u64| bytes[CONFIG.offset(member, layout) as usize..][..8].copy_from_slice(&value.to_le_bytes());
    // The remaining members are 0.
    set(Config::StructSize, CONFIG.bytes(layout));
    set(Config::Threads, threads.into());
    set(Config::OnKernel, hooks.callback());
    set(Config::ParallelFor, hooks.parallel_for());
    set(Config::User, std::ptr::from_mut(hooks) as u64);
    set(Config::Weights, weights.as_ptr() as u64);
    set(Config::WeightsBytes, weights.len() as u64);
    set(Config::Areas, areas.list.as_ptr() as u64);
    set(Config::AreaCount, areas.list.len() as u64);
    set(Config::Vk, host as u64);
    bytes
}

/// Converts the status of a function to an error.
///
/// # Errors
/// A diagnostic for every status except 0.
pub fn check_status(what: &str, status: i32) -> Result<(), Diagnostic> {
    if status == 0 {
        return Ok(());
    }
    let (name, meaning) = STATUSES.iter().find(|s| s.1 == status).map_or(("an unknown status", ""), |s| (s.0, s.2));
    Err(Diagnostic::new(codes::CALL_FAILED, format!("{what} ended with {name} ({status}): {meaning}")))
}
