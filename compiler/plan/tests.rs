//! Tests of planner and checker: cases by hand, random problems against brute force, MiniMalloc's instances.

use std::path::PathBuf;

use super::exact::{Outcome, Search};
use super::rank::RANKINGS;
use super::*;

mod lend;

/// A request under construction.
#[derive(Default)]
struct Draft(Request);

impl Draft {
    fn tensor(&mut self, bytes: u64, alignment: u64) -> TensorId {
        let name = format!("t{}", self.0.tensors.len());
        self.0.tensors.push(Tensor { bytes, alignment, place: Place::Arena, view_of: None, takes_over: false, fixed: None, name });
        TensorId(self.0.tensors.len() as u32 - 1)
    }

    fn view(&mut self, host: TensorId, offset: u64, bytes: u64) -> TensorId {
        let view = self.tensor(bytes, 1);
        self.0.tensors[view.index()].view_of = Some((host, offset));
        view
    }

    fn placed(&mut self, place: Place, bytes: u64) -> TensorId {
        let tensor = self.tensor(bytes, 1);
        self.0.tensors[tensor.index()].place = place;
        tensor
    }

    fn step(&mut self, reads: &[TensorId], writes: &[TensorId]) -> &mut Step {
        let name = format!("s{}", self.0.steps.len());
        self.0.steps.push(Step { reads: reads.to_vec(), writes: writes.to_vec(), name, ..Step::default() });
        self.0.steps.last_mut().unwrap()
    }

    /// Plans a request and checks the plan.
    fn plan(&self) -> Plan {
        let plan = plan(&self.0).unwrap();
        check(&self.0, &plan).unwrap();
        plan
    }
}

/// Pseudo-random numbers, the same on every computer.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn chain_needs_its_largest_neighbours() {
    let mut draft = Draft::default();
    let (input, output) = (draft.placed(Place::Input, 100), draft.placed(Place::Output, 10));
    let [a, b, c] = [300, 200, 400].map(|bytes| draft.tensor(bytes, 16));
    draft.step(&[input], &[a]);
    draft.step(&[a], &[b]);
    draft.step(&[b], &[c]);
    draft.step(&[c], &[output]);
    let plan = draft.plan();
    // 400 and then 200, or 200 rounded up to 208 and then 400.
    assert_eq!((plan.arena_bytes, plan.lower_bound, plan.optimal, plan.peak_step), (600, 600, true, 2));
    assert_eq!(plan.offset[input.index()], None);
    assert_eq!(plan.to_string(), "arena 600 B = lower bound (optimal for this order)");
}

/// Makes a variable `v` that is read, recomputed in its own place and kept.
fn variable() -> (Draft, [TensorId; 3]) {
    let mut draft = Draft::default();
    let old = draft.placed(Place::State, 64);
    let (input, new) = (draft.placed(Place::Input, 64), draft.view(old, 0, 64));
    draft.0.tensors[new.index()].takes_over = true;
    draft.step(&[], &[old]).barrier = true;
    let sum = draft.tensor(64, 16);
    draft.step(&[old, input], &[sum]);
    draft.step(&[sum], &[new]);
    draft.step(&[new], &[]).barrier = true;
    (draft, [old, new, sum])
}

#[test]
fn a_variable_is_taken_over_when_it_is_not_needed_any_more() {
    let (mut draft, [old, new, sum]) = variable();
    assert_eq!(draft.plan().arena_bytes, 64);
    // The steps that touch the variable keep their order.
    assert_eq!(order(&draft.0).unwrap().steps, [0, 1, 2, 3]);
    draft.0.steps[2].reads.push(old);
    let plan = super::plan(&draft.0).unwrap();
    assert!(matches!(check(&draft.0, &plan), Err(CheckError::Overlap { .. })), "both at once, undeclared");
    draft.0.steps[2].may_share = vec![(old, new)];
    draft.plan();
    draft.0.steps[3].reads = vec![old];
    assert!(matches!(check(&draft.0, &plan), Err(CheckError::Clobbered { .. })), "the old contents are gone");
    draft.0.steps[3] = Step { reads: vec![new], moves: vec![(new, old)], ..Step::default() };
    draft.step(&[old], &[]);
    draft.plan();
    draft.0.steps[3].moves = vec![(sum, old)];
    assert!(matches!(check(&draft.0, &super::plan(&draft.0).unwrap()), Err(CheckError::Misplaced { .. })), "a move costs no work");
}

#[test]
fn in_place_where_the_operand_dies() {
    let mut draft = Draft::default();
    let [a, b, c] = [64, 64, 64].map(|bytes| draft.tensor(bytes, 16));
    let output = draft.placed(Place::Output, 1);
    draft.step(&[], &[a]);
    draft.step(&[a], &[b]).may_share = vec![(a, b)];
    draft.step(&[b], &[c]).may_share = vec![(b, c)];
    draft.step(&[b, c], &[output]);
    let plan = draft.plan();
    // `a` dies at the first pair, `b` does not at the second.
    assert_eq!(plan.offset[a.index()], plan.offset[b.index()]);
    assert_ne!(plan.offset[b.index()], plan.offset[c.index()]);
    assert_eq!((plan.arena_bytes, plan.optimal), (128, true));
}

#[test]
fn in_place_grows_where_there_is_room() {
    let mut draft = Draft::default();
    let [a, b] = [16, 80].map(|bytes| draft.tensor(bytes, 16));
    draft.step(&[], &[a]);
    draft.step(&[a], &[b]).may_share = vec![(a, b)];
    draft.step(&[b], &[]);
    assert_eq!(draft.plan().arena_bytes, 80);
}

#[test]
fn operand_shares_with_one_result_only() {
    let mut draft = Draft::default();
    let [a, b, c] = [32, 32, 32].map(|bytes| draft.tensor(bytes, 1));
    draft.step(&[], &[a]);
    draft.step(&[a], &[b, c]).may_share = vec![(a, b), (a, c)];
    draft.step(&[b, c], &[]);
    assert_eq!(draft.plan().arena_bytes, 64);
}

#[test]
fn two_operands_in_one_storage_are_not_overwritten() {
    let mut draft = Draft::default();
    let host = draft.tensor(20, 1);
    let (left, right) = (draft.view(host, 0, 10), draft.view(host, 10, 10));
    let sum = draft.tensor(20, 1);
    draft.step(&[], &[host]);
    draft.step(&[left, right], &[sum]).may_share = vec![(left, sum)];
    draft.step(&[sum], &[]);
    assert_eq!(draft.plan().arena_bytes, 40);
}

#[test]
fn views_are_resolved_and_hold_their_host() {
    let mut draft = Draft::default();
    let host = draft.tensor(96, 16);
    let (left, right) = (draft.view(host, 0, 32), draft.view(host, 32, 64));
    let inner = draft.view(right, 16, 16);
    let other = draft.tensor(32, 16);
    draft.step(&[], &[left]);
    draft.step(&[left], &[right]);
    draft.step(&[host], &[other]);
    draft.step(&[inner, other], &[]);
    let plan = draft.plan();
    let base = plan.offset[host.index()].unwrap();
    assert_eq!(plan.offset[inner.index()], Some(base + 48));
    assert_eq!(plan.arena_bytes, 128);
    assert_eq!(plan.lower_bound, 128);
}

#[test]
fn views_of_callers_buffers_are_outside() {
    let mut draft = Draft::default();
    let output = draft.placed(Place::Output, 64);
    let part = draft.view(output, 32, 32);
    draft.step(&[], &[part]);
    draft.step(&[part], &[]);
    let plan = draft.plan();
    assert_eq!((plan.offset[part.index()], plan.arena_bytes), (None, 0));
}

#[test]
fn scratch_is_apart_from_operands() {
    let mut draft = Draft::default();
    let [a, b] = [10, 20].map(|bytes| draft.tensor(bytes, 1));
    draft.step(&[], &[a]).scratch = vec![Scratch { bytes: 100, alignment: 64 }];
    draft.step(&[a], &[b]).scratch = vec![Scratch { bytes: 30, alignment: 1 }, Scratch { bytes: 5, alignment: 8 }];
    draft.step(&[b], &[]);
    let plan = draft.plan();
    assert_eq!(plan.arena_bytes, 110);
    assert_eq!(plan.scratch.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 0]);
}

#[test]
fn imported_offsets_are_kept() {
    let mut draft = Draft::default();
    let [a, b, c] = [64, 64, 16].map(|bytes| draft.tensor(bytes, 16));
    draft.0.tensors[a.index()].fixed = Some(128);
    draft.0.tensors[b.index()].fixed = Some(128);
    draft.step(&[], &[a]);
    draft.step(&[a], &[c]);
    draft.step(&[c], &[b]);
    draft.step(&[b], &[]);
    let plan = draft.plan();
    assert_eq!((plan.offset[a.index()], plan.offset[b.index()], plan.arena_bytes), (Some(128), Some(128), 192));
    // Live together, they contradict each other; in place, they do not.
    draft.0.steps[1] = Step { reads: vec![a], writes: vec![b], name: "s1".into(), ..Step::default() };
    draft.0.steps[2] = Step { reads: vec![b], writes: vec![c], name: "s2".into(), ..Step::default() };
    draft.0.steps[3] = Step { reads: vec![c], name: "s3".into(), ..Step::default() };
    assert_eq!(plan_error(&draft), "imported offsets of `t0` and `t1` overlap while both are live");
    draft.0.steps[1].may_share = vec![(a, b)];
    assert_eq!(draft.plan().offset[b.index()], Some(128));
    draft.0.tensors[c.index()].fixed = Some(8);
    assert_eq!(plan_error(&draft), "imported offset 8 does not suit `t2`");
}

fn plan_error(draft: &Draft) -> String {
    plan(&draft.0).unwrap_err().to_string()
}

#[test]
fn wrong_requests_are_errors() {
    let mut draft = Draft::default();
    let a = draft.tensor(8, 1);
    draft.step(&[a], &[]);
    assert_eq!(plan_error(&draft), "step `s0` reads `t0` before any step has written it");
    draft.0.steps[0].reads = vec![TensorId(7)];
    assert_eq!(plan_error(&draft), "tensor 7 does not exist");
    draft.0.steps.clear();
    draft.0.tensors[0].alignment = 12;
    assert_eq!(plan_error(&draft), "`t0`: alignment 12 is not a power of two");
    draft.0.tensors[0].alignment = 1;
    draft.0.tensors[0].bytes = u64::MAX;
    assert_eq!(plan_error(&draft), "the tensors do not fit in any address space");
    let mut draft = Draft::default();
    let host = draft.tensor(8, 1);
    let view = draft.view(host, 4, 5);
    assert_eq!(plan_error(&draft), "view `t1` ends beyond its host `t0`");
    draft.0.tensors[view.index()].bytes = 4;
    draft.0.tensors[view.index()].alignment = 8;
    assert_eq!(plan_error(&draft), "view `t1` at byte 4 of its host cannot be aligned to 8");
    draft.0.tensors[view.index()].place = Place::Output;
    assert_eq!(plan_error(&draft), "view `t1` does not live where its host `t0` does");
    draft.0.tensors[host.index()].view_of = Some((view, 0));
    assert!(plan_error(&draft).ends_with("is a view of itself"));
}

#[test]
fn live_bytes_after_a_step() {
    let mut draft = Draft::default();
    let [a, b, c] = [16, 16, 16].map(|bytes| draft.tensor(bytes, 1));
    draft.step(&[], &[a]);
    draft.step(&[a], &[b]);
    draft.step(&[a, b], &[c]);
    draft.step(&[c], &[]);
    let plan = draft.plan();
    let live = |step: usize| Lifetimes::new(&draft.0).unwrap().live_after(&plan, step);
    let at = |tensor: TensorId| plan.offset[tensor.index()].unwrap();
    assert_eq!(live(0), vec![at(a)..at(a) + 16]);
    assert_eq!(live(1).iter().map(|range| range.end - range.start).sum::<u64>(), 32);
    assert_eq!(live(2), vec![at(c)..at(c) + 16]);
    assert_eq!(live(3), []);
}

/// Makes a request with views, scratch, pairs in place, alignments and fan-out.
fn random_request(random: &mut Random, steps: u64) -> Request {
    let mut draft = Draft::default();
    let mut written: Vec<TensorId> = Vec::new();
    for _ in 0..steps {
        let mut reads: Vec<TensorId> = Vec::new();
        for _ in 0..random.below(3).min(written.len() as u64) {
            let newest = random.below(4).min(written.len() as u64 - 1) as usize;
            reads.push(written[written.len() - 1 - newest]);
        }
        let alignment = 1 << random.below(5);
        let host = draft.tensor(alignment * random.below(12) + random.below(20), alignment);
        let bytes = draft.0.tensors[host.index()].bytes;
        let mut writes = vec![host];
        if random.below(4) == 0 && bytes >= 2 {
            // A concatenation: two parts are written at different steps.
            let cut = 1 + random.below(bytes - 1);
            let (left, right) = (draft.view(host, 0, cut), draft.view(host, cut, bytes - cut));
            draft.step(&reads, &[left]);
            writes = vec![right];
        }
        let pairs = reads.iter().map(|&read| (read, writes[0])).collect();
        let shares = random.below(2) == 0;
        let step = draft.step(&reads, &writes);
        if shares {
            step.may_share = pairs;
        }
        if random.below(4) == 0 {
            step.scratch.push(Scratch { bytes: random.below(64), alignment: 1 << random.below(4) });
        }
        written.push(host);
        if random.below(5) == 0 && bytes > 0 {
            let start = random.below(bytes);
            written.push(draft.view(host, start, bytes - start));
        }
    }
    draft.0
}

#[test]
fn random_plans_pass_the_check_and_mutants_do_not() {
    let mut random = Random(1);
    let (mut optimal, mut mutants) = (0, 0);
    for case in 0..600 {
        let steps = 2 + random.below(14);
        let request = random_request(&mut random, steps);
        let plan = plan(&request).unwrap_or_else(|error| panic!("case {case}: {error}"));
        check(&request, &plan).unwrap_or_else(|error| panic!("case {case}: {error}"));
        assert!(plan.lower_bound <= plan.arena_bytes, "case {case}");
        optimal += u32::from(plan.optimal);
        mutants += reject_mutants(&request, &plan);
    }
    assert!(optimal > 200, "only {optimal} of 600 plans are known to be optimal");
    assert!(mutants > 1000, "only {mutants} mutants");
}

/// Checks that wrong variants of a plan are rejected, and counts them.
fn reject_mutants(request: &Request, plan: &Plan) -> u32 {
    let lifetimes = Lifetimes::new(request).unwrap();
    let mut mutants = Vec::new();
    if plan.arena_bytes > 0 {
        mutants.push(Plan { arena_bytes: plan.arena_bytes - 1, ..plan.clone() });
    }
    let planned = |index: &usize| request.tensors[*index].view_of.is_none() && lifetimes.steps(TensorId(*index as u32)).is_some();
    let roots: Vec<usize> = (0..request.tensors.len()).filter(planned).collect();
    // Moves a storage with all its views, so that only the move can be wrong.
    let moved = |root: usize, to: u64| {
        let mut mutant = plan.clone();
        mutant.arena_bytes += 4096;
        for index in 0..request.tensors.len() {
            let home = lifetimes.home(TensorId(index as u32));
            if home.root.index() == root {
                mutant.offset[index] = Some(to + home.offset);
            }
        }
        mutant
    };
    for &root in &roots {
        let offset = plan.offset[root].unwrap();
        if request.tensors[root].alignment > 1 {
            mutants.push(moved(root, offset + 1));
        }
        for &other in &roots {
            let (one, two) = (lifetimes.steps(TensorId(root as u32)).unwrap(), lifetimes.steps(TensorId(other as u32)).unwrap());
            // Both wholly live between the same two steps, and both used later.
            let whole = |root: usize| !request.tensors.iter().any(|tensor| tensor.view_of.is_some_and(|(host, _)| host.index() == root));
            let together = one.start.max(two.start) + 1 < one.end.min(two.end);
            let aligned = plan.offset[other].unwrap().is_multiple_of(request.tensors[root].alignment);
            if root != other && together && aligned && whole(root) && whole(other) {
                mutants.push(moved(root, plan.offset[other].unwrap()));
            }
        }
    }
    for mutant in &mutants {
        assert!(check(request, mutant).is_err(), "accepted: {mutant:?}\nof {request:?}");
    }
    mutants.len() as u32
}

/// Returns the least height, by trying every order of stacking blocks.
fn brute_force(blocks: &[Block]) -> u64 {
    fn go(blocks: &[Block], sections: &Sections, offsets: &mut Vec<Option<u64>>, height: u64, best: &mut u64) {
        if height >= *best {
            return;
        }
        if offsets.iter().all(Option::is_some) {
            *best = height;
        }
        for block in 0..blocks.len() {
            if offsets[block].is_some() {
                continue;
            }
            let tops = sections.neighbors[block].iter().filter_map(|neighbor| Some(offsets[neighbor.other as usize]? + neighbor.under));
            let lowest = problem::align_up(tops.max().unwrap_or(0), blocks[block].alignment);
            let offset = blocks[block].fixed.unwrap_or(lowest);
            if offset < lowest {
                continue;
            }
            offsets[block] = Some(offset);
            go(blocks, sections, offsets, height.max(offset + blocks[block].height()), best);
            offsets[block] = None;
        }
    }
    let mut best = u64::MAX;
    go(blocks, &Sections::new(blocks).unwrap(), &mut vec![None; blocks.len()], 0, &mut best);
    best
}

#[test]
fn exact_equals_brute_force() {
    let mut random = Random(2);
    let mut above_bound = 0;
    for case in 0..500 {
        let count = 3 + random.below(5);
        let mut blocks = Vec::new();
        for _ in 0..count {
            let start = random.below(8);
            let middle = start + 1 + random.below(4);
            let (alignment, bytes) = (1 << (3 * random.below(2)), 1 + random.below(24));
            let mut block = Block { alignment, ..Block::new(start, middle, bytes) };
            if random.below(3) == 0 {
                block.segments.push(Segment { start: middle, end: middle + 1 + random.below(3), bytes: 1 + random.below(24) });
            }
            blocks.push(block);
        }
        let best = brute_force(&blocks);
        let packing = pack(&blocks, 0, Effort::Max);
        let bound = bound::of_sections(&blocks, &Sections::new(&blocks).unwrap());
        assert_eq!((packing.height, packing.lower_bound), (best, best), "case {case}: {blocks:?}");
        assert!(bound <= best, "case {case}");
        above_bound += u32::from(best > bound);
    }
    assert!(above_bound > 20, "only {above_bound} problems need a proof");
}

/// Returns the least peak, by trying every order.
fn least_peak(request: &Request) -> u64 {
    fn go(request: &Request, order: &mut Vec<usize>, best: &mut u64) {
        if order.len() == request.steps.len() {
            let sorted = Request { steps: order.iter().map(|&step| request.steps[step].clone()).collect(), ..request.clone() };
            *best = simple_peak(&sorted).min(*best);
        }
        for step in 0..request.steps.len() {
            let ready = |read: &TensorId| order.iter().any(|&done| request.steps[done].writes.contains(read));
            if !order.contains(&step) && request.steps[step].reads.iter().all(ready) {
                order.push(step);
                go(request, order, best);
                order.pop();
            }
        }
    }
    let mut best = u64::MAX;
    go(request, &mut Vec::new(), &mut best);
    best
}

/// Returns the most bytes live at a step, for requests without views and pairs.
fn simple_peak(request: &Request) -> u64 {
    let mut peak = 0;
    for index in 0..request.steps.len() {
        let mut live = 0;
        for (tensor, value) in request.tensors.iter().enumerate() {
            let uses = |step: &Step| step.reads.iter().chain(&step.writes).any(|id| id.index() == tensor);
            let before = request.steps[..=index].iter().any(uses);
            let after = request.steps[index..].iter().any(uses);
            live += if before && after { value.bytes } else { 0 };
        }
        peak = peak.max(live);
    }
    peak
}

#[test]
fn order_has_the_least_peak() {
    let mut random = Random(3);
    let mut improved = 0;
    for case in 0..150 {
        let mut draft = Draft::default();
        let mut written: Vec<TensorId> = Vec::new();
        for _ in 0..3 + random.below(4) {
            let mut reads: Vec<TensorId> =
                (0..random.below(3).min(written.len() as u64)).map(|_| written[random.below(written.len() as u64) as usize]).collect();
            reads.dedup();
            let tensor = draft.tensor(1 + random.below(50), 1);
            draft.step(&reads, &[tensor]);
            written.push(tensor);
        }
        let found = order(&draft.0).unwrap();
        assert_eq!(found.peak_before, simple_peak(&draft.0), "case {case}");
        assert_eq!(found.peak, least_peak(&draft.0), "case {case}");
        improved += u32::from(found.peak < found.peak_before);
        // The order is valid: nothing is read before it is written.
        let sorted = Draft(draft.0.reordered(&found.steps));
        assert_eq!(sorted.plan().lower_bound, found.peak, "case {case}");
        let (steps, plan) = plan_reordered(&draft.0).unwrap();
        check(&draft.0.reordered(&steps), &plan).unwrap();
        assert!(plan.arena_bytes <= draft.plan().arena_bytes, "case {case}");
    }
    assert!(improved > 30, "only {improved} orders improved");
}

#[test]
fn order_keeps_dependencies_of_state() {
    let mut draft = Draft::default();
    let state = draft.placed(Place::State, 8);
    let [big, a, b] = [100, 1, 1].map(|bytes| draft.tensor(bytes, 1));
    draft.step(&[], &[big]);
    draft.step(&[state], &[a]);
    draft.step(&[a], &[state]);
    draft.step(&[state, big], &[b]);
    draft.step(&[b], &[]);
    let found = order(&draft.0).unwrap();
    let position = |step: usize| found.steps.iter().position(|&other| other == step).unwrap();
    assert!(position(1) < position(2) && position(2) < position(3));
}

#[test]
fn order_moves_nothing_across_a_barrier() {
    let mut draft = Draft::default();
    let [a, b, c, d] = [100, 100, 1, 1].map(|bytes| draft.tensor(bytes, 1));
    draft.step(&[], &[a]);
    draft.step(&[], &[b]);
    draft.step(&[a], &[c]);
    draft.step(&[b, c], &[d]);
    let found = order(&draft.0).unwrap();
    assert_eq!((found.steps, found.peak, found.peak_before), (vec![0, 2, 1, 3], 102, 201));
    draft.0.steps[1].barrier = true;
    assert_eq!(order(&draft.0).unwrap().steps, [0, 1, 2, 3]);
}

/// Some blocks are fixed at their offsets in a packing of all blocks.
#[test]
fn fixed_blocks_are_packed_around() {
    let mut random = Random(4);
    for case in 0..300 {
        let mut blocks = Vec::new();
        for _ in 0..3 + random.below(4) {
            let start = random.below(6);
            let end = start + 1 + random.below(4);
            let mut block = Block::new(start, end, 1 + random.below(20));
            if random.below(3) == 0 {
                // A pause, in which other blocks may use the memory.
                block.segments.push(Segment { start: end, end: end + 1, bytes: 0 });
                block.segments.push(Segment { start: end + 1, end: end + 2, bytes: 1 + random.below(20) });
            }
            blocks.push(block);
        }
        let offsets = pack(&blocks, 0, Effort::Normal).offsets;
        for (block, offset) in blocks.iter_mut().zip(&offsets) {
            block.fixed = (random.below(3) == 0).then_some(*offset + 64 * random.below(2));
        }
        if fixed::conflict(&blocks).is_some() {
            continue;
        }
        let packing = pack(&blocks, 0, Effort::Max);
        for (block, offset) in blocks.iter().zip(&packing.offsets) {
            assert!(block.fixed.is_none_or(|fixed| fixed == *offset), "case {case}");
        }
        let placed: Vec<Block> =
            blocks.iter().zip(&packing.offsets).map(|(block, &at)| Block { fixed: Some(at), ..block.clone() }).collect();
        assert_eq!(fixed::conflict(&placed), None, "case {case}");
        let best = brute_force(&blocks);
        assert_eq!((packing.height, packing.lower_bound), (best, best), "case {case}: {blocks:?}");
    }
}

#[test]
fn many_tensors_at_once_take_no_time() {
    let mut draft = Draft::default();
    let tensors: Vec<TensorId> = (0..20_000).map(|index| draft.tensor(1 + index % 7, 4)).collect();
    for &tensor in &tensors {
        draft.step(&[], &[tensor]);
    }
    draft.step(&tensors, &[]);
    let plan = draft.plan();
    assert!(plan.arena_bytes <= 8 * 20_000);
}

#[test]
fn csv_round_trips() {
    let text = "id,lower,upper,size,alignment,offset\na,0,4,16,8,\nb,2,6,5,1,32\n";
    let blocks = csv::parse(text).unwrap();
    assert_eq!(csv::print(&blocks, None), text);
    assert_eq!(csv::print(&blocks, Some(&[0, 32])), text.replace("8,\n", "8,0\n"));
    assert_eq!(csv::parse("id,lower,upper\n").unwrap_err().to_string(), "line 1: expected the columns id, lower, upper and size");
    assert_eq!(csv::parse("id,size,lower,upper\nx,1,5,5\n").unwrap_err().line, 2);
    let huge = format!("id,size,lower,upper\nx,1,0,{}\ny,{},0,5\n", u64::MAX, u64::MAX);
    assert_eq!(csv::parse(&huge).unwrap_err().line, 3);
}

/// MiniMalloc's challenging instances are solved at capacity. They are in `MODELC_CORPUS` or `../shared/models`; without them this test does
/// nothing.
#[test]
fn challenging_instances_fit() {
    const CAPACITY: u64 = 1 << 20;
    let corpus = std::env::var_os("MODELC_CORPUS").map_or_else(|| PathBuf::from("../shared/models"), PathBuf::from);
    for name in "ABCDEFGHIJK".chars() {
        let Ok(text) = std::fs::read_to_string(corpus.join(format!("planner/{name}.csv"))) else {
            continue;
        };
        let blocks: Vec<Block> = csv::parse(&text).unwrap().into_iter().map(|(_, block)| block).collect();
        let packing = pack(&blocks, CAPACITY, Effort::Max);
        assert!(packing.height <= CAPACITY, "{name}: height {}", packing.height);
        for (index, one) in blocks.iter().enumerate() {
            for (other_index, other) in blocks.iter().enumerate().take(index) {
                let (life, other_life) = (one.life(), other.life());
                let (low, other_low) = (packing.offsets[index], packing.offsets[other_index]);
                let apart = life.end <= other_life.start || other_life.end <= life.start;
                assert!(apart || low + one.height() <= other_low || other_low + other.height() <= low, "{name}: {index} and {other_index}");
            }
        }
    }
}

/// A search that is stopped repeatedly has the same result as one that is not.
#[test]
fn searches_go_on_where_they_were_stopped() {
    let mut random = Random(7);
    let mut stopped = 0;
    for _ in 0..60 {
        let count = 8 + random.below(10);
        let block = |random: &mut Random| {
            let start = random.below(12);
            Block::new(start, start + 1 + random.below(6), 1 + random.below(9))
        };
        let blocks: Vec<Block> = (0..count).map(|_| block(&mut random)).collect();
        let sections = Sections::new(&blocks).unwrap();
        let least = bound::of_sections(&blocks, &sections);
        for (capacity, ranking) in [least, least + 1].into_iter().flat_map(|capacity| RANKINGS.map(|ranking| (capacity, ranking))) {
            let mut steps = Search::new(&blocks, &sections, capacity, ranking);
            for nodes in (0..400).step_by(1 + random.below(7) as usize) {
                let mut anew = Search::new(&blocks, &sections, capacity, ranking);
                let (outcome, expected) = (steps.run(nodes), anew.run(nodes));
                assert_eq!(outcome, expected, "{nodes} nodes, {capacity} bytes, {ranking:?}, {blocks:?}");
                assert_eq!(steps.visited(), anew.visited());
                if outcome != Outcome::Stopped {
                    break;
                }
                stopped += 1;
            }
        }
    }
    assert!(stopped > 1000, "{stopped}");
}
