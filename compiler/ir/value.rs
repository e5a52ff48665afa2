//! Values of a function: their types and definitions.

use super::entities::Inst;
use super::types::Type;

/// One value.
#[derive(Clone, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// The definition of the value.
    pub definition: Definition,
    /// The tensor's name in the file, when it has one.
    pub name: Option<String>,
}

/// The definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// Parameter number.
    Param(u32),
    /// Result number of an instruction.
    Result(Inst, u32),
}
