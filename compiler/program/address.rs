//! Places in memory at run time.

/// An address at run time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// Offset in the scratch memory.
    Scratch(u64),
    /// Number of a memory area that the application provides beside the arena (`modelc_config.areas`), and an offset in it.
    Area(u32, u64),
    /// Number of a moving address, and the offset in the scratch memory if all extents are at their bounds.
    Moving(u32, u64),
    /// Offset among the variables.
    Variable(u64),
    /// Offset in the device's area, for a variable that the host does not have. Only steps that a region replaces have such addresses.
    Resident(u64),
    /// Number of the caller's input buffer, and an offset in it.
    Input(u32, u64),
    /// Number of the caller's output buffer, and an offset in it.
    Output(u32, u64),
    /// Number of a constant, and an offset in it.
    Constant(u32, u64),
}

impl Address {
    /// Returns the address `bytes` bytes further on.
    pub fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Scratch(offset) => Self::Scratch(offset + bytes),
            Self::Area(area, offset) => Self::Area(area, offset + bytes),
            Self::Moving(place, offset) => Self::Moving(place, offset + bytes),
            Self::Variable(offset) => Self::Variable(offset + bytes),
            Self::Resident(offset) => Self::Resident(offset + bytes),
            Self::Input(number, offset) => Self::Input(number, offset + bytes),
            Self::Output(number, offset) => Self::Output(number, offset + bytes),
            Self::Constant(number, offset) => Self::Constant(number, offset + bytes),
        }
    }
}
