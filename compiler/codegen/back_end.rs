//! The contract of a back end: what makes machine code for one machine on one target.
//!
//! Kernels and the driver come in their own languages and leave as [`Code`], which has no address yet. A kernel is a function of words,
//! a pointer for each of [`Kernel::pointer_params`] and then its integers. It returns a 32-bit status, 0 when good; it calls nothing and
//! refers to nothing but functions of [`Support`].

use super::driver::language::{Function, KernelConvention};
use super::support::Support;
use super::{Code, CodegenError};
use crate::interface::Layout;
use crate::kernel::Kernel;

/// Makes machine code for one machine on one target.
pub trait BackEnd: Sync {
    /// The code of a kernel.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] when the kernel breaks a rule of its language, [`CodegenError::Unsupported`] when the machine has no way to
    /// do an instruction.
    fn kernel(&self, kernel: &Kernel) -> Result<Code, CodegenError>;

    /// By which convention the kernels are called.
    fn kernel_convention(&self) -> KernelConvention;

    /// How the target lays out data.
    fn layout(&self) -> Layout;

    /// The code of a function of the driver, which keeps to the C convention of the target.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] when the function breaks a rule of its language.
    fn driver(&self, function: &Function) -> Result<Code, CodegenError>;

    /// The code of a function that kernels of this back end call, which calls nothing.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] where kernels call none.
    fn support(&self, what: Support) -> Result<Code, CodegenError> {
        Err(CodegenError::Bug(format!("a kernel calls {what:?}")))
    }

    /// A kernel as text.
    ///
    /// # Errors
    /// As [`BackEnd::kernel`]; [`CodegenError::Unsupported`] where kernels do not go through the language that is asked for.
    fn listing(&self, kernel: &Kernel, what: Listing) -> Result<String, CodegenError>;

    /// What C calls instead of the function numbered `body`, which runs kernels, where these change registers that C wants kept. The
    /// guard hands on the arguments it gets, none of them on the stack, and returns the result.
    fn guard(&self, body: u32) -> Option<Code>;

    /// A C function without parameters that returns the bits of [`crate::target::FEATURES`] of the CPU that runs it, where instructions
    /// can ask for them.
    fn features(&self) -> Option<Code>;
}

/// What of a kernel to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// Cranelift's language, as it is handed over.
    Cranelift,
    /// The instructions that come out.
    Machine,
}
