//! Instructions, values and functions of the driver language.

use cranelift_entity::{PrimaryMap, entity_impl};

/// A value of a driver function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "%");

/// Number of low bits of a register that count in a value, or size of an access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Width {
    /// 8 bits.
    Byte,
    /// 16 bits.
    Half,
    /// 32 bits: statuses, `int` and `uint32_t`.
    Single,
    /// A pointer or a `size_t`.
    Word,
    /// A width of memory only: an `i64` of which the low word counts. It is loaded as a word; a store writes zeros above it.
    Cell,
}

impl Width {
    /// Returns the width of a value that is loaded or stored with this width.
    pub fn of_value(self) -> Self {
        if self == Self::Cell { Self::Word } else { self }
    }
}

/// An operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// A value.
    Value(Value),
    /// A constant; negative numbers wrap around.
    Number(u64),
}

impl From<Value> for Operand {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<u64> for Operand {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<i32> for Operand {
    fn from(number: i32) -> Self {
        Self::Number(number as u64)
    }
}

/// Arithmetic on two operands of one width, modulo 2 to the power of its bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Low half of the product.
    Mul,
    /// Unsigned quotient; the divisor is not 0.
    Div,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// A comparison of unsigned numbers of one width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CompareOp {
    /// a = b
    Equal,
    /// a ≠ b
    NotEqual,
    /// a < b
    Less,
    /// a > b
    Greater,
    /// a ≥ b
    GreaterOrEqual,
}

/// Parameters and result of a function. Singles are C's 32-bit integers; words are pointers and `size_t`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    /// Widths of the parameters: singles and words.
    pub parameters: Vec<Width>,
    /// Width of the result: a single or a word; `None` if the function returns nothing.
    pub result: Option<Width>,
}

impl Signature {
    /// Makes a signature.
    pub fn new(parameters: &[Width], result: Option<Width>) -> Self {
        Self { parameters: parameters.to_vec(), result }
    }

    /// Makes the signature of `int f(…)` with this number of pointers.
    pub fn status(pointers: usize) -> Self {
        Self { parameters: vec![Width::Word; pointers], result: Some(Width::Single) }
    }
}

/// The target of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Callee {
    /// The kernel with this number, called by the convention of its back end.
    Kernel(u32, KernelConvention),
    /// The kernel at an address, called by the convention of its back end.
    KernelAt(Operand, KernelConvention),
    /// The function with this number, called by the convention of C.
    Function(u32),
    /// The imported function with this number.
    Import(u32),
    /// The function at an address.
    Pointer(Operand),
}

/// The calling convention of kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KernelConvention {
    /// The C convention of the target.
    Target,
    /// The System V convention, on every target.
    SystemV,
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inst {
    /// Address of a byte of a numbered data section.
    Data {
        /// Number of the section.
        data: u32,
        /// Offset in the section.
        offset: u64,
    },
    /// Address of the function with this number.
    Function(u32),
    /// Address of memory on the function's stack, at a multiple of 8.
    Memory {
        /// Size in bytes.
        bytes: u32,
    },
    /// A load from memory.
    Load {
        /// Size of the access.
        width: Width,
        /// Base address.
        base: Value,
        /// Byte offset from the base.
        offset: i32,
    },
    /// A store to memory.
    Store {
        /// Size of the access.
        width: Width,
        /// The stored operand.
        value: Operand,
        /// Base address.
        base: Value,
        /// Byte offset from the base.
        offset: i32,
    },
    /// A binary operation.
    Binary {
        /// The operation.
        op: BinaryOp,
        /// First operand, of any width; two numbers are words.
        a: Operand,
        /// Second operand, of the same width.
        b: Operand,
    },
    /// A comparison; the result is a byte, 1 if it holds, else 0.
    Compare {
        /// The comparison.
        op: CompareOp,
        /// First operand, of any width; two numbers are words.
        a: Operand,
        /// Second operand, of the same width.
        b: Operand,
    },
    /// A choice between two operands of the same width.
    Select {
        /// The condition, of any width.
        truth: Value,
        /// Result if `truth` is not 0.
        a: Operand,
        /// Result if `truth` is 0.
        b: Operand,
    },
    /// A wider copy of a value, with zeros above it.
    Extend {
        /// The wider width.
        width: Width,
        /// A narrower value.
        value: Value,
    },
    /// A test of 64 bits of memory; the result is a byte, 1 if they differ from `bits`, else 0.
    Differs {
        /// Base address.
        base: Value,
        /// Byte offset from the base.
        offset: i32,
        /// The expected bits.
        bits: u64,
    },
    /// A call; its result is the callee's result.
    Call {
        /// The callee.
        callee: Callee,
        /// The signature of the callee.
        signature: Signature,
        /// One operand for each parameter, of its width.
        arguments: Vec<Operand>,
    },
    /// A branch: one of two regions runs, and its yields are the results.
    If {
        /// The condition, of any width.
        truth: Value,
        /// Region that runs if `truth` is not 0.
        then: Region,
        /// Region that runs if `truth` is 0.
        otherwise: Region,
    },
    /// A loop. The head yields one operand. While it is not 0, the body runs, and yields the next carried values. Carried values can be used after
    /// the loop, too.
    Repeat {
        /// Values that change from round to round.
        carried: Vec<Value>,
        /// Their initial operands.
        initial: Vec<Operand>,
        /// Region that computes the condition for another round.
        head: Region,
        /// One round; it may use values of the head.
        body: Region,
    },
    /// A return of a status if a value is not 0.
    LeaveIf {
        /// The condition, of any width.
        truth: Value,
        /// Returned status, in a function with a result.
        status: i32,
    },
    /// A return of a status if it is not 0.
    LeaveWith {
        /// The status, a single.
        status: Value,
    },
}

/// An instruction and its results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// At most one result, or any number for [`Inst::If`].
    pub results: Vec<Value>,
    /// The instruction.
    pub inst: Inst,
}

/// Statements in order, and the end of the region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The statements.
    pub statements: Vec<Statement>,
    /// The end, after the last statement.
    pub end: End,
}

/// The end of a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The enclosing instruction continues with these operands.
    Yield(Vec<Operand>),
    /// The function returns, with an operand if it has a result.
    Leave(Option<Operand>),
}

/// A function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Parameters and result.
    pub signature: Signature,
    /// The value of each parameter.
    pub parameters: Vec<Value>,
    /// Width of every value.
    pub widths: PrimaryMap<Value, Width>,
    /// The body, which ends in a return.
    pub body: Region,
}
