//! Conflicts between imported offsets.

use std::collections::BTreeMap;

use super::problem::Block;

/// Returns two fixed blocks, by index, that use the same byte at the same instant; `None` if there are none.
///
/// It is one pass through time, with a map of the ranges in use, which are disjoint.
pub(super) fn conflict(blocks: &[Block]) -> Option<(usize, usize)> {
    // (instant, whether a range starts, its start, its end, its block); ranges end before others start.
    let mut events: Vec<(u64, bool, u64, u64, usize)> = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let Some(offset) = block.fixed else {
            continue;
        };
        for segment in block.segments.iter().filter(|segment| segment.bytes > 0) {
            let end = offset + segment.bytes;
            events.push((segment.start, true, offset, end, index));
            events.push((segment.end, false, offset, end, index));
        }
    }
    events.sort_unstable();
    let mut used: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
    for (_, starts, start, end, block) in events {
        if !starts {
            used.remove(&start);
        } else if let Some((_, &(_, other))) = used.range(..end).next_back().filter(|(_, (other_end, _))| *other_end > start) {
            return Some((other, block));
        } else {
            used.insert(start, (end, block));
        }
    }
    None
}
