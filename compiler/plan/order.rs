//! The order of steps: one that keeps fewer bytes live at once.
//!
//! The measure is the *peak*: the most bytes live at a step, with scratch, less the bytes that the step may overwrite in place. A depth-first
//! search looks for an order with a lower peak than the best known. It ends when there is none, or when its work limit is reached.
//!
//! Three rules keep the search small:
//!
//! - A step that frees at least as many bytes as it allocates runs at once, which is never worse.
//! - A set of steps that led to a dead end is not visited again.
//! - Steps that leave the fewest bytes live are tried first. So the first order found is the order of a list scheduler.

use rustc_hash::FxHashSet;

use super::lifetimes::Lifetimes;
use super::request::{Effort, Place, PlanError, Request, TensorId};

/// An order of the steps of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The steps, by their index in the request, in the order in which they are to run.
    pub steps: Vec<usize>,
    /// Peak of this order: the most bytes live at a step.
    pub peak: u64,
    /// Peak of the order given.
    pub peak_before: u64,
}

/// Finds an order that respects every dependency through memory, including state and callers' buffers, and has a lower peak. Returns the order
/// given if there is none. A lower peak usually, but not always, means a smaller arena, so callers should plan both.
pub fn order(request: &Request) -> Result<Order, PlanError> {
    let graph = Graph::new(request)?;
    let given: Vec<usize> = (0..request.steps.len()).collect();
    let peak_before = graph.peak(&given);
    let mut best = Order { steps: given, peak: peak_before, peak_before };
    let mut work: u64 = match request.effort {
        Effort::Trial | Effort::Normal => 1_000_000,
        Effort::Max => 300_000_000,
    };
    let least = graph.least_peak();
    let mut limit = u64::MAX;
    while best.peak > least
        && let Some(steps) = Search::new(&graph, limit).run(&mut work)
    {
        let peak = graph.peak(&steps);
        if peak < best.peak {
            best = Order { steps, peak, peak_before };
        }
        limit = best.peak - 1;
    }
    Ok(best)
}

/// Steps, the storage pieces they touch, and their dependencies.
struct Graph {
    /// Sizes of all pieces of storage in the arena.
    bytes: Vec<u64>,
    /// Number of steps that touch each piece.
    touches: Vec<u32>,
    steps: Vec<Node>,
}

#[derive(Default, Clone)]
struct Node {
    /// Pieces that the step touches.
    pieces: Vec<u32>,
    scratch: u64,
    /// Pairs that the step can do in place: pieces read, pieces written, bytes saved. The largest saving comes first.
    shares: Vec<(Vec<u32>, Vec<u32>, u64)>,
    /// Steps that depend on this one.
    after: Vec<u32>,
    /// Number of steps that this one depends on.
    before: u32,
}

impl Graph {
    fn new(request: &Request) -> Result<Graph, PlanError> {
        let lifetimes = Lifetimes::new(request)?;
        let mut bytes = Vec::new();
        let mut first_piece = Vec::new();
        for index in 0..request.tensors.len() {
            first_piece.push(bytes.len());
            bytes.extend(lifetimes.piece_sizes(TensorId(index as u32)));
        }
        let pieces = |tensor: TensorId| -> Result<Vec<u32>, PlanError> {
            let size = request.tensor(tensor)?.bytes;
            let first = first_piece[lifetimes.home(tensor).root.index()];
            let under = if size == 0 { 0..0 } else { lifetimes.pieces_under(tensor, size) };
            Ok(under.map(|piece| (first + piece) as u32).collect())
        };
        let mut graph = Graph { touches: vec![0; bytes.len()], bytes, steps: Vec::new() };
        for step in &request.steps {
            let mut node = Node { scratch: step.scratch.iter().map(|scratch| scratch.bytes).sum(), ..Node::default() };
            for &tensor in step.reads.iter().chain(&step.writes) {
                node.pieces.extend(pieces(tensor)?);
            }
            node.pieces.sort_unstable();
            node.pieces.dedup();
            for &piece in &node.pieces {
                graph.touches[piece as usize] += 1;
            }
            for &(read, written) in &step.may_share {
                let saving = request.tensor(read)?.bytes.min(request.tensor(written)?.bytes);
                let (from, to) = (pieces(read)?, pieces(written)?);
                if !from.is_empty() && !to.is_empty() {
                    node.shares.push((from, to, saving));
                }
            }
            node.shares.sort_by_key(|share| std::cmp::Reverse(share.2));
            graph.steps.push(node);
        }
        for (before, after) in dependencies(request, &lifetimes)? {
            graph.steps[before].after.push(after as u32);
            graph.steps[after].before += 1;
        }
        Ok(graph)
    }

    /// Returns the peak of an order.
    fn peak(&self, order: &[usize]) -> u64 {
        let mut state = State::new(self);
        let mut peak = 0;
        for &step in order {
            peak = state.cost(step).peak.max(peak);
            state.run(step);
        }
        peak
    }

    /// Returns a lower bound of the peak of every order.
    fn least_peak(&self) -> u64 {
        let count = self.steps.len();
        let closure = (count + self.bytes.len()) as u64 * count.div_ceil(64) as u64;
        let mut needed: Vec<u64> = self.steps.iter().map(|node| node.scratch).collect();
        if closure <= MOST_CLOSURE {
            self.add_needed(&mut needed);
        } else {
            for (node, needed) in self.steps.iter().zip(&mut needed) {
                *needed += node.pieces.iter().map(|&piece| self.bytes[piece as usize]).sum::<u64>();
            }
        }
        let saved = |node: &Node| node.shares.iter().map(|share| share.2).sum::<u64>();
        let least = needed.iter().zip(&self.steps).map(|(needed, node)| needed.saturating_sub(saved(node)));
        least.max().unwrap_or(0)
    }

    /// Adds to each step the bytes that are live there in any order. A piece is live if the step touches it. It is also live if both a
    /// predecessor and a successor of the step touch it.
    fn add_needed(&self, needed: &mut [u64]) {
        let count = self.steps.len();
        // Each step with all its predecessors, and each step with all its successors. The given order is a valid one.
        let mut before: Vec<Set> = (0..count).map(|step| Set::of(count, step)).collect();
        let mut after = before.clone();
        for step in 0..count {
            for &later in &self.steps[step].after {
                let (from, to) = before.split_at_mut(later as usize);
                to[0].add(&from[step]);
            }
        }
        for step in (0..count).rev() {
            for &later in &self.steps[step].after {
                let (to, from) = after.split_at_mut(later as usize);
                to[step].add(&from[0]);
            }
        }
        // Successors and predecessors of the uses of each piece.
        let mut spans = vec![(Set::default(), Set::default()); self.bytes.len()];
        for (step, node) in self.steps.iter().enumerate() {
            for &piece in &node.pieces {
                let (past, future) = &mut spans[piece as usize];
                past.add(&after[step]);
                future.add(&before[step]);
            }
        }
        for ((past, future), bytes) in spans.iter().zip(&self.bytes) {
            past.common(future).for_each(|step| needed[step] += bytes);
        }
    }
}

/// Limit of work, in words; above it only direct uses count.
const MOST_CLOSURE: u64 = 1 << 21;

/// A set of steps, one bit each. An empty set may have no words.
#[derive(Clone, Default)]
struct Set(Vec<u64>);

impl Set {
    fn of(count: usize, step: usize) -> Set {
        let mut words = vec![0; count.div_ceil(64)];
        words[step / 64] |= 1 << (step % 64);
        Set(words)
    }

    fn add(&mut self, other: &Set) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    fn common(&self, other: &Set) -> impl Iterator<Item = usize> {
        let words = self.0.iter().zip(&other.0).map(|(one, other)| one & other).enumerate();
        words.flat_map(|(index, word)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index * 64 + bit))
    }
}

/// Returns pairs (earlier, later) of dependent steps. Both use the same bytes and one of them writes, or one of them is a barrier. Implied
/// pairs may be missing.
fn dependencies(request: &Request, lifetimes: &Lifetimes) -> Result<Vec<(usize, usize)>, PlanError> {
    /// Limit of uses of one storage; above it the storage counts as one piece.
    const MOST_USES: usize = 512;
    struct Use {
        step: usize,
        writes: bool,
        start: u64,
        end: u64,
    }
    let mut uses: Vec<Vec<Use>> = Vec::new();
    uses.resize_with(request.tensors.len(), Vec::new);
    for (index, step) in request.steps.iter().enumerate() {
        let reads = step.reads.iter().map(|&tensor| (tensor, false));
        for (tensor, writes) in reads.chain(step.writes.iter().map(|&tensor| (tensor, true))) {
            let (home, bytes) = (lifetimes.home(tensor), request.tensor(tensor)?.bytes);
            uses[home.root.index()].push(Use { step: index, writes, start: home.offset, end: home.offset + bytes });
        }
    }
    let mut pairs = Vec::new();
    for (root, list) in uses.iter().enumerate() {
        if matches!(request.tensors[root].place, Place::Input | Place::Constant) {
            continue;
        }
        if list.len() <= MOST_USES {
            for (index, later) in list.iter().enumerate() {
                let meets = |earlier: &&Use| (earlier.writes || later.writes) && earlier.start < later.end && later.start < earlier.end;
                pairs.extend(list[..index].iter().filter(meets).map(|earlier| (earlier.step, later.step)));
            }
            continue;
        }
        let (mut writer, mut readers) = (None, Vec::new());
        for one in list {
            pairs.extend(writer.map(|writer| (writer, one.step)));
            if one.writes {
                pairs.extend(readers.drain(..).map(|reader| (reader, one.step)));
                writer = Some(one.step);
            } else {
                readers.push(one.step);
            }
        }
    }
    let mut last_barrier = None;
    for (index, step) in request.steps.iter().enumerate() {
        if step.barrier {
            pairs.extend((last_barrier.map_or(0, |last| last + 1)..index).map(|before| (before, index)));
        }
        pairs.extend(last_barrier.map(|last| (last, index)));
        if step.barrier {
            last_barrier = Some(index);
        }
    }
    pairs.retain(|(before, after)| before != after);
    pairs.sort_unstable();
    pairs.dedup();
    Ok(pairs)
}

/// Effect of running a step.
struct Cost {
    /// Bytes live while it runs.
    peak: u64,
    /// Bytes live afterwards.
    after: u64,
}

/// The steps that have run, and the live bytes.
struct State<'a> {
    graph: &'a Graph,
    /// Number of steps already run that touch each piece.
    done: Vec<u32>,
    live: u64,
}

impl<'a> State<'a> {
    fn new(graph: &'a Graph) -> State<'a> {
        State { graph, done: vec![0; graph.bytes.len()], live: 0 }
    }

    fn unborn(&self, piece: u32) -> bool {
        self.done[piece as usize] == 0
    }

    /// Tests whether only one more step touches a piece.
    fn dying(&self, piece: u32) -> bool {
        self.done[piece as usize] + 1 == self.graph.touches[piece as usize]
    }

    fn cost(&self, step: usize) -> Cost {
        let node = &self.graph.steps[step];
        let (mut born, mut dead) = (0, 0);
        for &piece in &node.pieces {
            let size = self.graph.bytes[piece as usize];
            born += if self.unborn(piece) { size } else { 0 };
            dead += if self.dying(piece) { size } else { 0 };
        }
        // Each tensor is used in one pair at most, so the best pairs come first.
        let (mut saved, mut used): (u64, Vec<u32>) = (0, Vec::new());
        for (index, (from, to, saving)) in node.shares.iter().enumerate() {
            let possible = from.iter().all(|&piece| self.dying(piece)) && to.iter().all(|&piece| self.unborn(piece));
            if possible && !used.contains(&from[0]) && !used.contains(&to[0]) {
                saved += saving;
                if index + 1 < node.shares.len() {
                    used.extend([from[0], to[0]]);
                }
            }
        }
        Cost { peak: (self.live + born + node.scratch).saturating_sub(saved), after: self.live + born - dead }
    }

    fn run(&mut self, step: usize) {
        self.live = self.cost(step).after;
        for &piece in &self.graph.steps[step].pieces {
            self.done[piece as usize] += 1;
        }
    }

    /// Undoes a step; `live` is the number of bytes that were live before it.
    fn take_back(&mut self, step: usize, live: u64) {
        self.live = live;
        for &piece in &self.graph.steps[step].pieces {
            self.done[piece as usize] -= 1;
        }
    }
}

/// Memory limit, in words, for sets of steps that are dead ends: a few dozen megabytes.
const MOST_DEAD_ENDS: usize = 1 << 21;

/// The search for an order whose peak is at most `limit`.
struct Search<'a> {
    state: State<'a>,
    limit: u64,
    /// Number of dependencies of each step that have not run.
    waiting: Vec<u32>,
    /// Steps that can run.
    ready: Vec<usize>,
    /// Steps run so far, as a set.
    ran: Vec<u64>,
    /// Sets of steps that no valid order continues.
    dead_ends: FxHashSet<Vec<u64>>,
    frames: Vec<Frame>,
}

/// One position of the order: its step, and the alternatives not yet tried.
struct Frame {
    step: usize,
    live_before: u64,
    others: Vec<usize>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, limit: u64) -> Search<'a> {
        let waiting: Vec<u32> = graph.steps.iter().map(|node| node.before).collect();
        Search {
            state: State::new(graph),
            limit,
            ready: (0..waiting.len()).filter(|&step| waiting[step] == 0).collect(),
            waiting,
            ran: vec![0; graph.steps.len().div_ceil(64)],
            dead_ends: FxHashSet::default(),
            frames: Vec::new(),
        }
    }

    /// Runs the search and subtracts its cost from `work`. Returns `None` if there is no such order, or if `work` is used up.
    fn run(mut self, work: &mut u64) -> Option<Vec<usize>> {
        let graph = self.state.graph;
        while self.frames.len() < graph.steps.len() {
            let mut choices = self.choices(work)?;
            while choices.is_empty() {
                // Dead end: return to the last position with an alternative.
                if self.dead_ends.len() < MOST_DEAD_ENDS / self.ran.len() {
                    self.dead_ends.insert(self.ran.clone());
                }
                let frame = self.frames.pop()?;
                self.take_back(&frame);
                choices = frame.others;
            }
            let step = choices.pop()?;
            self.push(step, choices);
        }
        Some(self.frames.iter().map(|frame| frame.step).collect())
    }

    /// Returns the steps worth running next, the best last; `None` if `work` is used up.
    fn choices(&mut self, work: &mut u64) -> Option<Vec<usize>> {
        let cost: usize = self.ready.iter().map(|&step| 4 + self.state.graph.steps[step].pieces.len()).sum();
        *work = work.checked_sub((cost + self.ran.len() + 8) as u64)?;
        if self.dead_ends.contains(&self.ran) {
            return Some(Vec::new());
        }
        let mut choices: Vec<(u64, u64, usize)> = Vec::new();
        for &step in &self.ready {
            let cost = self.state.cost(step);
            if cost.peak <= self.limit {
                choices.push((cost.after, cost.peak, step));
            }
        }
        choices.sort_unstable_by(|one, other| other.cmp(one));
        // A step that does not increase the live bytes runs at once; the others can wait.
        if let Some(&(after, _, step)) = choices.last()
            && after <= self.state.live
        {
            return Some(vec![step]);
        }
        Some(choices.into_iter().map(|(.., step)| step).collect())
    }

    fn push(&mut self, step: usize, others: Vec<usize>) {
        self.frames.push(Frame { step, live_before: self.state.live, others });
        self.state.run(step);
        self.ran[step / 64] |= 1 << (step % 64);
        self.ready.retain(|&other| other != step);
        for &later in &self.state.graph.steps[step].after {
            self.waiting[later as usize] -= 1;
            if self.waiting[later as usize] == 0 {
                self.ready.push(later as usize);
            }
        }
    }

    fn take_back(&mut self, frame: &Frame) {
        let step = frame.step;
        for &later in &self.state.graph.steps[step].after {
            if self.waiting[later as usize] == 0 {
                self.ready.retain(|&other| other != later as usize);
            }
            self.waiting[later as usize] += 1;
        }
        self.ready.push(step);
        self.ran[step / 64] &= !(1 << (step % 64));
        self.state.take_back(step, frame.live_before);
    }
}
