//! Errors of code generation.

use super::driver::language;
use super::own::AssemblyError;
use crate::diagnostic::{Code, codes};
use crate::kernel::verify::VerifyError;

/// The reason why a kernel has no machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// A machine or target without a back end, or an instruction that it cannot do. The user asked for too much.
    #[error("{0}")]
    Unsupported(String),
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
    Bug(String),
}

impl CodegenError {
    /// Returns the code of its diagnostic.
    pub fn code(&self) -> Code {
        match self {
            Self::Unsupported(_) => codes::NO_MACHINE_CODE,
            Self::Kernel(_) => codes::KERNEL_RULE,
            Self::Driver(_) => codes::DRIVER_RULE,
            Self::Assembly { .. } | Self::Bug(_) => codes::CODE_GENERATION,
        }
    }

    /// Returns the error of a function that our own back ends cannot assemble.
    pub fn assembly(function: impl Into<String>, error: AssemblyError) -> Self {
        Self::Assembly { function: function.into(), error: Box::new(error) }
    }
}

impl From<VerifyError> for CodegenError {
    fn from(error: VerifyError) -> Self {
        Self::Kernel(Box::new(error))
    }
}
