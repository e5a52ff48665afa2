//! Affine expressions of indices: a constant plus multiples of loop counters, parameters and other scalars. The verifier proves accesses with them,
//! and back ends build addresses from them.
//!
//! An index is a scalar integer of 64 bits, or of 32 bits on some machines. A sum is exact in the kernel's wrapping arithmetic. If a number of the
//! sum exceeds 64 bits, the value counts as a term of its own.

use super::intervals::{self, Assumed, Interval};
use super::types::signed;
use super::*;
use cranelift_entity::EntityRef;

/// An affine sum: a constant plus multiples of terms. The terms are sorted and unique, and no factor is 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sum<T> {
    /// Terms with their factors.
    pub terms: Vec<(T, i64)>,
    /// The constant.
    pub constant: i64,
}

impl<T: Copy + Ord> Sum<T> {
    /// Makes a constant.
    pub fn number(constant: i64) -> Self {
        Self { terms: vec![], constant }
    }

    /// Makes a sum of one term.
    pub fn term(term: T) -> Self {
        Self { terms: vec![(term, 1)], constant: 0 }
    }

    /// Returns the constant, if the sum has no terms.
    pub fn as_number(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Adds `factor` times another sum. Returns `None` if a number exceeds 64 bits.
    pub fn plus(&self, other: &Self, factor: i64) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for &(term, multiple) in &other.terms {
            let multiple = multiple.checked_mul(factor)?;
            match sum.terms.binary_search_by_key(&term, |known| known.0) {
                Ok(i) => sum.terms[i].1 = sum.terms[i].1.checked_add(multiple)?,
                Err(i) => sum.terms.insert(i, (term, multiple)),
            }
        }
        sum.terms.retain(|term| term.1 != 0);
        Some(sum)
    }

    /// Multiplies the sum by a number.
    pub fn times(&self, factor: i64) -> Option<Self> {
        Self::number(0).plus(self, factor)
    }

    /// Replaces the terms of the sum. Two terms may become the same term.
    pub fn map<U: Copy + Ord>(&self, mut change: impl FnMut(T) -> Option<U>) -> Option<Sum<U>> {
        let start = Some(Sum::number(self.constant));
        self.terms.iter().fold(start, |sum, &(term, factor)| sum?.plus(&Sum::term(change(term)?), factor))
    }
}

/// Facts about a value.
#[derive(Clone, Debug)]
struct Known {
    /// The sum that defines a scalar index; `None` if the value is a term.
    sum: Option<Sum<Value>>,
    /// Signed range of a scalar integer.
    interval: Interval,
    /// `true` for counters with constant bounds, which take both ends of the interval regardless of other counters.
    takes_ends: bool,
    /// Exponent of the largest known power of two that divides the value.
    multiple: u32,
}

/// The exponent for 0, which every power of two divides.
const OF_ZERO: u32 = 32;

/// The affine analysis of a kernel's indices.
pub struct Indices {
    known: Vec<Known>,
    most_terms: usize,
}

/// The values that a loop carries, each in the same order.
struct Carried<'a> {
    /// Initial values.
    starts: &'a [Value],
    /// Parameters of the body.
    params: &'a [Value],
    /// Values that the body yields.
    yields: &'a [Value],
    /// Results of the loop.
    results: &'a [Value],
}

impl Indices {
    /// Makes an analysis that knows nothing yet. A sum of more than `most_terms` terms counts as a term.
    pub fn new(types: &[Type], most_terms: usize) -> Self {
        let unknown = |ty: &Type| Known { sum: None, interval: Interval::of_type(*ty), takes_ends: false, multiple: 0 };
        Self { known: types.iter().map(unknown).collect(), most_terms }
    }

    /// Analyses a verified kernel.
    pub fn of(kernel: &Kernel, most_terms: usize) -> Self {
        Self::assuming(kernel, &Assumed::default(), most_terms)
    }

    /// Analyses a verified kernel whose callers promise facts about its arguments.
    pub fn assuming(kernel: &Kernel, assumed: &Assumed, most_terms: usize) -> Self {
        let mut indices = Self::new(&kernel.types, most_terms);
        for (param, interval) in kernel.body.params.iter().zip(&assumed.parameters) {
            indices.known[param.index()].interval = *interval;
        }
        if let (Some(grid), Some(&position)) = (kernel.grid, kernel.body.params.first()) {
            indices.count_positions(position, grid);
        }
        indices.region(&kernel.body, &kernel.types, (assumed, kernel.members()));
        indices
    }

    fn region(&mut self, region: &Region, types: &[Type], assumed: (&Assumed, Option<&Members>)) {
        for Statement { results, inst } in &region.statements {
            match (inst, &results[..]) {
                (Inst::For { start, end, step, carried, body, .. }, _) => {
                    if let Some(&counter) = body.params.first() {
                        self.count(counter, *start, *end, *step);
                    }
                    self.region(body, types, assumed);
                    if self.carry(&Carried {
                        starts: carried,
                        params: body.params.get(1..).unwrap_or_default(),
                        yields: &body.yields,
                        results,
                    }) {
                        self.region(body, types, assumed);
                    }
                }
                (Inst::Divide { extent, body, .. }, _) => {
                    self.divide(&body.params, *extent);
                    self.region(body, types, assumed);
                }
                (Inst::Loop { carried, body }, _) => {
                    self.region(body, types, assumed);
                    if self.carry(&Carried {
                        starts: carried,
                        params: &body.params,
                        yields: body.yields.get(1..).unwrap_or_default(),
                        results,
                    }) {
                        self.region(body, types, assumed);
                    }
                }
                (Inst::If { .. }, _) => {
                    inst.regions().into_iter().for_each(|inner| self.region(inner, types, assumed));
                    if let Inst::If { then, otherwise, .. } = inst {
                        self.join(results, then, otherwise);
                    }
                }
                (inst, &[result]) => {
                    self.define(result, types[result.index()], inst);
                    self.load(result, types[result.index()], inst, assumed);
                }
                _ => {}
            }
        }
    }

    /// Bounds a loaded scalar by the range that callers promise, or by the numbers of the kernel's members.
    fn load(&mut self, value: Value, ty: Type, inst: &Inst, (assumed, members): (&Assumed, Option<&Members>)) {
        let Inst::Load { buffer, index, offset, .. } = inst else { return };
        if ty.lanes != 1 {
            return;
        }
        if let Some(interval) = assumed.elements.get(&buffer.index()) {
            self.known[value.index()].interval = *interval;
        }
        let place = self.number(*index).and_then(|index| usize::try_from(index.checked_add(*offset)?).ok());
        if let Some(numbers) = members.filter(|members| members.buffer == *buffer).zip(place).map(|(members, place)| members.at(place))
            && let Some((low, high)) = numbers.clone().min().zip(numbers.clone().max())
        {
            let known = &mut self.known[value.index()];
            known.interval = Interval { low: low.into(), high: high.into() };
            known.multiple = numbers.map(|number| exponent(number.into())).min().unwrap_or(0);
        }
    }

    /// Bounds carried values: each is an initial value or a yielded one. Returns true if an interval becomes narrower.
    fn carry(&mut self, carried: &Carried<'_>) -> bool {
        let Carried { starts, params, yields, results } = *carried;
        let mut narrower = false;
        for (((start, param), last), result) in starts.iter().zip(params).zip(yields).zip(results) {
            let before = self.interval(*param);
            let interval = self.interval(*start).union(self.interval(*last));
            if before.low < interval.low || interval.high < before.high {
                self.known[param.index()].interval = interval;
                self.known[result.index()].interval = interval;
                narrower = true;
            }
        }
        narrower
    }

    /// Bounds the results of a branch by the yields of both sides.
    fn join(&mut self, results: &[Value], then: &Region, otherwise: &Region) {
        for ((result, a), b) in results.iter().zip(&then.yields).zip(&otherwise.yields) {
            self.known[result.index()].interval = self.interval(*a).union(self.interval(*b));
        }
    }

    /// Records that a value counts from `start` to below `end`.
    pub fn count(&mut self, counter: Value, start: Value, end: Value, step: i64) {
        let (first, beyond) = (self.interval(start), self.interval(end));
        let multiple = self.multiple(start).min(step.trailing_zeros());
        let numbers = first.as_number().zip(beyond.as_number()).filter(|(start, end)| start < end);
        let interval = match numbers {
            Some((start, end)) => {
                let steps = (i128::from(end) - 1 - i128::from(start)).div_euclid(i128::from(step));
                // The last value of the counter is below the end.
                Interval { low: start, high: (i128::from(start) + steps * i128::from(step)) as i64 }
            }
            None => Interval { low: first.low, high: beyond.high.saturating_sub(1).max(first.low) },
        };
        if let Some(known) = self.known.get_mut(counter.index()) {
            *known = Known { sum: None, interval, takes_ends: numbers.is_some(), multiple };
        }
    }

    /// Values are the ends of a range below an extent.
    pub fn divide(&mut self, ends: &[Value], extent: Value) {
        let high = self.interval(extent).high.max(0);
        for end in ends {
            if let Some(known) = self.known.get_mut(end.index()) {
                known.interval = Interval { low: 0, high };
            }
        }
    }

    /// Records that a value is the position of a grid. All positions run.
    pub fn count_positions(&mut self, position: Value, grid: Grid) {
        let high = i64::try_from(grid.positions).unwrap_or(i64::MAX).saturating_sub(1);
        if let Some(known) = self.known.get_mut(position.index()) {
            *known = Known { sum: None, interval: Interval { low: 0, high }, takes_ends: true, multiple: 0 };
        }
    }

    /// Records that a value is the result of an instruction without regions.
    pub fn define(&mut self, value: Value, ty: Type, inst: &Inst) {
        if ty.lanes != 1 || !ty.lane.is_integer() {
            return;
        }
        let wide = matches!(ty.lane, Lane::I32 | Lane::I64);
        let sum = if wide { self.sum_of(inst, ty.lane).filter(|sum| sum.terms.len() <= self.most_terms) } else { None };
        let interval = intervals::of_result(inst, ty.lane, |operand| self.interval(operand));
        self.known[value.index()].interval = match &sum {
            Some(sum) => self.interval_of(sum).filter(|interval| interval.fits(ty.lane)).unwrap_or(interval),
            None => interval,
        };
        self.known[value.index()].multiple = self.multiple_of_result(inst);
        self.known[value.index()].sum = sum;
    }

    fn sum_of(&self, inst: &Inst, lane: Lane) -> Option<Sum<Value>> {
        match *inst {
            Inst::Constant { bits } => Some(Sum::number(signed(lane, bits))),
            Inst::Binary { op: BinaryOp::Add, a, b } => self.sum(a).plus(&self.sum(b), 1),
            Inst::Binary { op: BinaryOp::Sub, a, b } => self.sum(a).plus(&self.sum(b), -1),
            Inst::Binary { op: BinaryOp::Mul, a, b } => match (self.number(a), self.number(b)) {
                (_, Some(factor)) => self.sum(a).times(factor),
                (Some(factor), _) => self.sum(b).times(factor),
                _ => None,
            },
            Inst::ShiftConstant { op: BinaryOp::ShiftLeft, a, count } if count < 63 => self.sum(a).times(1 << count),
            _ => None,
        }
    }

    /// Returns the exponent of a power of two that divides a result which is a term.
    fn multiple_of_result(&self, inst: &Inst) -> u32 {
        match *inst {
            Inst::Binary { op: BinaryOp::Mul, a, b } => (self.multiple(a) + self.multiple(b)).min(OF_ZERO),
            Inst::Convert { op: ConvertOp::SignExtend, a } => self.multiple(a),
            _ => 0,
        }
    }

    fn interval_of(&self, sum: &Sum<Value>) -> Option<Interval> {
        let (mut low, mut high) = (i128::from(sum.constant), i128::from(sum.constant));
        for &(term, factor) in &sum.terms {
            let Interval { low: first, high: last } = self.interval(term);
            let ends = [first, last].map(|end| i128::from(end) * i128::from(factor));
            low = low.checked_add(ends[0].min(ends[1]))?;
            high = high.checked_add(ends[0].max(ends[1]))?;
        }
        // The interval of a sum that may wrap is unknown.
        Some(Interval { low: low.try_into().ok()?, high: high.try_into().ok()? })
    }

    /// Returns the sum of a scalar index. A term is the sum of itself.
    pub fn sum(&self, value: Value) -> Sum<Value> {
        self.composed(value).cloned().unwrap_or_else(|| Sum::term(value))
    }

    /// Returns the sum of a scalar index, or `None` if the value is a term.
    pub fn composed(&self, value: Value) -> Option<&Sum<Value>> {
        self.known[value.index()].sum.as_ref()
    }

    /// Returns the constant value of a scalar index, if it is known.
    pub fn number(&self, value: Value) -> Option<i64> {
        self.composed(value).and_then(Sum::as_number)
    }

    /// Returns the signed range of a scalar integer.
    pub fn interval(&self, value: Value) -> Interval {
        self.known[value.index()].interval
    }

    /// Tests whether a scalar index takes both ends of its interval, if the loops around it run for all values of their counters.
    pub fn takes_ends(&self, value: Value) -> bool {
        match self.composed(value) {
            Some(sum) => sum.terms.iter().all(|(term, _)| self.known[term.index()].takes_ends),
            None => self.known[value.index()].takes_ends,
        }
    }

    /// Returns the exponent of the largest known power of two that divides a scalar index, its constant included.
    pub fn multiple(&self, value: Value) -> u32 {
        let constant = self.composed(value).map_or(0, |sum| sum.constant);
        self.multiple_of_terms(value).min(exponent(constant))
    }

    /// Returns the exponent as [`Indices::multiple`] does, but ignores the constant of the sum.
    pub fn multiple_of_terms(&self, value: Value) -> u32 {
        let of_term = |&(term, factor): &(Value, i64)| self.known[term.index()].multiple.saturating_add(exponent(factor));
        match self.composed(value) {
            Some(sum) => sum.terms.iter().map(of_term).min().unwrap_or(OF_ZERO),
            None => self.known[value.index()].multiple,
        }
    }
}

/// Returns the exponent of the largest power of two that divides a number.
pub fn exponent(value: i64) -> u32 {
    if value == 0 { OF_ZERO } else { value.trailing_zeros() }
}

#[cfg(test)]
mod tests;
