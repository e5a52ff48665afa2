//! Layout of the state: the runtime's record, then the program's variables, then the record of a device.

use super::device::Arrays;
use modelc_machine::Alignment;
use modelc_program::Program;
pub use modelc_program::RECORD_BYTES;

/// Number of the application binary interface; part of every versioned symbol.
pub const ABI: u32 = 1;

/// The parts of the state, each with the program's alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateParts {
    /// The runtime's record.
    pub record: Part,
    /// The program's variables.
    pub variables: Part,
    /// The record of a device; empty for a program without one.
    pub device: Part,
}

/// A part of the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Offset.
    pub offset: u64,
    /// Size.
    pub bytes: u64,
}

impl StateParts {
    /// Lays out the state of a program.
    pub fn new(program: &Program) -> Self {
        let record = Part { offset: 0, bytes: RECORD_BYTES };
        let variables = Part { offset: record.end(program.alignment), bytes: program.variable_bytes };
        let device_bytes = program.device.as_ref().map_or(0, |device| Arrays::new(device).bytes);
        Self { record, variables, device: Part { offset: variables.end(program.alignment), bytes: device_bytes } }
    }
}

impl Part {
    /// Returns the offset of the next part.
    pub fn end(self, alignment: Alignment) -> u64 {
        alignment.up(self.offset + self.bytes)
    }
}

/// Offsets of the fields in the runtime's record. They are equal on every machine; a pointer has eight bytes, and a 32-bit machine uses the
/// lower ones. Other fields of the state are variables.
pub mod record {
    /// Mark of an initialized state: [`INITIALISED`], or [`REFUSED`].
    pub const MAGIC: i32 = 0;
    /// Hash of the model.
    pub const HASH: i32 = 8;
    /// Index of the CPU level in use, 16 bits.
    pub const LEVEL: i32 = 16;
    /// 1 if the scratch memory follows the state, 16 bits.
    pub const WHOLE: i32 = 18;
    /// `threads` of the configuration, 32 bits.
    pub const THREADS: i32 = 20;
    /// `parallel_for` of the configuration, a pointer.
    pub const PARALLEL_FOR: i32 = 24;
    /// `on_kernel` of the configuration, a pointer.
    pub const ON_KERNEL: i32 = 32;
    /// `user` of the configuration, a pointer.
    pub const USER: i32 = 40;
    /// `weights` of the configuration, a pointer.
    pub const WEIGHTS: i32 = 48;
    /// `areas` of the configuration, a pointer.
    pub const AREAS: i32 = 56;
    /// Mark of an initialized state: the letters `modelcS` and the ABI number.
    pub const INITIALISED: u64 = u64::from_le_bytes([b'm', b'o', b'd', b'e', b'l', b'c', b'S', super::ABI as u8]);
    /// Mark of a state whose `init` needed a device and found none. Only the reason can be queried then.
    pub const REFUSED: u64 = u64::from_le_bytes([b'm', b'o', b'd', b'e', b'l', b'c', b'R', super::ABI as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_aligned_and_do_not_overlap() {
        let parts = StateParts::new(&Program { variable_bytes: 70, ..Program::default() });
        assert_eq!((parts.record, parts.variables), (Part { offset: 0, bytes: 64 }, Part { offset: 64, bytes: 70 }));
        assert_eq!(parts.variables.end(Alignment::LINE), 192);
        assert_eq!(parts.device, Part { offset: 192, bytes: 0 });
        assert!(record::AREAS as u64 + 8 <= parts.record.bytes);
    }
}
