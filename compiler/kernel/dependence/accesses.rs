//! Accesses to memory that positions share. The place of an access is affine in the counters of the loops around it.

use super::super::indices::{Indices, Sum};
use super::super::intervals::Assumed;
use super::super::visit::Run;
use super::places::Places;
use super::polynomial::{Monomial, Polynomial, product};
use crate::*;
use cranelift_entity::EntityRef;
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of terms in an index that is analysed.
const MOST_TERMS: usize = 16;

/// Upper limit of rounds. A loop with more rounds has an extent without a bound.
const MOST_ROUNDS: i64 = 1 << 40;

/// A distance that no index reaches.
const ANYWHERE: i128 = 1 << 90;

/// A loop whose counter begins at a constant, or at a value computed before all loops.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Initial value of the counter.
    pub first: Sum<Value>,
    /// Increment per round.
    pub step: i64,
    /// Maximum number of rounds.
    pub rounds: i64,
    /// The value that the counter stays below, if the number of rounds is known only at run time.
    pub end: Option<Value>,
}

/// The loops of a kernel by their counters, and the analysis of its indices.
pub struct Loops<'k> {
    /// The kernel.
    pub kernel: &'k Kernel,
    indices: Indices,
    counted: FxHashMap<Value, Counted>,
    /// Parameters, and values that are computed before all loops.
    before_loops: FxHashSet<Value>,
    /// Operations with two operands, by their results.
    binaries: FxHashMap<Value, (BinaryOp, Value, Value)>,
    /// Memory of each buffer, by its number.
    memories: Vec<Memory>,
}

/// The place of a buffer: the number of its memory and its first byte there. If other buffers share the memory, its accesses are counted in bytes.
#[derive(Clone, Copy, Debug)]
struct Memory {
    number: usize,
    start: u64,
    is_shared: bool,
}

/// An access to memory that positions share.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Number of the memory. Accesses to different memories never meet.
    pub memory: usize,
    /// `true` for a store.
    pub stores: bool,
    /// Products of values computed before all loops, each with the factor by which it moves the access.
    pub fixed: Vec<(Monomial, i128)>,
    /// Values that may differ between rounds, each with the factor by which it moves the access.
    pub others: Vec<(Value, i128)>,
    /// Start of the range in the first rounds of all loops, if all these values are 0.
    pub low: i128,
    /// End of this range; see `low`.
    pub high: i128,
    /// Counters of the loops around the access, each with the distance that one round moves it.
    pub growth: Vec<(Value, i128)>,
    /// Additional distances per round of some counters: a factor times a product of values computed before all loops.
    pub scaled: Vec<(Value, Monomial, i128)>,
}

impl Access {
    /// Tests whether the place depends on nothing but counters.
    pub(super) fn is_exact(&self) -> bool {
        self.fixed.is_empty() && self.others.is_empty() && self.scaled.is_empty()
    }
}

impl<'k> Loops<'k> {
    /// Analyses the loops of a verified kernel. `places` says where its pointer parameters are.
    pub fn of(kernel: &'k Kernel, assumed: &Assumed, places: &Places) -> Self {
        let indices = Indices::assuming(kernel, assumed, MOST_TERMS);
        let results = kernel.body.statements.iter().flat_map(|statement| &statement.results);
        let before_loops = kernel.body.params.iter().chain(results).copied().collect();
        let binary = |Statement { results, inst }: &Statement| match (inst, &results[..]) {
            (&Inst::Binary { op, a, b }, &[result]) => Some((result, (op, a, b))),
            _ => None,
        };
        let binaries = kernel.statements().filter_map(binary).collect();
        let mut loops = Self { kernel, indices, counted: FxHashMap::default(), before_loops, binaries, memories: memories(kernel, places) };
        kernel.statements().for_each(|statement| loops.note(&statement.inst));
        loops
    }

    fn note(&mut self, inst: &Inst) {
        let Inst::For { start, end, step, body, .. } = inst else { return };
        let first = self.indices.sum(*start);
        if !first.terms.iter().all(|(term, _)| self.before_loops.contains(term)) {
            return;
        }
        let Some(rounds) = self.span(*start, *end).map(|span| (span.max(0) - 1).div_euclid(*step) + 1) else { return };
        let is_known = [start, end].iter().all(|&&value| self.indices.number(value).is_some());
        let end = (!is_known).then_some(*end);
        if rounds < MOST_ROUNDS {
            self.counted.insert(body.params[0], Counted { first, step: *step, rounds, end });
        }
    }

    /// Returns an upper bound of `end - start`, if it fits 64 bits.
    fn span(&self, start: Value, end: Value) -> Option<i64> {
        let all = self.indices.interval(end).high.checked_sub(self.indices.interval(start).low);
        let rest = self.multiple_below(start).filter(|&(all, _)| all == end || self.sum(all) == self.sum(end)).map(|(_, unit)| unit - 1);
        [all, rest].into_iter().flatten().min()
    }

    /// Returns the affine sum of a scalar index.
    pub fn sum(&self, value: Value) -> Sum<Value> {
        self.indices.sum(value)
    }

    /// Returns the constant value of a scalar index, if it is known.
    pub fn number(&self, value: Value) -> Option<i64> {
        self.indices.number(value)
    }

    /// Returns the operation with two operands that computes a value.
    pub fn binary(&self, value: Value) -> Option<(BinaryOp, Value, Value)> {
        self.binaries.get(&value).copied()
    }

    /// Returns the loop of a counter, if its initial value is known before all loops.
    pub fn counted(&self, counter: Value) -> Option<&Counted> {
        self.counted.get(&counter)
    }

    /// Tests whether a loop runs the same rounds each time, and at least one.
    pub(super) fn has_known_rounds(&self, counter: Value) -> bool {
        self.counted(counter).is_some_and(|counted| counted.end.is_none() && counted.rounds > 0)
    }

    /// Tests whether positions share a buffer that some of them may write.
    pub fn is_shared(&self, buffer: Buffer) -> bool {
        matches!(self.kernel.buffer(buffer).kind, BufferKind::Output | BufferKind::Scratch)
    }

    /// Adds the accesses to shared memory in statements, inside loops with these counters. Returns `None` if the index of one is unknown.
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

    /// Returns the range of a value.
    pub fn interval(&self, value: Value) -> [i128; 2] {
        let interval = self.indices.interval(value);
        [interval.low.into(), interval.high.into()]
    }

    /// Returns the range of a product of values times a factor.
    fn reach(&self, monomial: &Monomial, factor: i128) -> [i128; 2] {
        monomial.iter().fold([factor, factor], |ends, &value| {
            let corners = ends.map(|end| self.interval(value).map(|of_value| end.saturating_mul(of_value).clamp(-ANYWHERE, ANYWHERE)));
            let corners = corners.as_flattened();
            [corners.iter().copied().min().unwrap_or(-ANYWHERE), corners.iter().copied().max().unwrap_or(ANYWHERE)]
        })
    }

    /// Writes a sum of values computed before all loops as a polynomial. Values that are products are expanded.
    pub fn polynomial(&self, sum: &Sum<Value>) -> Polynomial {
        let mut all = Polynomial::number(sum.constant.into());
        for &(term, factor) in &sum.terms {
            match self.binary(term) {
                Some((BinaryOp::Mul, a, b)) => {
                    let (a, b) = (self.polynomial(&self.sum(a)), self.polynomial(&self.sum(b)));
                    a.terms().iter().for_each(|(monomial, times)| all.add_times(&b, monomial, times * i128::from(factor)));
                }
                _ => all.add(vec![term], factor.into()),
            }
        }
        all
    }

    /// Tests whether all terms of a value are computed before all loops.
    fn is_fixed(&self, value: Value) -> bool {
        self.sum(value).terms.iter().all(|(term, _)| self.before_loops.contains(term))
    }

    /// Returns the range of the distance from one access to another that values fixed for all rounds cause.
    pub fn apart(&self, a: &Access, b: &Access) -> [i128; 2] {
        let mut difference = Polynomial::default();
        b.fixed.iter().for_each(|(monomial, factor)| difference.add(monomial.clone(), *factor));
        a.fixed.iter().for_each(|(monomial, factor)| difference.add(monomial.clone(), -factor));
        let reaches = difference.terms().iter().map(|(monomial, factor)| self.reach(monomial, *factor));
        reaches.fold([0, 0], |[low, high], [first, last]| [low + first, high + last])
    }

    /// Returns the access of a statement, inside loops with these counters. `Some(None)` if it accesses no shared memory, `None` if its place is unknown.
    pub(super) fn access(&self, statement: &Statement, around: &[Value]) -> Option<Option<Access>> {
        let Some(buffer) = statement.inst.buffer().filter(|&buffer| self.is_shared(buffer)) else { return Some(None) };
        let Run { index, offset, elements, stores } = statement.inst.run()?;
        let Memory { number, start, is_shared } = self.memories[buffer.index()];
        let unit = if is_shared { i128::from(self.kernel.buffer(buffer).lane.bytes()) } else { 1 };
        let growth = around.iter().map(|&counter| (counter, 0)).collect();
        let (offset, elements) = (i128::from(offset), i128::from(elements));
        let start = if is_shared { i128::from(start) } else { 0 };
        let mut access = Access {
            memory: number,
            stores,
            fixed: vec![],
            others: vec![],
            low: start + offset * unit,
            high: start + (offset + elements) * unit,
            growth,
            scaled: vec![],
        };
        self.move_by(&mut access, &self.sum(index), &vec![], unit)?;
        Some(Some(access))
    }

    /// Moves an access by a sum times a product. Returns `None` if a value that is unknown before all loops would get a symbolic factor.
    fn move_by(&self, access: &mut Access, sum: &Sum<Value>, monomial: &Monomial, factor: i128) -> Option<()> {
        let constant = i128::from(sum.constant) * factor;
        match &monomial[..] {
            [] => (access.low, access.high) = (access.low + constant, access.high + constant),
            _ if constant == 0 => {}
            _ => access.fixed.push((monomial.clone(), constant)),
        }
        for &(term, times) in &sum.terms {
            let factor = factor * i128::from(times);
            let place = access.growth.iter_mut().find(|(counter, _)| *counter == term);
            if let (Some(place), Some(counted)) = (place, self.counted(term)) {
                let of_round = factor * i128::from(counted.step);
                if monomial.is_empty() {
                    place.1 += of_round;
                } else {
                    access.scaled.push((term, monomial.clone(), of_round));
                }
                // The initial value of a counter depends on no counters.
                self.move_by(access, &counted.first, monomial, factor)?;
            } else if let Some((BinaryOp::Mul, a, b)) = self.binary(term)
                && (self.is_fixed(a) || self.is_fixed(b))
            {
                let (fixed, other) = if self.is_fixed(a) { (a, b) } else { (b, a) };
                for (of_fixed, times) in self.polynomial(&self.sum(fixed)).terms() {
                    self.move_by(access, &self.sum(other), &product(of_fixed, monomial), factor * times)?;
                }
            } else if self.before_loops.contains(&term) {
                access.fixed.push((product(monomial, &vec![term]), factor));
            } else if monomial.is_empty() {
                access.others.push((term, factor));
            } else {
                return None;
            }
        }
        Some(())
    }
}

/// Returns the places of a kernel's buffers. A buffer of its own has a memory of its own.
fn memories(kernel: &Kernel, places: &Places) -> Vec<Memory> {
    let mut left = places.iter();
    let place = |(number, data): (usize, &BufferData)| {
        let of_parameter = if data.kind.is_parameter() { left.next().copied() } else { None };
        of_parameter.unwrap_or((places.len() + number, 0))
    };
    let places: Vec<(usize, u64)> = kernel.buffers.iter().enumerate().map(place).collect();
    let count = |memory: usize| places.iter().filter(|place| place.0 == memory).count();
    places.iter().map(|&(number, start)| Memory { number, start, is_shared: count(number) > 1 }).collect()
}
