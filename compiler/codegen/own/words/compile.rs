//! Kernels, functions of the driver and functions that kernels call on their way to code.

use super::driver::lower_driver;
use super::functions::lower_support;
use super::inst::{Inst, Operations};
use super::ops::Words;
use super::set::WordSet;
use crate::driver::language as driver;
use crate::own::{self, Emitted, Function, InstructionSet, Lowering, Select, assemble, count_uses, lower, move_numbers, sweep};
use crate::support::Support;
use crate::{Code, CodegenError, index};
use modelc_interface::Layout;
use modelc_kernel::passes::DEAD;
use modelc_kernel::verify::verify;
use modelc_kernel::{Kernel, Lane, Type};
use regalloc2::RegClass;

/// Layout of C's data on machines of 32-bit words.
pub const LAYOUT: Layout = Layout { pointer: 4 };

/// Compiles a kernel with narrow indices. `fuse` gets the instructions and how often each register is used; `most_in_loop` is for [`move_numbers`].
///
/// # Errors
/// [`CodegenError::Kernel`] when the kernel breaks a rule of its language; [`CodegenError::Unsupported`] when the machine has no way to do an instruction.
pub fn word_kernel<S: Select, I: InstructionSet<Inst = own::Inst<S::Op>>>(
    kernel: &Kernel,
    set: &I,
    state: impl Fn(&Kernel) -> S,
    fuse: impl Fn(&mut Function<own::Inst<S::Op>>, &[u32]),
    most_in_loop: fn(RegClass) -> usize,
) -> Result<Emitted, CodegenError> {
    verify(kernel)?;
    index::check(kernel, Type::scalar(Lane::I32))?;
    let kernel = &DEAD.of(kernel);
    let mut function = lower(kernel, state(kernel))?;
    let mut uses = count_uses(&function);
    sweep(&mut function, &mut uses);
    fuse(&mut function, &uses);
    move_numbers(&mut function, most_in_loop);
    assemble(set, &function).map_err(|error| CodegenError::assembly(format!("kernel {}", kernel.name), error))
}

/// Compiles a function of the driver.
///
/// # Errors
/// [`CodegenError::Driver`] when the function breaks a rule of its language.
pub fn word_driver<S: WordSet>(
    function: &driver::Function,
    set: &impl InstructionSet<Inst = Inst<S::Own>>,
    state: S,
) -> Result<Code, CodegenError>
where
    for<'a> Lowering<'a, S>: Words<Relation = <S::Own as Operations>::Relation>,
{
    driver::verify::verify(function, LAYOUT).map_err(CodegenError::Driver)?;
    let mut lowered = lower_driver(function, state)?;
    let mut uses = count_uses(&lowered);
    sweep(&mut lowered, &mut uses);
    Ok(assemble(set, &lowered).map_err(|error| CodegenError::assembly("a function of the driver", error))?.code)
}

/// Compiles a function that kernels call.
///
/// # Errors
/// [`CodegenError::Bug`] when the function cannot be compiled.
pub fn word_support<S: WordSet>(what: Support, set: &impl InstructionSet<Inst = Inst<S::Own>>, state: S) -> Result<Code, CodegenError>
where
    for<'a> Lowering<'a, S>: Words<Relation = <S::Own as Operations>::Relation>,
{
    let mut lowered = lower_support(what, state);
    let mut uses = count_uses(&lowered);
    sweep(&mut lowered, &mut uses);
    let emitted = assemble(set, &lowered).map_err(|error| CodegenError::assembly(format!("{what:?}"), error))?;
    Ok(emitted.code)
}
