//! Arguments of a method: the structs for its entry function, and a buffer for each input and output.

use super::memory::{Memory, Placement};
use crate::diagnostic::Diagnostic;
use crate::interface::Field;
use crate::program::Port;

/// Buffers and structs of one method.
pub(super) struct Arguments {
    pub inputs: Side,
    pub outputs: Side,
}

/// Inputs or outputs: the struct, and a buffer for each port that is not a scalar.
pub(super) struct Side {
    pub record: Memory,
    pub buffers: Vec<Option<Memory>>,
}

impl Side {
    pub fn new(ports: &[Port], fields: &[Field], placement: Placement) -> Result<Self, Diagnostic> {
        let mut record = record(ports, fields)?;
        let mut buffers = Vec::new();
        for (port, field) in ports.iter().zip(fields) {
            if port.scalar {
                buffers.push(None);
                continue;
            }
            let mut buffer = Memory::new(port.bytes as usize, port.element.alignment() as usize, placement)?;
            let address = buffer.address() as u64;
            record.contents_mut()[field.offset as usize..][..8].copy_from_slice(&address.to_le_bytes());
            buffers.push(Some(buffer));
        }
        Ok(Self { record, buffers })
    }

    /// Makes the struct without buffers: its pointers will refer to the caller's.
    pub fn without_buffers(ports: &[Port], fields: &[Field]) -> Result<Self, Diagnostic> {
        Ok(Self { record: record(ports, fields)?, buffers: vec![] })
    }

    /// Returns address and size of each buffer; an empty range for a scalar.
    pub fn memory(&self) -> Vec<(*const u8, usize)> {
        self.buffers.iter().map(|buffer| buffer.as_ref().map_or(&[][..], Memory::contents)).map(|b| (b.as_ptr(), b.len())).collect()
    }

    pub fn bytes(&self, index: usize, field: &Field, port: &Port) -> &[u8] {
        match &self.buffers[index] {
            Some(buffer) => buffer.contents(),
            None => &self.record.contents()[field.offset as usize..][..port.bytes as usize],
        }
    }

    /// Sets the pointer of a port to an address.
    pub fn point(&mut self, field: &Field, address: *const u8) {
        self.record.contents_mut()[field.offset as usize..][..8].copy_from_slice(&(address as u64).to_le_bytes());
    }

    /// Returns the bytes of a scalar in the struct.
    pub fn number(&mut self, field: &Field, port: &Port) -> &mut [u8] {
        &mut self.record.contents_mut()[field.offset as usize..][..port.bytes as usize]
    }

    /// Writes the contents of an input. They end at the end of the buffer, so that reads past them are detected.
    pub fn set(&mut self, index: usize, field: &Field, port: &Port, bytes: &[u8]) {
        let Some(buffer) = &mut self.buffers[index] else {
            self.record.contents_mut()[field.offset as usize..][..bytes.len()].copy_from_slice(bytes);
            return;
        };
        let start =
            (port.bytes as usize).saturating_sub(bytes.len()) / port.element.alignment() as usize * port.element.alignment() as usize;
        buffer.contents_mut()[start..][..bytes.len()].copy_from_slice(bytes);
        let address = buffer.address() as u64 + start as u64;
        self.record.contents_mut()[field.offset as usize..][..8].copy_from_slice(&address.to_le_bytes());
    }

    pub fn set_shape(&mut self, field: &Field, shape: &[u64]) {
        let Some(offset) = field.shape_offset else { return };
        for (slot, extent) in self.record.contents_mut()[offset as usize..].chunks_exact_mut(8).zip(shape) {
            slot.copy_from_slice(&extent.to_le_bytes());
        }
    }

    pub fn shape(&self, field: &Field, port: &Port) -> Vec<u64> {
        let mut shape = Vec::new();
        self.shape_into(field, port, &mut shape);
        shape
    }

    /// Writes the shape of a port into a list, which is reallocated only if it is too short.
    pub fn shape_into(&self, field: &Field, port: &Port, shape: &mut Vec<u64>) {
        shape.clear();
        let Some(offset) = field.shape_offset else { return shape.extend_from_slice(&port.shape) };
        let words = self.record.contents()[offset as usize..].chunks_exact(8).take(port.shape.len());
        shape.extend(words.map(|word| word.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte))));
    }
}

/// Allocates a struct of ports.
fn record(ports: &[Port], fields: &[Field]) -> Result<Memory, Diagnostic> {
    let end = |(port, field): (&Port, &Field)| match field.shape_offset {
        Some(offset) => offset + 8 * port.shape.len() as u64,
        None => field.offset + if port.scalar { port.bytes } else { 8 },
    };
    let bytes = ports.iter().zip(fields).map(end).max().unwrap_or(4).next_multiple_of(8);
    Memory::new(bytes as usize, 8, Placement::Aligned)
}
