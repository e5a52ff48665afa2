//! Memory plans in which the operands and working memory of a call stay reserved for the next calls. Calls that run together must not overwrite bytes
//! that another range still reads ([`super::ranges`]). Such a plan is used if it costs little memory.

use crate::plan::{self, Place, Plan, Request, Tensor, TensorId};

/// Maximum number of following calls for which memory is held: between two depthwise layers there are two calls.
const CALLS: usize = 2;

/// Maximum growth of the arena, in percent.
const GROWTH: u64 = 25;

/// Plans a request so that calls hold their memory for as many following calls as possible. `None` if every such plan is much larger than `plan`. A step
/// for which `meets` is true never runs together with others.
pub(in crate::lower) fn held(request: &Request, plan: &Plan, meets: &dyn Fn(usize) -> bool) -> Option<Plan> {
    let taken_over = request.tensors.iter().any(|tensor| tensor.takes_over || tensor.fixed.is_some());
    if taken_over {
        return None;
    }
    let most = plan.arena_bytes + plan.arena_bytes / 100 * GROWTH;
    (1..=CALLS).rev().filter_map(|calls| of_calls(request, plan, calls, meets)).find(|held| held.arena_bytes <= most)
}

/// Plans a request so that each call holds its memory for `calls` following calls.
fn of_calls(request: &Request, plan: &Plan, calls: usize, meets: &dyn Fn(usize) -> bool) -> Option<Plan> {
    let mut holding = request.clone();
    let mut places: Vec<Vec<TensorId>> = Vec::new();
    for (number, step) in request.steps.iter().enumerate() {
        let scratch = step.scratch.iter().map(|scratch| {
            let (bytes, alignment) = (scratch.bytes, scratch.alignment);
            let (place, name) = (Place::Arena, step.name.clone());
            holding.tensors.push(Tensor { bytes, alignment, place, view_of: None, takes_over: false, fixed: None, name });
            TensorId(holding.tensors.len() as u32 - 1)
        });
        let scratch: Vec<TensorId> = scratch.collect();
        holding.steps[number].scratch.clear();
        holding.steps[number].writes.extend(&scratch);
        let in_place = |read: TensorId| {
            let pairs = step.may_share.iter().chain(&step.may_slide);
            pairs.filter(|pair| pair.0 == read).any(|pair| plan.offset[pair.1.index()] == plan.offset[read.index()])
        };
        let is_whole = |read: &TensorId| request.tensors[read.index()].view_of.is_none() && !in_place(*read);
        let touched: Vec<TensorId> = step.reads.iter().copied().filter(is_whole).chain(scratch.iter().copied()).collect();
        let goes_on = |later: &usize| {
            let step = &request.steps[*later];
            !step.barrier && step.moves.is_empty() && !meets(*later)
        };
        let last = (number + calls).min(request.steps.len() - 1);
        let follow = if meets(number) { 0 } else { (number + 1..=last).take_while(goes_on).count() };
        for later in number + 1..=number + follow {
            let reads = &mut holding.steps[later].reads;
            touched.iter().for_each(|&tensor| {
                if !reads.contains(&tensor) {
                    reads.push(tensor)
                }
            });
        }
        places.push(scratch);
    }
    let found = plan::plan(&holding).ok()?;
    let offset = |tensor: &TensorId| found.offset[tensor.index()].unwrap_or(0);
    Some(Plan {
        offset: found.offset[..request.tensors.len()].to_vec(),
        scratch: places.iter().map(|list| list.iter().map(offset).collect()).collect(),
        arena_bytes: found.arena_bytes,
        optimal: plan.optimal && found.arena_bytes == plan.arena_bytes,
        explored_nodes: plan.explored_nodes + found.explored_nodes,
        ..plan.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Scratch, Step};

    /// Makes a chain of layers with working memory. Each layer reads the result of the previous one.
    fn chain(bytes: &[u64]) -> Request {
        let tensor = |bytes: &u64| Tensor {
            bytes: *bytes,
            alignment: 64,
            place: Place::Arena,
            view_of: None,
            takes_over: false,
            fixed: None,
            name: String::new(),
        };
        let step = |number: usize| Step {
            reads: (number > 0).then(|| TensorId(number as u32 - 1)).into_iter().collect(),
            writes: vec![TensorId(number as u32)],
            scratch: vec![Scratch { bytes: 64, alignment: 64 }],
            ..Step::default()
        };
        Request { tensors: bytes.iter().map(tensor).collect(), steps: (0..bytes.len()).map(step).collect(), ..Request::default() }
    }

    #[test]
    fn what_a_call_reads_is_not_overwritten_by_the_next_ones() {
        let request = chain(&[64, 128, 64, 2048, 2048, 64, 64]);
        let plan = plan::plan(&request).expect("a chain");
        let held = held(&request, &plan, &|_| false).expect("little more memory");
        plan::check(&request, &held).expect("a plan of the request too");
        assert!(held.arena_bytes <= plan.arena_bytes * 5 / 4);
        let range = |tensor: usize| held.offset[tensor].map_or(0..0, |start| start..start + request.tensors[tensor].bytes);
        let meet = |a: std::ops::Range<u64>, b: std::ops::Range<u64>| a.start < b.end && b.start < a.end;
        assert!((0..5).all(|i| !meet(range(i), range(i + 2)) && !meet(range(i), range(i + 3.min(6 - i)))));
        let working = held.scratch[1][0]..held.scratch[1][0] + 64;
        assert!(!meet(working.clone(), range(2)) && !meet(working, range(3)));
    }

    #[test]
    fn much_memory_is_not_spent() {
        let request = chain(&[4096; 6]);
        let plan = plan::plan(&request).expect("a chain");
        assert_eq!(held(&request, &plan, &|_| false), None);
    }
}
