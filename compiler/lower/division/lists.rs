//! Bands and batches on several threads. The bands of one cut are independent, so they are distributed to **streams**, at most one for each thread. A
//! stream computes its bands one after the other. Threads meet once, after all streams.
//!
//! Each stream has separate memory for the tensors inside it, which is planned separately. In the method's plan, all streams of a cut are one step, and
//! their memory is its working memory. The result is a plan of the original request, with disjoint streams.

use super::held::held;
use super::touch::{Touch, are_disjoint};
use crate::fuse::band::Bands;
use crate::lower::stages::chosen::Item;
use crate::lower::stages::work::Work;
use crate::machine::Alignment;
use crate::plan::{self, Home, Place, Plan, Request, Scratch, Step, TensorId};
use rustc_hash::FxHashMap;

/// Maximum growth of the arena, in percent.
const GROWTH: u64 = 100;

/// A stream: the cut whose bands it computes, and its number in the cut.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(in crate::lower) struct Stream {
    pub cut: usize,
    pub number: u64,
}

/// Returns the stream of each item. `None` if its outputs are not of one band, or if its cut has one stream only.
pub(in crate::lower) fn of_work(items: &[Item<'_>], bands: &Bands, threads: u32) -> Vec<Option<Stream>> {
    let of_item = |item: &Item<'_>| {
        let Work::Group(group) = item.work else { return None };
        let band = *bands.get(group.outputs.first()?)?;
        let is_one = group.outputs.iter().all(|output| bands.get(output) == Some(&band));
        let streams = band.count.min(threads.into());
        (is_one && streams > 1).then(|| Stream { cut: band.cut, number: band.number * streams / band.count })
    };
    items.iter().map(of_item).collect()
}

/// A plan with streams: the order of the request's steps, and the stream of each step in that order.
pub(in crate::lower) struct Streamed {
    pub order: Vec<usize>,
    pub plan: Plan,
    pub streams: Vec<Option<Stream>>,
}

/// Plans a request with as many cuts in streams as memory allows. `streams` has the possible stream of each step. `plan` is the plan without streams;
/// `None` if no cut can run in streams.
pub(in crate::lower) fn streamed(request: &Request, streams: &[Option<Stream>], plan: &Plan) -> Option<Streamed> {
    if request.tensors.iter().any(|tensor| tensor.takes_over || tensor.fixed.is_some()) {
        return None;
    }
    let most = plan.arena_bytes + plan.arena_bytes / 100 * GROWTH;
    let homes = plan::homes(request).ok()?;
    let mut cuts: Vec<StreamedCut> = cuts(streams).into_iter().filter_map(|cut| StreamedCut::new(request, &homes, streams, cut)).collect();
    while !cuts.is_empty() {
        let found = with_cuts(request, &homes, &cuts)?;
        if found.plan.arena_bytes <= most {
            return Some(found);
        }
        let largest = (0..cuts.len()).max_by_key(|&i| cuts[i].bytes())?;
        cuts.remove(largest);
    }
    None
}

/// Returns the steps of each cut.
fn cuts(streams: &[Option<Stream>]) -> Vec<Vec<usize>> {
    let mut cuts: Vec<(usize, Vec<usize>)> = Vec::new();
    for (step, stream) in streams.iter().enumerate() {
        let Some(Stream { cut, .. }) = *stream else { continue };
        match cuts.iter_mut().find(|(number, _)| *number == cut) {
            Some((_, steps)) => steps.push(step),
            None => cuts.push((cut, vec![step])),
        }
    }
    cuts.into_iter().map(|(_, steps)| steps).collect()
}

/// A cut with disjoint streams.
struct StreamedCut {
    /// Its steps, stream by stream.
    streams: Vec<(Stream, Vec<usize>)>,
    /// The plan of each stream's memory.
    plans: Vec<Plan>,
    /// The stream of each root tensor that only one stream uses.
    inner: FxHashMap<TensorId, usize>,
}

impl StreamedCut {
    /// Plans the memory of the streams of a cut. `None` if a stream accesses bytes that another one writes, or if the steps include a barrier.
    fn new(request: &Request, homes: &[Home], streams: &[Option<Stream>], steps: Vec<usize>) -> Option<Self> {
        let (first, last) = (*steps.first()?, *steps.last()?);
        if request.steps[first..=last].iter().any(|step| step.barrier || !step.moves.is_empty()) {
            return None;
        }
        let mut lists: Vec<(Stream, Vec<usize>)> = Vec::new();
        for step in steps {
            let stream = streams[step]?;
            match lists.iter_mut().find(|(other, _)| *other == stream) {
                Some((_, list)) => list.push(step),
                None => lists.push((stream, vec![step])),
            }
        }
        lists.sort_by_key(|(stream, _)| *stream);
        if lists.len() < 2 || !are_apart(request, homes, &lists) {
            return None;
        }
        let inner = inner(request, homes, &lists);
        let plans = lists.iter().map(|(_, list)| plan::plan(&of_stream(request, homes, list, &inner)).ok()).collect::<Option<_>>()?;
        Some(Self { streams: lists, plans, inner })
    }

    fn bytes(&self) -> u64 {
        self.plans.iter().map(|plan| plan.arena_bytes).sum()
    }

    /// Makes one step of all streams.
    fn as_step(&self, request: &Request, homes: &[Home]) -> Step {
        let mut whole = Step { name: "streams".into(), ..Step::default() };
        for step in self.streams.iter().flat_map(|(_, list)| list).map(|&step| &request.steps[step]) {
            for (list, all) in [(&step.reads, &mut whole.reads), (&step.writes, &mut whole.writes)] {
                for &tensor in list {
                    if !self.inner.contains_key(&homes[tensor.index()].root) && !all.contains(&tensor) {
                        all.push(tensor);
                    }
                }
            }
        }
        whole.scratch = self.plans.iter().map(|plan| Scratch { bytes: plan.arena_bytes, alignment: Alignment::LINE.bytes() }).collect();
        whole
    }
}

/// Tests whether lists of steps are independent: no list accesses bytes that another list writes.
fn are_apart(request: &Request, homes: &[Home], lists: &[(Stream, Vec<usize>)]) -> bool {
    let touch = |tensor: TensorId, writes: bool| {
        let Home { root, offset } = homes[tensor.index()];
        Touch { memory: root, bytes: offset..offset + request.tensors[tensor.index()].bytes, stride: None, writes }
    };
    let of_step = |&step: &usize| {
        let step = &request.steps[step];
        let written = step.writes.iter().map(|&tensor| touch(tensor, true));
        step.reads.iter().map(|&tensor| touch(tensor, false)).chain(written).collect::<Vec<_>>()
    };
    let touched: Vec<Vec<Touch<TensorId>>> = lists.iter().map(|(_, list)| list.iter().flat_map(of_step).collect()).collect();
    are_disjoint(&touched)
}

/// Returns the root tensors of the arena that only one list of steps uses, with the number of the list.
fn inner(request: &Request, homes: &[Home], lists: &[(Stream, Vec<usize>)]) -> FxHashMap<TensorId, usize> {
    let mut list_of: Vec<Option<usize>> = vec![None; request.steps.len()];
    for (number, (_, list)) in lists.iter().enumerate() {
        list.iter().for_each(|&step| list_of[step] = Some(number));
    }
    let mut users: FxHashMap<TensorId, Option<usize>> = FxHashMap::default();
    for (step, list) in request.steps.iter().zip(list_of) {
        for tensor in step.reads.iter().chain(&step.writes) {
            let root = homes[tensor.index()].root;
            let user = users.entry(root).or_insert(list);
            *user = user.filter(|_| *user == list);
        }
    }
    let is_in_arena = |root: &TensorId| request.tensors[root.index()].place == Place::Arena;
    users.into_iter().filter_map(|(root, user)| Some((root, user?))).filter(|(root, _)| is_in_arena(root)).collect()
}

/// Makes the request for the tensors inside a stream. All other tensors are marked as outside the arena.
fn of_stream(request: &Request, homes: &[Home], list: &[usize], inner: &FxHashMap<TensorId, usize>) -> Request {
    let is_inner = |tensor: TensorId| inner.contains_key(&homes[tensor.index()].root);
    let mut tensors = request.tensors.clone();
    for (number, tensor) in (0..).zip(&mut tensors) {
        if !is_inner(TensorId(number)) {
            tensor.place = Place::Output;
        }
    }
    let step = |&step: &usize| {
        let mut step = request.steps[step].clone();
        for pairs in [&mut step.may_share, &mut step.may_slide] {
            pairs.retain(|&(read, written)| is_inner(read) && is_inner(written));
        }
        step
    };
    Request { tensors, steps: list.iter().map(step).collect(), effort: request.effort }
}

/// Plans a request with given cuts in streams. `None` if the plan fails its check.
fn with_cuts(request: &Request, homes: &[Home], cuts: &[StreamedCut]) -> Option<Streamed> {
    // The step of a cut takes the position of the cut's last step.
    let mut cut_of: Vec<Option<usize>> = vec![None; request.steps.len()];
    for (number, cut) in cuts.iter().enumerate() {
        cut.streams.iter().flat_map(|(_, list)| list).for_each(|&step| cut_of[step] = Some(number));
    }
    let mut steps: Vec<(Step, Result<usize, &StreamedCut>)> = Vec::new();
    for (number, step) in request.steps.iter().enumerate() {
        match cut_of[number] {
            None => steps.push((step.clone(), Ok(number))),
            Some(cut) if !cut_of[number + 1..].contains(&Some(cut)) => {
                steps.push((cuts[cut].as_step(request, homes), Err(&cuts[cut])));
            }
            Some(_) => {}
        }
    }
    let outer =
        Request { tensors: request.tensors.clone(), steps: steps.iter().map(|(step, _)| step.clone()).collect(), effort: request.effort };
    let (outer_order, found) = plan::plan_reordered(&outer).ok()?;
    let outer = outer.reordered(&outer_order);
    let meets = |place: usize| outer_order.get(place).is_some_and(|&step| steps[step].1.is_err());
    let found = held(&outer, &found, &meets).unwrap_or(found);
    let mut streamed = Streamed { order: vec![], plan: Plan { scratch: vec![], ..found.clone() }, streams: vec![] };
    for (place, &step) in outer_order.iter().enumerate() {
        if place == found.peak_step {
            streamed.plan.peak_step = streamed.order.len();
        }
        match steps[step].1 {
            Ok(step) => {
                streamed.order.push(step);
                streamed.streams.push(None);
                streamed.plan.scratch.push(found.scratch[place].clone());
            }
            Err(cut) => place_cut(homes, cut, &found.scratch[place], &mut streamed),
        }
    }
    plan::check(&request.reordered(&streamed.order), &streamed.plan).ok()?;
    Some(streamed)
}

/// Adds the steps of a cut. `offsets` has the start of each stream's memory.
fn place_cut(homes: &[Home], cut: &StreamedCut, offsets: &[u64], streamed: &mut Streamed) {
    for (number, ((stream, list), plan)) in cut.streams.iter().zip(&cut.plans).enumerate() {
        let base = offsets[number];
        streamed.order.extend(list);
        streamed.streams.extend(list.iter().map(|_| Some(*stream)));
        streamed.plan.scratch.extend(plan.scratch.iter().map(|of_step| of_step.iter().map(|offset| base + offset).collect()));
        for (tensor, offset) in plan.offset.iter().enumerate() {
            if cut.inner.get(&homes[tensor].root) == Some(&number) {
                streamed.plan.offset[tensor] = offset.map(|offset| base + offset);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Tensor;
    use std::ops::Range;

    fn tensor(bytes: u64, place: Place, view_of: Option<(TensorId, u64)>) -> Tensor {
        Tensor { bytes, alignment: 16, place, view_of, takes_over: false, fixed: None, name: String::new() }
    }

    /// Makes four bands of two steps each, with working memory. They compute a subtensor of tensor 1 from one of tensor 0, through a tensor of the band. A
    /// last step reads tensor 1.
    fn bands() -> (Request, Vec<Option<Stream>>) {
        let mut tensors = vec![tensor(256, Place::Input, None), tensor(256, Place::Arena, None), tensor(64, Place::Output, None)];
        let mut steps = Vec::new();
        for band in 0..4u32 {
            let first = tensors.len() as u32;
            tensors.push(tensor(64, Place::Arena, Some((TensorId(0), 64 * u64::from(band)))));
            tensors.push(tensor(512, Place::Arena, None));
            tensors.push(tensor(64, Place::Arena, Some((TensorId(1), 64 * u64::from(band)))));
            let step = |read: u32, written: u32| Step {
                reads: vec![TensorId(first + read)],
                writes: vec![TensorId(first + written)],
                scratch: vec![Scratch { bytes: 128, alignment: 64 }],
                ..Step::default()
            };
            steps.extend([step(0, 1), step(1, 2)]);
        }
        steps.push(Step { reads: vec![TensorId(1)], writes: vec![TensorId(2)], ..Step::default() });
        let stream = |step: u64| (step < 8).then_some(Stream { cut: 0, number: step / 4 });
        (Request { tensors, steps, ..Request::default() }, (0..9).map(stream).collect())
    }

    #[test]
    fn streams_have_memory_of_their_own() {
        let (request, streams) = bands();
        let plan = plan::plan(&request).expect("bands");
        assert_eq!(plan.arena_bytes, 256 + 512 + 128);
        let streamed = streamed(&request, &streams, &plan).expect("less than twice as much");
        assert_eq!(streamed.order, (0..9).collect::<Vec<_>>());
        assert_eq!(streamed.streams, streams);
        assert_eq!(streamed.plan.arena_bytes, 256 + 2 * (512 + 128));
        let range = |tensor: usize| streamed.plan.offset[tensor].map_or(0..0, |start| start..start + request.tensors[tensor].bytes);
        let working = |step: usize| streamed.plan.scratch[step][0]..streamed.plan.scratch[step][0] + 128;
        let of_stream = |bands: Range<usize>| -> Vec<Range<u64>> {
            bands.flat_map(|band| [range(3 + 3 * band + 1), working(2 * band), working(2 * band + 1)]).collect()
        };
        let (first, second) = (of_stream(0..2), of_stream(2..4));
        let meet = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
        assert!(!first.iter().any(|a| second.iter().any(|b| meet(a, b))), "{first:?} {second:?}");
        assert_eq!(range(4), range(7), "bands of a stream have one place");
    }

    #[test]
    fn what_one_stream_writes_no_other_reads() {
        let (mut request, streams) = bands();
        let plan = plan::plan(&request).expect("bands");
        request.steps[6].reads.push(TensorId(4));
        assert!(streamed(&request, &streams, &plan).is_none());
        request.steps[6].reads = vec![TensorId(3 + 2)];
        assert!(streamed(&request, &streams, &plan).is_none(), "a part of the result");
    }

    #[test]
    fn streams_that_need_much_memory_are_none() {
        let (request, _) = bands();
        let plan = plan::plan(&request).expect("bands");
        let of_each = |step: u64| (step < 8).then_some(Stream { cut: 0, number: step / 2 });
        let streams: Vec<_> = (0..9).map(of_each).collect();
        assert!(streamed(&request, &streams, &plan).is_none(), "four times the memory of a band");
    }

    #[test]
    fn nothing_else_runs_between_the_steps_of_streams() {
        let (mut request, mut streams) = bands();
        let plan = plan::plan(&request).expect("bands");
        request.steps.insert(4, Step { barrier: true, ..Step::default() });
        streams.insert(4, None);
        assert!(streamed(&request, &streams, &plan).is_none());
        request.steps[4] = Step { reads: vec![TensorId(0)], ..Step::default() };
        let streamed = streamed(&request, &streams, &plan).expect("a step that may run before");
        assert_eq!(streamed.order, [4, 0, 1, 2, 3, 5, 6, 7, 8, 9]);
    }
}
