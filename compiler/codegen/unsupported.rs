//! Parts of a model that a machine or a target cannot do. The user asked for too much, and can choose another machine.

use super::operation::Operation;
use cranelift_codegen::isa::LookupError;
use modelc_diagnostic::{Code, codes};
use modelc_kernel::Type;

/// The reason why a part of a model has no code for a machine or a target.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsupported {
    /// A kernel that uses what its machine lacks.
    #[error("kernel {kernel} on {machine}: {lack}")]
    Lack {
        /// The kernel.
        kernel: String,
        /// The CPU level, or [`GPU`].
        machine: &'static str,
        /// The lacking part.
        lack: Lack,
    },
    /// A kernel beyond a limit of the GPU profile.
    #[error("kernel {kernel} on {GPU}: {excess}")]
    Excess {
        /// The kernel.
        kernel: String,
        /// The limit, and the number beyond it.
        excess: Excess,
    },
    /// A kernel for a GPU on a CPU.
    #[error("kernel {0} has a grid, which a CPU does not run")]
    Grid(String),
    /// A CPU level of another target.
    #[error("CPU level {level} for target {target}")]
    OtherTarget {
        /// The level.
        level: &'static str,
        /// The target.
        target: String,
    },
    /// A target that Cranelift does not know.
    #[error("target {target}: {error}")]
    Target {
        /// The target.
        target: String,
        /// Cranelift's reason.
        error: LookupError,
    },
    /// A GPU beside a CPU whose pointers Vulkan's functions do not take.
    #[error("Vulkan is called on machines of 64 bits only")]
    Vulkan,
    /// A listing in Cranelift's language of kernels that it does not compile.
    #[error("kernels for {0} do not go through Cranelift")]
    NotCranelift(&'static str),
}

/// Name of the machine of kernels with a grid.
pub const GPU: &str = "a GPU";

impl Unsupported {
    /// Returns the code of its diagnostic.
    pub fn code(&self) -> Code {
        match self {
            Self::Lack { .. } | Self::Grid(_) => codes::NO_MACHINE_CODE,
            Self::Excess { .. } => codes::GPU_LIMIT,
            Self::OtherTarget { .. } | Self::Target { .. } | Self::Vulkan => codes::NO_BACK_END,
            Self::NotCranelift(_) => codes::NO_LISTING,
        }
    }
}

/// A part of a kernel that a machine does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Lack {
    /// An operation on values of a type.
    #[error("{operation} of {of}")]
    Operation {
        /// The operation.
        operation: Operation,
        /// The type of its result, or of the value that it stores.
        of: Type,
    },
    /// Values of a type.
    #[error("numbers of type {0}")]
    Numbers(Type),
    /// A position in a grid of another type than the machine's.
    #[error("a position of type {0}")]
    Position(Type),
    /// Registers of binary64.
    #[error("registers of binary64")]
    Doubles,
    /// Vector registers.
    #[error("vector registers")]
    Vectors,
    /// A step of a counted loop that the counter cannot hold.
    #[error("a loop in steps of {0}")]
    Step(i64),
    /// An offset that indices of a gather cannot hold.
    #[error("an offset of {0} to gathered indices")]
    GatherOffset(i64),
}

/// A limit of a GPU profile, and a number beyond it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Excess {
    /// A workgroup with too many positions.
    #[error("{positions} positions in a workgroup, of {most}")]
    Workgroup {
        /// The positions.
        positions: u32,
        /// The limit.
        most: u32,
    },
    /// A buffer with too many bytes.
    #[error("{buffer} of {bytes} bytes, of which {most} are seen")]
    Range {
        /// The buffer.
        buffer: String,
        /// Its bytes.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// Arrays of the kernel that together have too many bytes.
    #[error("{memory} arrays of {bytes} bytes, of which there are {most}")]
    Arrays {
        /// The memory: local or shared.
        memory: &'static str,
        /// The bytes of the arrays.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// Too many bindings.
    #[error("{ranges} ranges are bound, of which a device has {most}")]
    Bindings {
        /// The bound ranges.
        ranges: usize,
        /// The limit.
        most: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelc_kernel::{BinaryOp, Lane};

    #[test]
    fn texts_name_kernel_machine_operation_and_type() {
        let operation = Operation::Binary(BinaryOp::ShiftNearest);
        let lack = Lack::Operation { operation, of: Type::vector(Lane::I32, 8) };
        let error = Unsupported::Lack { kernel: "net_op003".into(), machine: "x86-64-v3", lack };
        assert_eq!(error.to_string(), "kernel net_op003 on x86-64-v3: shift_nearest of i32x8");
        let excess = Excess::Arrays { memory: "shared", bytes: 40_000, most: 32_768 };
        let error = Unsupported::Excess { kernel: "k".into(), excess };
        assert_eq!(error.to_string(), "kernel k on a GPU: shared arrays of 40000 bytes, of which there are 32768");
    }

    #[test]
    fn codes_say_what_to_choose_anew() {
        let lack = Unsupported::Lack { kernel: "k".into(), machine: GPU, lack: Lack::Doubles };
        let excess = Unsupported::Excess { kernel: "k".into(), excess: Excess::Bindings { ranges: 5, most: 4 } };
        let target = Unsupported::OtherTarget { level: "rv32imc", target: "x86_64-unknown-linux-gnu".into() };
        let errors = [lack, excess, target, Unsupported::Vulkan, Unsupported::NotCranelift("aarch64")];
        let wanted = [codes::NO_MACHINE_CODE, codes::GPU_LIMIT, codes::NO_BACK_END, codes::NO_BACK_END, codes::NO_LISTING];
        assert_eq!(errors.map(|error| error.code()), wanted);
    }
}
