//! The operators of a model file and the tensors that go from one to another, as they were before any rewrite.
//!
//! Reports draw it: rewrites remove operators, and a file's graph has them all.

use super::entities::{Func, Source};

/// The graph of a function.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Outline {
    /// The function's name in the tensor language.
    pub name: String,
    /// The function's parameters that are tensors: name and type.
    pub inputs: Vec<(String, String)>,
    /// The operators, in the order in which the file has them.
    pub operators: Vec<OutlineOperator>,
    /// The tensors that the function returns.
    pub outputs: Vec<Wire>,
}

/// An operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineOperator {
    /// Its place in the file.
    pub source: Source,
    /// The tensors that it reads from other operators, each once.
    pub inputs: Vec<Wire>,
    /// Type and shape of its first result: `i8[1, 8, 8, 16]`.
    pub ty: String,
    /// Elements of the file's constants that it reads.
    pub parameters: u64,
    /// The functions that it runs: branches, a loop's condition and body.
    pub functions: Vec<Func>,
}

/// A tensor with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Its origin.
    pub from: End,
    /// Its name, which may be empty.
    pub tensor: String,
    /// Type and shape.
    pub ty: String,
}

/// The origin of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A parameter of the function.
    Input(usize),
    /// An operator.
    Operator(usize),
}
