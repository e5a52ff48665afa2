//! Read-only data sections of a compiled model, which relocations name by number.

use super::Relocation;
use super::constants::ConstantLayout;
use modelc_program::Program;
use std::borrow::Cow;

/// A section of data.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Name without the model's prefix: `weights`.
    pub name: Cow<'static, str>,
    /// Alignment of the first byte.
    pub alignment: u64,
    /// The data.
    pub contents: Contents,
    /// Distances to functions in the data. Only back ends with [`super::BackEnd::distance`] have them.
    pub relocations: Vec<Relocation>,
}

/// The data of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The program's constants in their layout. They are not copied until a file is written.
    Constants,
    /// A vector of bytes.
    Bytes(Vec<u8>),
}

impl Section {
    /// Makes the section of the weights.
    pub fn weights(program: &Program) -> Self {
        Self { name: "weights".into(), alignment: program.alignment.bytes(), contents: Contents::Constants, relocations: vec![] }
    }

    /// Makes a section of the given bytes.
    pub fn of_bytes(name: impl Into<Cow<'static, str>>, alignment: u64, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), alignment, contents: Contents::Bytes(bytes), relocations: vec![] }
    }

    /// Returns the size in bytes.
    pub fn bytes(&self, constants: &ConstantLayout) -> u64 {
        match &self.contents {
            Contents::Constants => constants.bytes,
            Contents::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Returns the size in bytes of a table; 0 for the program's constants.
    pub fn table_bytes(&self) -> u64 {
        match &self.contents {
            Contents::Constants => 0,
            Contents::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Copies the data.
    pub fn to_vec(&self, constants: &ConstantLayout, program: &Program) -> Vec<u8> {
        match &self.contents {
            Contents::Constants => constants.contents(program),
            Contents::Bytes(bytes) => bytes.clone(),
        }
    }
}
