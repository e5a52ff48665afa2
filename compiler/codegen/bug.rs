//! Mistakes of a back end, which are our own: lowerings that fail, functions that Cranelift refuses, parts of a device in a wrong place.

use super::clif::code::CodeError;
use super::operation::Operation;
use super::support::Support;
use super::vulkan::DeviceFault;
use modelc_diagnostic::{Code, codes};
use modelc_kernel::{Type, Value};
use std::fmt;

/// A mistake of a back end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Bug {
    /// A kernel that a back end fails to lower.
    #[error("kernel {kernel}: {mistake}")]
    Lowering {
        /// The kernel.
        kernel: String,
        /// The mistake.
        mistake: Mistake,
    },
    /// A function that Cranelift refuses, or whose code is not self-contained.
    #[error("{function}: {error}")]
    Cranelift {
        /// The function: a kernel, or one of the driver.
        function: String,
        /// The mistake.
        error: CodeError,
    },
    /// A setting or a target that Cranelift refuses, in its own words.
    #[error("Cranelift's {setting}: {why}")]
    Setting {
        /// The setting and its value, or the target.
        setting: String,
        /// Cranelift's reason.
        why: String,
    },
    /// A call of a support function on a machine whose kernels call none.
    #[error("a kernel calls {0:?}")]
    Support(Support),
    /// A part of a device in a wrong place.
    #[error("{0}")]
    Device(DeviceFault),
    /// An object for no CPU level.
    #[error("it has no CPU level")]
    NoLevel,
    /// A panic of Cranelift or of our own code, with its message.
    #[error("{0}")]
    Panic(String),
}

impl Bug {
    /// Returns the code of its diagnostic.
    pub fn code(&self) -> Code {
        match self {
            Self::Lowering { .. } | Self::Support(_) => codes::LOWERING,
            Self::Cranelift { .. } | Self::Setting { .. } => codes::CRANELIFT,
            Self::Device(_) | Self::NoLevel => codes::OWN_CHECK,
            Self::Panic(_) => codes::CODE_GENERATION,
        }
    }
}

/// The reason why a lowering of a kernel fails. Kernels are verified before. So a rule of the language is missing, or a lowering forgets a case.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Mistake {
    /// A value without registers.
    #[error("{0} is used before it is defined")]
    Undefined(Value),
    /// A value that is in registers, but not in the form that its use takes.
    #[error("{value} is not {wanted}")]
    Form {
        /// The value.
        value: Value,
        /// The form that its use takes.
        wanted: Form,
    },
    /// An operation on a type that it is not defined for.
    #[error("{operation} of {of}")]
    Operation {
        /// The operation.
        operation: Operation,
        /// The type.
        of: Type,
    },
    /// A mask in another form than the operation takes.
    #[error("a mask of another kind in {0}")]
    Mask(MaskUse),
    /// An instruction that came to a lowering of other instructions.
    #[error("an instruction that is not {0}")]
    Route(Route),
    /// An instruction with another number of results than one.
    #[error("{0} results of one instruction")]
    Results(usize),
    /// A counted loop without a counter.
    #[error("a counted loop without a counter")]
    NoCounter,
    /// A loop without a condition.
    #[error("a loop without a condition")]
    NoCondition,
    /// An offset in a buffer that no address has.
    #[error("offset {offset} in {buffer}")]
    Offset {
        /// The offset, in elements.
        offset: i64,
        /// The buffer.
        buffer: String,
    },
    /// Elements that no instruction repeats over the lanes of a type.
    #[error("a group of {group} elements splat over {over}")]
    Splat {
        /// The number of elements.
        group: u16,
        /// The type.
        over: Type,
    },
    /// A buffer of elements that no instruction loads as lanes.
    #[error("lanes of {0}, which no instruction loads")]
    LaneElements(String),
    /// Arrays of the stack with more bytes than a frame may have.
    #[error("{0} bytes of stack arrays, which is more than 1 MiB")]
    StackArrays(u64),
    /// A buffer whose pointer is not a parameter.
    #[error("{0} without a parameter")]
    NoParameter(String),
    /// A buffer that no binding of a GPU has.
    #[error("{0} is not bound")]
    NotBound(String),
    /// A kernel for a GPU without a grid.
    #[error("no grid, which a GPU needs")]
    NoGrid,
    /// A kernel for a GPU that can fail, without a buffer for its status.
    #[error("no status")]
    NoStatus,
    /// Indices of another width than the machine's registers.
    #[error("an index of type {index} on a machine with indices of type {machine}")]
    Index {
        /// The type of the index.
        index: Type,
        /// The type of the machine's indices.
        machine: Type,
    },
}

/// The form in registers that a use of a value takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A sum of indices.
    Index,
    /// One scalar register.
    Scalar,
    /// Vector registers.
    Vector,
    /// Packed bytes in words.
    Bytes,
    /// Pairs of words: lanes of 64 bits.
    Pairs,
    /// Registers of floats.
    Floats,
    /// A scalar condition.
    Condition,
    /// A comparison of lanes.
    LaneTests,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Index => "a sum of indices",
            Self::Scalar => "in a general-purpose register",
            Self::Vector => "in vector registers",
            Self::Bytes => "packed in words",
            Self::Pairs => "in pairs of words",
            Self::Floats => "in registers of floats",
            Self::Condition => "a condition",
            Self::LaneTests => "a comparison of lanes",
        })
    }
}

/// An operation that reads a mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MaskUse {
    /// An operation on two masks.
    Binary,
    /// A choice between two vectors.
    Select,
    /// A choice between two masks.
    SelectMasks,
    /// A subtraction of the mask.
    Subtract,
    /// A gather.
    Gather,
}

impl fmt::Display for MaskUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binary => "an operation on two masks",
            Self::Select => "a choice between vectors",
            Self::SelectMasks => "a choice between masks",
            Self::Subtract => "a subtraction of a mask",
            Self::Gather => "the indices of a gather",
        })
    }
}

/// A kind of instructions that have a lowering of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// Instructions with one result.
    Value,
    /// Stores.
    Store,
    /// Instructions with regions, and failures.
    Control,
    /// Loads that are widened.
    WidenedLoad,
    /// Sums, differences and multiples of indices.
    Sum,
    /// Shifts by a constant.
    Shift,
    /// Instructions on lanes in vector registers.
    Lanes,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "one with one result",
            Self::Store => "a store",
            Self::Control => "control flow",
            Self::WidenedLoad => "a load that is widened",
            Self::Sum => "a sum of indices",
            Self::Shift => "a shift by a constant",
            Self::Lanes => "one on lanes in vector registers",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelc_kernel::{Lane, UnaryOp};

    #[test]
    fn texts_name_the_value_the_operation_and_the_type() {
        let text = |mistake: Mistake| Bug::Lowering { kernel: "k".into(), mistake }.to_string();
        let value = Value::from_u32(7);
        assert_eq!(text(Mistake::Undefined(value)), "kernel k: %7 is used before it is defined");
        assert_eq!(text(Mistake::Form { value, wanted: Form::Vector }), "kernel k: %7 is not in vector registers");
        let of = Type::vector(Lane::I16, 8);
        assert_eq!(text(Mistake::Operation { operation: Operation::Unary(UnaryOp::Sqrt), of }), "kernel k: sqrt of i16x8");
        assert_eq!(text(Mistake::Route(Route::Store)), "kernel k: an instruction that is not a store");
        assert_eq!(text(Mistake::Mask(MaskUse::Gather)), "kernel k: a mask of another kind in the indices of a gather");
    }

    #[test]
    fn codes_say_which_part_is_wrong() {
        let lowering = Bug::Lowering { kernel: "k".into(), mistake: Mistake::NoGrid };
        let cranelift = Bug::Cranelift { function: "kernel k".into(), error: CodeError::Nothing };
        let errors = [lowering, cranelift, Bug::Device(DeviceFault::NoStatus), Bug::Panic("3 of 2".into())];
        let wanted = [codes::LOWERING, codes::CRANELIFT, codes::OWN_CHECK, codes::CODE_GENERATION];
        assert_eq!(errors.map(|error| error.code()), wanted);
    }
}
