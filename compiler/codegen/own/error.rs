//! Mistakes of a lowering or of a table of instructions, as assembly finds them. None is the user's: [`super::super::CodegenError::Assembly`].

use std::fmt::{self, Debug};

/// The reason why a function over virtual registers has no machine code. Instructions and places are printed, since each set has its own types.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AssemblyError {
    /// A function that the register allocator refuses, in its own words.
    #[error("register allocation: {0}")]
    Allocator(String),
    /// An allocation in which the checker finds mistakes, in its own words.
    #[error("the allocation of registers is wrong: {0}")]
    Allocation(String),
    /// A jump that is longer than its longest encoding.
    #[error("a jump that no encoding reaches")]
    JumpTooFar,
    /// A constant beyond the reach of the instruction that reads it.
    #[error("a constant {distance} bytes away")]
    ConstantTooFar {
        /// Bytes from the instruction to the constant.
        distance: i64,
    },
    /// An operand for which the allocator chose a slot of the stack.
    #[error("{inst} has an operand on the stack")]
    OnStack {
        /// The instruction.
        inst: String,
    },
    /// A branch whose block does not have two edges.
    #[error("{inst} without two edges")]
    Edges {
        /// The branch.
        inst: String,
    },
    /// An instruction where its flow of control does not belong.
    #[error("{op} {position}")]
    Misplaced {
        /// The operation.
        op: String,
        /// Its position in the block.
        position: Position,
    },
    /// An instruction without something that it needs.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// A register of another class.
    #[error("a {found} where a {wanted} is wanted")]
    Class {
        /// The class of the register.
        found: &'static str,
        /// The class that the instruction takes.
        wanted: &'static str,
    },
    /// An instruction of another CPU level.
    #[error("{what}, which this level does not have")]
    OtherLevel {
        /// The instruction.
        what: String,
    },
    /// Operands that do not fit the row of their instruction.
    #[error(transparent)]
    Row(#[from] RowError),
    /// A move between two slots of the stack.
    #[error("a move from memory to memory")]
    MemoryToMemory,
    /// A load or a store that does not exist.
    #[error("{what} at {place}")]
    Access {
        /// Its registers.
        what: String,
        /// Its place in memory.
        place: String,
    },
    /// An address that no instruction computes.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A number that does not fit an instruction.
    #[error(transparent)]
    Number(#[from] NumberError),
}

impl AssemblyError {
    /// Returns the error of an operation where its flow of control does not belong.
    pub fn misplaced(op: impl Debug, position: Position) -> Self {
        Self::Misplaced { op: format!("{op:?}"), position }
    }

    /// Returns the error of operands that do not fit the row `name`.
    pub fn row(name: &'static str, fault: RowFault) -> Self {
        Self::Row(RowError { name, fault })
    }

    /// Returns the error of a load or store that does not exist.
    pub fn access(what: impl Debug, place: impl Debug) -> Self {
        Self::Access { what: format!("{what:?}"), place: format!("{place:?}") }
    }
}

/// The position of an instruction in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// Position before the last instruction.
    Inside,
    /// End of a function.
    Return,
    /// End of a block with two edges.
    Branch,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inside => "inside a block",
            Self::Return => "returns",
            Self::Branch => "branches",
        })
    }
}

/// A part that an instruction lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Missing {
    /// The register of an operand.
    #[error("an operand without a register")]
    Register,
    /// The registers of an address.
    #[error("an address without registers")]
    AddressRegisters,
    /// The place in memory.
    #[error("no memory operand")]
    Memory,
    /// The slot of a spilled register.
    #[error("a spill to no slot")]
    Slot,
    /// The register that is loaded or stored.
    #[error("nothing to load or store")]
    Moved,
    /// The base of an access that steps it.
    #[error("an access without a base")]
    Base,
    /// The register of a comparison.
    #[error("a comparison without a register")]
    ComparedRegister,
    /// The operands of a comparison.
    #[error("a comparison without operands")]
    Compared,
    /// The number of bits of a shift.
    #[error("a shift without a count")]
    ShiftCount,
    /// The divisor of a division.
    #[error("no divisor")]
    Divisor,
}

/// Operands that do not fit the row of their instruction.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct RowError {
    /// The name of the instruction.
    pub name: &'static str,
    /// The mistake.
    pub fault: RowFault,
}

/// A mistake in the operands of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowFault {
    /// Operands of another number.
    Count(usize),
    /// Lanes that the instruction does not have.
    Lanes(String),
    /// A number outside of the field.
    Number(i64),
    /// An operand of another kind than its field.
    Operand(String),
    /// An argument that no field takes.
    Argument(String),
    /// An operand, by its index, that must be a register.
    NoRegister(usize),
    /// An operand, by its index, of another register file.
    OtherKind(usize),
    /// An operand, by its index, that is not there.
    Lacks(usize),
    /// A number where the row has none, or none where it has one.
    HasNumber,
    /// A previous value of the result where the row does not read it, or none where it does.
    ReadsResult,
    /// An address with an index.
    Index,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match &self.fault {
            RowFault::Count(count) => write!(f, "{name} with {count} operands"),
            RowFault::Lanes(lanes) => write!(f, "{name} with lanes of {lanes}"),
            RowFault::Number(number) => write!(f, "{name} with the number {number}"),
            RowFault::Operand(operand) => write!(f, "{operand} is no operand of {name}"),
            RowFault::Argument(argument) => write!(f, "{argument} of {name}"),
            RowFault::NoRegister(index) => write!(f, "operand {index} of {name} is no register"),
            RowFault::OtherKind(index) => write!(f, "operand {index} of {name} is none of its kind"),
            RowFault::Lacks(index) => write!(f, "{name} lacks operand {index}"),
            RowFault::HasNumber => write!(f, "{name} with or without a number"),
            RowFault::ReadsResult => write!(f, "{name} with or without what its result holds before"),
            RowFault::Index => write!(f, "an index in {name}"),
        }
    }
}

/// An address that no instruction computes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// Sum with an index and a displacement.
    #[error("an index and a displacement")]
    IndexAndDisplacement,
    /// An index that is multiplied.
    #[error("an index that is shifted")]
    ShiftedIndex,
    /// An address in the constants after the code.
    #[error("the address of a constant")]
    OfConstant,
    /// Constants after the code of a set that has none there.
    #[error("a constant after the code")]
    Pool,
    /// Registers that cannot be loaded from the constants after the code.
    #[error("{0} among the constants")]
    AmongConstants(String),
    /// Sum of another form.
    #[error("the address {0}")]
    Other(String),
    /// Registers that no access moves together with a step of its base.
    #[error("{what} of {registers:?}, and {by} bytes further on")]
    Step {
        /// The load or store.
        what: String,
        /// The numbers of the registers.
        registers: Vec<u8>,
        /// The step.
        by: i32,
    },
}

/// A number that does not fit an instruction.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NumberError {
    /// A sum with a large constant.
    #[error("a sum of more than 24 bits")]
    Sum,
    /// A constant vector that no instruction makes.
    #[error("a vector that no instruction makes")]
    Vector,
    /// A constant in a register that cannot be overwritten by one.
    #[error("a constant in r{0}")]
    Register(u8),
    /// A comparison with a constant beyond the field.
    #[error("a comparison with a large number")]
    LargeCompared,
    /// A comparison with a constant that no instruction has.
    #[error("a comparison with {0}")]
    Compared(i32),
    /// A comparison of a high register with a constant.
    #[error("a comparison of r{register} with {number}")]
    ComparedHigh {
        /// The number of the register.
        register: u8,
        /// The constant.
        number: i32,
    },
    /// A comparison of something else.
    #[error("a comparison of {0}")]
    ComparedArgument(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CodegenError;
    use modelc_diagnostic::codes;

    #[test]
    fn errors_name_the_function_and_the_mistake() {
        let text = |error: AssemblyError| CodegenError::assembly("kernel k", error).to_string();
        assert_eq!(text(AssemblyError::row("add", RowFault::Count(2))), "kernel k: add with 2 operands");
        assert_eq!(text(AssemblyError::misplaced("Jump", Position::Inside)), "kernel k: \"Jump\" inside a block");
        assert_eq!(text(Missing::Memory.into()), "kernel k: no memory operand");
        let step = AddressError::Step { what: "Load".into(), registers: vec![1, 2], by: -4 };
        assert_eq!(text(step.into()), "kernel k: Load of [1, 2], and -4 bytes further on");
        assert_eq!(text(NumberError::Register(9).into()), "kernel k: a constant in r9");
        assert_eq!(text(AssemblyError::Class { found: "float", wanted: "word" }), "kernel k: a float where a word is wanted");
        assert_eq!(CodegenError::assembly("kernel k", AssemblyError::JumpTooFar).code(), codes::ASSEMBLY);
    }
}
