//! Functions of the driver, which call others: the procedure call standard for Arm (AAPCS).

use super::level::Level;
use super::lowering::Baseline;
use super::set::Thumb1;
use crate::driver::language as driver;
use crate::own::words::{word_driver, word_support};
use crate::support::Support;
use crate::{Code, CodegenError};
use modelc_machine::CpuMachine;

/// Compiles a function of the driver.
///
/// # Errors
/// [`CodegenError::Bug`] when the function breaks a rule of its language.
pub fn compile_driver(function: &driver::Function, machine: &CpuMachine) -> Result<Code, CodegenError> {
    word_driver(function, &Thumb1(Level::of(machine)), Baseline::without_kernel(machine))
}

/// Compiles a function that kernels call.
///
/// # Errors
/// [`CodegenError::Bug`] when the function cannot be compiled.
pub fn compile_support(what: Support, machine: &CpuMachine) -> Result<Code, CodegenError> {
    word_support(what, &Thumb1(Level::of(machine)), Baseline::without_kernel(machine))
}
