//! Accesses of memory that positions share, as places that move with the counters of the loops around them.

use super::super::super::indices::Indices;
use super::super::super::intervals::{Assumed, Interval};
use super::super::super::types::*;
use super::super::super::visit::Run;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

/// Terms of an index that are looked at.
const MOST_TERMS: usize = 16;

/// More rounds are of an extent that has no bound.
const MOST_ROUNDS: i64 = 1 << 40;

/// What no index reaches.
const ANYWHERE: i128 = 1 << 90;

/// A loop whose counter begins at a known number.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Its first number.
    pub first: i64,
    /// What a round adds.
    pub step: i64,
    /// Rounds at most.
    pub rounds: i64,
    /// Where the number of rounds is known when the kernel runs: the value that the counter stays below.
    pub end: Option<Value>,
}

/// The loops of a kernel by their counters, and what its indices are.
pub struct Loops<'k> {
    pub kernel: &'k Kernel,
    indices: Indices,
    counted: FxHashMap<Value, Counted>,
    /// Whether some tensor that is read may lie where another one is written: all tensors are one memory then, counted in bytes.
    is_one_memory: bool,
}

/// An access of memory that positions share.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Accesses of other memory never meet this one.
    pub memory: Option<Buffer>,
    /// Whether it writes.
    pub stores: bool,
    /// From where to where it reaches in the first rounds of all loops.
    pub low: i128,
    /// See `low`.
    pub high: i128,
    /// The counters of the loops around it, and how much it moves with a round of each.
    pub growth: Vec<(Value, i128)>,
}

impl<'k> Loops<'k> {
    /// Those of a verified kernel.
    pub fn of(kernel: &'k Kernel, assumed: &Assumed) -> Self {
        let indices = Indices::assuming(kernel, assumed, MOST_TERMS);
        let mut loops = Self { kernel, indices, counted: FxHashMap::default(), is_one_memory: false };
        let mut written = vec![false; kernel.buffers.len()];
        for statement in kernel.statements() {
            if let Inst::Store { buffer, .. } = &statement.inst {
                written[buffer.index()] = true;
            }
            loops.note(&statement.inst);
        }
        let is_read = |(data, written): (&BufferData, &bool)| data.kind == BufferKind::Output && !written;
        loops.is_one_memory = kernel.buffers.iter().zip(&written).any(is_read);
        loops
    }

    fn note(&mut self, inst: &Inst) {
        let Inst::For { start, end, step, body, .. } = inst else { return };
        let (Some(first), last) = (self.indices.number(*start), self.indices.interval(*end).high) else { return };
        let Some(rounds) = last.checked_sub(first).map(|span| (span.max(0) - 1).div_euclid(*step) + 1) else { return };
        let end = self.indices.number(*end).is_none().then_some(*end);
        if rounds < MOST_ROUNDS {
            self.counted.insert(body.params[0], Counted { first, step: *step, rounds, end });
        }
    }

    /// The loop of a counter, if it begins at a known number.
    pub fn counted(&self, counter: Value) -> Option<Counted> {
        self.counted.get(&counter).copied()
    }

    /// Takes a value that is there once for the counter of a loop around all that comes after it: accesses move with it.
    pub fn count_once(&mut self, value: Value) {
        let Interval { low, high } = self.indices.interval(value);
        let rounds = high.checked_sub(low).and_then(|span| span.checked_add(1)).filter(|&rounds| rounds < MOST_ROUNDS);
        self.counted.extend(rounds.map(|rounds| (value, Counted { first: low, step: 1, rounds, end: None })));
    }

    /// Whether positions share a buffer, which some of them may write.
    pub fn is_shared(&self, buffer: Buffer) -> bool {
        matches!(self.kernel.buffer(buffer).kind, BufferKind::Output | BufferKind::Scratch)
    }

    /// Adds the accesses of shared memory in statements, inside loops with these counters. None where one is at a place that no index tells.
    pub fn accesses(&self, statements: &[Statement], around: &mut Vec<Value>, list: &mut Vec<Access>) -> Option<()> {
        for statement in statements {
            let counters = if let Inst::For { body, .. } = &statement.inst { Some(body.params[0]) } else { None };
            around.extend(counters);
            for inner in statement.inst.regions() {
                self.accesses(&inner.statements, around, list)?;
            }
            around.truncate(around.len() - usize::from(counters.is_some()));
            if let Some(access) = self.access(statement, around)? {
                list.push(access);
            }
        }
        Some(())
    }

    fn access(&self, statement: &Statement, around: &[Value]) -> Option<Option<Access>> {
        let Some(buffer) = statement.inst.buffer().filter(|&buffer| self.is_shared(buffer)) else { return Some(None) };
        let Run { index, offset, elements, stores } = statement.inst.run()?;
        let data = self.kernel.buffer(buffer);
        let is_joined = self.is_one_memory && data.kind == BufferKind::Output;
        let unit = if is_joined { i128::from(data.lane.bytes()) } else { 1 };
        let mut growth: Vec<(Value, i128)> = around.iter().map(|&counter| (counter, 0)).collect();
        let sum = self.indices.sum(index);
        let (mut low, mut high) = (i128::from(sum.constant), i128::from(sum.constant));
        for (term, factor) in sum.terms {
            let factor = i128::from(factor);
            if let (Some(place), Some(counted)) = (growth.iter_mut().find(|(counter, _)| *counter == term), self.counted(term)) {
                place.1 = factor * i128::from(counted.step) * unit;
                low += factor * i128::from(counted.first);
                high += factor * i128::from(counted.first);
                continue;
            }
            let interval = self.indices.interval(term);
            let [a, b] = [interval.low, interval.high].map(|end| (i128::from(end) * factor).clamp(-ANYWHERE, ANYWHERE));
            (low, high) = (low + a.min(b), high + a.max(b));
        }
        let offset = i128::from(offset);
        let memory = (!is_joined).then_some(buffer);
        Some(Some(Access { memory, stores, low: (low + offset) * unit, high: (high + offset + i128::from(elements)) * unit, growth }))
    }
}
