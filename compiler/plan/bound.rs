//! Lower bounds of the arena size.

use std::cmp::Reverse;
use std::ops::Range;

use super::inplace::Pair;
use super::lifetimes::Lifetimes;
use super::problem::{Block, Sections, align_up, offset_unit};
use super::request::{Request, TensorId};
use super::views::Demand;

/// Returns a lower bound of the height of any packing: the largest section, or the highest fixed block.
///
/// All offsets in a section are multiples of the section's unit. So every block except the uppermost takes its height rounded up to that unit.
/// The bound is the sum of rounded heights, less the largest padding of one block.
pub(super) fn of_sections(blocks: &[Block], sections: &Sections) -> u64 {
    let stacked = (0..sections.count).map(|section| of_section(sections, section)).max().unwrap_or(0);
    stacked.max(of_single(blocks))
}

/// Returns the bound for problems with too many blocks to list sections: the most bytes live at an instant, or the highest single block.
pub(super) fn of_blocks(blocks: &[Block]) -> u64 {
    let mut events: Vec<(u64, bool, u64)> = Vec::new();
    for segment in blocks.iter().flat_map(|block| &block.segments) {
        events.push((segment.start, true, segment.bytes));
        events.push((segment.end, false, segment.bytes));
    }
    events.sort_unstable();
    let (mut live, mut most) = (0u64, 0u64);
    for (_, starts, bytes) in events {
        if starts {
            live += bytes;
            most = most.max(live);
        } else {
            live -= bytes;
        }
    }
    most.max(of_single(blocks))
}

/// Returns the bound of one section.
fn of_section(sections: &Sections, section: usize) -> u64 {
    let (mut sum, mut padding) = (0, 0);
    for &block in &sections.members[section] {
        let height = sections.height(block as usize, section);
        let rounded = sections.rounded_height(block as usize, section);
        sum += rounded;
        padding = padding.max(rounded - height);
    }
    sum - padding
}

/// Returns the bound from single blocks.
fn of_single(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| block.fixed.unwrap_or(0) + block.height()).max().unwrap_or(0)
}

/// A step's bound: the smallest arena that holds its live bytes, for any use of shared memory.
#[derive(Clone, Copy)]
pub(super) struct StepBound {
    /// The largest bound of any step.
    pub bytes: u64,
    /// The first step with this bound.
    pub step: usize,
    /// `true` if every storage is live as a whole or not at all. A proof about blocks then holds for storages, too.
    pub whole: bool,
}

/// Returns the bound that holds for every use of `pairs`. It is the live bytes of a step, less the most that pairs of this step can save.
///
/// Offsets are multiples of the step's smallest alignment. So the sizes of all storages except the uppermost count rounded up to it. Sizes are
/// not rounded if a storage is only partly live, since another block could use the hole.
pub(super) fn of_steps(request: &Request, lifetimes: &Lifetimes, demands: &[Demand], pairs: &[Pair]) -> StepBound {
    let mut bound = StepBound { bytes: 0, step: 0, whole: true };
    let mut highest_fixed = 0;
    let mut live: Vec<Live> = Vec::new();
    for (index, tensor) in request.tensors.iter().enumerate() {
        let demand = demands[index];
        for segment in lifetimes.live_bytes(TensorId(index as u32)) {
            let partial = segment.bytes < tensor.bytes;
            bound.whole &= !partial;
            highest_fixed = demand.fixed.map_or(0, |fixed| fixed + segment.bytes).max(highest_fixed);
            let unit = if partial { 1 } else { offset_unit(demand.alignment, demand.fixed) };
            live.push(Live { steps: segment.start as usize..segment.end as usize, bytes: segment.bytes, unit });
        }
    }
    for (index, step) in request.steps.iter().enumerate() {
        live.extend(step.scratch.iter().map(|scratch| Live { steps: index..index + 1, bytes: scratch.bytes, unit: scratch.alignment }));
    }
    live.retain(|entry| entry.bytes > 0);
    let step_pairs = by_step(pairs, request.steps.len());
    for (step, (bytes, unit)) in stacks(&live, request.steps.len()).into_iter().enumerate() {
        let bytes = bytes.saturating_sub(most_saved(&step_pairs[step], unit));
        if bytes > bound.bytes {
            (bound.bytes, bound.step) = (bytes, step);
        }
    }
    bound.bytes = bound.bytes.max(highest_fixed);
    bound
}

/// Returns the bound if up to `elsewhere` live bytes of a step may be outside the arena; scratch memory may not.
pub(super) fn beside(request: &Request, lifetimes: &Lifetimes, pairs: &[Pair], elsewhere: impl Fn(usize) -> u64) -> u64 {
    let mut live = vec![0u64; request.steps.len()];
    for index in 0..request.tensors.len() {
        for segment in lifetimes.live_bytes(TensorId(index as u32)) {
            live[segment.start as usize..segment.end as usize].iter_mut().for_each(|bytes| *bytes += segment.bytes);
        }
    }
    let of_step = |(step, (live, pairs)): (usize, (u64, Vec<&Pair>))| {
        let scratch: u64 = request.steps[step].scratch.iter().map(|scratch| scratch.bytes).sum();
        scratch + live.saturating_sub(most_saved(&pairs, 1)).saturating_sub(elsewhere(step))
    };
    live.into_iter().zip(by_step(pairs, request.steps.len())).enumerate().map(of_step).max().unwrap_or(0)
}

/// Groups the pairs by step.
fn by_step(pairs: &[Pair], steps: usize) -> Vec<Vec<&Pair>> {
    let mut lists = vec![Vec::new(); steps];
    pairs.iter().for_each(|pair| lists[pair.step].push(pair));
    lists
}

/// Some bytes, the steps at which they are live, and a power of two that divides their offset.
struct Live {
    steps: Range<usize>,
    bytes: u64,
    unit: u64,
}

/// Returns for each step the least height of its live bytes, and the unit of rounding.
fn stacks(live: &[Live], steps: usize) -> Vec<(u64, u64)> {
    /// Limit of the summed lengths of live ranges; above it sizes are not rounded to units.
    const MOST_WORK: usize = 1 << 22;
    let work = live.iter().map(|entry| entry.steps.len()).fold(0, usize::saturating_add);
    if work > MOST_WORK {
        let mut change = vec![0i64; steps + 1];
        for entry in live {
            change[entry.steps.start] += entry.bytes as i64;
            change[entry.steps.end] -= entry.bytes as i64;
        }
        let running = change[..steps].iter().scan(0, |sum, change| {
            *sum += change;
            Some((*sum as u64, 1))
        });
        return running.collect();
    }
    let mut unit = vec![u64::MAX; steps];
    for entry in live {
        unit[entry.steps.clone()].iter_mut().for_each(|unit| *unit = entry.unit.min(*unit));
    }
    let mut stack = vec![(0, 0); steps];
    for entry in live {
        for step in entry.steps.clone() {
            let rounded = align_up(entry.bytes, unit[step]);
            let (sum, padding) = stack[step];
            stack[step] = (sum + rounded, (rounded - entry.bytes).max(padding));
        }
    }
    stack.into_iter().zip(unit).map(|((sum, padding), unit)| (sum - padding, if unit == u64::MAX { 1 } else { unit })).collect()
}

/// Returns the most bytes that the pairs of one step can save. A tensor shares with at most one other, so each side saves at most its best
/// pairs.
fn most_saved(pairs: &[&Pair], unit: u64) -> u64 {
    let best = |side: fn(&Pair) -> TensorId| -> u64 {
        let mut list: Vec<(TensorId, u64)> = pairs.iter().map(|pair| (side(pair), pair.saving)).collect();
        list.sort_unstable_by_key(|&(tensor, saving)| (tensor, Reverse(saving)));
        list.dedup_by_key(|entry| entry.0);
        list.iter().map(|entry| align_up(entry.1, unit)).sum()
    };
    best(|pair| pair.read).min(best(|pair| pair.written))
}
