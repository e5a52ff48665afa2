//! Copies of weights in an area, which `init` makes.
//!
//! The constants that are read most often for each of their bytes come first, as far as the area has room after the tensors. A call reads a weight once
//! for each multiply-accumulate operation, or once for each byte that it moves. In the first area, the arena, a copy is a variable: it stays between
//! calls, as the state does.

use super::memory::variables::Variables;
use super::options::areas::Areas;
use super::stages::written::LoweredMethod;
use crate::machine::Alignment;
use crate::program::{Address, Blob, Call, Copied, Variable, calls, change_calls};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::ops::Range;

/// Copies weights to the area that `areas` names, and lets calls read the copies. Returns the copies in areas beside the arena.
pub(super) fn weights(areas: &Areas, constants: &[Blob], variables: &mut Variables, methods: &mut [LoweredMethod]) -> Vec<Copied> {
    let Some(area) = areas.weights else { return vec![] };
    let alignment = variables.alignment;
    let copies = chosen(constants, free(areas, area, variables, methods), alignment, methods);
    let Some(end) = copies.last().map(|copy| alignment.up(copy.offset + copy.bytes)) else { return vec![] };
    let number = area.checked_sub(1).map(|number| number as u32);
    redirect(&copies, number, methods);
    for level in methods.iter_mut().flat_map(|method| &mut method.levels) {
        if let Some(known) = level.in_areas.as_mut().and_then(|known| known.areas.get_mut(area)) {
            known.weights = copies.iter().map(|copy| copy.bytes).sum();
        }
        if let Some(bytes) = number.and_then(|number| level.area_bytes.get_mut(number as usize)) {
            *bytes = end;
        }
    }
    if let Some(number) = number {
        return copies.into_iter().map(|copy| Copied { area: number, ..copy }).collect();
    }
    variables.list.extend(copies.iter().map(|copy| Variable {
        name: constants[copy.constant].name.clone(),
        offset: copy.offset,
        bytes: copy.bytes,
        initial: Some(copy.constant),
        is_copy: true,
    }));
    variables.bytes = end;
    vec![]
}

/// Returns the range of an area after the memory of all methods. In the arena, it is a range of variables.
fn free(areas: &Areas, area: usize, variables: &Variables, methods: &[LoweredMethod]) -> Range<u64> {
    let size = areas.list()[area].bytes;
    let alignment = variables.alignment;
    let most = |bytes: &dyn Fn(&LoweredMethod) -> u64| alignment.up(methods.iter().map(bytes).max().unwrap_or(0));
    if let Some(number) = area.checked_sub(1) {
        return most(&|method| method.levels[0].area_bytes[number])..size;
    }
    let start = alignment.up(variables.bytes);
    start..start + size.saturating_sub(variables.state_bytes() + most(&|method| method.plan.arena_bytes))
}

/// Chooses the constants that fit into a range, the most reads for each byte first.
fn chosen(constants: &[Blob], free: Range<u64>, alignment: Alignment, methods: &[LoweredMethod]) -> Vec<Copied> {
    let mut next = free.start;
    let mut copies = vec![];
    for constant in by_reuse(constants, methods) {
        let bytes = constants[constant].data.len() as u64;
        let end = next.saturating_add(alignment.up(bytes));
        if bytes > 0 && end <= free.end {
            copies.push(Copied { constant, area: 0, offset: next, bytes });
            next = end;
        }
    }
    copies
}

/// Lets calls read copies: in the area with a number, or among the variables.
fn redirect(copies: &[Copied], number: Option<u32>, methods: &mut [LoweredMethod]) {
    let places: FxHashMap<u32, u64> = copies.iter().map(|copy| (copy.constant as u32, copy.offset)).collect();
    let change = |address: &mut Address| {
        if let Address::Constant(constant, offset) = *address
            && let Some(&place) = places.get(&constant)
        {
            *address = number.map_or(Address::Variable(place + offset), |number| Address::Area(number, place + offset));
        }
    };
    for level in methods.iter_mut().flat_map(|method| &mut method.levels) {
        change_calls(&mut level.steps, &mut |call: &mut Call| call.arguments.iter_mut().for_each(change));
    }
}

/// Returns the constants that kernels read, the most reads for each byte first.
fn by_reuse(constants: &[Blob], methods: &[LoweredMethod]) -> Vec<usize> {
    let mut reads: FxHashMap<usize, u64> = FxHashMap::default();
    for call in methods.iter().flat_map(|method| calls(&method.levels[0].steps)) {
        for argument in &call.arguments {
            if let Address::Constant(constant, _) = *argument {
                let work = call.origin.multiply_accumulates.max(call.origin.bytes);
                let sum = reads.entry(constant as usize).or_default();
                *sum = sum.saturating_add(work);
            }
        }
    }
    let mut order: Vec<(usize, u64)> = reads.into_iter().collect();
    let a_byte = |&(constant, work): &(usize, u64)| u128::from(work) * (1 << 20) / u128::from(constants[constant].data.len().max(1) as u64);
    order.sort_by_key(|known| (Reverse(a_byte(known)), known.0));
    order.into_iter().map(|(constant, _)| constant).collect()
}
