//! Ranges that a kernel's operands are bound to. If a device binds fewer ranges than there are operands, several operands share one range.
//!
//! A dispatch waits for all of a range, so ranges are joined only while there are too many. Constants are joined first, because nothing waits for them,
//! then ranges that are only read, then others. Among equals, the pair with the fewest bytes between its ranges is joined.

use crate::machine::Gpu;
use crate::program::{Bound, DeviceMemory};

/// An operand with its place on the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    /// The buffer that contains it.
    pub memory: DeviceMemory,
    /// Its first byte.
    pub start: u64,
    /// The byte after its last one.
    pub end: u64,
    /// `true` if the kernel writes it.
    pub is_written: bool,
    /// `true` if its range must begin at its first byte.
    pub begins: bool,
}

/// Ranges that operands are bound to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Joined {
    /// The number of each operand's range.
    pub bindings: Vec<usize>,
    /// The ranges. Their offsets can be bound.
    pub bounds: Vec<Bound>,
}

/// Finds ranges for operands, at most as many as a device binds. `None` if an operand cannot be bound.
///
/// # Errors
/// The number of ranges, if no more can be joined and there are still too many.
pub fn join(operands: &[Operand], gpu: &Gpu) -> Result<Option<Joined>, usize> {
    let mut groups: Vec<Vec<usize>> = (0..operands.len()).map(|number| vec![number]).collect();
    while groups.len() > gpu.bindings as usize {
        let pairs = (0..groups.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
        let priced = pairs.filter_map(|(first, second)| Some((price(operands, [&groups[first], &groups[second]], gpu)?, first, second)));
        let (_, first, second) = priced.min().ok_or(groups.len())?;
        let joined = groups.remove(second);
        groups[first].extend(joined);
    }
    let mut bindings = vec![0; operands.len()];
    let mut bounds = Vec::with_capacity(groups.len());
    for (number, group) in groups.iter().enumerate() {
        group.iter().for_each(|&operand| bindings[operand] = number);
        let Some(bound) = bound(operands, group, gpu) else { return Ok(None) };
        bounds.push(bound);
    }
    Ok(Some(Joined { bindings, bounds }))
}

/// Returns the cost of a common range for two groups: the kind of waits that it causes, then the bytes that are in neither. `None` if they cannot have
/// one.
fn price(operands: &[Operand], groups: [&[usize]; 2], gpu: &Gpu) -> Option<(u8, u64)> {
    let together = groups.concat();
    if together.iter().any(|&number| operands[number].begins) {
        return None;
    }
    let all = bound(operands, &together, gpu)?;
    let own: u64 = groups.iter().filter_map(|group| bound(operands, group, gpu)).map(|bound| bound.bytes).sum();
    let waits = match all.memory {
        DeviceMemory::Constants => 0,
        DeviceMemory::Area => 1 + u8::from(together.iter().any(|&number| operands[number].is_written)),
    };
    Some((waits, all.bytes.saturating_sub(own)))
}

/// Returns the range of a group of operands. `None` if they are in different buffers, if the range is too long, or if an operand must begin it
/// and cannot.
fn bound(operands: &[Operand], group: &[usize], gpu: &Gpu) -> Option<Bound> {
    let memory = operands[*group.first()?].memory;
    let start = group.iter().map(|&number| operands[number].start).min()?;
    let end = group.iter().map(|&number| operands[number].end).max()?;
    let offset = start - start % gpu.offset_alignment;
    let bytes = (end - offset).next_multiple_of(4);
    let is_one = group.iter().all(|&number| operands[number].memory == memory) && bytes <= gpu.range_bytes;
    let begins = offset == start || !group.iter().any(|&number| operands[number].begins);
    (is_one && begins).then_some(Bound { memory, offset, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::GPUS;

    const AREA: DeviceMemory = DeviceMemory::Area;
    const CONSTANTS: DeviceMemory = DeviceMemory::Constants;

    fn operand(memory: DeviceMemory, start: u64, is_written: bool) -> Operand {
        Operand { memory, start, end: start + 100, is_written, begins: false }
    }

    /// The range of each operand, then the offset and length of each range.
    type Found = (Vec<usize>, Vec<(u64, u64)>);

    fn joined(operands: &[Operand], bindings: u32) -> Result<Option<Found>, usize> {
        let gpu = GPUS[0].limits;
        let found = join(operands, &Gpu { bindings, ..gpu })?;
        Ok(found.map(|joined| (joined.bindings, joined.bounds.iter().map(|bound| (bound.offset, bound.bytes)).collect())))
    }

    #[test]
    fn as_few_as_must_share_a_range() {
        let list = [operand(AREA, 256, false), operand(CONSTANTS, 512, false), operand(AREA, 1024, true), operand(CONSTANTS, 0, false)];
        let each = vec![(256, 100), (512, 100), (1024, 100), (0, 100)];
        assert_eq!(joined(&list, 4), Ok(Some((vec![0, 1, 2, 3], each))));
        // Constants are joined first, then operands in the area.
        assert_eq!(joined(&list, 3), Ok(Some((vec![0, 1, 2, 1], vec![(256, 100), (0, 612), (1024, 100)]))));
        assert_eq!(joined(&list, 2), Ok(Some((vec![0, 1, 0, 1], vec![(256, 868), (0, 612)]))));
        assert_eq!(joined(&list, 1), Err(2));
    }

    #[test]
    fn what_is_only_read_and_lies_near_is_joined_first() {
        let list = [operand(AREA, 256, true), operand(AREA, 512, false), operand(AREA, 4096, false), operand(AREA, 4608, false)];
        assert_eq!(joined(&list, 3).map(|found| found.map(|found| found.0)), Ok(Some(vec![0, 1, 2, 2])));
    }

    #[test]
    fn what_must_begin_a_range_is_alone_and_at_its_first_byte() {
        let begins = |start| Operand { begins: true, ..operand(AREA, start, false) };
        let list = [begins(256), operand(AREA, 512, true)];
        assert_eq!(joined(&list, 1), Err(2));
        assert_eq!(joined(&list, 2).map(|found| found.is_some()), Ok(true));
        assert_eq!(joined(&[begins(260)], 2), Ok(None));
    }
}
