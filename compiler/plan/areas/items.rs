//! Items that are placed: storages and scratch buffers, with the bytes that steps move in each.

use crate::lifetimes::Lifetimes;
use crate::problem::Segment;
use crate::request::{Place, Request, Step, TensorId};

/// The kind of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    Tensor(TensorId),
    /// Step and number of a scratch buffer.
    Scratch(usize, usize),
}

/// A storage or a scratch buffer, which lies in one area.
#[derive(Clone, Debug)]
pub struct Item {
    pub of: Of,
    pub bytes: u64,
    /// Bytes with the padding that its alignment may cost.
    pub padded: u64,
    /// Bytes that steps read and write in it.
    pub moved: u64,
    /// Live bytes over time.
    pub live: Vec<Segment>,
}

impl Item {
    /// Returns the number of steps in which it is live.
    pub fn steps(&self) -> u64 {
        self.live.iter().map(|segment| segment.end - segment.start).sum()
    }
}

/// Bytes that one step uses of an item: the size of the largest tensor that it uses there, and the bytes that it moves.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    pub item: usize,
    pub size: u64,
    pub moved: u64,
}

/// The items of a request, and what each step does with them.
pub struct Items {
    pub list: Vec<Item>,
    /// The items that each step uses.
    pub uses: Vec<Vec<Use>>,
    /// An upper limit of the bytes that tensors of a step may share.
    pub shared: Vec<u64>,
}

impl Items {
    /// Finds the items of a request.
    pub fn new(request: &Request, lifetimes: &Lifetimes) -> Self {
        let mut items = Self { list: vec![], uses: vec![vec![]; request.steps.len()], shared: vec![] };
        let mut numbers: Vec<Option<usize>> = vec![None; request.tensors.len()];
        for (number, tensor) in (0..).zip(&request.tensors) {
            let live = lifetimes.live_bytes(TensorId(number));
            let is_root = tensor.view_of.is_none() && tensor.place == Place::Arena && tensor.bytes > 0;
            if is_root && !live.is_empty() {
                numbers[number as usize] = Some(items.list.len());
                let padded = tensor.bytes + tensor.alignment - 1;
                items.list.push(Item { of: Of::Tensor(TensorId(number)), bytes: tensor.bytes, padded, moved: 0, live });
            }
        }
        for (number, step) in request.steps.iter().enumerate() {
            items.add_tensors(request, lifetimes, &numbers, number);
            items.add_scratch(number, step);
            let pairs = step.may_share.iter().chain(&step.may_slide);
            let bytes = |id: TensorId| request.tensors[id.index()].bytes;
            items.shared.push(pairs.map(|&(read, written)| bytes(read).min(bytes(written))).sum());
        }
        items
    }

    /// Adds the bytes that a step moves in storages. A step that only keeps tensors live moves none.
    fn add_tensors(&mut self, request: &Request, lifetimes: &Lifetimes, numbers: &[Option<usize>], step: usize) {
        let Step { reads, writes, barrier, .. } = &request.steps[step];
        if *barrier && writes.is_empty() {
            return;
        }
        for id in reads.iter().chain(writes) {
            let bytes = request.tensors[id.index()].bytes;
            let Some(item) = numbers[lifetimes.home(*id).root.index()].filter(|_| bytes > 0) else { continue };
            self.list[item].moved += bytes;
            match self.uses[step].iter_mut().find(|known| known.item == item) {
                Some(known) => *known = Use { size: known.size.max(bytes), moved: known.moved + bytes, ..*known },
                None => self.uses[step].push(Use { item, size: bytes, moved: bytes }),
            }
        }
    }

    fn add_scratch(&mut self, number: usize, step: &Step) {
        for (buffer, scratch) in step.scratch.iter().enumerate().filter(|(_, scratch)| scratch.bytes > 0) {
            let (bytes, moved) = (scratch.bytes, 2 * scratch.bytes);
            let live = vec![Segment { start: number as u64, end: number as u64 + 1, bytes }];
            self.uses[number].push(Use { item: self.list.len(), size: bytes, moved });
            self.list.push(Item { of: Of::Scratch(number, buffer), bytes, padded: bytes + scratch.alignment - 1, moved, live });
        }
    }

    /// Returns the name of an item for messages.
    pub fn name(&self, request: &Request, item: usize) -> String {
        match self.list[item].of {
            Of::Tensor(id) => request.tensors[id.index()].name.clone(),
            Of::Scratch(step, _) => format!("scratch of {}", request.steps[step].name),
        }
    }
}
