//! Runners of test kernels: the host's CPU levels in memory, other instruction sets under qemu-user, and vectors of Cortex-M on an emulated board.
//! Without the emulator or a cross compiler, a kernel must at least compile.

use super::Case;
use crate::Code;
use crate::clif::{Optimise, compile_kernel, isa_for};
use crate::support::Support;
use crate::{CodegenError, Relocation, RelocationKind, RelocationTarget, a64, rv32, thumb, x86};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};
use modelc_kernel::intervals::{Assumed, Interval};
use modelc_kernel::passes::narrow;
use modelc_machine::{CpuMachine, Extension, Isa, MACHINES, MICROCONTROLLERS};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use target_lexicon::Triple;

/// Folder of what programs without an operating system are linked with.
const LINKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/link");

/// Compiles and runs cases on every machine, by our own back ends and by Cranelift.
pub(super) fn check(cases: &[Case]) {
    let failures = failures(cases);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures[..failures.len().min(8)].join("\n"));
}

/// Compiles and runs cases like [`check`]. Returns a sentence for each failure. `MODELC_LEVELS` selects the machines by a part of their names.
pub(super) fn failures(cases: &[Case]) -> Vec<String> {
    let only = std::env::var("MODELC_LEVELS").unwrap_or_default();
    let is_wanted = |machine: &&CpuMachine| machine.level.contains(&only);
    let mut failures = vec![];
    for machine in MACHINES.iter().filter(|m| m.isa == Isa::Aarch64 || m.isa == Isa::X86_64 && m.vector_bytes() > 16).filter(is_wanted) {
        let arm = machine.isa == Isa::Aarch64;
        let cases = cases.iter().filter(|c| c.is_for(machine) && !(arm && c.long_vectors));
        let compiler = if arm { a64::KERNELS } else { x86::KERNELS };
        run_compiled(machine, cases, |case| supported(case, compiler.code(&case.kernel, machine)), &mut failures);
    }
    for machine in MACHINES.iter().filter(|m| m.isa != Isa::Aarch64).filter(is_wanted) {
        let cases = cases.iter().filter(|c| (machine.fma || !c.fma) && !c.is_of_some());
        let isa = isa_for(&triple(machine), machine, Optimise::Kernel).unwrap();
        run_compiled(machine, cases, |case| supported(case, compile_kernel(&case.kernel, &*isa, machine)), &mut failures);
    }
    // The other machines of words have the same code.
    let levels = [
        "cortex-m4f",
        "cortex-m4f+strict-align",
        "cortex-m7+dp",
        "cortex-m7+dp+strict-align",
        "cortex-m33+nodsp",
        "cortex-m55",
        "cortex-m55+strict-align",
        "cortex-m3",
        "cortex-m0plus",
        "cortex-m23",
        "rv32imc",
        "rv32imafc",
    ];
    for machine in MICROCONTROLLERS.iter().filter(|machine| levels.contains(&machine.level)).filter(is_wanted) {
        let compiler = if machine.isa == Isa::Thumb { thumb::KERNELS } else { rv32::KERNELS };
        let cases = cases.iter().filter(|c| !c.is_of_some() && !c.reaches_far());
        let narrowed = |case: &Case| {
            let parameters = case.integers.iter().map(|&integer| Interval::number(integer)).collect();
            let kernel = narrow(&case.kernel, &Assumed { parameters, ..Assumed::default() });
            match compiler.code(&kernel, machine) {
                Err(CodegenError::Unsupported(_)) if case.is_missing(machine) => Ok(None),
                code => supported(case, code.map(|code| with_functions(code, machine))),
            }
        };
        run_compiled(machine, cases, narrowed, &mut failures);
    }
    failures
}

/// Returns the code of a case; `None` if a random kernel is unsupported.
fn supported(case: &Case, code: Result<Code, CodegenError>) -> Result<Option<Code>, CodegenError> {
    match code {
        Err(CodegenError::Unsupported(_)) if case.is_random => Ok(None),
        code => code.map(Some),
    }
}

/// Compiles cases for a machine and runs their code. A kernel that stops the compiler is named. Most kernels have to be supported.
fn run_compiled<'a>(
    machine: &CpuMachine,
    cases: impl Iterator<Item = &'a Case>,
    compile: impl Fn(&Case) -> Result<Option<Code>, CodegenError>,
    failures: &mut Vec<String>,
) {
    let (mut runs, mut codes, mut refused) = (vec![], vec![], 0);
    for case in cases {
        match catch_unwind(AssertUnwindSafe(|| compile(case))) {
            Ok(Ok(Some(code))) => {
                runs.push(case);
                codes.push(code);
            }
            Ok(Ok(None)) => refused += usize::from(case.is_random),
            Ok(Err(error)) => failures.push(format!("{} on {}: {error}", case.kernel.name, machine.level)),
            Err(_) => failures.push(format!("{} on {}: the compiler panics", case.kernel.name, machine.level)),
        }
    }
    if refused * 3 > runs.len() {
        failures.push(format!("{refused} random kernels are refused for {}, {} compiled", machine.level, runs.len()));
    }
    if on_host(machine) {
        run_on_host(machine, &runs, &codes, failures);
    } else {
        run_emulated(machine, &runs, &codes, failures);
    }
}

/// Appends the support functions that code calls, and links it to them.
fn with_functions(mut code: Code, machine: &CpuMachine) -> Code {
    let mut known: Vec<(Support, usize)> = vec![];
    for relocation in std::mem::take(&mut code.relocations) {
        let RelocationTarget::Support(what) = relocation.target else { panic!("{relocation:?}") };
        let known_at = known.iter().find(|(other, _)| *other == what).map(|(_, at)| *at);
        let to = known_at.unwrap_or_else(|| {
            let at = code.bytes.len().next_multiple_of(4);
            code.bytes.resize(at, 0);
            let compilers = if machine.isa == Isa::Thumb { thumb::compilers(machine) } else { rv32::COMPILERS };
            code.bytes.extend((compilers.support)(what, machine).unwrap().bytes);
            known.push((what, at));
            at
        });
        link(&mut code.bytes, &relocation, to as i64);
    }
    code
}

/// Fills in a call of a function at a place.
fn link(bytes: &mut [u8], relocation: &Relocation, to: i64) {
    let at = relocation.offset as usize;
    let distance = to - at as i64;
    if relocation.kind == RelocationKind::ThumbCall {
        bytes[at..at + 4].copy_from_slice(&thumb::branch_with_link(distance));
        return;
    }
    // AUIPC has the upper bits, JALR the lower twelve with their sign.
    let low = distance << 52 >> 52;
    for (place, field) in [(at, distance - low), (at + 4, low << 20)] {
        let word = u32::from_le_bytes(bytes[place..place + 4].try_into().unwrap());
        bytes[place..place + 4].copy_from_slice(&(word | field as u32).to_le_bytes());
    }
}

/// Returns the Linux triple of a machine.
pub(super) fn triple(machine: &CpuMachine) -> Triple {
    let name = match machine.isa {
        Isa::X86_64 => "x86_64-unknown-linux-gnu",
        Isa::Aarch64 => "aarch64-unknown-linux-gnu",
        Isa::Riscv64 => "riscv64gc-unknown-linux-gnu",
        Isa::Thumb => "thumbv7em-unknown-none-eabihf",
        Isa::Riscv32 => "riscv32imac-unknown-none-elf",
    };
    name.parse().unwrap()
}

/// Tests whether this computer can run the code of a machine.
pub(super) fn on_host(machine: &CpuMachine) -> bool {
    #[cfg(target_arch = "x86_64")]
    let runs = match machine.level {
        "x86-64-v2" => is_x86_feature_detected!("sse4.2"),
        "x86-64-v3" => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        "x86-64-v4" => is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512vnni"),
        _ => false,
    };
    #[cfg(target_arch = "aarch64")]
    let runs = machine.level == "aarch64";
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let runs = false;
    runs
}

/// A kernel with up to six pointers or integers in registers. A function with fewer parameters ignores the others.
type Function = extern "C" fn(u64, u64, u64, u64, u64, u64) -> i32;

/// Places code in executable memory, which is never freed.
pub(super) fn load(machine: &CpuMachine, codes: &[Code]) -> Vec<Function> {
    let isa = isa_for(&triple(machine), machine, Optimise::Kernel).unwrap();
    let mut module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
    let signature = module.make_signature();
    let ids: Vec<_> = codes
        .iter()
        .enumerate()
        .map(|(i, code)| {
            assert!(code.relocations.is_empty());
            let id = module.declare_function(&format!("k{i}"), Linkage::Local, &signature).unwrap();
            module.define_function_bytes(id, code.alignment, &code.bytes, &[]).unwrap();
            id
        })
        .collect();
    module.finalize_definitions().unwrap();
    let functions = ids
        .into_iter()
        .map(|id| {
            // SAFETY: the code was compiled for this host's C calling convention with at most six integer parameters.
            unsafe { std::mem::transmute::<*const u8, Function>(module.get_finalized_function(id)) }
        })
        .collect();
    std::mem::forget(module);
    functions
}

fn run_on_host(machine: &CpuMachine, cases: &[&Case], codes: &[Code], failures: &mut Vec<String>) {
    const GUARD: usize = 64;
    for (case, function) in cases.iter().zip(load(machine, codes)) {
        // Memory is aligned to 16 bytes, with guards on both sides.
        let mut memory: Vec<Vec<u128>> = case.before.iter().map(|b| vec![0x5A5A; b.len().div_ceil(16) + 2 * GUARD / 16]).collect();
        let mut arguments = vec![];
        for (memory, before) in memory.iter_mut().zip(&case.before) {
            let whole = bytes_of(memory);
            whole.fill(0x5A);
            whole[GUARD..GUARD + before.len()].copy_from_slice(before);
            arguments.push(whole[GUARD..].as_mut_ptr() as u64);
        }
        arguments.extend(case.integers.iter().map(|&i| i as u64));
        assert!(arguments.len() <= 6);
        arguments.resize(6, 0);
        let status = function(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
        let mut after = vec![];
        for (memory, before) in memory.iter_mut().zip(&case.before) {
            let whole = bytes_of(memory);
            let untouched = whole[..GUARD].iter().chain(&whole[GUARD + before.len()..]).all(|&b| b == 0x5A);
            if !untouched {
                failures.push(format!("{} on {} wrote outside its buffers", case.kernel.name, machine.level));
            }
            after.push(whole[GUARD..GUARD + before.len()].to_vec());
        }
        failures.extend(case.compare(machine.level, status, &after).err());
    }
}

fn bytes_of(memory: &mut [u128]) -> &mut [u8] {
    let length = size_of_val(memory);
    // SAFETY: any bytes are numbers and any numbers are bytes; the length is that of the same memory.
    unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast::<u8>(), length) }
}

/// Runs cases in one process of the emulator. `runner.c` gives each buffer its own pages, with an inaccessible page right after its last byte. Reads
/// beyond the end are thus found, too.
fn run_emulated(machine: &CpuMachine, cases: &[&Case], codes: &[Code], failures: &mut Vec<String>) {
    if machine.has(Extension::Mve) {
        return failures.extend(run_on_board(machine, cases, codes));
    }
    for &processor in processors(machine) {
        if let Some(command) = runner(machine, processor) {
            failures.extend(run_with(command, &format!("{} {}", machine.level, processor.unwrap_or_default()), cases, codes));
        }
    }
}

/// Lists the emulator's names of processors for a machine's code. Vector registers of riscv64 may be longer than the code expects.
fn processors(machine: &CpuMachine) -> &'static [Option<&'static str>] {
    match machine.level {
        "rv64gcv" => &[Some("rv64,v=true,vlen=128"), Some("rv64,v=true,vlen=512")],
        "aarch64" => &[Some("cortex-a53")],
        "aarch64+dotprod" => &[Some("cortex-a76")],
        "aarch64+i8mm" => &[Some("max,sve=off,sme=off")],
        // Profile A has the instructions of profile M.
        level if level.starts_with("cortex-m") => &[Some("max")],
        _ => &[None],
    }
}

/// Returns what `runner.c` reads.
fn input_of(cases: &[&Case], codes: &[Code]) -> Vec<u8> {
    let mut input = vec![];
    for (case, code) in cases.iter().zip(codes) {
        push(&mut input, &code.bytes);
        input.extend((case.before.len() as u64).to_le_bytes());
        for before in &case.before {
            push(&mut input, before);
        }
        input.extend((case.integers.len() as u64).to_le_bytes());
        input.extend(case.integers.iter().flat_map(|i| i.to_le_bytes()));
    }
    input
}

fn run_with(mut command: Command, machine: &str, cases: &[&Case], codes: &[Code]) -> Vec<String> {
    let input = input_of(cases, codes);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || pipe.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    compared(cases, machine, &output.stdout, output.status)
}

/// Runs cases on a board with vectors of Cortex-M. `sys/mman.h` of its folder protects memory as an operating system would.
fn run_on_board(machine: &CpuMachine, cases: &[&Case], codes: &[Code]) -> Vec<String> {
    let emulator = "qemu-system-arm";
    let folder = format!("{LINKED}/an547");
    let flags = ["-mcpu=cortex-m55", "-mfloat-abi=hard", "-mthumb", "-nostartfiles", "-Wl,--no-warn-execstack"].map(String::from);
    let arguments = [&flags[..], &[format!("-I{folder}"), format!("-T{folder}/newlib.ld"), format!("{folder}/newlib.c")]].concat();
    let Some(program) = built("arm-none-eabi-gcc", emulator, &arguments) else { return vec![] };
    let files = tempfile::tempdir().unwrap();
    let [input, output] = ["input", "output"].map(|name| files.path().join(name));
    std::fs::write(&input, input_of(cases, codes)).unwrap();
    let words = [&program, &input, &output].map(|word| format!(",arg={}", word.display())).concat();
    let mut command = Command::new(emulator);
    command.args(["-M", "mps3-an547", "-display", "none", "-monitor", "none", "-serial", "none", "-semihosting-config"]);
    let status = command.arg(format!("enable=on,target=native{words}")).arg("-kernel").arg(program).status().unwrap();
    compared(cases, machine.level, &std::fs::read(output).unwrap_or_default(), status)
}

/// Compares what `runner.c` wrote with what is expected. Returns a sentence for each failure.
fn compared(cases: &[&Case], machine: &str, output: &[u8], status: ExitStatus) -> Vec<String> {
    let mut rest = output;
    let mut failures = vec![];
    for case in cases {
        if rest.len() < 4 {
            failures.push(format!("{} on {machine} ended the runner: {status:?}", case.kernel.name));
            return failures;
        }
        let returned = i32::from_le_bytes(rest[..4].try_into().unwrap());
        rest = &rest[4..];
        let mut after = vec![];
        for before in &case.before {
            after.push(rest[..before.len()].to_vec());
            rest = &rest[before.len()..];
        }
        failures.extend(case.compare(machine, returned, &after).err());
    }
    if !status.success() {
        failures.push(format!("the runner on {machine}: {status:?}"));
    }
    failures
}

fn push(input: &mut Vec<u8>, bytes: &[u8]) {
    input.extend((bytes.len() as u64).to_le_bytes());
    input.extend(bytes);
}

/// Returns the command that runs kernels of a machine: the runner, compiled once, in an emulator. For x86-64 levels that this computer lacks, it is
/// the program that `MODELC_X86_64_RUNNER` names, which must do what `runner.c` does. `None` if a tool is missing.
fn runner(machine: &CpuMachine, processor: Option<&str>) -> Option<Command> {
    let (compiler, emulator) = match machine.isa {
        Isa::X86_64 => return std::env::var_os("MODELC_X86_64_RUNNER").map(Command::new),
        Isa::Aarch64 => ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
        Isa::Riscv64 => ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
        Isa::Thumb => ("arm-linux-gnueabihf-gcc", "qemu-arm"),
        Isa::Riscv32 => ("riscv64-unknown-elf-gcc", "qemu-riscv32"),
    };
    let runner = built(compiler, emulator, &if machine.isa == Isa::Riscv32 { bare_arguments() } else { vec![] })?;
    let mut command = Command::new(emulator);
    command.args(processor.iter().flat_map(|name| ["-cpu", name]));
    command.arg(runner).args((machine.level == "rv64gcv").then_some("vectors"));
    Some(command)
}

/// Compiles the runner for an emulator, once. `None` if a tool is missing.
fn built(compiler: &str, emulator: &str, arguments: &[String]) -> Option<PathBuf> {
    let works = |program| Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !works(compiler) || !works(emulator) {
        return None;
    }
    // The runner is kept beside the test program. The rename ensures that no other process sees a half-written program.
    static ONCE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = ONCE.lock();
    let runner = std::env::current_exe().ok()?.with_file_name(format!("kernel-runner-{emulator}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("clif/tests/runner.c");
    let written = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    if written(&runner) < written(&source) {
        let fresh = runner.with_extension(std::process::id().to_string());
        let status = Command::new(compiler).args(arguments).args(["-static", "-O1", "-o"]).arg(&fresh).arg(source).status().ok()?;
        if !status.success() || std::fs::rename(fresh, &runner).is_err() {
            return None;
        }
    }
    Some(runner)
}

/// Arguments that make a program of 32-bit RISC-V, whose C library knows no Linux, run under the emulator.
fn bare_arguments() -> Vec<String> {
    let folder = format!("{LINKED}/riscv32");
    let flags = ["-march=rv32imac", "-mabi=ilp32", "--specs=picolibc.specs", "-nostartfiles"].map(String::from);
    [&flags[..], &[format!("-I{folder}"), format!("-T{folder}/program.ld"), format!("{folder}/linux.c")]].concat()
}
