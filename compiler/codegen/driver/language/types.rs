//! What functions of the driver are made of.

use cranelift_entity::{PrimaryMap, entity_impl};

/// A value of a driver function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "%");

/// How many low bits of a value's register count, and how many bytes of memory are read or written.
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
    /// Of memory alone: an `i64` whose low word counts. It is loaded as a word; zeros are stored above it.
    Cell,
}

impl Width {
    /// The width of a value that comes from or goes to memory of this width.
    pub fn of_value(self) -> Self {
        if self == Self::Cell { Self::Word } else { self }
    }
}

/// What an instruction works on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// A value.
    Value(Value),
    /// A number; those below 0 wrap around.
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

/// Arithmetic of two operands of one width, modulo 2 to the bits of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product, its low half.
    Mul,
    /// Unsigned quotient; the divisor is not 0.
    Div,
    /// Bits that both have.
    And,
    /// Bits that one has.
    Or,
    /// Bits that differ.
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

/// What a function takes and gives: singles are C's 32-bit integers, words its pointers and `size_t`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    /// Singles and words.
    pub parameters: Vec<Width>,
    /// A single or a word; absent in functions that return nothing.
    pub result: Option<Width>,
}

impl Signature {
    /// A signature.
    pub fn new(parameters: &[Width], result: Option<Width>) -> Self {
        Self { parameters: parameters.to_vec(), result }
    }

    /// The signature of `int f(…)` with this many pointers.
    pub fn status(pointers: usize) -> Self {
        Self { parameters: vec![Width::Word; pointers], result: Some(Width::Single) }
    }
}

/// What a call goes to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Callee {
    /// The kernel of a number, which is called as the back end of its level wants.
    Kernel(u32, KernelConvention),
    /// The function of the object of a number, by the convention of C.
    Function(u32),
    /// The imported function of a number.
    Import(u32),
    /// The function at an address.
    Pointer(Operand),
}

/// How arguments reach a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KernelConvention {
    /// As C passes them on the target.
    Target,
    /// As the System V convention passes them, on every target.
    SystemV,
}

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inst {
    /// The address of a byte of the data of a number.
    Data {
        /// The section's number.
        data: u32,
        /// The byte.
        offset: u64,
    },
    /// The address of the function of a number.
    Function(u32),
    /// The address of memory of the function's own, at a multiple of 8.
    Memory {
        /// Its size.
        bytes: u32,
    },
    /// What is in memory.
    Load {
        /// How much is read.
        width: Width,
        /// An address.
        base: Value,
        /// Bytes after it.
        offset: i32,
    },
    /// Writes to memory.
    Store {
        /// How much is written.
        width: Width,
        /// What.
        value: Operand,
        /// An address.
        base: Value,
        /// Bytes after it.
        offset: i32,
    },
    /// Arithmetic.
    Binary {
        /// Which.
        op: BinaryOp,
        /// Of any width; two numbers are words.
        a: Operand,
        /// Of the same width.
        b: Operand,
    },
    /// A byte: 1 when it holds, else 0.
    Compare {
        /// Which.
        op: CompareOp,
        /// Of any width; two numbers are words.
        a: Operand,
        /// Of the same width.
        b: Operand,
    },
    /// One of two operands of the same width.
    Select {
        /// Of any width.
        truth: Value,
        /// If `truth` is not 0.
        a: Operand,
        /// If it is.
        b: Operand,
    },
    /// The same number in a wider value, with zeros above it.
    Extend {
        /// The wider width.
        width: Width,
        /// A narrower value.
        value: Value,
    },
    /// A byte: 1 when 64 bits of memory are others than these, else 0.
    Differs {
        /// An address.
        base: Value,
        /// Bytes after it.
        offset: i32,
        /// The bits.
        bits: u64,
    },
    /// A call; its value is the callee's result.
    Call {
        /// What is called.
        callee: Callee,
        /// How.
        signature: Signature,
        /// One for each parameter, of its width.
        arguments: Vec<Operand>,
    },
    /// One of two regions. The values are what the region yields that has run.
    If {
        /// Of any width.
        truth: Value,
        /// If it is not 0.
        then: Region,
        /// If it is.
        otherwise: Region,
    },
    /// A loop: the head yields one operand; while that is not 0, the body runs, which yields what the carried values are next, and the
    /// head again. Carried values can be used after the loop too.
    Repeat {
        /// What changes from round to round.
        carried: Vec<Value>,
        /// What it is at first.
        initial: Vec<Operand>,
        /// Finds out whether there is another round.
        head: Region,
        /// One round; it may use the values of the head.
        body: Region,
    },
    /// The function ends with a status if a value is not 0.
    LeaveIf {
        /// Of any width.
        truth: Value,
        /// What a function that returns something then returns.
        status: i32,
    },
    /// The function ends with a status if that is not 0.
    LeaveWith {
        /// A single.
        status: Value,
    },
}

/// An instruction and the values it defines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// None or one; of [`Inst::If`] any number.
    pub results: Vec<Value>,
    /// The instruction.
    pub inst: Inst,
}

/// Statements in order, and how they end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The statements.
    pub statements: Vec<Statement>,
    /// What is after the last.
    pub end: End,
}

/// The end of a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// What the region is in goes on, with these.
    Yield(Vec<Operand>),
    /// The function returns, with this where it returns something.
    Leave(Option<Operand>),
}

/// A function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// What it takes and gives.
    pub signature: Signature,
    /// One for each parameter.
    pub parameters: Vec<Value>,
    /// The width of every value.
    pub widths: PrimaryMap<Value, Width>,
    /// What it does; it leaves.
    pub body: Region,
}
