//! The read-only data of a compiled model, as a list of sections that relocations number.

use super::constants::ConstantLayout;
use crate::program::{ALIGNMENT, Program};

/// A section of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Without the model's prefix: `weights`.
    pub name: &'static str,
    /// What its first byte is aligned to.
    pub alignment: u64,
    /// What it holds.
    pub contents: Contents,
}

/// What a section holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The program's constants, where their layout puts them. They stay where they are until a file is written.
    Constants,
    /// These bytes.
    Bytes(Vec<u8>),
}

impl Section {
    /// The section of the weights.
    pub fn weights() -> Self {
        Self { name: "weights", alignment: ALIGNMENT, contents: Contents::Constants }
    }

    /// A section of these bytes.
    pub fn of_bytes(name: &'static str, alignment: u64, bytes: Vec<u8>) -> Self {
        Self { name, alignment, contents: Contents::Bytes(bytes) }
    }

    /// Its size.
    pub fn bytes(&self, constants: &ConstantLayout) -> u64 {
        match &self.contents {
            Contents::Constants => constants.bytes,
            Contents::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Its size, if it holds no constants of the program.
    pub fn table_bytes(&self) -> u64 {
        match &self.contents {
            Contents::Constants => 0,
            Contents::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// A copy of what it holds.
    pub fn to_vec(&self, constants: &ConstantLayout, program: &Program) -> Vec<u8> {
        match &self.contents {
            Contents::Constants => constants.contents(program),
            Contents::Bytes(bytes) => bytes.clone(),
        }
    }
}
