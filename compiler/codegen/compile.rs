//! A whole program in machine code: kernels and driver, without addresses. The object writer and the JIT place the same code.

use super::check::check;
use super::constants::ConstantLayout;
use super::driver::language::{Function, KernelConvention};
use super::driver::{self, Callees, Context, DriverOptions, Import, ImportKind, LevelKernels, Numbers, Rows, WeightsFrom};
use super::failure::{self, guarded};
pub use super::function::CompiledFunction;
use super::function::{Below, Body};
use super::gpu;
use super::section::Section;
use super::select::back_end;
use super::support::Support;
use super::weights::{Topology, WeightsHeader};
use super::{BackEnd, Bug, Code, CodegenError, RelocationTarget};
use cranelift_entity::EntityRef;
use modelc_diagnostic::{Diagnostic, Diagnostics};
use modelc_interface::{ABI, Footprint, Interface, Layout, limits};
use modelc_kernel::intervals::{Assumed, Interval};
use modelc_kernel::passes::{narrow, undivided};
use modelc_kernel::{BufferKind, Kernel};
use modelc_program::{Call, Level, Program, Step, calls, externals};
use modelc_target::{Platform, Target};
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A model in machine code, without addresses. Functions, data and imports are numbered by their position.
#[derive(Clone, Debug)]
pub struct CompiledModel {
    /// The interface that C sees.
    pub interface: Interface,
    /// Kernels first, level by level, in the programs' order.
    pub functions: Vec<CompiledFunction>,
    /// Names of the CPU levels.
    pub levels: Vec<&'static str>,
    /// Offset of each constant of the program in the weights.
    pub constants: ConstantLayout,
    /// Read-only data sections, numbered for relocations. They include the weights, unless these are in a separate file.
    pub data: Vec<Section>,
    /// Functions that others define, numbered for relocations.
    pub imports: Vec<Import>,
    /// The header of a separate weights file, and the topology that another model must share to use it. `None` if the object has the weights.
    pub external: Option<(WeightsHeader, Topology)>,
    /// Bytes of the SPIR-V of each kernel of the device.
    pub module_bytes: Vec<u64>,
    /// Maximum stack that any entry needs, counted from its caller's stack pointer, without callbacks.
    pub stack_bytes: u64,
}

impl CompiledModel {
    /// Returns the bytes of code of one level, or of all functions if `level` is `None`.
    pub fn code_bytes(&self, level: Option<usize>) -> u64 {
        let counted = self.functions.iter().filter(|function| level.is_none() || function.level == level);
        counted.map(|function| function.code.bytes.len() as u64).sum()
    }

    /// Returns the memory that the model needs, by kind.
    pub fn footprint(&self) -> Footprint {
        Footprint {
            state_bytes: self.interface.state_bytes,
            scratch_bytes: self.interface.scratch_bytes,
            area_bytes: self.interface.area_bytes.clone(),
            area_names: self.interface.area_names.clone(),
            stack_bytes: self.stack_bytes,
            weights_bytes: self.constants.bytes,
            code_bytes: self.code_bytes(None),
            level_code_bytes: (0..self.levels.len()).rev().map(|level| self.code_bytes(Some(level))).collect(),
            table_bytes: self.data.iter().map(Section::table_bytes).sum(),
        }
    }
}

/// Returns the name of the function that walks rows of calls of kernels with a convention.
fn rows_name(convention: KernelConvention) -> &'static str {
    match convention {
        KernelConvention::Target => "call_rows",
        KernelConvention::SystemV => "call_rows_sysv",
    }
}

/// A placeholder for the code of a kernel that is not compiled yet.
const NO_CODE: Code = Code { bytes: vec![], alignment: 1, relocations: vec![], stack_bytes: 0 };

/// Compiles a program for one target and some CPU levels, the preferred level first. `model` is the SHA-256 of the model file. The result does not
/// depend on the compiling machine, nor on its number of processors.
///
/// # Errors
/// A diagnostic of kind `unsupported` if the target cannot do a kernel. A diagnostic of kind `bug`, which names the operator, if the program or code
/// generation itself is wrong.
pub fn compile(levels: &[Level<'_>], model: &[u8; 32], target: &Target, options: &DriverOptions) -> Result<CompiledModel, Diagnostics> {
    let back_ends = levels.iter().map(|level| back_end(level.machine, target)).collect::<Result<Vec<_>, _>>();
    let back_ends = back_ends.map_err(|error| failure::diagnostic(&error, "the target"))?;
    compile_with(levels, model, options, &back_ends, target.platform)
}

/// Does the work of [`compile`] with a given back end for each level.
pub(crate) fn compile_with(
    levels: &[Level<'_>],
    model: &[u8; 32],
    options: &DriverOptions,
    back_ends: &[Box<dyn BackEnd + '_>],
    platform: Platform,
) -> Result<CompiledModel, Diagnostics> {
    for level in levels {
        check(level.program)?;
    }
    // Code that all levels share must run on the lowest level.
    let Some((Level { program, .. }, back_end)) = levels.first().zip(back_ends.last()) else {
        return Err(failure::diagnostic(&Bug::NoLevel.into(), "the object").into());
    };
    let constants = ConstantLayout::new(program);
    let embeds = options.weights == WeightsFrom::Object;
    if embeds {
        constants.check_size()?;
    }
    let interface = Interface::new(program, &options.name, back_end.layout());
    limits::check(&interface, program)?;
    let external = (!embeds).then(|| external_weights(levels, options, &interface, &constants));
    let (mut functions, level_kernels) = kernel_functions(levels, back_ends);
    let mut imports = imports(program);
    let mut data: Vec<Section> = (embeds && constants.bytes > 0).then(|| Section::weights(program)).into_iter().collect();
    let mut below = Below::default();
    let gpu = match &program.device {
        Some(device) => {
            let mut parts = gpu::Parts { functions: &mut functions, data: &mut data, imports: &mut imports, below: &mut below };
            let loader = options.gpu.loader(platform);
            Some(guarded("the GPU", || parts.add(device, (program, &constants), options, (&**back_end, loader)))?)
        }
        None => None,
    };
    let module_bytes = gpu.as_ref().map_or_else(Vec::new, |gpu| gpu.module_bytes.clone());
    let features = back_end.features();
    let context = Context {
        program,
        levels: &level_kernels,
        imports: &imports,
        interface: &interface,
        constants: &constants,
        options,
        model_hash: model_hash(program, model, &interface),
        weights_file: external.as_ref().map(|(header, _)| *header),
        numbers: Numbers { cpu: features.is_some().then_some(functions.len() as u32) },
        gpu,
    };
    below.init = below.init.max(features.as_ref().map_or(0, |code| u64::from(code.stack_bytes)));
    functions.extend(features.map(|code| Body::from(code).into_function("cpu".into(), false, None)));
    // The driver needs only the stack sizes of kernels. So it is compiled at the same time, and written again when these sizes are known.
    let early = || early_driver(&context, &**back_end, (functions.clone(), data.clone()), below);
    let (codes, known) = modelc_parallel::both(|| compile_kernels(levels, back_ends), early);
    functions.iter_mut().zip(codes?.into_iter().flatten()).for_each(|(kernel, code)| kernel.code = code);
    guarded("the functions that kernels call", || add_support(&mut functions, &**back_end))?;
    let Whole { functions, data, stack_bytes } = with_driver(&context, &**back_end, (functions, data), &known, below)?;
    let levels = levels.iter().map(|level| level.machine.level).collect();
    Ok(CompiledModel { functions, levels, stack_bytes, interface, constants, data, imports, external, module_bytes })
}

/// Returns the header and the topology of a separate file of weights.
fn external_weights(
    levels: &[Level<'_>],
    options: &DriverOptions,
    interface: &Interface,
    constants: &ConstantLayout,
) -> (WeightsHeader, Topology) {
    let topology = if options.weights == WeightsFrom::File { Topology::new(levels) } else { Topology::default() };
    (WeightsHeader::new(&topology, interface, constants), topology)
}

/// Makes a function without code for each kernel, level by level. Returns the functions, and the place of each level's kernels among them.
fn kernel_functions<'a>(levels: &[Level<'a>], back_ends: &[Box<dyn BackEnd + '_>]) -> (Vec<CompiledFunction>, Vec<LevelKernels<'a>>) {
    let (mut functions, mut level_kernels) = (Vec::new(), Vec::new());
    for (number, level) in levels.iter().enumerate() {
        let convention = back_ends[number].kernel_convention();
        level_kernels.push(LevelKernels { level: *level, convention, first: functions.len() as u32 });
        functions.extend(level.program.kernels.iter().map(|kernel| {
            let name = format!("{}{}", kernel.name, level_suffix(levels, number));
            Body::from(NO_CODE).into_function(name, false, Some(number))
        }));
    }
    (functions, level_kernels)
}

/// Stack in bytes that rows of calls may need on machines with 32-bit registers. Programs of microcontrollers have few kilobytes of memory.
const MOST_STACK: u64 = 512;

/// Returns the stack in bytes that rows of calls may need.
fn most_stack(layout: Layout) -> u64 {
    if layout.pointer == 4 { MOST_STACK } else { u64::MAX }
}

/// All functions and data of an object.
struct Whole {
    functions: Vec<CompiledFunction>,
    data: Vec<Section>,
    /// Stack of the deepest entry.
    stack_bytes: u64,
}

/// Returns the number of arguments of the longest row. `None` if the calls of an object are no rows: its back end has no tables of functions, or rows would
/// save little.
fn longest_row(context: &Context<'_>, back_end: &dyn BackEnd) -> Option<usize> {
    back_end.distance().and_then(|_| driver::longest(context))
}

/// Compiles the driver's functions before kernels have code. Returns all functions; none if the driver has a mistake, which is then found again.
fn early_driver(
    context: &Context<'_>,
    back_end: &dyn BackEnd,
    (mut functions, mut data): (Vec<CompiledFunction>, Vec<Section>),
    below: Below,
) -> Vec<CompiledFunction> {
    let driver = Driver::new(context, back_end, (&mut functions, &mut data)).entries(below);
    driver.map(|_| functions).unwrap_or_default()
}

/// Adds the driver's functions and data to those of kernels. Rows of calls take more stack than calls in code, so an object has none if only code keeps
/// within [`most_stack`].
fn with_driver(
    context: &Context<'_>,
    back_end: &dyn BackEnd,
    kernels: (Vec<CompiledFunction>, Vec<Section>),
    known: &[CompiledFunction],
    below: Below,
) -> Result<Whole, Diagnostics> {
    let written = |(mut functions, mut data): (Vec<CompiledFunction>, Vec<Section>), row_arguments: Option<usize>| {
        let driver = Driver::new(context, back_end, (&mut functions, &mut data));
        let stack_bytes = Driver { known, row_arguments, ..driver }.entries(below)?;
        Ok::<_, Diagnostics>(Whole { functions, data, stack_bytes })
    };
    let row_arguments = longest_row(context, back_end);
    if row_arguments.is_none() {
        return written(kernels, None);
    }
    let most = most_stack(context.interface.layout);
    let in_rows = written(kernels.clone(), row_arguments)?;
    if in_rows.stack_bytes <= most {
        return Ok(in_rows);
    }
    let in_code = written(kernels, None)?;
    Ok(if in_code.stack_bytes <= most { in_code } else { in_rows })
}

/// Adds the support functions that kernels call, each once. The stack of a kernel then includes the deepest of its callees.
fn add_support(functions: &mut Vec<CompiledFunction>, back_end: &dyn BackEnd) -> Result<(), CodegenError> {
    let mut known: BTreeMap<Support, u32> = BTreeMap::new();
    for kernel in 0..functions.len() {
        let mut deepest = 0;
        for relocation in 0..functions[kernel].code.relocations.len() {
            let RelocationTarget::Support(what) = functions[kernel].code.relocations[relocation].target else { continue };
            let number = match known.get(&what) {
                Some(&number) => number,
                None => {
                    let number = functions.len() as u32;
                    functions.push(Body::from(back_end.support(what)?).into_function(what.name(), false, None));
                    *known.entry(what).or_insert(number)
                }
            };
            functions[kernel].code.relocations[relocation].target = RelocationTarget::Function(number);
            deepest = deepest.max(functions[number as usize].code.stack_bytes);
        }
        functions[kernel].code.stack_bytes += deepest;
    }
    Ok(())
}

/// Returns the suffix of function names of a level; empty if there is only one level.
fn level_suffix(levels: &[Level<'_>], number: usize) -> String {
    let plain = |level: &str| level.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    if levels.len() > 1 { format!("_{}", plain(levels[number].machine.level)) } else { String::new() }
}

/// Lists the application's functions, each once, in the order of first use.
fn imports(program: &Program) -> Vec<Import> {
    let mut imports: Vec<Import> = Vec::new();
    for external in program.methods.iter().flat_map(|method| externals(&method.steps)) {
        if imports.iter().all(|import| import.symbol != external.symbol) {
            let signature = driver::external::signature();
            imports.push(Import { symbol: external.symbol.clone(), kind: ImportKind::Custom, signature });
        }
    }
    imports
}

/// Hashes the model, the plan of variables and the version of modelc. A state with another hash is rejected.
fn model_hash(program: &Program, model: &[u8; 32], interface: &Interface) -> u64 {
    let mut hash = Sha256::new();
    hash.update(model);
    hash.update(format!("{} {ABI} {} {:08x}", env!("CARGO_PKG_VERSION"), interface.name, interface.abi_hash));
    for variable in &program.variables {
        hash.update(format!(" {} {}", variable.offset, variable.bytes));
    }
    let digest = hash.finalize();
    u64::from_le_bytes(std::array::from_fn(|i| digest[i]))
}

/// The writer and compiler of the driver's functions, and of the functions that only these call.
struct Driver<'a> {
    context: &'a Context<'a>,
    back_end: &'a dyn BackEnd,
    functions: &'a mut Vec<CompiledFunction>,
    data: &'a mut Vec<Section>,
    /// Functions of the first compilation. Equal functions are not compiled again.
    known: &'a [CompiledFunction],
    /// Number of arguments of the longest row, if calls are rows.
    row_arguments: Option<usize>,
    /// Rows of calls for each convention of kernels, if the object has rows.
    rows: Vec<Rows>,
}

impl<'a> Driver<'a> {
    /// Makes the writer of the driver's functions and data, which are added to the lists.
    fn new(
        context: &'a Context<'a>,
        back_end: &'a dyn BackEnd,
        (functions, data): (&'a mut Vec<CompiledFunction>, &'a mut Vec<Section>),
    ) -> Self {
        Self { context, back_end, functions, data, known: &[], row_arguments: longest_row(context, back_end), rows: vec![] }
    }

    /// Adds the entries; returns the stack that the deepest of them needs. `below` is the stack of their callees outside the driver.
    fn entries(&mut self, below: Below) -> Result<u64, Diagnostics> {
        let context = self.context;
        let mut deepest = 0;
        let mut lifecycle = guarded("the lifecycle", || Ok(driver::lifecycle(context).to_vec()))?;
        if let Some(part) = &context.gpu {
            lifecycle.push(("gpu", guarded("gpu", || Ok(driver::gpu(context, part)))?));
        }
        for (name, function) in lifecycle {
            let body = self.compile(name, || function)?;
            deepest = deepest.max(below.init + u64::from(body.code.stack_bytes));
            self.functions.push(body.into_function(name.into(), true, None));
        }
        self.add_rows()?;
        let mut first_call = 0;
        for (number, interface) in context.interface.methods.iter().enumerate() {
            let name = &interface.identifier;
            let (split, below_split) = self.split(number, first_call, below.steps)?;
            let whole = self.compile(name, || driver::whole(context, self.functions.len() as u32))?;
            deepest = deepest.max(u64::from(split.code.stack_bytes) + u64::from(whole.code.stack_bytes) + below_split);
            self.functions.push(split.into_function(format!("{name}_split"), true, None));
            self.functions.push(whole.into_function(name.clone(), true, None));
            if interface.gives_scratch() {
                let scratch = self.compile(name, || driver::scratch(context, number))?;
                self.functions.push(scratch.into_function(format!("{name}_scratch"), true, None));
            }
            first_call += calls(&context.program.methods[number].steps).len() as u32;
        }
        Ok(deepest)
    }

    /// Adds the functions that walk rows of calls, one for each convention of kernels. The back end must have tables of functions, and enough calls
    /// must be rows.
    fn add_rows(&mut self) -> Result<(), Diagnostics> {
        let Some((distance, arguments)) = self.back_end.distance().zip(self.row_arguments) else { return Ok(()) };
        for convention in self.context.levels.iter().map(|level| level.convention) {
            if self.rows_of(convention).is_some() {
                continue;
            }
            let (name, function) = (rows_name(convention), self.functions.len() as u32);
            let rows = Rows { function, arguments, convention, distance };
            let body = self.compile(name, || driver::walk_rows(self.context, rows))?;
            self.functions.push(body.into_function(name.into(), false, None));
            self.rows.push(rows);
        }
        Ok(())
    }

    /// Returns the rows that call kernels of a convention.
    fn rows_of(&self, convention: KernelConvention) -> Option<Rows> {
        self.rows.iter().find(|rows| rows.convention == convention).copied()
    }

    /// Returns the maximum stack of the kernels of some calls.
    fn stack_of_calls(&self, kernels: &LevelKernels<'_>, calls: Vec<&Call>) -> u32 {
        let stack = |call: &Call| self.functions[kernels.first as usize + call.kernel].code.stack_bytes;
        calls.into_iter().map(stack).max().unwrap_or(0)
    }

    /// Returns the maximum stack of the kernels that a method calls, with the function that calls them for rows.
    fn stack_of_kernels(&self, kernels: &LevelKernels<'_>, steps: &[Step]) -> u32 {
        let deepest = |calls| self.stack_of_calls(kernels, calls);
        let rows = self
            .rows_of(kernels.convention)
            .map(|rows| (rows, driver::rows_of(self.context, steps)))
            .filter(|(_, calls)| !calls.is_empty());
        let of_rows = rows.map(|(rows, calls)| self.functions[rows.function as usize].code.stack_bytes + deepest(calls));
        deepest(calls(steps)).max(of_rows.unwrap_or(0))
    }

    /// Compiles the split entry of a method; also returns the maximum stack of its callees. With several levels the entry calls the steps of one
    /// level, which are separate functions.
    fn split(&mut self, method: usize, first_call: u32, below_regions: u64) -> Result<(Body, u64), Diagnostics> {
        let context = self.context;
        let levels: Vec<Level<'_>> = context.levels.iter().map(|kernels| kernels.level).collect();
        let name = &context.interface.methods[method].identifier;
        let mut bodies = Vec::new();
        let mut deepest = 0;
        for (number, kernels) in context.levels.iter().enumerate() {
            let steps = &kernels.level.program.methods[method].steps;
            let (tasks, of_tasks) = self.tasks(number, steps)?;
            let callees = Callees { tasks: &tasks, rows: self.rows_of(kernels.convention).map(|rows| (rows, self.data.len() as u32)) };
            let mut section = None;
            let write = || {
                let (function, rows) = driver::split(context, number, method, first_call, &callees);
                section = rows;
                function
            };
            let body = self.compile(name, write)?;
            let suffix = level_suffix(&levels, number);
            self.data.extend(section.map(|section| Section { name: format!("{}{suffix}", section.name).into(), ..section }));
            let below = u64::from(self.stack_of_kernels(kernels, steps)).max(of_tasks).max(below_regions);
            deepest = deepest.max(u64::from(body.code.stack_bytes) + below);
            bodies.push(body);
        }
        if bodies.len() == 1 {
            let body = bodies.remove(0);
            let below = deepest - u64::from(body.code.stack_bytes);
            return Ok(self.guarded_body(body, below, |_| format!("{name}_steps"), None));
        }
        let first = self.functions.len() as u32;
        for (number, body) in bodies.into_iter().enumerate() {
            let name = format!("{name}_steps{}", level_suffix(&levels, number));
            self.functions.push(body.into_function(name, false, Some(number)));
        }
        let choice = self.compile(name, || driver::by_level(context, first))?;
        Ok(self.guarded_body(choice, deepest, |_| format!("{name}_levels"), None))
    }

    /// Returns code that C may call and that runs kernels, and the maximum stack of its callees. The result is `body` itself, or the back end's guard
    /// around it. With a guard, `body` becomes a separate function, and `name` makes its name from its number.
    fn guarded_body(&mut self, body: Body, below: u64, name: impl FnOnce(u32) -> String, level: Option<usize>) -> (Body, u64) {
        let number = self.functions.len() as u32;
        match self.back_end.guard(number) {
            None => (body, below),
            Some(guard) => {
                let below = below + u64::from(body.code.stack_bytes);
                self.functions.push(body.into_function(name(number), false, level));
                (guard.into(), below)
            }
        }
    }

    /// Compiles the functions that do tasks of a method's steps, in the order of [`driver::in_tasks`]. Also returns the maximum stack of one with its
    /// kernels.
    fn tasks(&mut self, level: usize, steps: &[Step]) -> Result<(Vec<u32>, u64), Diagnostics> {
        let context = self.context;
        let (mut numbers, mut deepest) = (Vec::new(), 0);
        let mut known: FxHashMap<_, u32> = FxHashMap::default();
        for work in driver::in_tasks(steps, context.options.profile_hooks) {
            let outline = work.outline();
            if let Some(&number) = known.get(&outline) {
                numbers.push(number);
                continue;
            }
            let Some(call) = work.calls().first().copied() else { continue };
            let kernel = self.functions[(context.levels[level].first as usize) + call.kernel].name.clone();
            let body = self.compile(&kernel, || driver::task(context, level, work))?;
            let of_kernels = self.stack_of_calls(&context.levels[level], work.calls()).into();
            let (body, below) = self.guarded_body(body, of_kernels, |number| format!("{kernel}_work{number}"), Some(level));
            deepest = deepest.max(u64::from(body.code.stack_bytes) + below);
            let number = self.functions.len() as u32;
            self.functions.push(body.into_function(format!("{kernel}_part{number}"), false, Some(level)));
            known.insert(outline, number);
            numbers.push(number);
        }
        Ok((numbers, deepest))
    }

    fn compile(&self, name: &str, write: impl FnOnce() -> Function) -> Result<Body, Diagnostic> {
        let body = || {
            let written = write();
            let known = self.known.iter().find(|function| function.written.as_ref() == Some(&written));
            let code = known.map_or_else(|| self.back_end.driver(&written), |function| Ok(function.code.clone()))?;
            Ok(Body { code, written: Some(written) })
        };
        guarded(name, body).map_err(|diagnostic| diagnostic.in_function(name))
    }
}

/// Compiles all kernels of all levels.
fn compile_kernels(levels: &[Level<'_>], back_ends: &[Box<dyn BackEnd + '_>]) -> Result<Vec<Vec<Code>>, Diagnostics> {
    let of_level = |(number, level): (usize, &Level<'_>)| (0..level.program.kernels.len()).map(move |kernel| (number, kernel));
    let places: Vec<(usize, usize)> = levels.iter().enumerate().flat_map(of_level).collect();
    // The longest kernels come first, so that no thread starts a long one at the end.
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&i| Reverse(levels[places[i].0].program.kernels[places[i].1].types.len()));
    let results = modelc_parallel::map(&order, |&i| {
        let (level, number) = places[i];
        let name = &levels[level].program.kernels[number].name;
        guarded(name, || back_ends[level].kernel(&prepared(&levels[level], number)))
    });
    let mut results: Vec<_> = order.into_iter().zip(results).collect();
    results.sort_unstable_by_key(|(i, _)| *i);
    let mut codes = vec![Vec::new(); levels.len()];
    let mut failures = Vec::new();
    for ((_, result), (level, kernel)) in results.into_iter().zip(places) {
        let program = levels[level].program;
        match result {
            Ok(code) => codes[level].push(code),
            Err(failure) => failures.push(at_operator(program, kernel, failure)),
        }
    }
    if failures.is_empty() { Ok(codes) } else { Err(Diagnostics(failures)) }
}

/// Returns a kernel of a level as back ends take it: its work undivided, and its indices narrow where registers are.
pub(super) fn prepared<'p>(level: &Level<'p>, number: usize) -> Cow<'p, Kernel> {
    let kernel = undivided(&level.program.kernels[number]);
    match level.machine.index_bits {
        64 => kernel,
        _ => Cow::Owned(narrow(&kernel, &assumed(level.program, number))),
    }
}

/// Returns the ranges of arguments that hold for all calls of a kernel.
fn assumed(program: &Program, kernel: usize) -> Assumed {
    let list = program.methods.iter().flat_map(|method| calls(&method.steps)).filter(|call| call.kernel == kernel);
    list.map(|call| of_call(&program.kernels[kernel], call)).reduce(|one, other| one.of_both(&other)).unwrap_or_default()
}

fn of_call(kernel: &Kernel, call: &Call) -> Assumed {
    let numbers = call.division.integers().into_iter().map(Interval::number);
    // A call on several threads passes each range its own bounds.
    let range = numbers.clone().reduce(Interval::union).filter(|_| call.division.divided().is_some());
    let parameters = numbers.map(|number| range.unwrap_or(number)).collect();
    let buffers: Vec<usize> = kernel.pointer_params().map(|(buffer, _)| buffer.index()).collect();
    let elements = call.bounds.iter().filter_map(|&(argument, [low, high])| Some((*buffers.get(argument)?, Interval { low, high })));
    // A buffer that the kernel writes may hold another extent when the kernel reads it.
    let elements = elements.filter(|(buffer, _)| kernel.buffers[*buffer].kind == BufferKind::Input).collect();
    Assumed { parameters, elements }
}

/// Attaches the first operator that needs the kernel to a diagnostic.
fn at_operator(program: &Program, kernel: usize, mut diagnostic: Diagnostic) -> Diagnostic {
    for method in &program.methods {
        for call in calls(&method.steps) {
            if call.kernel == kernel {
                diagnostic = diagnostic.in_function(&method.name);
                return match call.origin.operators.first() {
                    Some((index, name)) => diagnostic.at_operator(*index, name),
                    None => diagnostic,
                };
            }
        }
    }
    diagnostic
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unsupported;
    use crate::back_end::Listing;
    use crate::clif::Cranelift;
    use modelc_diagnostic::codes;
    use modelc_kernel::{KernelBuilder, Lane, Type};
    use modelc_machine::{CpuMachine, Machine};
    use modelc_program::{Division, Method, Origin, Ranges, Step};
    use modelc_target::{level, target};

    fn program() -> Program {
        let kernel = |name: &str| Kernel { name: name.into(), ..Kernel::default() };
        let call = |kernel: usize| {
            let origin = Origin { operators: vec![(kernel as u32 + 40, format!("OP{kernel}"))], ..Origin::default() };
            Step::Call(Call { kernel, arguments: vec![], bounds: vec![], division: Division::Whole, origin })
        };
        let method = Method { name: "run".into(), steps: vec![call(1), call(0), call(2)], optimal: true, ..Method::default() };
        Program { kernels: ["a", "b", "c"].map(kernel).into(), methods: vec![method], ..Program::default() }
    }

    /// A back end that compiles kernels by a given function, for tests.
    struct Pretending<'a>(Cranelift<'a>, fn(&str) -> Result<Code, CodegenError>);

    impl BackEnd for Pretending<'_> {
        fn kernel(&self, kernel: &Kernel) -> Result<Code, CodegenError> {
            self.1(&kernel.name)
        }

        fn kernel_convention(&self) -> KernelConvention {
            self.0.kernel_convention()
        }

        fn layout(&self) -> Layout {
            self.0.layout()
        }

        fn driver(&self, function: &Function) -> Result<Code, CodegenError> {
            self.0.driver(function)
        }

        fn listing(&self, kernel: &Kernel, what: Listing) -> Result<String, CodegenError> {
            self.0.listing(kernel, what)
        }

        fn guard(&self, body: u32) -> Option<Code> {
            self.0.guard(body)
        }

        fn features(&self) -> Option<Code> {
            self.0.features()
        }
    }

    fn compile_by(kernel: fn(&str) -> Result<Code, CodegenError>) -> Result<CompiledModel, Diagnostics> {
        compile_program(&program(), kernel)
    }

    fn compile_program(program: &Program, kernel: fn(&str) -> Result<Code, CodegenError>) -> Result<CompiledModel, Diagnostics> {
        let target = target("riscv64-none-elf").unwrap();
        let options = DriverOptions { name: "net".into(), ..DriverOptions::default() };
        let machine = level(target, None).unwrap();
        let back_end = Pretending(Cranelift::new(machine, &target.triple()).unwrap(), kernel);
        compile_with(&[Level { machine, program }], &[0; 32], &options, &[Box::new(back_end)], target.platform)
    }

    fn code(stack_bytes: u32) -> Code {
        Code { bytes: vec![0; 4], alignment: 4, relocations: vec![], stack_bytes }
    }

    #[test]
    fn kernels_are_narrowed_where_registers_are() {
        let target = target("riscv64-none-elf").unwrap();
        let wide = level(target, None).unwrap();
        let narrow = CpuMachine { capabilities: Machine { index_bits: 32, ..wide.capabilities.clone() }, ..wide.clone() };
        let mut program = program();
        let mut b = KernelBuilder::new("a");
        let ones = b.buffer("ones", BufferKind::Output, Lane::I8, 8, 1);
        b.for_range(0, 8, 1, |b, i| {
            let one = b.int(Type::scalar(Lane::I8), 1);
            b.store(ones, i, 0, one);
        });
        program.kernels[0] = b.finish();
        let compile = |machine: &CpuMachine| {
            let back_end = Cranelift::new(machine, &target.triple()).unwrap();
            compile_kernels(&[Level { machine, program: &program }], &[Box::new(back_end)]).map_err(|error| error.to_string())
        };
        assert!(compile(wide).is_ok());
        assert!(compile(&narrow).is_err_and(|error| error.contains("on a machine with indices of type i64")));
    }

    #[test]
    fn what_all_calls_keep_is_assumed() {
        let mut b = KernelBuilder::new("a");
        b.integer();
        b.integer();
        b.buffer("local", BufferKind::Local, Lane::I64, 1, 8);
        b.buffer("extent", BufferKind::Input, Lane::I64, 1, 8);
        b.buffer("result", BufferKind::Output, Lane::I64, 1, 8);
        let mut program = program();
        program.kernels[0] = b.finish();
        let call = |rounds, most, bounds: &[(usize, [i64; 2])]| {
            let division = Division::Ranges(Ranges { rounds, most, ..Ranges::default() });
            Step::Call(Call { kernel: 0, arguments: vec![], bounds: bounds.to_vec(), division, origin: Origin::default() })
        };
        program.methods[0].steps = vec![call(8, 1, &[(0, [1, 16]), (1, [1, 2])]), call(4, 2, &[(0, [2, 32])])];
        let interval = |low, high| Interval { low, high };
        let found = assumed(&program, 0);
        assert_eq!(found, Assumed { parameters: vec![interval(0, 4), interval(0, 8)], elements: [(1, interval(1, 32))].into() });
        assert_eq!(assumed(&program, 1), Assumed::default());
    }

    #[test]
    fn a_part_needs_the_stack_of_its_own_kernels() {
        let mut program = program();
        let mut b = KernelBuilder::new("b");
        b.integer();
        b.integer();
        program.kernels[1] = b.finish();
        let Step::Call(cut) = &mut program.methods[0].steps[0] else { panic!("a call") };
        cut.division = Division::Ranges(Ranges { rounds: 8, most: 4, ..Ranges::default() });
        let stack = |kernel| compile_program(&program, kernel).unwrap().stack_bytes;
        let whole_is_deep = stack(|kernel| Ok(code(if kernel == "a" { 5001 } else { 1 })));
        let cut_is_deep = stack(|kernel| Ok(code(if kernel == "b" { 5001 } else { 1 })));
        assert!(whole_is_deep < cut_is_deep, "{whole_is_deep} and {cut_is_deep}");
        assert_eq!(whole_is_deep, stack(|kernel| Ok(code(if kernel == "a" { 5001 } else { 2001 }))));
    }

    #[test]
    fn failures_of_kernels_come_together_and_name_their_operators() {
        let error = compile_by(|kernel| match kernel {
            "a" => panic!("index out of range"),
            "b" => Err(Unsupported::Grid("b".into()).into()),
            _ => Ok(code(1)),
        })
        .unwrap_err();
        let found: Vec<_> = error.0.iter().map(|d| (d.code, d.location.operator.clone(), d.message.clone())).collect();
        let wrong = "code generation for a went wrong: index out of range".to_string();
        let missing = "no machine code for b: kernel b has a grid, which a CPU does not run".to_string();
        assert_eq!(
            found,
            [(codes::CODE_GENERATION, Some((40, "OP0".into())), wrong), (codes::NO_MACHINE_CODE, Some((41, "OP1".into())), missing)]
        );
        let stack = |kernel| compile_by(kernel).unwrap().stack_bytes;
        assert_eq!(stack(|_| Ok(code(1001))), stack(|_| Ok(code(1))) + 1000);
    }
}
