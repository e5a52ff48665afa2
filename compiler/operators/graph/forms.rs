//! Normal forms of indices, which show that indices computed in different ways are always equal. Examples are the rows of two convolutions, or a
//! shape that the program states.
//!
//! A form is a constant plus multiples of terms. A term is an index without operands, a quotient ⌊sum ÷ d⌋, or a product of such. Nested quotients
//! are merged, products of sums are expanded, and multiples of a divisor are moved out of its quotient. Equal indices therefore mostly have equal
//! forms, and indices of equal forms are always equal.

use super::Graph;
use super::integers::{number, operation_of};
use super::sums::{Sum, Term, Vanishing};
use crate::ir::{Extent, Function, IndexOperation, Value};

/// The maximum number of operations that are followed. An index that needs more has no form.
const MOST_FOLLOWED: usize = 256;

/// An index that must be at least a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtLeast {
    /// The index.
    pub index: Value,
    /// The number.
    pub low: i64,
}

impl Graph<'_> {
    /// The conditions under which two extents are equal; empty if they always are. `None` if this is not known.
    pub fn equal_where(&self, a: Extent, b: Extent) -> Option<Vec<AtLeast>> {
        let mut forms = Forms { function: self.function(), followed: 0, assumed: vec![] };
        (forms.of_extent(a)? == forms.of_extent(b)?).then_some(forms.assumed)
    }

    /// The form of an extent, if it holds without conditions.
    pub(super) fn form(&self, extent: Extent) -> Option<Sum> {
        let mut forms = Forms { function: self.function(), followed: 0, assumed: vec![] };
        forms.of_extent(extent).filter(|_| forms.assumed.is_empty())
    }

    /// The form of an extent under the conditions that it needs.
    pub(super) fn form_where(&self, extent: Extent) -> Option<Sum> {
        Forms { function: self.function(), followed: 0, assumed: vec![] }.of_extent(extent)
    }

    /// Tests whether some extents add up to another one, if none of their differences is below 0.
    pub fn add_up(&self, parts: &[Extent], whole: Extent) -> bool {
        let mut forms = Forms { function: self.function(), followed: 0, assumed: vec![] };
        let whole = forms.of_extent(whole);
        let sum = parts.iter().try_fold(Sum::default(), |sum, &part| sum.plus(&forms.of_extent(part)?, 1));
        sum.is_some() && sum == whole
    }

    /// The two operands of an index that is a minimum.
    pub(super) fn smaller_of(&self, index: Value) -> Option<[Value; 2]> {
        operation_of(self.function(), index).filter(|(operation, _)| *operation == IndexOperation::Minimum).map(|(_, operands)| operands)
    }

    /// The index and its value at which two extents are equal, if they are equal nowhere else.
    pub fn equal_only_where(&self, a: Extent, b: Extent) -> Option<Vanishing> {
        let mut forms = Forms { function: self.function(), followed: 0, assumed: vec![] };
        let difference = forms.of_extent(a)?.plus(&forms.of_extent(b)?, -1)?;
        if forms.assumed.is_empty() { difference.vanishing() } else { None }
    }

    /// Tests whether two extents differ for all inputs.
    pub fn are_never_equal(&self, a: Extent, b: Extent) -> bool {
        let [x, y] = [a, b].map(|extent| self.interval(extent));
        let beyond = |index, n| {
            let interval = self.interval(Extent::Value(index));
            !(interval.low..=interval.high).contains(&n)
        };
        x.high < y.low || y.high < x.low || matches!(self.equal_only_where(a, b), Some(Vanishing::AtNumber(index, n)) if beyond(index, n))
    }
}

/// Finds forms.
struct Forms<'f> {
    function: &'f Function,
    followed: usize,
    /// The conditions of the forms found so far: where the maximum of an index and a number was taken to be the index.
    assumed: Vec<AtLeast>,
}

impl Forms<'_> {
    fn of_extent(&mut self, extent: Extent) -> Option<Sum> {
        match extent {
            Extent::Value(index) => self.of(index),
            Extent::Static(n) => i64::try_from(n).ok().map(Sum::known),
        }
    }

    /// The form of an index; `None` if it is too large.
    fn of(&mut self, index: Value) -> Option<Sum> {
        use IndexOperation::{Add, CeilingDivide, FloorDivide, Maximum, Minimum, Multiply, Remainder, Subtract};
        let index = self.function.index_root(index);
        if let Some(constant) = number(self.function, index) {
            return Some(Sum::known(constant));
        }
        let itself = Some(Sum::of(Term::Index(index)));
        let interval = self.function.interval(Extent::Value(index));
        // An operation that saturates has no form.
        let exact = interval.low > i64::MIN && interval.high < i64::MAX;
        let Some((operation, [a, b])) = operation_of(self.function, index).filter(|_| exact) else { return itself };
        self.followed += 1;
        if self.followed > MOST_FOLLOWED {
            return None;
        }
        match (operation, number(self.function, a), number(self.function, b)) {
            (Add, _, _) => self.of(a)?.plus(&self.of(b)?, 1),
            (Subtract, _, _) => self.of(a)?.plus(&self.of(b)?, -1),
            (Multiply, _, Some(n)) => Sum::default().plus(&self.of(a)?, n),
            (Multiply, Some(n), _) => Sum::default().plus(&self.of(b)?, n),
            (Multiply, ..) => self.of(a)?.times(&self.of(b)?).or(itself),
            (FloorDivide, _, None) if self.function.interval(Extent::Value(b)).low > 0 => self.of(a)?.shared(&self.of(b)?).or(itself),
            (FloorDivide, _, Some(n)) if n > 0 => self.of(a)?.divided(n),
            (CeilingDivide, _, Some(n)) if n > 0 => self.of(a)?.raised(n - 1)?.divided(n),
            (Remainder, _, Some(n)) if n > 0 => {
                let whole = self.of(a)?;
                whole.clone().plus(&whole.divided(n)?, n.checked_neg()?)
            }
            (Maximum, _, Some(low)) => {
                let form = self.of(a)?;
                let is_larger = self.function.interval(Extent::Value(a)).low >= low || form.as_known().is_some_and(|n| n >= low);
                if !is_larger {
                    self.assumed.push(AtLeast { index: a, low });
                }
                Some(form)
            }
            (Minimum | Maximum, _, _) => {
                let (a, b) = (self.of(a)?, self.of(b)?);
                match a.clone().plus(&b, -1)?.as_known() {
                    Some(difference) => Some(if (difference < 0) == (operation == Minimum) { a } else { b }),
                    None => itself,
                }
            }
            _ => itself,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::operators::Word;
    use crate::ir::random::Random;
    use crate::ir::{ElementType, Interval, Module, TensorType, Type, interval};

    /// An input of 1 to 40 elements, and indices computed from it at random.
    fn computed(graph: &mut Graph<'_>, random: &mut Random) -> (Value, Vec<Value>) {
        let parameter = graph.builder.param(Type::Tensor(TensorType::of(ElementType::F32, &[40])), None);
        let input = graph.measure(parameter, 0, Interval { low: 1, high: 40 });
        let mut found = vec![input];
        for _ in 0..60 {
            let a = found[random.below(found.len())];
            let b =
                if random.below(3) == 0 { found[random.below(found.len())] } else { graph.integer(random.below(6) as i64 - 1).unwrap() };
            let operation = IndexOperation::ALL[random.below(IndexOperation::ALL.len())];
            found.push(graph.builder.index_binary(operation, a, b).unwrap());
        }
        (input, found)
    }

    /// The value of an index for a given number of the input.
    fn value(function: &Function, index: Value, input: Value, n: i64) -> i64 {
        if index == input {
            return n;
        }
        match operation_of(function, index) {
            Some((operation, [a, b])) => interval::evaluate(operation, value(function, a, input, n), value(function, b, input, n)),
            None => number(function, index).unwrap(),
        }
    }

    #[test]
    fn indices_of_one_form_are_equal_wherever_what_they_assume_holds() {
        let mut compared = 0;
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let mut module = Module::default();
            let mut graph = Graph::new(&mut module, "test");
            let (input, found) = computed(&mut graph, &mut random);
            for (i, &a) in found.iter().enumerate() {
                for &b in &found[..i] {
                    let Some(assumed) = graph.equal_where(Extent::Value(a), Extent::Value(b)) else { continue };
                    compared += 1;
                    let at = |index: Value, n: i64| value(graph.function(), index, input, n);
                    for n in (1..=40).filter(|&n| assumed.iter().all(|at_least| at(at_least.index, n) >= at_least.low)) {
                        assert_eq!(at(a, n), at(b, n), "seed {seed}, {n}");
                    }
                }
            }
        }
        assert!(compared > 1000, "{compared}");
    }
}
