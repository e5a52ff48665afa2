//! Live ranges of the bytes of each storage: from the first step that writes them to the last step that uses them.

use std::ops::Range;
use std::sync::OnceLock;

use super::problem::Segment;
use super::request::{Place, Plan, PlanError, Request, TensorId};
use super::views::{Home, homes};

/// A byte range of a storage that all steps use alike, and its live range.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    bytes: Range<u64>,
    /// Steps from the first writer to the last user, exclusive at the end.
    steps: Range<usize>,
}

/// The live ranges of all storages in the arena.
#[derive(Debug, Clone)]
pub struct Lifetimes {
    homes: Vec<Home>,
    /// Pieces of each root in order of bytes. Empty for tensors outside the arena, for views, and for storages that no step touches.
    pieces: Vec<Vec<Piece>>,
    /// Results of [`Lifetimes::profile`] for each root, once computed.
    profiles: Vec<OnceLock<Vec<Segment>>>,
}

/// Limit of pieces of a storage. A storage with more becomes one piece.
const MOST_PIECES: usize = 64;

/// One use of a storage by a step.
struct Touch {
    step: usize,
    writes: bool,
    bytes: Range<u64>,
    tensor: TensorId,
}

impl Lifetimes {
    /// Computes all live ranges, and checks that nothing is read before it is written.
    pub fn new(request: &Request) -> Result<Lifetimes, PlanError> {
        let homes = homes(request)?;
        let mut touches: Vec<Vec<Touch>> = Vec::new();
        touches.resize_with(request.tensors.len(), Vec::new);
        for (index, step) in request.steps.iter().enumerate() {
            let reads = step.reads.iter().map(|&tensor| (tensor, false));
            let writes = step.writes.iter().map(|&tensor| (tensor, true));
            for (tensor, writes) in reads.chain(writes) {
                let bytes = request.tensor(tensor)?.bytes;
                let home = homes[tensor.index()];
                if bytes > 0 && request.tensors[home.root.index()].place == Place::Arena {
                    let bytes = home.offset..home.offset + bytes;
                    touches[home.root.index()].push(Touch { step: index, writes, bytes, tensor });
                }
            }
        }
        let mut pieces = Vec::with_capacity(touches.len());
        for list in &touches {
            pieces.push(divide(request, list)?);
        }
        Ok(Lifetimes { homes, profiles: vec![OnceLock::new(); pieces.len()], pieces })
    }

    /// Returns the storage of a tensor and its offset there.
    pub fn home(&self, tensor: TensorId) -> Home {
        self.homes[tensor.index()]
    }

    /// Returns the live range of a tensor's storage in steps. `None` for tensors outside the arena and for unused storages.
    pub fn steps(&self, tensor: TensorId) -> Option<Range<usize>> {
        let pieces = &self.pieces[self.home(tensor).root.index()];
        let start = pieces.iter().map(|piece| piece.steps.start).min()?;
        let end = pieces.iter().map(|piece| piece.steps.end).max()?;
        Some(start..end)
    }

    /// Returns the arena bytes that a step after `step` still uses, as disjoint ascending ranges. A step may overwrite all other bytes.
    pub fn live_after(&self, plan: &Plan, step: usize) -> Vec<Range<u64>> {
        self.live(plan, vec![], |steps| steps.start <= step && step + 1 < steps.end)
    }

    /// Returns the arena bytes that `step` or a later step uses, including the scratch memory of `step`.
    pub fn live_within(&self, request: &Request, plan: &Plan, step: usize) -> Vec<Range<u64>> {
        let working = request.steps[step].scratch.iter().zip(&plan.scratch[step]);
        let working = working.map(|(scratch, &offset)| offset..offset + scratch.bytes).collect();
        self.live(plan, working, |steps| steps.contains(&step))
    }

    /// Merges the given ranges with the live ranges.
    fn live(&self, plan: &Plan, mut ranges: Vec<Range<u64>>, is_live: impl Fn(&Range<usize>) -> bool) -> Vec<Range<u64>> {
        for (pieces, offset) in self.pieces.iter().zip(&plan.offset) {
            let live = pieces.iter().filter(|piece| is_live(&piece.steps));
            ranges.extend(live.filter_map(|piece| Some(offset.as_ref()? + piece.bytes.start..offset.as_ref()? + piece.bytes.end)));
        }
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match merged.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => merged.push(range),
            }
        }
        merged
    }

    /// Returns the sizes of a storage's pieces: byte ranges that all steps use alike.
    pub(super) fn piece_sizes(&self, root: TensorId) -> impl Iterator<Item = u64> {
        self.pieces[root.index()].iter().map(|piece| piece.bytes.end - piece.bytes.start)
    }

    /// Returns the pieces of its storage that a tensor of `bytes` bytes covers.
    pub(super) fn pieces_under(&self, tensor: TensorId, bytes: u64) -> Range<usize> {
        let home = self.home(tensor);
        let pieces = &self.pieces[home.root.index()];
        let start = pieces.partition_point(|piece| piece.bytes.end <= home.offset);
        start..pieces.partition_point(|piece| piece.bytes.start < home.offset + bytes).max(start)
    }

    /// Returns the height of a storage over time: at each step the end of its highest live byte. Segments are ordered and contiguous.
    pub(super) fn profile(&self, root: TensorId) -> &[Segment] {
        let pieces = &self.pieces[root.index()];
        let height =
            |step: usize| pieces.iter().filter(|piece| piece.steps.contains(&step)).map(|piece| piece.bytes.end).max().unwrap_or(0);
        self.profiles[root.index()].get_or_init(|| self.over_time(root, height))
    }

    /// The number of live bytes of a storage over time.
    pub(super) fn live_bytes(&self, root: TensorId) -> Vec<Segment> {
        let pieces = &self.pieces[root.index()];
        let length = |piece: &Piece| piece.bytes.end - piece.bytes.start;
        let sum = |step: usize| pieces.iter().filter(|piece| piece.steps.contains(&step)).map(length).sum();
        self.over_time(root, sum)
    }

    /// Evaluates a function over time; its value changes only at ends of a piece's live range.
    fn over_time(&self, root: TensorId, value: impl Fn(usize) -> u64) -> Vec<Segment> {
        let mut times: Vec<usize> = self.pieces[root.index()].iter().flat_map(|piece| [piece.steps.start, piece.steps.end]).collect();
        times.sort_unstable();
        times.dedup();
        let mut segments: Vec<Segment> = Vec::new();
        for pair in times.windows(2) {
            let (start, end, bytes) = (pair[0] as u64, pair[1] as u64, value(pair[0]));
            match segments.last_mut().filter(|last| last.bytes == bytes) {
                Some(last) => last.end = end,
                None => segments.push(Segment { start, end, bytes }),
            }
        }
        segments
    }
}

/// Divides a storage at the ends of the tensors in it, and computes the live range of each piece.
fn divide(request: &Request, touches: &[Touch]) -> Result<Vec<Piece>, PlanError> {
    let mut bounds: Vec<u64> = touches.iter().flat_map(|touch| [touch.bytes.start, touch.bytes.end]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    if bounds.len() > MOST_PIECES + 1 {
        bounds = vec![bounds[0], bounds[bounds.len() - 1]];
    }
    let mut pieces: Vec<Option<Piece>> = vec![None; bounds.len().saturating_sub(1)];
    for touch in touches {
        let first = bounds.partition_point(|&bound| bound <= touch.bytes.start).saturating_sub(1);
        let end = bounds.partition_point(|&bound| bound < touch.bytes.end).max(first + 1);
        for (index, piece) in pieces.iter_mut().enumerate().take(end).skip(first) {
            match piece {
                Some(piece) => piece.steps.end = touch.step + 1,
                None if !touch.writes => {
                    let name = request.tensor(touch.tensor)?.name.clone();
                    return Err(PlanError::ReadBeforeWrite { name, step: request.steps[touch.step].name.clone() });
                }
                None => {
                    let bytes = bounds[index]..bounds[index + 1];
                    *piece = Some(Piece { bytes, steps: touch.step..touch.step + 1 });
                }
            }
        }
    }
    Ok(pieces.into_iter().flatten().collect())
}
