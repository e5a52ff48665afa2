//! Errors of code generation.

use super::bug::{Bug, Mistake};
use super::driver::language;
use super::own::AssemblyError;
use super::unsupported::{Lack, Unsupported};
use modelc_diagnostic::{Code, codes};
use modelc_kernel::Kernel;
use modelc_kernel::verify::VerifyError;

/// The reason why a kernel has no machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// A machine or target without a back end, or an instruction that it cannot do. The user asked for too much.
    #[error("{0}")]
    Unsupported(Unsupported),
    /// A kernel that breaks a rule of its language: a mistake of a schedule.
    #[error("{0}")]
    Kernel(Box<VerifyError>),
    /// A function of the driver that breaks a rule of its language.
    #[error("a function of the driver: {0}")]
    Driver(language::Rule),
    /// A function for which our own back ends have no machine code: a mistake of a lowering.
    #[error("{function}: {error}")]
    Assembly {
        /// The function: a kernel, one of the driver, or one that kernels call.
        function: String,
        /// The mistake.
        error: Box<AssemblyError>,
    },
    /// A mistake of a back end: a lowering that fails, or invalid machine code.
    #[error("{0}")]
    Bug(Bug),
}

impl CodegenError {
    /// Returns the code of its diagnostic.
    pub fn code(&self) -> Code {
        match self {
            Self::Unsupported(what) => what.code(),
            Self::Kernel(_) => codes::KERNEL_RULE,
            Self::Driver(_) => codes::DRIVER_RULE,
            Self::Assembly { .. } => codes::ASSEMBLY,
            Self::Bug(bug) => bug.code(),
        }
    }

    /// Returns the error of a kernel that a back end fails to lower.
    pub fn lowering(kernel: &Kernel, mistake: Mistake) -> Self {
        Self::Bug(Bug::Lowering { kernel: kernel.name.clone(), mistake })
    }

    /// Returns the error of a kernel that uses what a machine lacks. `machine` is the CPU level, or [`super::unsupported::GPU`].
    pub fn lack(kernel: &Kernel, machine: &'static str, lack: Lack) -> Self {
        Self::Unsupported(Unsupported::Lack { kernel: kernel.name.clone(), machine, lack })
    }

    /// Returns the error of a function that our own back ends cannot assemble.
    pub fn assembly(function: impl Into<String>, error: AssemblyError) -> Self {
        Self::Assembly { function: function.into(), error: Box::new(error) }
    }
}

impl From<Unsupported> for CodegenError {
    fn from(what: Unsupported) -> Self {
        Self::Unsupported(what)
    }
}

impl From<Bug> for CodegenError {
    fn from(bug: Bug) -> Self {
        Self::Bug(bug)
    }
}

impl From<VerifyError> for CodegenError {
    fn from(error: VerifyError) -> Self {
        Self::Kernel(Box::new(error))
    }
}
