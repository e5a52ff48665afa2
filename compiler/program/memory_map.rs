//! Tensors in the scratch memory of a method, for reports.

use modelc_machine::Alignment;

/// Contents of a method's scratch memory over time.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MemoryMap {
    /// Description of each step of the plan. Branches have steps, too, which call no kernel.
    pub steps: Vec<String>,
    /// The step of each kernel call, in the order of the calls.
    pub calls: Vec<usize>,
    /// The step at which the most bytes are live.
    pub peak_step: usize,
    /// All tensors and kernel scratch with an address. Two that share bytes at one step are in-place operands.
    pub occupants: Vec<Occupant>,
}

impl MemoryMap {
    /// Returns the largest free range at a step, below the highest address in use at any step. Its ends are aligned.
    pub fn largest_gap(&self, step: usize, alignment: Alignment) -> std::ops::Range<u64> {
        let mut there: Vec<(u64, u64)> =
            self.occupants.iter().filter(|o| o.steps.contains(&step)).map(|o| (o.offset, o.offset + o.bytes)).collect();
        let end = self.occupants.iter().map(|o| o.offset + o.bytes).max().unwrap_or(0);
        there.sort_unstable();
        there.push((end, end));
        let (mut largest, mut from) = (0..0, 0u64);
        for (start, next) in there {
            let gap = from..alignment.down(start);
            if gap.end.saturating_sub(gap.start) > largest.end - largest.start {
                largest = gap;
            }
            from = from.max(alignment.up(next));
        }
        largest
    }
}

/// A tensor, or the scratch of one kernel call, in the scratch memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// Name of the tensor or of the step.
    pub name: String,
    /// Offset.
    pub offset: u64,
    /// Size.
    pub bytes: u64,
    /// The steps at which it is live.
    pub steps: std::ops::Range<usize>,
    /// `true` for the scratch of a kernel call, `false` for a tensor.
    pub working: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_gap_is_between_what_lies_there_at_a_step() {
        let occupant = |offset, bytes, steps| Occupant { name: String::new(), offset, bytes, steps, working: false };
        let occupants = vec![occupant(0, 100, 0..3), occupant(300, 10, 1..2), occupant(320, 64, 0..1), occupant(640, 60, 2..3)];
        let map = MemoryMap { occupants, ..MemoryMap::default() };
        assert_eq!(map.largest_gap(0, Alignment::LINE), 384..640);
        assert_eq!(map.largest_gap(1, Alignment::LINE), 320..640);
        assert_eq!(map.largest_gap(2, Alignment::LINE), 128..640);
        assert_eq!(map.largest_gap(3, Alignment::LINE), 0..640);
        assert_eq!(map.largest_gap(2, Alignment::WORDS), 112..640);
        assert_eq!(MemoryMap::default().largest_gap(0, Alignment::LINE), 0..0);
    }
}
