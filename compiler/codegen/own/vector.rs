//! Vectors held in parts.

use regalloc2::VReg;

/// Lanes in registers: full ones, or one whose low lanes count. Lanes that do not count may hold anything.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Bytes of a lane.
    pub bytes: u32,
    /// Number of lanes.
    pub lanes: u16,
    /// Registers, low lanes first.
    pub parts: Vec<VReg>,
}

impl Vector {
    /// Bytes of all lanes.
    pub fn total(&self) -> u32 {
        u32::from(self.lanes) * self.bytes
    }

    /// Bytes that count in each register.
    pub fn part_bytes(&self) -> u32 {
        self.total() / self.parts.len() as u32
    }

    /// The same lanes in other registers, of the same width.
    pub fn with(&self, parts: Vec<VReg>) -> Self {
        Self { parts, ..*self }
    }
}
