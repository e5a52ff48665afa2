//! Figures of a method's memory in several areas, for reports.

/// A method's tensors and scratch memory in the application's areas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InAreas {
    /// The areas in order; the first one is the arena.
    pub areas: Vec<AreaUse>,
    /// Bytes that steps read and write, each times the cost of its area.
    pub cost: u64,
    /// A lower bound of the cost for this order of steps.
    pub lower_bound: u64,
    /// `true` if no placement costs less for this order of steps.
    pub optimal: bool,
}

/// Use of one area by a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AreaUse {
    /// Name in `--memory`.
    pub name: String,
    /// Size of the memory.
    pub size: u64,
    /// `fast`, `slow`, or empty.
    pub rank: &'static str,
    /// Bytes that the method needs there, without the state and without weights.
    pub bytes: u64,
    /// Bytes of weights that `init` copies there.
    pub weights: u64,
    /// Bytes that a call reads and writes there, without weights.
    pub moved: u64,
    /// Tensors and scratch memory that are live there at its peak, with their sizes.
    pub peak: Vec<(String, u64)>,
}

impl InAreas {
    /// Returns the bytes that a call reads and writes in all areas.
    pub fn moved(&self) -> u64 {
        self.areas.iter().map(|area| area.moved).sum()
    }
}
