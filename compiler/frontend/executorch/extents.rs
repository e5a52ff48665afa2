//! Extents that are known only at run time.
//!
//! A file does not say which dimensions of an input vary: a dynamic input only has bounds. The rules are:
//!
//! - Each dimension of a dynamic input may have any extent from 1 to its bound. `--bound` gives a smaller bound, `--shape` fixes the shape.
//! - Requirements of operators narrow the range. Weights, a static tensor or a list of sizes may require a number: the extent is then this number in
//!   every call. Two extents may have to be equal: then they are equal. The compiled code checks shapes before it runs (`MODELC_E_SHAPE`).
//! - A computed extent, such as the rows of a convolution's result, may have to be a number, too. If it is the computed extent's maximum, the extents
//!   that it is computed from are at their bounds. If a smaller extent of the input suffices, as for a slice that ends before the input does, it
//!   becomes the input's minimum.
//! - Extents that are computed differently and always equal are merged (`operators/graph/forms.rs`). They may be equal only from some extent of an
//!   input on, since a subtrahend must not exceed it. This extent is then the input's minimum.
//! - An extent may be halved and doubled again, and then have to be equal to itself, as in skip connections. It is then a multiple of two, of four
//!   and so on.
//! - An integer that the program reads from a tensor may define another tensor's size. It is then at most the other tensor's bound. A call with a
//!   larger one ends with an error.
//! - Extents that must be equal, but are not by these rules, are compared at run time.
//! - All other extents are known only at run time.
//!
//! Requirements found during translation hold for the whole program. They are noted, and the program is translated again.

use super::fault::Fault;
use super::registers::{Measured, Register};
use super::translate::Translator;
use crate::ir::{Extent, Function, IndexOperation, Interval, Op, Value, interval};
use crate::operators::Error;
use crate::operators::graph::forms::AtLeast;
use crate::operators::graph::integers::{number, operation_of};
use crate::operators::graph::sums::Vanishing;
use std::collections::HashSet;

impl Translator<'_, '_> {
    /// Requires two extents to be equal.
    ///
    /// # Errors
    /// When they are not; [`Fault::Consequence`] when that was not known and holds from the next translation on.
    pub fn equate(&mut self, a: Extent, b: Extent) -> Result<(), Fault> {
        let function = self.graph.function();
        let (a, b) = (function.resolved(a), function.resolved(b));
        if a == b {
            return Ok(());
        }
        if let (Extent::Static(a), Extent::Static(b)) = (a, b) {
            return Err(Fault::invalid("two extents that have to be equal differ").expected(a.to_string(), b.to_string()));
        }
        match self.graph.equate(a, b) {
            Ok(()) => Ok(()),
            Err(Error::FixedExtent { .. } | Error::UnrelatedExtents { .. }) => Err(self.narrow(a, b)),
            Err(error) => Err(error.into()),
        }
    }

    /// Requires two shapes to have as many elements. If this cannot be decided here, the reshape checks it at run time.
    ///
    /// # Errors
    /// The errors of [`Self::equate`].
    pub fn fill(&mut self, from: &[Extent], to: &[Extent]) -> Result<(), Fault> {
        let function = self.graph.function();
        let (Some(mut from), Some(mut to)) = (function.size(from), function.size(to)) else { return Err(Error::TooManyElements.into()) };
        from.extents.retain(|extent| match to.extents.iter().position(|other| other == extent) {
            Some(common) => {
                to.extents.swap_remove(common);
                false
            }
            None => true,
        });
        match (&from.extents[..], &to.extents[..]) {
            ([], []) if from.known != to.known => Err(Fault::invalid("the elements do not fill the shape")
                .expected(format!("{} elements a slice", from.known), to.known.to_string())),
            (&[x], []) if from.known > 0 && to.known.is_multiple_of(from.known) => {
                self.equate(Extent::Value(x), Extent::Static(to.known / from.known))
            }
            ([], &[y]) if to.known > 0 && from.known.is_multiple_of(to.known) => {
                self.equate(Extent::Value(y), Extent::Static(from.known / to.known))
            }
            (&[x], &[y]) if from.known == to.known => self.equate(Extent::Value(x), Extent::Value(y)),
            (many, []) => self.fill_at_bounds(many, from.known, to.known),
            _ => Ok(()),
        }
    }

    /// Requires extents to equal the static sizes of a shape with one open size, if several extents vary. It matches sizes from both ends up to the
    /// open one, as long as extents have the sizes as bounds. Extents of 1 are skipped. With a single varying extent nothing is required, since it is
    /// the open size.
    ///
    /// # Errors
    /// The errors of [`Self::equate`].
    pub fn agree_beside_open(&mut self, from: &[Extent], to: &[Extent], open: usize) -> Result<(), Fault> {
        if from.iter().filter(|extent| extent.as_static().is_none()).count() < 2 {
            return Ok(());
        }
        let mut rest: Vec<Extent> = from.iter().rev().copied().collect();
        let before = self.agreeing(&mut rest, to[..open].iter());
        rest.reverse();
        let after = self.agreeing(&mut rest, to[open + 1..].iter().rev());
        let mut outcome = Ok(());
        for (extent, number) in before.into_iter().chain(after) {
            outcome = self.equate(extent, number).and(outcome);
        }
        outcome
    }

    /// Removes extents from the end of a list as long as their bounds equal the next numbers. Returns the pairs.
    fn agreeing<'n>(&self, extents: &mut Vec<Extent>, numbers: impl Iterator<Item = &'n Extent>) -> Vec<(Extent, Extent)> {
        let mut pairs = Vec::new();
        for &number in numbers {
            while number != Extent::Static(1) && extents.pop_if(|&mut extent| self.graph.bound(extent) == 1).is_some() {}
            match extents.pop_if(|&mut extent| Some(self.graph.bound(extent)) == number.as_static()) {
                Some(extent) => pairs.push((extent, number)),
                None if number == Extent::Static(1) => {}
                None => break,
            }
        }
        pairs
    }

    /// Extents whose product with a number must be another: each is at its bound if they must all be.
    fn fill_at_bounds(&mut self, extents: &[Value], known: u64, product: u64) -> Result<(), Fault> {
        let bounds: Vec<u64> = extents.iter().map(|&extent| self.graph.bound(Extent::Value(extent))).collect();
        if bounds.iter().try_fold(known, |product, &bound| product.checked_mul(bound)) != Some(product) {
            return Ok(());
        }
        let mut outcome = Ok(());
        for (&extent, bound) in extents.iter().zip(bounds) {
            outcome = self.equate(Extent::Value(extent), Extent::Static(bound)).and(outcome);
        }
        outcome
    }

    /// Notes the conditions on inputs under which two unrelated extents are equal. Returns the fault to report.
    pub fn narrow(&mut self, a: Extent, b: Extent) -> Fault {
        if self.narrow_in_method(a, b) {
            return Fault::Consequence;
        }
        self.shared.unrelated = true;
        let help = "give the shape of the input with --shape in0=…, or a bound for each dimension that varies with --bound in0.0=…";
        match (a, b) {
            (Extent::Value(_), Extent::Value(_)) => {
                Fault::unsupported("two dynamic dimensions must be equal, but this is not known").help(help)
            }
            _ => {
                let number = a.as_static().or(b.as_static()).unwrap_or(0);
                Fault::unsupported("an extent that is known only when the program runs would always have to be one number")
                    .expected(number.to_string(), "an extent that follows from several")
                    .help(help)
            }
        }
    }

    /// Notes the conditions for extents of the function under construction, as extents of the method's own function. Returns `true` if something was
    /// noted.
    fn narrow_in_method(&mut self, a: Extent, b: Extent) -> bool {
        let (Some(a), Some(b)) = (self.lift_to_method(a), self.lift_to_method(b)) else { return false };
        let Some(method) = self.outer.first_mut().map(|(function, _)| std::mem::take(function)) else { return self.note_equality(a, b) };
        let inner = self.graph.exchange(method);
        let noted = self.note_equality(a, b);
        let method = self.graph.exchange(inner);
        if let Some((function, _)) = self.outer.first_mut() {
            *function = method;
        }
        noted
    }

    /// Notes the conditions under which two extents of the method's own function are equal.
    pub(super) fn note_equality(&mut self, a: Extent, b: Extent) -> bool {
        match (a, b) {
            _ if self.is_chosen(a) || self.is_chosen(b) => self.note_choices(a, b),
            _ if self.make_vanish(a, b) => true,
            (Extent::Value(x), Extent::Static(n)) | (Extent::Static(n), Extent::Value(x)) => {
                self.make_room(a, b) || i64::try_from(n).is_ok_and(|n| self.fix(x, n))
            }
            (Extent::Value(x), Extent::Value(y)) => {
                self.intersect(x, y) || self.make_room(a, b) || self.make_multiple(x, y) || self.make_cancel(x, y)
            }
            _ => false,
        }
    }

    /// Notes that the extent of an input is a number, or another's, if two extents are equal only there.
    fn make_vanish(&mut self, a: Extent, b: Extent) -> bool {
        match self.graph.equal_only_where(a, b) {
            Some(Vanishing::AtNumber(index, n)) => match self.measured(index) {
                Some(measured) if self.may_be(index, n) => self.note(measured, Interval::exactly(n)),
                _ => false,
            },
            Some(Vanishing::AtIndex(x, y)) => self.intersect(x, y) || self.note_equal(x, y),
            None => false,
        }
    }

    /// Tests whether a number is in the interval of an index.
    fn may_be(&self, index: Value, n: i64) -> bool {
        let interval = self.graph.interval(Extent::Value(index));
        (interval.low..=interval.high).contains(&n)
    }

    /// Gives two inputs whose extents must be equal one common range.
    fn intersect(&mut self, x: Value, y: Value) -> bool {
        let function = self.graph.function();
        let (a, b) = (function.interval(Extent::Value(x)), function.interval(Extent::Value(y)));
        let common = Interval { low: a.low.max(b.low), high: a.high.min(b.high) };
        let both = [x, y].map(|index| self.measured(index));
        let [Some(x), Some(y)] = both else { return false };
        common.low <= common.high && a != b && (self.note(x, common) | self.note(y, common))
    }

    /// Notes the minimum of inputs' extents from which two extents are equal. Below it they differ, since a difference would saturate.
    fn make_room(&mut self, a: Extent, b: Extent) -> bool {
        let mut noted = false;
        for at_least in self.graph.equal_where(a, b).unwrap_or_default() {
            match self.raise(at_least) {
                Some(is_new) => noted |= is_new,
                None => return false,
            }
        }
        noted
    }

    /// Notes that the extent of an input is a multiple of a power of two, if two indices that follow from it are then equal. They are only tried at
    /// numbers: the next translation has to prove it.
    fn make_multiple(&mut self, x: Value, y: Value) -> bool {
        const MOST_TRIED: usize = 1 << 10;
        let function = self.graph.function();
        let inputs = [x, y].map(|index| grows_with(function, index, Op::ExtentOf));
        let [Some(a), Some(b)] = inputs else { return false };
        let (&[input], true) = (&a[..], a == b) else { return false };
        let interval = function.interval(Extent::Value(input));
        let is_equal = |n: i64| {
            let mut left = MOST_FOLLOWED;
            let mut at = |index| value_at(function, index, (input, n), &mut left);
            at(x).is_some_and(|x| at(y) == Some(x))
        };
        // An extent of one multiple only would be a number.
        let mut powers = (1..i64::BITS - 2).map(|bits| 1i64 << bits).take_while(|power| interval.high / power >= 2);
        let found = powers.find(|&power| {
            let multiples = (1..=interval.high / power).map(|n| n * power).skip_while(|&n| n < interval.low);
            multiples.take(MOST_TRIED).all(is_equal)
        });
        match (found, self.measured(input)) {
            (Some(power), Some(measured)) => self.note_multiple(measured, power),
            _ => false,
        }
    }

    fn note_multiple(&mut self, measured: Measured, power: i64) -> bool {
        let key = (self.plan.name.clone(), measured.input, measured.dimension);
        let known = self.shared.multiples.entry(key).or_insert(1);
        let is_new = power > *known;
        *known = power.max(*known);
        self.shared.renewed |= is_new;
        is_new
    }

    /// The power of two that divides a dimension of an input, as found for it or for a dimension that it is equal to.
    pub fn multiple(&self, input: usize, dimension: usize) -> i64 {
        let mut known = 1;
        let mut ask = |(input, dimension)| {
            let found = self.shared.multiples.get(&(self.plan.name.clone(), input, dimension));
            known = found.copied().unwrap_or(1).max(known);
        };
        ask((input, dimension));
        let pairs = self.shared.equal.iter().filter(|(method, pair)| *method == self.plan.name && pair.contains(&(input, dimension)));
        pairs.flat_map(|(_, pair)| *pair).for_each(ask);
        known
    }

    /// Notes that extents of inputs are equal, if two indices then are. An example is (b·s) ÷ t, the open size of a reshape, and b. With more than
    /// one pair of extents, extents of the same dimension are paired.
    fn make_cancel(&mut self, x: Value, y: Value) -> bool {
        let function = self.graph.function();
        let Some((mut left, mut right)) = Ratio::of(function, x).zip(Ratio::of(function, y)) else { return false };
        left.above.append(&mut right.below);
        right.above.append(&mut left.below);
        left.above.retain(|index| match right.above.iter().position(|other| other == index) {
            Some(common) => {
                right.above.swap_remove(common);
                false
            }
            None => true,
        });
        if left.above.len() != right.above.len() {
            return false;
        }
        if let (&[x], &[y]) = (&left.above[..], &right.above[..]) {
            return self.note_equal(x, y);
        }
        let mut pairs = Vec::new();
        for x in left.above {
            let dimension = |index| self.measured(index).map(|measured| (measured.dimension, self.graph.interval(Extent::Value(index))));
            let Some(y) = right.above.iter().position(|&y| dimension(x).is_some() && dimension(x) == dimension(y)) else { return false };
            pairs.push((x, right.above.swap_remove(y)));
        }
        pairs.into_iter().fold(false, |noted, (x, y)| self.note_equal(x, y) || noted)
    }

    /// Notes the minimum of an input's extent for which an index is at least a number. `None` if the index depends on others, too.
    fn raise(&mut self, AtLeast { index, low }: AtLeast) -> Option<bool> {
        let function = self.graph.function();
        let inputs = grows_with(function, index, Op::ExtentOf)?;
        let &[input] = &inputs[..] else { return None };
        let at = |n: i64| {
            let mut left = MOST_FOLLOWED;
            value_at(function, index, (input, n), &mut left)
        };
        let interval = function.interval(Extent::Value(input));
        let (mut below, mut enough) = (interval.low, interval.high);
        if at(enough)? < low {
            return None;
        }
        // The index grows with the extent.
        while below < enough {
            let middle = below + (enough - below) / 2;
            if at(middle)? < low { below = middle + 1 } else { enough = middle }
        }
        let measured = self.measured(input)?;
        Some(self.note(measured, Interval { low: enough, high: interval.high }))
    }

    /// Notes the maximum of an integer read from a tensor, so that a tensor of the file has room for the extent.
    ///
    /// # Errors
    /// [`Fault::Consequence`] when that was not known and holds from the next translation on.
    pub fn fit(&mut self, extent: Extent, most: u64) -> Result<(), Fault> {
        let Extent::Value(index) = self.graph.function().resolved(extent) else { return Ok(()) };
        if self.graph.bound(extent) <= most {
            return Ok(());
        }
        let function = self.graph.function();
        let Some(&[load]) = grows_with(function, index, Op::IndexLoad).as_deref() else { return Ok(()) };
        let fits = |n: i64| {
            let mut left = MOST_FOLLOWED;
            value_at(function, index, (load, n), &mut left).is_some_and(|n| u64::try_from(n).is_ok_and(|n| n <= most))
        };
        if !fits(0) {
            return Ok(());
        }
        // The extent grows with the integer.
        let (mut enough, mut beyond) = (0, 1i64 << 40);
        while beyond - enough > 1 {
            let middle = enough + (beyond - enough) / 2;
            if fits(middle) { enough = middle } else { beyond = middle }
        }
        match self.register_of_load(load) {
            Some(register) if self.note_loaded(register, enough) => Err(Fault::Consequence),
            _ => Ok(()),
        }
    }

    /// The register whose integer an index is read from.
    fn register_of_load(&self, load: Value) -> Option<usize> {
        let root = |index| self.graph.function().index_root(index);
        let (&tensor, _) = self.scope.loads.iter().find(|&(_, &index)| root(index) == root(load))?;
        let is_read = |register: &Register| matches!(register, Register::Loaded(definition) if definition.depth == self.outer.len() && definition.value == tensor);
        self.environment.registers.iter().position(is_read)
    }

    fn note_loaded(&mut self, register: usize, most: i64) -> bool {
        let known = self.shared.most_loaded.entry((self.plan.name.clone(), register)).or_insert(i64::MAX);
        let is_new = most < *known;
        *known = most.min(*known);
        self.shared.renewed |= is_new;
        is_new
    }

    /// The maximum of the integer in a register, as far as it was found.
    pub fn most_loaded(&self, register: usize) -> i64 {
        self.shared.most_loaded.get(&(self.plan.name.clone(), register)).copied().unwrap_or(i64::MAX)
    }

    fn measured(&self, index: Value) -> Option<Measured> {
        self.measured.iter().find(|measured| measured.index == index).copied()
    }

    fn note(&mut self, measured: Measured, interval: Interval) -> bool {
        let key = (self.plan.name.clone(), measured.input, measured.dimension);
        let is_new = self.shared.narrowed.insert(key, interval) != Some(interval);
        self.shared.renewed |= is_new;
        is_new
    }

    /// Fixes an index to a number in every call. Returns `true` if something follows for the inputs.
    fn fix(&mut self, mut index: Value, mut n: i64) -> bool {
        loop {
            if !self.may_be(index, n) {
                return false;
            }
            if let Some(measured) = self.measured(index) {
                return self.note(measured, Interval::exactly(n));
            }
            if self.graph.interval(Extent::Value(index)).high == n
                && let Some(inputs) = grows_with(self.graph.function(), index, Op::ExtentOf)
            {
                let raised = is_limited(self.graph.function(), index).then(|| self.raise(AtLeast { index, low: n }));
                return raised.flatten().unwrap_or_else(|| self.note_bounds(&inputs));
            }
            if let Some([x, y]) = cancelling(self.graph.function(), index, n) {
                return self.note_equal(x, y);
            }
            match undone(self.graph.function(), index, n) {
                Some((operand, number)) => (index, n) = (operand, number),
                None => return false,
            }
        }
    }

    /// Notes that two extents of inputs are always equal.
    fn note_equal(&mut self, x: Value, y: Value) -> bool {
        let (Some(x), Some(y)) = (self.measured(x), self.measured(y)) else { return false };
        let pair = [(x.input, x.dimension), (y.input, y.dimension)];
        let is_new = self.shared.equal.insert((self.plan.name.clone(), pair));
        self.shared.renewed |= is_new;
        is_new
    }

    /// Notes that extents are always at their bounds.
    fn note_bounds(&mut self, inputs: &[Value]) -> bool {
        let mut noted = false;
        for &input in inputs {
            let high = self.graph.interval(Extent::Value(input)).high;
            noted |= self.measured(input).is_some_and(|measured| self.note(measured, Interval::exactly(high)));
        }
        noted
    }
}

/// Solves `index = n` for the only operand that is no constant. Returns this operand and its value.
fn undone(function: &Function, index: Value, n: i64) -> Option<(Value, i64)> {
    let (operation, [a, b]) = operation_of(function, index)?;
    match (operation, number(function, a), number(function, b)) {
        (IndexOperation::Add, None, Some(c)) => Some((a, n.checked_sub(c)?)),
        (IndexOperation::Add, Some(c), None) => Some((b, n.checked_sub(c)?)),
        (IndexOperation::Subtract, None, Some(c)) => Some((a, n.checked_add(c)?)),
        (IndexOperation::Multiply, None, Some(c)) if c > 0 && n % c == 0 => Some((a, n / c)),
        (IndexOperation::Multiply, Some(c), None) if c > 0 && n % c == 0 => Some((b, n / c)),
        (IndexOperation::Maximum, None, Some(c)) if n > c => Some((a, n)),
        _ => None,
    }
}

/// Tests whether an index depends on the minimum of another one and a number. It then reaches its maximum before its inputs do.
fn is_limited(function: &Function, index: Value) -> bool {
    let (mut open, mut seen) = (vec![index], HashSet::new());
    while let Some(index) = open.pop() {
        let index = function.index_root(index);
        if !seen.insert(index) {
            continue;
        }
        let Some((operation, operands)) = operation_of(function, index) else { continue };
        if operation == IndexOperation::Minimum && operands.iter().any(|&operand| number(function, operand).is_some()) {
            return true;
        }
        open.extend(operands);
    }
    false
}

/// The extents that must be equal for an index to be `n` in every call: x and y of (n·c·x) ÷ (c·y), the open size of a reshape.
fn cancelling(function: &Function, index: Value, n: i64) -> Option<[Value; 2]> {
    let (IndexOperation::FloorDivide, [dividend, divisor]) = operation_of(function, index)? else { return None };
    let ((x, above), (y, below)) = (multiple(function, dividend)?, multiple(function, divisor)?);
    (below.checked_mul(n)? == above).then_some([x, y])
}

/// The indices that one is a product and a quotient of, numbers left out.
#[derive(Default)]
struct Ratio {
    above: Vec<Value>,
    below: Vec<Value>,
}

impl Ratio {
    /// `None` where that takes too long.
    fn of(function: &Function, index: Value) -> Option<Self> {
        let mut ratio = Self::default();
        let mut open = vec![(index, true)];
        for _ in 0..MOST_FOLLOWED {
            let Some((index, is_above)) = open.pop() else { return Some(ratio) };
            let index = function.index_root(index);
            match operation_of(function, index) {
                _ if number(function, index).is_some() => {}
                Some((IndexOperation::Multiply, [a, b])) => open.extend([(a, is_above), (b, is_above)]),
                Some((IndexOperation::FloorDivide, [a, b])) => open.extend([(a, is_above), (b, !is_above)]),
                _ => (if is_above { &mut ratio.above } else { &mut ratio.below }).push(index),
            }
        }
        None
    }
}

/// An index as a multiple of another one.
fn multiple(function: &Function, index: Value) -> Option<(Value, i64)> {
    let mut factor = 1i64;
    let mut index = function.index_root(index);
    while let Some((IndexOperation::Multiply, [a, b])) = operation_of(function, index) {
        let (rest, number) = match (number(function, a), number(function, b)) {
            (None, Some(c)) => (a, c),
            (Some(c), None) => (b, c),
            _ => return None,
        };
        factor = factor.checked_mul(number)?;
        index = function.index_root(rest);
    }
    Some((index, factor))
}

/// Operations that are followed at most to evaluate an index.
const MOST_FOLLOWED: usize = 256;

/// Evaluates an index for a value of the only input that it depends on. `None` if it depends on others, or takes too many operations.
fn value_at(function: &Function, index: Value, input: (Value, i64), left: &mut usize) -> Option<i64> {
    let index = function.index_root(index);
    if index == function.index_root(input.0) {
        return Some(input.1);
    }
    if let Some(number) = number(function, index) {
        return Some(number);
    }
    *left = left.checked_sub(1)?;
    let (operation, [a, b]) = operation_of(function, index)?;
    Some(interval::evaluate(operation, value_at(function, a, input, left)?, value_at(function, b, input, left)?))
}

/// The extents of inputs, or the integers read from tensors, that an index depends on, if it never falls when one of them grows. `None` if it depends
/// on others.
fn grows_with(function: &Function, index: Value, source: Op) -> Option<Vec<Value>> {
    use IndexOperation::{Add, CeilingDivide, FloorDivide, Maximum, Minimum, Multiply, Remainder, Subtract};
    let (mut open, mut seen, mut inputs) = (vec![index], HashSet::new(), Vec::new());
    while let Some(index) = open.pop() {
        let index = function.index_root(index);
        if number(function, index).is_some() || !seen.insert(index) {
            continue;
        }
        let Some((operation, [a, b])) = operation_of(function, index) else {
            let is_source = function.defining_inst(index).is_some_and(|inst| function.insts[inst].op() == source);
            inputs.push(is_source.then_some(index)?);
            continue;
        };
        match operation {
            Add | Multiply | Minimum => {}
            Subtract | FloorDivide | CeilingDivide | Maximum if number(function, b).is_some() => {}
            Subtract | FloorDivide | CeilingDivide | Maximum | Remainder => return None,
        }
        open.extend([a, b]);
    }
    Some(inputs)
}
