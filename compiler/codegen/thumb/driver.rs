//! Functions of the driver, which call others: the procedure call standard for Arm (AAPCS).

use super::baseline::{self, is_baseline};
use super::lowering::Thumb;
use super::set::Thumb2;
use crate::driver::language as driver;
use crate::own::words::{word_driver, word_support};
use crate::support::Support;
use crate::{Code, CodegenError};
use modelc_kernel::Kernel;
use modelc_machine::CpuMachine;

/// Compiles a function of the driver.
///
/// # Errors
/// [`CodegenError::Driver`] when the function breaks a rule of its language.
pub fn compile_driver(function: &driver::Function, machine: &CpuMachine) -> Result<Code, CodegenError> {
    if is_baseline(machine) {
        return baseline::compile_driver(function, machine);
    }
    word_driver(function, &Thumb2::new(machine), Thumb::new(&Kernel::default(), machine))
}

/// Compiles a function that kernels call.
///
/// # Errors
/// [`CodegenError::Bug`] when the function cannot be compiled.
pub fn compile_support(what: Support, machine: &CpuMachine) -> Result<Code, CodegenError> {
    if is_baseline(machine) {
        return baseline::compile_support(what, machine);
    }
    word_support(what, &Thumb2::new(machine), Thumb::new(&Kernel::default(), machine))
}
