//! The contract of a back end, which generates machine code for one machine on one target.
//!
//! Back ends read the kernel language and the driver language, and return [`Code`], which has no address yet. A compiled kernel is a function whose
//! arguments are machine words: a pointer for each of [`Kernel::pointer_params`], then its integers. It returns a 32-bit status, 0 when good. It
//! calls and refers to nothing but functions of [`Support`].

use super::driver::language::{Function, KernelConvention};
use super::support::Support;
use super::{Bug, Code, CodegenError, RelocationKind};
use modelc_interface::Layout;
use modelc_kernel::Kernel;

/// A generator of machine code for one machine on one target.
pub trait BackEnd: Sync {
    /// Compiles a kernel.
    ///
    /// # Errors
    /// [`CodegenError::Kernel`] if the kernel breaks a rule of its language. [`CodegenError::Unsupported`] if the machine cannot do an instruction.
    fn kernel(&self, kernel: &Kernel) -> Result<Code, CodegenError>;

    /// Returns the calling convention of kernels.
    fn kernel_convention(&self) -> KernelConvention;

    /// Returns the layout of data on the target: pointer size, offsets of fields.
    fn layout(&self) -> Layout;

    /// Compiles a function of the driver. The code keeps to the C convention of the target.
    ///
    /// # Errors
    /// [`CodegenError::Driver`] if the function breaks a rule of its language.
    fn driver(&self, function: &Function) -> Result<Code, CodegenError>;

    /// Returns the code of a function that kernels of this back end call. It calls nothing itself.
    ///
    /// # Errors
    /// [`CodegenError::Bug`] if kernels of this back end call no such functions.
    fn support(&self, what: Support) -> Result<Code, CodegenError> {
        Err(Bug::Support(what).into())
    }

    /// Returns the encoding of a 32-bit distance to a function in data. `None` if the driver keeps no tables of functions.
    fn distance(&self) -> Option<RelocationKind> {
        None
    }

    /// Prints a kernel after compilation, in the language that `what` names.
    ///
    /// # Errors
    /// The errors of [`BackEnd::kernel`]. [`CodegenError::Unsupported`] if the back end does not use the language.
    fn listing(&self, kernel: &Kernel, what: Listing) -> Result<String, CodegenError>;

    /// Returns a guard that C calls instead of the function numbered `body`, which runs kernels. `None` unless kernels change registers that C wants
    /// kept. The guard passes on its arguments, none of them on the stack, and returns the result.
    fn guard(&self, body: u32) -> Option<Code>;

    /// Returns a C function without parameters. It returns the bits of [`modelc_target::FEATURES`] that the CPU has. `None` if no instruction can ask
    /// the CPU.
    fn features(&self) -> Option<Code>;
}

/// The language of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// Cranelift's language, as Cranelift receives it.
    Cranelift,
    /// The final machine instructions.
    Machine,
}
