//! What is known of indices: sums of multiples of loop counters with constant bounds. Both ends of such a sum are taken, so an access
//! that may leave its buffer by this knowledge does.

use crate::kernel::types::*;
use cranelift_entity::EntityRef;

/// The counter of a loop that runs at least once: its first and last value.
#[derive(Clone, Copy)]
pub struct Counter {
    first: i128,
    last: i128,
}

/// Between what an index lies.
pub struct Bound {
    /// The smallest value, which is taken.
    pub low: i128,
    /// The largest value, which is taken.
    pub high: i128,
    /// Whether the index is one number, whatever the counters are.
    pub constant: bool,
}

/// A number plus multiples of counters, each counter once, in order of their values.
#[derive(Clone)]
struct Sum {
    number: i128,
    terms: Vec<(Value, i128)>,
}

/// Knowledge by value.
pub struct Indices {
    sums: Vec<Option<Sum>>,
    counters: Vec<Option<Counter>>,
    loops: usize,
}

/// Numbers beyond this are not followed, so that nothing overflows; no buffer reaches it.
const LARGEST: i128 = 1 << 70;

impl Indices {
    /// Nothing is known of `values` values.
    pub fn new(values: usize) -> Self {
        Self { sums: vec![None; values], counters: vec![None; values], loops: 0 }
    }

    /// Statements from here on are in one loop more.
    pub fn enter_loop(&mut self) {
        self.loops += 1;
    }

    /// The end of a loop.
    pub fn leave_loop(&mut self) {
        self.loops -= 1;
    }

    /// Whether statements are in a loop.
    pub fn in_loop(&self) -> bool {
        self.loops > 0
    }

    /// The counter of a loop over constant bounds that runs at least once.
    pub fn counter(&self, start: Value, end: Value, step: i64) -> Option<Counter> {
        let (first, end) = (self.constant(start)?, self.constant(end)?);
        let steps = (end - 1 - first).div_euclid(i128::from(step));
        (first < end).then(|| Counter { first, last: first + steps * i128::from(step) })
    }

    /// A value is a counter.
    pub fn count(&mut self, value: Value, counter: Counter) {
        if let (Some(sum), Some(place)) = (self.sums.get_mut(value.index()), self.counters.get_mut(value.index())) {
            *sum = Some(Sum { number: 0, terms: vec![(value, 1)] });
            *place = Some(counter);
        }
    }

    /// A value is the result of an instruction.
    pub fn define(&mut self, value: Value, inst: &Inst) {
        self.sums[value.index()] = self.sum(inst).filter(|sum| sum.small());
    }

    /// Between what a value lies.
    pub fn bound(&self, value: Value) -> Option<Bound> {
        let sum = self.get(value)?;
        let mut bound = Bound { low: sum.number, high: sum.number, constant: sum.terms.is_empty() };
        for &(counter, factor) in &sum.terms {
            let counter = self.counters[counter.index()]?;
            let (first, last) = (counter.first * factor, counter.last * factor);
            bound.low += first.min(last);
            bound.high += first.max(last);
        }
        Some(bound)
    }

    fn get(&self, value: Value) -> Option<&Sum> {
        self.sums[value.index()].as_ref()
    }

    fn constant(&self, value: Value) -> Option<i128> {
        self.get(value).filter(|sum| sum.terms.is_empty()).map(|sum| sum.number)
    }

    /// Only of 64-bit scalars; the operands of others are not known either, save constants, which no index is made of.
    fn sum(&self, inst: &Inst) -> Option<Sum> {
        match inst {
            Inst::Constant { bits } => Some(Sum { number: (*bits as i64).into(), terms: vec![] }),
            Inst::Binary { op: BinaryOp::Add, a, b } => Some(self.get(*a)?.plus(self.get(*b)?, 1)),
            Inst::Binary { op: BinaryOp::Sub, a, b } => Some(self.get(*a)?.plus(self.get(*b)?, -1)),
            Inst::Binary { op: BinaryOp::Mul, a, b } => match (self.constant(*a), self.constant(*b)) {
                (Some(factor), _) => Some(self.get(*b)?.times(factor)),
                (_, Some(factor)) => Some(self.get(*a)?.times(factor)),
                _ => None,
            },
            Inst::ShiftConstant { op: BinaryOp::ShiftLeft, a, count } => Some(self.get(*a)?.times(1 << count)),
            _ => None,
        }
    }
}

impl Sum {
    fn plus(&self, other: &Self, factor: i128) -> Self {
        let mut sum = self.clone();
        sum.number += other.number * factor;
        for &(counter, multiple) in &other.terms {
            match sum.terms.binary_search_by_key(&counter, |term| term.0) {
                Ok(i) => sum.terms[i].1 += multiple * factor,
                Err(i) => sum.terms.insert(i, (counter, multiple * factor)),
            }
        }
        sum.terms.retain(|term| term.1 != 0);
        sum
    }

    fn times(&self, factor: i128) -> Self {
        Self { number: 0, terms: vec![] }.plus(self, factor)
    }

    /// Whether its numbers are far from overflow.
    fn small(&self) -> bool {
        let small = |number: i128| number.abs() < LARGEST;
        small(self.number) && self.terms.iter().all(|term| small(term.1))
    }
}
