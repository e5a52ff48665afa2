//! What a kernel's pointer parameters are bound to.

use crate::ir::{Data, Value};

/// What a kernel's pointer parameter is bound to.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A tensor.
    Tensor(Value),
    /// Read-only data made at compile time.
    Data(Data),
    /// A scratch buffer of the requirements.
    Scratch(usize),
}
