//! Compilation of a kernel to machine code.

use super::couple::couple;
use super::elements::join_loads;
use super::fours::load_fours;
use super::inst::Function;
use super::listing::text;
use super::lowering::Neon;
use super::near::bring_near;
use super::reloads::load_again;
use super::set::Arm64;
use super::starts::load_starts;
use crate::CodegenError;
use crate::own::{Emitted, KernelCompiler, compile_kernel};
use modelc_kernel::Kernel;
use modelc_kernel::passes::DEAD;
use modelc_machine::CpuMachine;
use regalloc2::RegClass;

/// Compiler of kernels to functions of the procedure call standard for aarch64 (AAPCS64). Integers have 64 bits. The code has no relocations.
pub const KERNELS: KernelCompiler = KernelCompiler::new(compile, text);

fn compile(kernel: &Kernel, machine: &CpuMachine) -> Result<Emitted, CodegenError> {
    let improve = |function: &mut Function, uses: &[u32]| {
        join_loads(function, uses);
        load_starts(function, uses);
        load_fours(function);
        load_again(function);
        bring_near(function);
        couple(function);
    };
    compile_kernel(
        kernel,
        machine,
        &Arm64::new(machine),
        |kernel| DEAD.of(kernel),
        |kernel| Neon::new(kernel, machine),
        improve,
        most_in_loop,
    )
}

/// Returns the number of registers that carried values and constants may take in a loop. The others are for the values of a round.
fn most_in_loop(class: RegClass) -> usize {
    match class {
        RegClass::Int => 16,
        _ => 24,
    }
}
