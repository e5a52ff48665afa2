//! Calls that run together must not overwrite what another range still reads ([`super::ranges`]). So where memory is planned for threads, what
//! a call reads and its working memory are held for the calls that follow it, as far as that costs little memory.

use crate::plan::{self, Place, Plan, Request, Tensor, TensorId};

/// Calls for which what one touches is held: the two that follow a depthwise layer until the next one.
const CALLS: usize = 2;

/// The most that the arena may grow by, in hundredths.
const GROWTH: u64 = 25;

/// A plan in which as many calls as possible hold what they touch, if there is one that is not much larger than `plan`. Steps that `meets` says so
/// of run together with no others.
pub(in crate::lower) fn held(request: &Request, plan: &Plan, meets: &dyn Fn(usize) -> bool) -> Option<Plan> {
    let taken_over = request.tensors.iter().any(|tensor| tensor.takes_over || tensor.fixed.is_some());
    if taken_over {
        return None;
    }
    let most = plan.arena_bytes + plan.arena_bytes / 100 * GROWTH;
    (1..=CALLS).rev().filter_map(|calls| of_calls(request, plan, calls, meets)).find(|held| held.arena_bytes <= most)
}

/// The same, where what a call touches stays in memory for `calls` calls.
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

    /// A chain of layers, each of which reads what the one before wrote and has working memory.
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
