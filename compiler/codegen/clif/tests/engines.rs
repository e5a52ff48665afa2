//! Runners of test kernels: the host's CPU levels in memory, other instruction sets under qemu-user. Without the emulator or a cross compiler, a
//! kernel must at least compile.

use super::Case;
use crate::codegen::Code;
use crate::codegen::clif::{Optimise, compile_kernel, isa_for};
use crate::codegen::support::Support;
use crate::codegen::{CodegenError, Relocation, RelocationKind, RelocationTarget, a64, rv32, thumb, x86};
use crate::kernel::intervals::{Assumed, Interval};
use crate::kernel::passes::narrow;
use crate::machine::{CpuMachine, Isa, MACHINES, MICROCONTROLLERS};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use target_lexicon::Triple;

/// Compiles and runs cases on every machine, by our own back ends and by Cranelift.
pub(super) fn check(cases: &[Case]) {
    for machine in MACHINES.iter().filter(|m| m.isa == Isa::Aarch64 || m.isa == Isa::X86_64 && m.vector_bytes() > 16) {
        let arm = machine.isa == Isa::Aarch64;
        let cases: Vec<&Case> = cases.iter().filter(|c| c.is_for(machine) && !(arm && c.long_vectors)).collect();
        let compile = if arm { a64::compile_kernel } else { x86::compile_kernel };
        let codes: Vec<Code> = cases.iter().map(|c| compile(&c.kernel, machine).unwrap()).collect();
        if on_host(machine) {
            run_on_host(machine, &cases, &codes);
        } else {
            run_emulated(machine, &cases, &codes);
        }
    }
    for machine in MACHINES.iter().filter(|m| m.isa != Isa::Aarch64) {
        let only_long = |c: &Case| c.is_of_some();
        let cases: Vec<&Case> = cases.iter().filter(|c| (machine.fma || !c.fma) && !only_long(c)).collect();
        let isa = isa_for(&triple(machine), machine, Optimise::Kernel).unwrap();
        let codes: Vec<Code> = cases.iter().map(|c| compile_kernel(&c.kernel, &*isa, machine).unwrap()).collect();
        if on_host(machine) {
            run_on_host(machine, &cases, &codes);
        } else {
            run_emulated(machine, &cases, &codes);
        }
    }
    check_words(cases);
}

/// Compiles and runs cases on machines of 32-bit words.
fn check_words(cases: &[Case]) {
    // The other machines have the same code.
    let levels = [
        "cortex-m4f",
        "cortex-m4f+strict-align",
        "cortex-m7+dp",
        "cortex-m7+dp+strict-align",
        "cortex-m33+nodsp",
        "cortex-m3",
        "cortex-m0plus",
        "cortex-m23",
        "rv32imc",
        "rv32imafc",
    ];
    for machine in MICROCONTROLLERS.iter().filter(|machine| levels.contains(&machine.level)) {
        let compile = if machine.isa == Isa::Thumb { thumb::compile_kernel } else { rv32::compile_kernel };
        let only_long = |c: &Case| c.is_of_some();
        let cases = cases.iter().filter(|c| !only_long(c) && !c.reaches_far());
        let (mut runs, mut codes) = (vec![], vec![]);
        for case in cases {
            let parameters = case.integers.iter().map(|&integer| Interval::number(integer)).collect();
            match compile(&narrow(&case.kernel, &Assumed { parameters, ..Assumed::default() }), machine) {
                Ok(code) => {
                    runs.push(case);
                    codes.push(with_functions(code, machine));
                }
                Err(CodegenError::Unsupported(why)) => assert!(case.is_missing(machine), "{}: {why}", case.kernel.name),
                Err(error) => panic!("{}: {error}", case.kernel.name),
            }
        }
        run_emulated(machine, &runs, &codes);
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
            let compile = if machine.isa == Isa::Thumb { thumb::compile_support } else { rv32::compile_support };
            code.bytes.extend(compile(what, machine).unwrap().bytes);
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

fn run_on_host(machine: &CpuMachine, cases: &[&Case], codes: &[Code]) {
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
            assert!(untouched, "{} on {} wrote outside its buffers", case.kernel.name, machine.level);
            after.push(whole[GUARD..GUARD + before.len()].to_vec());
        }
        case.compare(machine.level, status, &after);
    }
}

fn bytes_of(memory: &mut [u128]) -> &mut [u8] {
    let length = size_of_val(memory);
    // SAFETY: any bytes are numbers and any numbers are bytes; the length is that of the same memory.
    unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast::<u8>(), length) }
}

/// Runs cases in one process of the emulator. `runner.c` gives each buffer its own pages, with an inaccessible page right after its last byte. Reads
/// beyond the end are thus found, too.
fn run_emulated(machine: &CpuMachine, cases: &[&Case], codes: &[Code]) {
    for &processor in processors(machine) {
        if let Some(command) = runner(machine, processor) {
            run_with(command, &format!("{} {}", machine.level, processor.unwrap_or_default()), cases, codes);
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

fn run_with(mut command: Command, machine: &str, cases: &[&Case], codes: &[Code]) {
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
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || pipe.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    let mut rest = &output.stdout[..];
    for case in cases {
        let name = format!("{} on {machine}", case.kernel.name);
        assert!(rest.len() >= 4, "{name} ended the runner: {:?}", output.status);
        let status = i32::from_le_bytes(rest[..4].try_into().unwrap());
        rest = &rest[4..];
        let mut after = vec![];
        for before in &case.before {
            after.push(rest[..before.len()].to_vec());
            rest = &rest[before.len()..];
        }
        case.compare(machine, status, &after);
    }
    assert!(output.status.success());
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
    let works = |program| Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !works(compiler) || !works(emulator) {
        return None;
    }
    // The runner is kept beside the test program. The rename ensures that no other process sees a half-written program.
    static ONCE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = ONCE.lock();
    let runner = std::env::current_exe().ok()?.with_file_name(format!("kernel-runner-{emulator}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("compiler/codegen/clif/tests/runner.c");
    let written = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    if written(&runner) < written(&source) {
        let fresh = runner.with_extension(std::process::id().to_string());
        let mut command = Command::new(compiler);
        if machine.isa == Isa::Riscv32 {
            command.args(bare_arguments());
        }
        let status = command.args(["-static", "-O1", "-o"]).arg(&fresh).arg(source).status().ok()?;
        if !status.success() || std::fs::rename(fresh, &runner).is_err() {
            return None;
        }
    }
    let mut command = Command::new(emulator);
    command.args(processor.iter().flat_map(|name| ["-cpu", name]));
    command.arg(runner).args((machine.level == "rv64gcv").then_some("vectors"));
    Some(command)
}

/// Arguments that make a program of 32-bit RISC-V, whose C library knows no Linux, run under the emulator.
fn bare_arguments() -> Vec<String> {
    let folder = format!("{}/tests/link/riscv32", env!("CARGO_MANIFEST_DIR"));
    let flags = ["-march=rv32imac", "-mabi=ilp32", "--specs=picolibc.specs", "-nostartfiles"].map(String::from);
    [&flags[..], &[format!("-I{folder}"), format!("-T{folder}/program.ld"), format!("{folder}/linux.c")]].concat()
}
