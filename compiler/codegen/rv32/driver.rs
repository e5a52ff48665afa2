//! Functions of the driver, which call others: the C convention (psABI) of ILP32.

use super::lowering::Riscv;
use super::set::Riscv32;
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
    word_driver(function, &Riscv32::new(machine), Riscv::new(&Kernel::default(), machine))
}

/// Compiles a function that kernels call.
///
/// # Errors
/// [`CodegenError::Bug`] when the function cannot be compiled.
pub fn compile_support(what: Support, machine: &CpuMachine) -> Result<Code, CodegenError> {
    word_support(what, &Riscv32::new(machine), Riscv::new(&Kernel::default(), machine))
}
