//! Layout of the state: the runtime's record, then the program's variables, then the record of a device.

use super::device::Arrays;
use super::structs::Member::{Half, Long, Single, Slot};
use super::structs::{Layout, Row, Struct};
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

/// Fields of the runtime's record. Other fields of the state are variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record {
    /// Mark of an initialized state: [`Record::INITIALISED`], or [`Record::REFUSED`].
    Magic,
    /// Hash of the model.
    Hash,
    /// Index of the CPU level in use.
    Level,
    /// 1 if the scratch memory follows the state.
    Whole,
    /// `threads` of the configuration.
    Threads,
    /// `parallel_for` of the configuration.
    ParallelFor,
    /// `on_kernel` of the configuration.
    OnKernel,
    /// `user` of the configuration.
    User,
    /// `weights` of the configuration.
    Weights,
    /// `areas` of the configuration.
    Areas,
}

/// The fields of the runtime's record in their order. They have the same offsets on every machine.
pub static RECORD: Struct<Record> = Struct::record(&[
    Row::new(Long, &[Record::Magic, Record::Hash]),
    Row::new(Half, &[Record::Level, Record::Whole]),
    Row::new(Single, &[Record::Threads]),
    Row::new(Slot, &[Record::ParallelFor, Record::OnKernel, Record::User, Record::Weights, Record::Areas]),
]);

impl Record {
    /// Mark of an initialized state: the letters `modelcS` and the ABI number.
    pub const INITIALISED: u64 = u64::from_le_bytes([b'm', b'o', b'd', b'e', b'l', b'c', b'S', ABI as u8]);
    /// Mark of a state whose `init` needed a device and found none. Only the reason can be queried then.
    pub const REFUSED: u64 = u64::from_le_bytes([b'm', b'o', b'd', b'e', b'l', b'c', b'R', ABI as u8]);

    /// Returns the offset of the field.
    pub fn offset(self) -> i32 {
        RECORD.offset(self, Layout::WIDE)
    }
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
        assert!(RECORD.bytes(Layout::WIDE) <= parts.record.bytes);
    }

    #[test]
    fn fields_of_the_record_have_the_same_offsets_on_every_machine() {
        for pointer in [4, 8] {
            let places: Vec<u64> = RECORD.members(Layout { pointer }).map(|place| place.2).collect();
            assert_eq!(places, [0, 8, 16, 18, 20, 24, 32, 40, 48, 56]);
        }
    }
}
