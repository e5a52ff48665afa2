//! An independent check of a plan, by replaying the steps.
//!
//! Two memories are kept side by side. In the *ideal* memory every storage has bytes of its own. A storage is the tensor at the root of a chain
//! of views, or one that takes a place over. In the *arena* a tensor is where the plan puts it; variables and the caller's result buffers lie
//! after it.
//!
//! Instead of values, both memories record who wrote each byte. Every write of a tensor by a step is a new *mark*, and byte `i` of it is
//! `(mark, i)`. A plan is right if every read sees in the arena what it would see in the ideal memory, and
//!
//! - offsets are aligned, within the arena, and agree with hosts of views and with imported plans;
//! - a step's writes do not overlap its reads, except within one storage, or as the step declares. It may allow the same address (`may_share`), or
//!   the tensor written at a lower address (`may_slide`);
//! - a step's writes do not overlap each other, except within one storage;
//! - scratch does not overlap anything else that its step uses. It holds nothing afterwards.
//!
//! The check shares no code with the planner: not live ranges, not views, not bounds.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use super::request::{Place, Plan, Request, Tensor, TensorId};

/// An error of a plan. Tensors and steps are named as in the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckError {
    /// A plan with other numbers of tensors, steps or scratch than the request, or a request with an invalid index.
    Shape,
    /// A used tensor or scratch without an offset in the arena.
    Missing {
        /// The tensor.
        name: String,
    },
    /// An offset that is not a multiple of the alignment.
    Misaligned {
        /// The tensor, or the step whose scratch it is.
        name: String,
        /// The offset.
        offset: u64,
    },
    /// A tensor or scratch that ends beyond the arena.
    OutOfBounds {
        /// The tensor, or the step whose scratch it is.
        name: String,
        /// The offset.
        offset: u64,
    },
    /// A view that is not at its place in the host, or an imported offset that was not kept.
    Misplaced {
        /// The tensor.
        name: String,
        /// The offset.
        offset: u64,
    },
    /// An undeclared overlap of two uses in one step.
    Overlap {
        /// The step.
        step: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// A read of bytes that no step has written, or that were overwritten since.
    Clobbered {
        /// The step.
        step: String,
        /// The tensor it reads.
        name: String,
        /// The first wrong byte of the tensor.
        byte: u64,
    },
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Shape => write!(f, "the plan is not of this request"),
            CheckError::Missing { name } => write!(f, "`{name}` has no offset"),
            CheckError::Misaligned { name, offset } => write!(f, "`{name}` is misaligned at offset {offset}"),
            CheckError::OutOfBounds { name, offset } => write!(f, "`{name}` at offset {offset} ends beyond the arena"),
            CheckError::Misplaced { name, offset } => write!(f, "`{name}` must not be at offset {offset}"),
            CheckError::Overlap { step, first, second } => write!(f, "step `{step}`: `{first}` and `{second}` overlap"),
            CheckError::Clobbered { step, name, byte } => {
                write!(f, "step `{step}` reads `{name}`, but byte {byte} does not hold what was written")
            }
        }
    }
}

impl std::error::Error for CheckError {}

/// Checks a plan. `Ok` means that the steps compute the same in the arena as with separate memory for every storage.
pub fn check(request: &Request, plan: &Plan) -> Result<(), CheckError> {
    let mut replay = Replay::new(request, plan)?;
    for step in 0..request.steps.len() {
        let uses = replay.uses(step)?;
        replay.check_overlaps(step, &uses)?;
        replay.run(step, &uses)?;
        replay.rename(step)?;
    }
    Ok(())
}

/// The writer of a byte: the number of a write, from 1.
type Mark = u64;

/// Memory whose bytes hold `(mark, position)`. Bytes written together form one range: start to (end, mark, address of position 0).
#[derive(Default)]
struct Memory {
    ranges: BTreeMap<u64, (u64, Mark, u64)>,
}

impl Memory {
    /// Removes `bytes` from all ranges, and cuts ranges that overlap them.
    fn clear(&mut self, bytes: &Range<u64>) {
        let below = self.ranges.range(..bytes.start).next_back().map(|(&start, &range)| (start, range));
        if let Some((start, (end, mark, origin))) = below.filter(|(_, range)| range.0 > bytes.start) {
            self.ranges.insert(start, (bytes.start, mark, origin));
            if end > bytes.end {
                self.ranges.insert(bytes.end, (end, mark, origin));
            }
        }
        let within: Vec<u64> = self.ranges.range(bytes.clone()).map(|(&start, _)| start).collect();
        for start in within {
            if let Some((end, mark, origin)) = self.ranges.remove(&start).filter(|range| range.0 > bytes.end) {
                self.ranges.insert(bytes.end, (end, mark, origin));
            }
        }
    }

    /// Writes a whole tensor.
    fn write(&mut self, bytes: &Range<u64>, mark: Mark) {
        self.clear(bytes);
        self.ranges.insert(bytes.start, (bytes.end, mark, bytes.start));
    }

    /// Copies what was read elsewhere to `bytes`.
    fn set(&mut self, bytes: &Range<u64>, pieces: &[Piece]) {
        self.clear(bytes);
        let mut at = bytes.start;
        for &Piece { length, mark, position } in pieces {
            if mark != 0 {
                self.ranges.insert(at, (at + length, mark, at.wrapping_sub(position)));
            }
            at += length;
        }
    }

    /// Returns the contents of `bytes`, in order.
    fn read(&self, bytes: &Range<u64>) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let first = self.ranges.range(..=bytes.start).next_back().map_or(bytes.start, |(&start, _)| start);
        let mut at = bytes.start;
        for (&start, &(end, mark, origin)) in self.ranges.range(first..bytes.end).filter(|(_, range)| range.0 > bytes.start) {
            if at < start {
                pieces.push(Piece::unwritten(start - at));
                at = start;
            }
            let stop = end.min(bytes.end);
            pieces.push(Piece { length: stop - at, mark, position: at.wrapping_sub(origin) });
            at = stop;
        }
        if at < bytes.end {
            pieces.push(Piece::unwritten(bytes.end - at));
        }
        pieces
    }
}

/// A part of one write in the contents of a memory.
#[derive(Clone, Copy)]
struct Piece {
    /// Bytes of the part.
    length: u64,
    /// The write; 0 for unwritten bytes.
    mark: Mark,
    /// The first byte's position in what was written.
    position: u64,
}

impl Piece {
    /// Makes a number of unwritten bytes.
    fn unwritten(length: u64) -> Self {
        Self { length, mark: 0, position: 0 }
    }

    /// Returns the part after some bytes; `None` if nothing is left.
    fn after(self, bytes: u64) -> Option<Self> {
        (bytes < self.length).then(|| Self { length: self.length - bytes, mark: self.mark, position: self.position + bytes })
    }
}

/// Kind of use of arena bytes by a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Read(TensorId),
    Write(TensorId),
    Scratch,
}

/// Arena bytes that a step uses.
struct Use {
    bytes: Range<u64>,
    kind: Kind,
}

struct Replay<'a> {
    request: &'a Request,
    plan: &'a Plan,
    /// Root and offset of the storage that determines each tensor's address.
    storage: Vec<(usize, u64)>,
    /// Root and offset of the storage that determines each tensor's contents.
    contents: Vec<(usize, u64)>,
    /// Replay address of each storage outside the arena.
    outside: Vec<Option<u64>>,
    ideal: Vec<Memory>,
    arena: Memory,
    marks: Mark,
}

impl<'a> Replay<'a> {
    /// Runs the checks that do not depend on steps.
    fn new(request: &'a Request, plan: &'a Plan) -> Result<Replay<'a>, CheckError> {
        if plan.offset.len() != request.tensors.len() || plan.scratch.len() != request.steps.len() {
            return Err(CheckError::Shape);
        }
        let storage = find_storages(request, |_| true)?;
        let contents = find_storages(request, |tensor| !tensor.takes_over)?;
        let outside = lay_out_outside(request, plan.arena_bytes)?;
        let mut ideal = Vec::new();
        ideal.resize_with(request.tensors.len(), Memory::default);
        let replay = Replay { request, plan, storage, contents, outside, ideal, arena: Memory::default(), marks: 0 };
        for index in 0..request.tensors.len() {
            replay.check_place(index)?;
        }
        Ok(replay)
    }

    /// Returns the bytes of a tensor in the replay; `None` for read-only tensors.
    fn place(&self, id: TensorId) -> Result<Option<Range<u64>>, CheckError> {
        let tensor = &self.request.tensors[id.index()];
        let (root, within) = self.storage[id.index()];
        let start = match self.request.tensors[root].place {
            Place::Input | Place::Constant => return Ok(None),
            Place::Arena => self.plan.offset[id.index()],
            Place::State | Place::Output => self.outside[root].and_then(|start| start.checked_add(within)),
        };
        let end = start.and_then(|start| start.checked_add(tensor.bytes));
        match start.zip(end) {
            Some((start, end)) => Ok(Some(start..end)),
            None if tensor.bytes == 0 => Ok(None),
            None => Err(CheckError::Missing { name: tensor.name.clone() }),
        }
    }

    fn in_arena(&self, tensor: usize) -> bool {
        self.request.tensors[self.storage[tensor].0].place == Place::Arena
    }

    /// Checks alignment and bounds of one tensor, and its offset if the request fixes it.
    fn check_place(&self, index: usize) -> Result<(), CheckError> {
        let tensor = &self.request.tensors[index];
        let Some(offset) = self.plan.offset[index].filter(|_| tensor.bytes > 0) else {
            return Ok(());
        };
        let name = tensor.name.clone();
        if !self.in_arena(index) {
            return Err(CheckError::Misplaced { name, offset });
        }
        self.check_range(&name, offset, tensor.bytes, tensor.alignment)?;
        let (root, within) = self.storage[index];
        let kept = tensor.fixed.is_none_or(|fixed| fixed == offset);
        if !kept || self.plan.offset[root].and_then(|root| root.checked_add(within)) != Some(offset) {
            return Err(CheckError::Misplaced { name, offset });
        }
        Ok(())
    }

    fn check_range(&self, name: &str, offset: u64, bytes: u64, alignment: u64) -> Result<Range<u64>, CheckError> {
        let name = || name.to_string();
        if !offset.is_multiple_of(alignment) {
            return Err(CheckError::Misaligned { name: name(), offset });
        }
        match offset.checked_add(bytes) {
            Some(end) if end <= self.plan.arena_bytes => Ok(offset..end),
            _ => Err(CheckError::OutOfBounds { name: name(), offset }),
        }
    }

    /// Returns all arena bytes that a step uses, by start.
    fn uses(&self, step: usize) -> Result<Vec<Use>, CheckError> {
        let (asked, given) = (&self.request.steps[step], &self.plan.scratch[step]);
        if asked.scratch.len() != given.len() {
            return Err(CheckError::Shape);
        }
        let reads = asked.reads.iter().map(|&tensor| (tensor, Kind::Read(tensor)));
        let writes = asked.writes.iter().map(|&tensor| (tensor, Kind::Write(tensor)));
        let mut uses = Vec::new();
        for (id, kind) in reads.chain(writes) {
            let tensor = self.request.tensors.get(id.index()).ok_or(CheckError::Shape)?;
            if let Some(bytes) = self.place(id)?.filter(|_| tensor.bytes > 0) {
                uses.push(Use { bytes, kind });
            }
        }
        for (scratch, &offset) in asked.scratch.iter().zip(given) {
            let bytes = self.check_range(&asked.name, offset, scratch.bytes, scratch.alignment)?;
            if !bytes.is_empty() {
                uses.push(Use { bytes, kind: Kind::Scratch });
            }
        }
        uses.sort_by_key(|one| (one.bytes.start, one.bytes.end, one.kind));
        uses.dedup_by(|one, other| one.kind != Kind::Scratch && one.kind == other.kind);
        Ok(uses)
    }

    /// Checks that a step's uses are disjoint, except for reads and declared pairs.
    fn check_overlaps(&self, step: usize, uses: &[Use]) -> Result<(), CheckError> {
        // Reads may overlap each other, so they are only compared with other uses.
        let (reads, others): (Vec<&Use>, Vec<&Use>) = uses.iter().partition(|one| matches!(one.kind, Kind::Read(_)));
        for (index, one) in others.iter().enumerate() {
            let after = others[index + 1..].iter().take_while(|other| other.bytes.start < one.bytes.end);
            let met = reads.iter().take_while(|read| read.bytes.start < one.bytes.end).filter(|read| read.bytes.end > one.bytes.start);
            for other in after.chain(met) {
                if !self.allowed(step, other, one) {
                    let name = |kind: Kind| match kind {
                        Kind::Read(tensor) | Kind::Write(tensor) => self.request.tensors[tensor.index()].name.clone(),
                        Kind::Scratch => "scratch".to_string(),
                    };
                    let step = self.request.steps[step].name.clone();
                    return Err(CheckError::Overlap { step, first: name(other.kind), second: name(one.kind) });
                }
            }
        }
        Ok(())
    }

    /// Tests whether two uses of one step may overlap.
    fn allowed(&self, step: usize, first: &Use, second: &Use) -> bool {
        let same = |one: TensorId, other: TensorId| self.contents[one.index()].0 == self.contents[other.index()].0;
        match (first.kind, second.kind) {
            (Kind::Read(read), Kind::Write(written)) => {
                let step = &self.request.steps[step];
                let in_place = || first.bytes.start == second.bytes.start && step.may_share.contains(&(read, written));
                let slides = || first.bytes.start >= second.bytes.start && step.may_slide.contains(&(read, written));
                same(read, written) || in_place() || slides()
            }
            (Kind::Write(one), Kind::Write(other)) => same(one, other),
            _ => false,
        }
    }

    /// Performs the moves of a step: contents are copied in the ideal memory, and the arena does not change.
    fn rename(&mut self, step: usize) -> Result<(), CheckError> {
        let mut handed = Vec::new();
        for &(from, to) in &self.request.steps[step].moves {
            let bytes = |id: TensorId| self.request.tensors.get(id.index()).map(|tensor| tensor.bytes).ok_or(CheckError::Shape);
            let (length, same) = (bytes(from)?, bytes(from)? == bytes(to)?);
            if !same || self.place(from)? != self.place(to)? {
                let name = self.request.tensors[to.index()].name.clone();
                return Err(CheckError::Misplaced { name, offset: self.place(to)?.map_or(0, |bytes| bytes.start) });
            }
            let (root, within) = self.contents[from.index()];
            handed.push((to, length, self.ideal[root].read(&(within..within + length))));
        }
        for (to, length, pieces) in handed {
            let (root, within) = self.contents[to.index()];
            self.ideal[root].set(&(within..within + length), &pieces);
        }
        Ok(())
    }

    /// Replays the reads of a step, then its writes.
    fn run(&mut self, step: usize, uses: &[Use]) -> Result<(), CheckError> {
        for one in uses {
            let Kind::Read(tensor) = one.kind else {
                continue;
            };
            let (root, within) = self.contents[tensor.index()];
            let bytes = self.request.tensors[tensor.index()].bytes;
            let expected = self.ideal[root].read(&(within..within + bytes));
            if let Some(byte) = first_difference(&expected, &self.arena.read(&one.bytes)) {
                let (step, name) = (self.request.steps[step].name.clone(), self.request.tensors[tensor.index()].name.clone());
                return Err(CheckError::Clobbered { step, name, byte });
            }
        }
        for one in uses {
            match one.kind {
                Kind::Read(_) => {}
                Kind::Scratch => self.arena.clear(&one.bytes),
                Kind::Write(tensor) => {
                    self.marks += 1;
                    let (root, within) = self.contents[tensor.index()];
                    let bytes = self.request.tensors[tensor.index()].bytes;
                    self.arena.write(&one.bytes, self.marks);
                    self.ideal[root].write(&(within..within + bytes), self.marks);
                }
            }
        }
        Ok(())
    }
}

/// Assigns replay addresses to written storages outside the arena: after it, one after another.
fn lay_out_outside(request: &Request, arena_bytes: u64) -> Result<Vec<Option<u64>>, CheckError> {
    let mut end = arena_bytes;
    let mut outside = Vec::with_capacity(request.tensors.len());
    for tensor in &request.tensors {
        let own = tensor.view_of.is_none() && matches!(tensor.place, Place::State | Place::Output);
        outside.push(own.then_some(end));
        if own {
            end = end.checked_add(tensor.bytes).ok_or(CheckError::Shape)?;
        }
    }
    Ok(outside)
}

/// Returns the storage of every tensor and its offset there, along the views that `follows` accepts.
fn find_storages(request: &Request, follows: impl Fn(&Tensor) -> bool) -> Result<Vec<(usize, u64)>, CheckError> {
    let host = |tensor: &Tensor| tensor.view_of.filter(|_| follows(tensor));
    let mut known: Vec<Option<(usize, u64)>> = vec![None; request.tensors.len()];
    for start in 0..known.len() {
        let mut path = vec![start];
        while let Some(&at) = path.last() {
            let place = match host(&request.tensors[at]) {
                None => Some((at, 0)),
                Some((host, offset)) => {
                    let found = known.get(host.index()).ok_or(CheckError::Shape)?;
                    found
                        .map(|(root, within)| within.checked_add(offset).map(|within| (root, within)).ok_or(CheckError::Shape))
                        .transpose()?
                }
            };
            match (place, host(&request.tensors[at])) {
                (None, Some((host, _))) if path.len() <= known.len() => path.push(host.index()),
                (None, _) => return Err(CheckError::Shape),
                (Some(_), _) => {
                    known[at] = place;
                    path.pop();
                }
            }
        }
    }
    Ok(known.into_iter().flatten().collect())
}

/// Returns the first byte at which two memories differ, or at which both are unwritten.
fn first_difference(expected: &[Piece], found: &[Piece]) -> Option<u64> {
    let (mut left, mut right) = (expected.iter().copied(), found.iter().copied());
    let (mut one, mut other) = (left.next(), right.next());
    let mut byte = 0;
    while let (Some(here), Some(there)) = (one, other) {
        if here.mark == 0 || here.mark != there.mark || here.position != there.position {
            return Some(byte);
        }
        let common = here.length.min(there.length);
        byte += common;
        one = here.after(common).or_else(|| left.next());
        other = there.after(common).or_else(|| right.next());
    }
    None
}
