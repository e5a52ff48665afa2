//! A whole program in machine code: kernels and driver, without addresses. The object writer and the JIT place the same one.

use super::check::check;
use super::clif::{Optimise, compile_kernel, isa_for};
use super::driver::{Context, DriverOptions, LevelKernels, Numbers, calls, externals};
use super::weights::{Topology, WeightsHeader};
use super::{Code, CodegenError, cpu, riscv64, wide};
use crate::diagnostic::{Diagnostic, Diagnostics, Kind};
use crate::interface::{ABI, Interface};
use crate::kernel::Kernel;
use crate::machine::{Isa, Unit};
use crate::parallel;
use crate::program::{ALIGNMENT, Call, Level, Program};
use crate::target::Target;
use cranelift_codegen::ir;
use sha2::{Digest, Sha256};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A model in machine code, without addresses. Functions are numbered by their position; data 0 is the weights.
#[derive(Clone, Debug)]
pub struct CompiledModel {
    /// What C sees.
    pub interface: Interface,
    /// Kernels first, level by level, in the programs' order.
    pub functions: Vec<CompiledFunction>,
    /// Names of the CPU levels.
    pub levels: Vec<&'static str>,
    /// Where each constant of the program is in the weights.
    pub constants: ConstantLayout,
    /// Names of the application's functions, which relocations number.
    pub externals: Vec<String>,
    /// With weights in a file of their own: what the file starts with, and what models must do for their weights to fit.
    pub external: Option<(WeightsHeader, Topology)>,
    /// The most stack that any entry needs, from its caller's stack pointer on, callbacks not counted.
    pub stack_bytes: u64,
}

impl CompiledModel {
    /// Bytes of code that a level has for itself, or, for none, of all functions.
    pub fn code_bytes(&self, level: Option<usize>) -> u64 {
        let counted = self.functions.iter().filter(|function| level.is_none() || function.level == level);
        counted.map(|function| function.code.bytes.len() as u64).sum()
    }
}

/// A function with its name.
#[derive(Clone, Debug)]
pub struct CompiledFunction {
    /// Without the model's prefix: `op012_conv2d_1x1_i8`, `init`.
    pub name: String,
    /// Whether C programs call it.
    pub entry: bool,
    /// The CPU level that it is for; none for what all levels share.
    pub level: Option<usize>,
    /// What it does.
    pub code: Code,
}

/// The constants of a program, one behind the other, each aligned.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ConstantLayout {
    /// Offset of each constant.
    pub offsets: Vec<u64>,
    /// Bytes of all.
    pub bytes: u64,
}

impl ConstantLayout {
    /// Code reaches its weights within 2 GiB; some of that is left for code and for what else a program links.
    const MOST_BYTES: u64 = (2 << 30) - (64 << 20);

    /// The layout of a program's constants.
    pub fn new(program: &Program) -> Self {
        let mut layout = Self::default();
        for blob in &program.constants {
            let offset = layout.bytes.next_multiple_of(ALIGNMENT);
            layout.offsets.push(offset);
            layout.bytes = offset + blob.data.bytes().len() as u64;
        }
        if !program.constants.is_empty() {
            // Code takes the address of empty constants too, so there must be something to name.
            layout.bytes = layout.bytes.max(1);
        }
        layout
    }

    /// The bytes of all constants of the same program.
    pub fn contents(&self, program: &Program) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes as usize);
        for (blob, &offset) in program.constants.iter().zip(&self.offsets) {
            bytes.resize(offset as usize, 0);
            bytes.extend_from_slice(blob.data.bytes());
        }
        bytes.resize(self.bytes as usize, 0);
        bytes
    }

    fn check_size(&self) -> Result<(), Diagnostic> {
        if self.bytes <= Self::MOST_BYTES {
            return Ok(());
        }
        let message = format!("{} bytes of weights do not fit into an object", self.bytes);
        Err(Diagnostic::new(491, Kind::Unsupported, message)
            .expected(format!("at most {} bytes", Self::MOST_BYTES), self.bytes.to_string())
            .help("keep the weights in a file of their own: `--weights external`"))
    }
}

/// Compiles a program for one target and some CPU levels, the preferred one first. `model` is the SHA-256 of the model file. The
/// result does not depend on the machine that compiles nor on its number of processors.
///
/// # Errors
/// [`Kind::Unsupported`] when the target cannot do a kernel, [`Kind::Bug`] naming the operator when something is wrong with the
/// program or with code generation itself.
pub fn compile(levels: &[Level<'_>], model: &[u8; 32], target: &Target, options: &DriverOptions) -> Result<CompiledModel, Diagnostics> {
    let isa = |level: &Level<'_>| isa_for(&target.triple(), level.machine, Optimise::Kernel);
    let isas = levels.iter().map(isa).collect::<Result<Vec<_>, _>>();
    let isas = isas.map_err(Failure::from).map_err(|f| f.diagnostic("the target"))?;
    compile_with(levels, model, target, options, &|kernel, level| match levels[level].machine {
        machine if machine.vector_bits > 128 => wide::compile_kernel(kernel, machine),
        machine => compile_kernel(kernel, &*isas[level], machine),
    })
}

/// How a kernel of the level of a number becomes code.
pub(crate) type KernelCompiler<'a> = dyn Fn(&Kernel, usize) -> Result<Code, CodegenError> + Sync + 'a;

/// [`compile`] with another kernel compiler.
pub(crate) fn compile_with(
    levels: &[Level<'_>],
    model: &[u8; 32],
    target: &Target,
    options: &DriverOptions,
    compiler: &KernelCompiler<'_>,
) -> Result<CompiledModel, Diagnostics> {
    for level in levels {
        check(level.program)?;
    }
    // What all levels share is code for the least of them.
    let Some((Level { program, .. }, Level { machine: least, .. })) = levels.first().zip(levels.last()) else {
        return Err(Failure::Bug("it has no CPU level".into()).diagnostic("the object").into());
    };
    let isa = isa_for(&target.triple(), least, Optimise::Driver).map_err(Failure::from).map_err(|f| f.diagnostic("the target"))?;
    let constants = ConstantLayout::new(program);
    if !options.external_weights {
        constants.check_size()?;
    }
    let interface = Interface::new(program, &options.name);
    let external = options.external_weights.then(|| {
        let topology = Topology::new(levels);
        (WeightsHeader::new(&topology, &interface, &constants), topology)
    });
    let mut functions = Vec::new();
    let mut level_kernels = Vec::new();
    for (number, (level, codes)) in levels.iter().zip(compile_kernels(levels, compiler)?).enumerate() {
        level_kernels.push(LevelKernels { level: *level, first: functions.len() as u32 });
        let kernels = level.program.kernels.iter().zip(codes);
        functions.extend(kernels.map(|(kernel, code)| {
            let name = format!("{}{}", kernel.name, level_suffix(levels, number));
            CompiledFunction { name, entry: false, level: Some(number), code }
        }));
    }
    let externals = external_symbols(program);
    let context = Context {
        program,
        levels: &level_kernels,
        externals: &externals,
        interface: &interface,
        constants: &constants,
        isa: &*isa,
        options,
        model_hash: model_hash(program, model, &interface),
        weights_file: external.as_ref().map(|(header, _)| *header),
        numbers: Numbers { cpu: functions.len() as u32 },
    };
    let stack_bytes = compile_entries(&context, &mut functions)?;
    let levels = levels.iter().map(|level| level.machine.level).collect();
    Ok(CompiledModel { functions, levels, stack_bytes, interface, constants, externals, external })
}

/// What names of functions of a level end in, where there are several.
fn level_suffix(levels: &[Level<'_>], number: usize) -> String {
    let plain = |level: &str| level.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    if levels.len() > 1 { format!("_{}", plain(levels[number].machine.level)) } else { String::new() }
}

/// The names of the application's functions, each once, in the order of first use.
fn external_symbols(program: &Program) -> Vec<String> {
    let mut symbols: Vec<String> = Vec::new();
    for external in program.methods.iter().flat_map(|method| externals(&method.steps)) {
        if !symbols.contains(&external.symbol) {
            symbols.push(external.symbol.clone());
        }
    }
    symbols
}

/// States of another model, of another plan or of another version of modelc are told apart by this.
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

/// Adds the CPU function and the entries; returns the stack that the deepest of them needs.
fn compile_entries(context: &Context<'_>, functions: &mut Vec<CompiledFunction>) -> Result<u64, Diagnostics> {
    let mut below_init = 0;
    if context.unit() == Unit::Cpu(Isa::X86_64) {
        let code = cpu::x86_64();
        below_init = u64::from(code.stack_bytes);
        functions.push(CompiledFunction { name: "cpu".into(), entry: false, level: None, code });
    }
    let mut deepest = 0;
    for (name, function) in guarded(|| Ok(context.lifecycle())).map_err(|f| f.diagnostic("the lifecycle"))? {
        let code = compile_driver(name, context, || function)?;
        deepest = deepest.max(below_init + u64::from(code.stack_bytes));
        functions.push(CompiledFunction { name: name.into(), entry: true, level: None, code });
    }
    let mut first_call = 0;
    for (number, interface) in context.interface.methods.iter().enumerate() {
        let name = &interface.identifier;
        let (split, below) = compile_split(context, number, first_call, functions)?;
        let whole = compile_driver(name, context, || context.whole(functions.len() as u32))?;
        deepest = deepest.max(u64::from(split.stack_bytes) + u64::from(whole.stack_bytes) + below);
        functions.push(CompiledFunction { name: format!("{name}_split"), entry: true, level: None, code: split });
        functions.push(CompiledFunction { name: name.clone(), entry: true, level: None, code: whole });
        first_call += calls(&context.program.methods[number].steps).len() as u32;
    }
    Ok(deepest)
}

/// The split entry of a method, and the most stack of what it calls. With several levels the entry calls the steps of one of them, which
/// are functions of their own.
fn compile_split(
    context: &Context<'_>,
    method: usize,
    first_call: u32,
    functions: &mut Vec<CompiledFunction>,
) -> Result<(Code, u64), Diagnostics> {
    let levels: Vec<Level<'_>> = context.levels.iter().map(|kernels| kernels.level).collect();
    let name = &context.interface.methods[method].identifier;
    let mut bodies = Vec::new();
    let mut deepest = 0;
    for (number, kernels) in context.levels.iter().enumerate() {
        let called = calls(&kernels.level.program.methods[method].steps);
        let (parts, of_parts) = compile_parts(context, number, &called, functions)?;
        let code = compile_driver(name, context, || context.split(number, method, first_call, &parts))?;
        let below =
            called.iter().map(|call| functions[kernels.first as usize + call.kernel].code.stack_bytes).max().unwrap_or(0) + of_parts;
        deepest = deepest.max(u64::from(code.stack_bytes) + u64::from(below));
        bodies.push(code);
    }
    if let ([body], false) = (&bodies[..], context.unit() == Unit::Cpu(Isa::Riscv64)) {
        let below = deepest - u64::from(body.stack_bytes);
        return Ok((bodies.remove(0), below));
    }
    let first = functions.len() as u32;
    for (number, code) in bodies.into_iter().enumerate() {
        let name = format!("{name}_steps{}", level_suffix(&levels, number));
        functions.push(CompiledFunction { name, entry: false, level: (levels.len() > 1).then_some(number), code });
    }
    let choice = (levels.len() > 1).then(|| compile_driver(name, context, || context.by_level(first))).transpose()?;
    match (context.unit(), choice) {
        (Unit::Cpu(Isa::Riscv64), None) => Ok((riscv64::keep_fs1(first), deepest)),
        (Unit::Cpu(Isa::Riscv64), Some(choice)) => {
            let below = deepest + u64::from(choice.stack_bytes);
            functions.push(CompiledFunction { name: format!("{name}_levels"), entry: false, level: None, code: choice });
            Ok((riscv64::keep_fs1(functions.len() as u32 - 1), below))
        }
        (_, Some(choice)) => Ok((choice, deepest)),
        (_, None) => Err(Failure::Bug("it has no CPU level".into()).diagnostic(name).into()),
    }
}

/// The functions that do parts of the calls which may be cut, in their order, and the most stack that one needs.
fn compile_parts(
    context: &Context<'_>,
    level: usize,
    called: &[&Call],
    functions: &mut Vec<CompiledFunction>,
) -> Result<(Vec<u32>, u32), Diagnostics> {
    let (mut numbers, mut deepest) = (Vec::new(), 0);
    for call in called {
        let Some(parts) = &call.parts else { continue };
        let kernel = functions[(context.levels[level].first as usize) + call.kernel].name.clone();
        let mut code = compile_driver(&kernel, context, || context.part(level, call, parts))?;
        let mut stack_bytes = code.stack_bytes;
        let mut add = |suffix: &str, code: Code| {
            let name = format!("{kernel}_{suffix}{}", functions.len());
            functions.push(CompiledFunction { name, entry: false, level: Some(level), code });
            functions.len() as u32 - 1
        };
        if context.unit() == Unit::Cpu(Isa::Riscv64) {
            code = riscv64::keep_fs1(add("work", code));
            stack_bytes += code.stack_bytes;
        }
        numbers.push(add("part", code));
        deepest = deepest.max(stack_bytes);
    }
    Ok((numbers, deepest))
}

fn compile_driver(name: &str, context: &Context<'_>, write: impl FnOnce() -> ir::Function) -> Result<Code, Diagnostic> {
    guarded(|| Code::compile(write(), context.isa).map_err(Failure::Bug)).map_err(|f| f.diagnostic(name).in_function(name))
}

/// Compiles all kernels of all levels.
fn compile_kernels(levels: &[Level<'_>], compiler: &KernelCompiler<'_>) -> Result<Vec<Vec<Code>>, Diagnostics> {
    let of_level = |(number, level): (usize, &Level<'_>)| (0..level.program.kernels.len()).map(move |kernel| (number, kernel));
    let places: Vec<(usize, usize)> = levels.iter().enumerate().flat_map(of_level).collect();
    let results = parallel::map(&places, |&(level, kernel)| {
        guarded(|| compiler(&levels[level].program.kernels[kernel], level).map_err(Failure::from))
    });
    let mut codes = vec![Vec::new(); levels.len()];
    let mut failures = Vec::new();
    for (result, (level, kernel)) in results.into_iter().zip(places) {
        let program = levels[level].program;
        match result {
            Ok(code) => codes[level].push(code),
            Err(failure) => failures.push(at_operator(program, kernel, failure.diagnostic(&program.kernels[kernel].name))),
        }
    }
    if failures.is_empty() { Ok(codes) } else { Err(Diagnostics(failures)) }
}

/// The diagnostic at the first operator that needs the kernel.
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

/// Why there is no code.
enum Failure {
    Unsupported(String),
    Bug(String),
}

impl From<CodegenError> for Failure {
    fn from(error: CodegenError) -> Self {
        match error {
            CodegenError::Unsupported(what) => Self::Unsupported(what),
            CodegenError::Bug(what) => Self::Bug(what),
        }
    }
}

impl Failure {
    fn diagnostic(&self, what: &str) -> Diagnostic {
        match self {
            Self::Unsupported(why) => Diagnostic::new(490, Kind::Unsupported, format!("no machine code for {what}: {why}")),
            Self::Bug(why) => Diagnostic::new(901, Kind::Bug, format!("code generation for {what} went wrong: {why}"))
                .help("this is a mistake in modelc; please report it with the model"),
        }
    }
}

/// The text of a kernel, or why there is none.
pub(super) fn guarded_text(kernel: &str, work: impl FnOnce() -> Result<String, CodegenError>) -> Result<String, Diagnostic> {
    guarded(|| work().map_err(Failure::from)).map_err(|failure| failure.diagnostic(kernel))
}

/// Cranelift and our own code generation panic where they are wrong; that becomes a failure.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = (panic.downcast_ref::<&str>().map(ToString::to_string)).or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Failure::Bug(text.unwrap_or_else(|| "a panic".into())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Call, MemoryMap, Method, Origin, Step};
    use crate::target::{level, target};

    fn program() -> Program {
        let kernel = |name: &str| Kernel { name: name.into(), ..Kernel::default() };
        let call = |kernel: usize| {
            let origin = Origin { operators: vec![(kernel as u32 + 40, format!("OP{kernel}"))], ..Origin::default() };
            Step::Call(Call { kernel, arguments: vec![], integers: vec![], slices: None, parts: None, origin })
        };
        let method = Method {
            name: "run".into(),
            inputs: vec![],
            outputs: vec![],
            steps: vec![call(1), call(0), call(2)],
            scratch_bytes: 0,
            lower_bound: 0,
            optimal: true,
            memory_map: MemoryMap::default(),
            input_extents: vec![],
            output_extents: vec![],
        };
        Program { kernels: ["a", "b", "c"].map(kernel).into(), methods: vec![method], ..Program::default() }
    }

    fn compile_by(compiler: &KernelCompiler<'_>) -> Result<CompiledModel, Diagnostics> {
        let target = target("riscv64-none-elf").unwrap();
        let options = DriverOptions { name: "net".into(), ..DriverOptions::default() };
        let (machine, program) = (level(target, None).unwrap(), program());
        compile_with(&[Level { machine, program: &program }], &[0; 32], target, &options, compiler)
    }

    #[test]
    fn failures_of_kernels_come_together_and_name_their_operators() {
        let code = |stack_bytes| Code { bytes: vec![0; 4], alignment: 4, relocations: vec![], stack_bytes };
        let error = compile_by(&|kernel, _| match kernel.name.as_str() {
            "a" => panic!("index out of range"),
            "b" => Err(CodegenError::Unsupported("no such instruction".into())),
            _ => Ok(code(1)),
        })
        .unwrap_err();
        let found: Vec<_> = error.0.iter().map(|d| (d.kind, d.code, d.location.operator.clone(), d.message.clone())).collect();
        let wrong = "code generation for a went wrong: index out of range".to_string();
        let missing = "no machine code for b: no such instruction".to_string();
        assert_eq!(found, [(Kind::Bug, 901, Some((40, "OP0".into())), wrong), (Kind::Unsupported, 490, Some((41, "OP1".into())), missing)]);
        let stack = |bytes| compile_by(&|_, _| Ok(code(bytes))).unwrap().stack_bytes;
        assert_eq!(stack(1001), stack(1) + 1000);
    }
}
