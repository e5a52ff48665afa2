//! What is where in the state: the runtime's record, then the program's variables, then what it knows of a device.

use super::device::Arrays;
use crate::program::{ALIGNMENT, Program};

/// The number of the application binary interface; part of every versioned symbol.
pub const ABI: u32 = 1;
/// Bytes of the runtime's own record at the start of the state.
pub const RECORD_BYTES: u64 = 64;

/// The parts of the state, each at a multiple of the alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateParts {
    /// The runtime's own record.
    pub record: Part,
    /// The program's variables.
    pub variables: Part,
    /// What is known of a device; nothing of a program that has none.
    pub device: Part,
}

/// A part of the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Where it starts.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
}

impl StateParts {
    /// The parts of the state of a program.
    pub fn new(program: &Program) -> Self {
        let record = Part { offset: 0, bytes: RECORD_BYTES };
        let variables = Part { offset: record.end(), bytes: program.variable_bytes };
        let device_bytes = program.device.as_ref().map_or(0, |device| Arrays::new(device).bytes);
        Self { record, variables, device: Part { offset: variables.end(), bytes: device_bytes } }
    }
}

impl Part {
    /// Where the next part may start.
    pub fn end(self) -> u64 {
        (self.offset + self.bytes).next_multiple_of(ALIGNMENT)
    }
}

/// The state's record: offsets of its fields. They are the same on every machine; a pointer has eight bytes, of which a 32-bit machine
/// uses the lower ones. Everything else in the state is variables.
pub mod record {
    /// `INITIALISED` while the state is.
    pub const MAGIC: i32 = 0;
    /// Hash of the model.
    pub const HASH: i32 = 8;
    /// Which CPU level's code is used, 16 bits.
    pub const LEVEL: i32 = 16;
    /// 1 when the scratch memory follows the state, 16 bits.
    pub const WHOLE: i32 = 18;
    /// Of the configuration, 32 bits.
    pub const THREADS: i32 = 20;
    /// Of the configuration, a pointer.
    pub const PARALLEL_FOR: i32 = 24;
    /// Of the configuration, a pointer.
    pub const ON_KERNEL: i32 = 32;
    /// Of the configuration, a pointer.
    pub const USER: i32 = 40;
    /// Of the configuration, a pointer.
    pub const WEIGHTS: i32 = 48;
    /// Of the configuration, a pointer.
    pub const AREAS: i32 = 56;
    /// What an initialised state starts with: the letters `modelcS` and the ABI number.
    pub const INITIALISED: u64 = u64::from_le_bytes([b'm', b'o', b'd', b'e', b'l', b'c', b'S', super::ABI as u8]);
    /// What a state starts with whose `init` needed a device and got none: only the reason can be asked.
    pub const REFUSED: u64 = u64::from_le_bytes([b'm', b'o', b'd', b'e', b'l', b'c', b'R', super::ABI as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_aligned_and_do_not_overlap() {
        let parts = StateParts::new(&Program { variable_bytes: 70, ..Program::default() });
        assert_eq!((parts.record, parts.variables), (Part { offset: 0, bytes: 64 }, Part { offset: 64, bytes: 70 }));
        assert_eq!(parts.variables.end(), 192);
        assert_eq!(parts.device, Part { offset: 192, bytes: 0 });
        assert!(record::AREAS as u64 + 8 <= parts.record.bytes);
    }
}
