//! Arithmetic on extents, numbers where both operands are; extents of inputs that must be equal.

use super::elements::ListItem;
use super::narrowing::Narrowing;
use super::sums::Vanishing;
use super::{Compared, Graph};
use crate::ir::operators::IndexBinary;
use crate::ir::{Definition, ElementType, Extent, Function, IndexOperation, Interval, Op, Operation, Scalar, Type, Value, interval};
use crate::operators::Error;

/// The maximum number of operations that are followed to the source of an extent.
const MOST_FOLLOWED: usize = 64;

/// An extent, or why there is none.
type Computed = Result<Extent, Error>;

impl Graph<'_> {
    /// a + b.
    ///
    /// # Errors
    /// [`Error::DimensionTooLarge`], here and below.
    pub fn add(&mut self, a: Extent, b: Extent) -> Computed {
        self.combine(IndexOperation::Add, a, b)
    }

    /// a − b, and 0 where b is more.
    pub fn sub(&mut self, a: Extent, b: Extent) -> Computed {
        self.combine(IndexOperation::Subtract, a, b)
    }

    /// a × b.
    pub fn mul(&mut self, a: Extent, b: Extent) -> Computed {
        self.combine(IndexOperation::Multiply, a, b)
    }

    /// ⌊a ÷ b⌋.
    pub fn floor_div(&mut self, a: Extent, b: Extent) -> Computed {
        self.combine(IndexOperation::FloorDivide, a, b)
    }

    /// ⌈a ÷ b⌉.
    pub fn ceil_div(&mut self, a: Extent, b: Extent) -> Computed {
        self.combine(IndexOperation::CeilingDivide, a, b)
    }

    /// The smaller one.
    pub fn min(&mut self, a: Extent, b: Extent) -> Computed {
        self.combine(IndexOperation::Minimum, a, b)
    }

    /// The larger one.
    pub fn max(&mut self, a: Extent, b: Extent) -> Computed {
        self.combine(IndexOperation::Maximum, a, b)
    }

    /// The product of extents, 1 of none.
    ///
    /// # Errors
    /// [`Error::TooManyElements`].
    pub fn product(&mut self, extents: &[Extent]) -> Computed {
        let known = extents.iter().filter_map(|e| e.as_static()).try_fold(1u64, u64::checked_mul);
        let mut product = Extent::Static(known.ok_or(Error::TooManyElements)?);
        for &extent in extents.iter().filter(|e| e.as_static().is_none()) {
            product = self.mul(extent, product)?;
        }
        Ok(product)
    }

    fn combine(&mut self, operation: IndexOperation, a: Extent, b: Extent) -> Computed {
        if let Some(&known) = self.combined.get(&(operation, a, b)) {
            return Ok(known);
        }
        let result = self.combine_new(operation, a, b)?;
        self.combined.insert((operation, a, b), result);
        Ok(result)
    }

    fn combine_new(&mut self, operation: IndexOperation, a: Extent, b: Extent) -> Computed {
        use IndexOperation::{Add, CeilingDivide, FloorDivide, Maximum, Minimum, Multiply, Subtract};
        match (operation, a.as_static(), b.as_static()) {
            (_, Some(a), Some(b)) => {
                let numbers = i64::try_from(a).ok().zip(i64::try_from(b).ok());
                let (a, b) = numbers.ok_or(Error::DimensionTooLarge)?;
                return Ok(Extent::Static(interval::evaluate(operation, a, b).max(0) as u64));
            }
            (Add | Subtract, _, Some(0)) | (Multiply | CeilingDivide | FloorDivide, _, Some(1)) => return Ok(a),
            (Minimum | Subtract, _, _) if a == b => return Ok(if operation == Minimum { a } else { Extent::Static(0) }),
            (Minimum, Some(0), _) | (Minimum, _, Some(0)) => return Ok(Extent::Static(0)),
            (Add, Some(0), _) | (Multiply, Some(1), _) => return Ok(b),
            _ => {}
        }
        let (x, y) = (self.interval(a), self.interval(b));
        match operation {
            Minimum if x.high <= y.low => return Ok(a),
            Minimum if y.high <= x.low => return Ok(b),
            Maximum if x.high <= y.low => return Ok(b),
            Maximum if y.high <= x.low => return Ok(a),
            // A difference and its subtrahend add up to the minuend.
            Add => {
                if let Some(sum) = self.known_sum(a, b) {
                    return Ok(sum);
                }
            }
            Minimum if self.round.has_limits() && self.is_at_most(a, b) => return Ok(a),
            Minimum if self.round.has_limits() && self.is_at_most(b, a) => return Ok(b),
            Subtract => {
                if let Some(difference) = self.difference(a, b) {
                    return Ok(difference);
                }
            }
            // Where the difference is a number it says which one.
            Minimum | Maximum if matches!(self.difference(a, b), Some(Extent::Static(_))) => {
                return Ok(if operation == Minimum { b } else { a });
            }
            Minimum | Maximum if matches!(self.difference(b, a), Some(Extent::Static(_))) => {
                return Ok(if operation == Minimum { a } else { b });
            }
            _ => {}
        }
        let (a, b) = (self.index(a)?, self.index(b)?);
        let mut index = self.builder.index_binary(operation, a, b)?;
        if self.interval(Extent::Value(index)).low < 0 {
            let zero = self.index(Extent::Static(0))?;
            index = self.builder.index_binary(IndexOperation::Maximum, index, zero)?;
        }
        Ok(self.function().resolved(Extent::Value(index)))
    }

    /// An extent as an index value.
    ///
    /// # Errors
    /// [`Error::DimensionTooLarge`].
    pub fn index(&mut self, extent: Extent) -> Result<Value, Error> {
        match extent {
            Extent::Value(index) => Ok(index),
            Extent::Static(n) => {
                let n = i64::try_from(n).map_err(|_| Error::DimensionTooLarge)?;
                Ok(self.builder.index_constant(n)?)
            }
        }
    }

    /// An extent as a tensor of shape `[]`; a constant if it is static.
    ///
    /// # Errors
    /// When the element type holds no extents.
    pub fn extent_tensor(&mut self, extent: Extent, element: ElementType) -> Result<Value, Error> {
        match extent {
            Extent::Static(n) => {
                let n = i64::try_from(n).map_err(|_| Error::DimensionTooLarge)?;
                self.scalar(crate::ir::Scalar::int(element, n))
            }
            Extent::Value(index) => Ok(self.builder.index_tensor(index, element)?),
        }
    }

    /// A list of integers, some of which may be known only at run time.
    ///
    /// # Errors
    /// An element type that cannot hold them.
    pub fn list(&mut self, items: &[ListItem], element: ElementType) -> Result<Value, Error> {
        let mut numbers = Vec::with_capacity(items.len());
        for &item in items {
            numbers.push(match item {
                ListItem::Number(n) => self.numbers(element, &[1], &[Scalar::int(element, n)])?,
                ListItem::Index(index) => {
                    let number = self.builder.index_tensor(index, element)?;
                    self.reshape(number, &[Extent::Static(1)])?
                }
            });
        }
        Ok(self.builder.concat(&numbers, 0)?)
    }

    /// The integers from 0 up to an extent.
    ///
    /// # Errors
    /// When the element type holds none.
    pub fn iota(&mut self, count: Extent, element: ElementType) -> Result<Value, Error> {
        Ok(self.builder.iota(vec![count], 0, element)?)
    }

    /// The positions along an axis of a shape.
    ///
    /// # Errors
    /// When the element type holds none.
    pub fn positions(&mut self, shape: &[Extent], axis: usize, element: ElementType) -> Result<Value, Error> {
        Ok(self.builder.iota(shape.to_vec(), axis, element)?)
    }

    /// Makes a dimension of a parameter an extent that is known only at run time, within an interval.
    pub fn measure(&mut self, parameter: Value, dimension: usize, interval: Interval) -> Value {
        self.builder.measure(parameter, dimension, interval)
    }

    /// Requires that the operands broadcast, and returns them with equal extents where extents must be equal. If these are extents of inputs, the
    /// compiled code checks them when it is called.
    ///
    /// # Errors
    /// The errors of extents that are not known to be equal.
    pub fn meet(&mut self, operands: &[Value]) -> Result<Vec<Value>, Error> {
        self.meet_leading(operands, 0)
    }

    /// Requires that all dimensions but the `last` ones broadcast, like [`Self::meet`].
    ///
    /// # Errors
    /// The errors of extents that are not known to be equal.
    pub fn meet_leading(&mut self, operands: &[Value], last: usize) -> Result<Vec<Value>, Error> {
        let mut operands = operands.to_vec();
        let rank = operands.iter().map(|&v| self.rank(v)).max().unwrap_or(0);
        for from_end in last + 1..=rank {
            let mut met: Option<Extent> = None;
            for operand in &mut operands {
                let shape = self.extents(*operand);
                let Some(d) = shape.len().checked_sub(from_end).filter(|&d| shape[d] != Extent::Static(1)) else { continue };
                if let Some(other) = met {
                    *operand = self.agree(*operand, d, other)?;
                }
                // The next operand must agree with the extent that is left of the two.
                met = Some(self.extents(*operand)[d]);
            }
        }
        Ok(operands)
    }

    /// Requires that a tensor's extent along an axis equals another extent. The two are made equal, or compared at run time.
    ///
    /// # Errors
    /// The errors of extents that are not known to be equal, unless the function compares such extents.
    pub fn agree(&mut self, value: Value, axis: usize, extent: Extent) -> Result<Value, Error> {
        let mut shape = self.extents(value);
        let Some(error) = self.equate_deeply(shape[axis], extent).err() else { return Ok(value) };
        // A reshape compares numbers of elements: of two extents it would compare the product. A join compares an extent.
        let is_unequal = self.are_never_equal(shape[axis], extent);
        let is_compared = self.function().defining_inst(value).is_some_and(|inst| self.function().insts[inst].op() == Op::Reshape);
        let may_compare = match self.compares {
            Compared::None => false,
            Compared::Read => self.is_read(shape[axis]) || self.is_read(extent) || self.is_computed(shape[axis], extent),
            Compared::All => !is_compared,
        };
        if !may_compare || is_unequal || !matches!(error, Error::FixedExtent { .. } | Error::UnrelatedExtents { .. }) {
            return Err(error);
        }
        if is_compared {
            return Ok(self.builder.concat_to(&[value], axis, extent)?);
        }
        shape[axis] = extent;
        Ok(self.builder.reshape(value, shape)?)
    }

    /// Tests whether at least one of two run-time extents is no extent of an input. A caller could not be asked to make them equal.
    fn is_computed(&self, a: Extent, b: Extent) -> bool {
        match (a, b) {
            (Extent::Value(a), Extent::Value(b)) => !is_measured(self.function(), a) || !is_measured(self.function(), b),
            _ => false,
        }
    }

    /// Makes two extents equal, if necessary by making two extents of inputs equal that they follow from.
    fn equate_deeply(&mut self, a: Extent, b: Extent) -> Result<(), Error> {
        let outcome = self.equate(a, b);
        if let (Err(Error::UnrelatedExtents { .. }), Compared::Read) = (&outcome, self.compares)
            && let Some(Vanishing::AtIndex(x, y)) = self.equal_only_where(a, b)
            && self.equate(Extent::Value(x), Extent::Value(y)).is_ok()
        {
            return self.equate(a, b);
        }
        outcome
    }

    /// Tests whether an extent depends on elements of a tensor.
    fn is_read(&self, extent: Extent) -> bool {
        let (mut left, mut followed) = (vec![extent], 0);
        while let Some(extent) = left.pop() {
            let Extent::Value(index) = self.function().resolved(extent) else { continue };
            let Some(inst) = self.function().defining_inst(index) else { continue };
            let data = &self.function().insts[inst];
            followed += 1;
            match data.op() {
                Op::IndexLoad => return true,
                Op::IndexBinary if followed < MOST_FOLLOWED => left.extend(data.operands.iter().map(|&operand| Extent::Value(operand))),
                _ => {}
            }
        }
        false
    }

    /// Requires two extents to be equal. Different static extents are left to the type rules. If both are extents of inputs with different ranges, the
    /// common range becomes a fact.
    ///
    /// # Errors
    /// When they need not be equal.
    pub fn equate(&mut self, a: Extent, b: Extent) -> Result<(), Error> {
        let outcome = self.make_equal(a, b);
        if let Err(Error::UnrelatedExtents { a: Extent::Value(a), b: Extent::Value(b) }) = outcome {
            self.note_common_range(a, b);
        }
        outcome
    }

    /// Makes two extents equal, if both are extents of inputs with one range, or if they are always equal. Nothing follows if they are not.
    ///
    /// # Errors
    /// When they need not be equal.
    pub(super) fn make_equal(&mut self, a: Extent, b: Extent) -> Result<(), Error> {
        let (a, b) = match (a, b) {
            (Extent::Value(a), Extent::Value(b)) if a != b => (a, b),
            (extent @ Extent::Value(_), Extent::Static(must_be)) | (Extent::Static(must_be), extent @ Extent::Value(_)) => {
                return Err(Error::FixedExtent { extent, must_be });
            }
            _ => return Ok(()),
        };
        let function = &mut self.builder.function;
        let same_bound = function.interval(Extent::Value(a)) == function.interval(Extent::Value(b));
        if is_measured(function, a) && is_measured(function, b) && same_bound {
            replace_index(function, b, a);
            self.combined.clear();
            return Ok(());
        }
        if self.are_equal(Extent::Value(a), Extent::Value(b)) {
            return self.unify(a, b);
        }
        Err(Error::UnrelatedExtents { a: Extent::Value(a), b: Extent::Value(b) })
    }

    /// Notes that two extents of inputs have one common range. The next time that the method is built, they are equal.
    fn note_common_range(&mut self, a: Value, b: Value) {
        let mut facts = std::mem::take(&mut self.facts);
        Narrowing { graph: self, inputs: &self.inputs, facts: &mut facts }.intersect(a, b);
        self.facts = facts;
    }

    /// Merges two indices that are computed differently and always equal into the one computed first. The other's definition becomes the minimum of
    /// the first and itself, so that other references resolve to the first.
    fn unify(&mut self, a: Value, b: Value) -> Result<(), Error> {
        let function = &mut self.builder.function;
        let (a, b) = (function.index_root(a), function.index_root(b));
        let place = |index: Value| function.defining_inst(index).and_then(|inst| function.body.iter().position(|&other| other == inst));
        let (first, later) = if place(a) <= place(b) { (a, b) } else { (b, a) };
        let Some(inst) = function.defining_inst(later).filter(|_| first != later) else { return Ok(()) };
        replace_index(function, later, first);
        let data = &mut function.insts[inst];
        data.operation = Operation::IndexBinary(IndexBinary { operation: IndexOperation::Minimum });
        data.operands = vec![first; 2];
        function.values[later].ty = function.values[first].ty.clone();
        self.combined.clear();
        Ok(())
    }
}

/// Tests whether an index is an extent of a parameter.
fn is_measured(function: &Function, index: Value) -> bool {
    let Some(inst) = function.defining_inst(index) else { return false };
    let data = &function.insts[inst];
    data.op() == Op::ExtentOf && matches!(function.values[data.operands[0]].definition, Definition::Param(_))
}

/// Replaces one index by another in all types and fields of a function.
fn replace_index(function: &mut Function, from: Value, to: Value) {
    let replace = |extent: &mut Extent| {
        if *extent == Extent::Value(from) {
            *extent = Extent::Value(to);
        }
    };
    for data in function.values.values_mut() {
        if let Type::Tensor(ty) = &mut data.ty {
            ty.shape.iter_mut().for_each(replace);
        }
    }
    for inst in function.body.clone() {
        let data = &mut function.insts[inst];
        for operand in &mut data.operands {
            if *operand == from {
                *operand = to;
            }
        }
        data.operation.each_extent(replace);
    }
}
