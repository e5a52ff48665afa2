//! Registers and their contents during the translation of a method.

use super::fault::Fault;
use super::memory::{Area, ByteRange, Definition, Memory};
use super::program::{EValue, Form, Storage};
use super::shared::Shared;
use crate::ir::{Constant, Extent, Module, Value};
use crate::operators::promotion::Number;
use std::rc::Rc;

/// The place of a tensor register's bytes.
#[derive(Clone, PartialEq, Debug)]
pub enum TensorPlace {
    /// Memory, from a byte on.
    Memory(Area, u64),
    /// A constant of the module, row major.
    Constant(Constant),
    /// No place: the constant could not be read.
    Missing(Fault),
}

/// The contents of a tensor register: the place of the bytes, and their interpretation.
#[derive(Clone, PartialEq, Debug)]
pub struct Handle {
    /// The place.
    pub place: TensorPlace,
    /// The interpretation.
    pub form: Form<Extent>,
    /// The number of bytes, at its bound for run-time extents.
    pub bytes: u64,
}

impl Handle {
    /// The bytes in memory; `None` of constants.
    pub fn range(&self) -> Option<ByteRange> {
        match self.place {
            TensorPlace::Memory(area, start) => Some(ByteRange { area, start, end: start.saturating_add(self.bytes) }),
            _ => None,
        }
    }
}

/// A register while the method runs.
#[derive(Clone, PartialEq, Debug)]
pub enum Register {
    /// A number known at compile time.
    Number(Number),
    /// An integer that is computed from extents, or read from a tensor, when the program runs: an index of the function at that nesting depth.
    Index(usize, Value),
    /// A number known when the program runs: a tensor of one element.
    Loaded(Rc<Definition>),
    /// A tensor.
    Tensor(Handle),
    /// None, a string or a list, as in this register of the file.
    AsInFile(usize),
    /// Unreadable contents, with the reason.
    Unavailable(Fault),
}

/// All that instructions change.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The registers.
    pub registers: Vec<Register>,
    /// The bytes.
    pub memory: Memory,
}

/// A register as the file has it.
pub fn initial_register(shared: &mut Shared, module: &mut Module, index: usize, value: &EValue) -> Register {
    match value {
        EValue::Int(n) => Register::Number(Number::Int(*n)),
        EValue::Bool(b) => Register::Number(Number::Bool(*b)),
        EValue::Double(x) => Register::Number(Number::Double(*x)),
        EValue::Tensor(meta) => {
            let place = match &meta.storage {
                Storage::Planned { memory_id, offset, .. } => TensorPlace::Memory(Area::Planned(*memory_id), *offset),
                Storage::Unplanned | Storage::Buffer { .. } | Storage::Drawn => TensorPlace::Memory(Area::Private(index), 0),
                Storage::Constant(buffer) => match shared.constant(module, *buffer, &meta.form) {
                    Ok(constant) => TensorPlace::Constant(constant),
                    Err(diagnostic) => TensorPlace::Missing(diagnostic.about_tensor(format!("value {index}")).into()),
                },
                Storage::External(name) => match shared.external(module, name, &meta.form) {
                    Ok(constant) => TensorPlace::Constant(constant),
                    Err(diagnostic) => TensorPlace::Missing(diagnostic.about_tensor(name).into()),
                },
            };
            Register::Tensor(Handle { place, form: meta.form.on_extents(), bytes: meta.form.bytes() })
        }
        _ => Register::AsInFile(index),
    }
}
