//! Type rules: from operand types and fields to the types of results.
//!
//! The rules are the first line of defence against hostile models. Every product and sum of extents is checked, and a rule never allocates in
//! proportion to a shape.

use crate::entities::Value;
use crate::fault::{Elements, Misfit, Ranks, Subject, ValueKind};
use crate::surroundings::{FunctionTypes, ModuleTypes};
use crate::types::{ElementType, Extent, Interval, TensorType, Type};

/// The maximum number of dimensions. Formats stop at 8 to 16.
pub const MAX_RANK: usize = 16;
/// The maximum number of elements of a tensor: more than any memory holds. Sizes computed from several tensors, windows and padding still fit 64
/// bits.
pub const MAX_ELEMENTS: u64 = 1 << 40;

/// The result types of an instruction.
pub type Types = Result<Vec<Type>, Box<Misfit>>;

/// The input of a type rule.
pub struct Context<'a> {
    /// The module, for constants, states and called functions.
    pub module: &'a dyn ModuleTypes,
    /// The function that will hold the instruction.
    pub function: &'a dyn FunctionTypes,
    /// Operands.
    pub operands: &'a [Value],
}

impl<'a> Context<'a> {
    /// The shape of a tensor operand; `None` if it is not known at compile time.
    pub(super) fn known_shape(&self, operand: usize) -> Option<Vec<u64>> {
        self.tensor(operand).ok()?.shape.iter().map(|&extent| self.function.resolved(extent).as_static()).collect()
    }

    pub(super) fn require(&self, condition: bool, misfit: impl FnOnce() -> Misfit) -> Result<(), Box<Misfit>> {
        if condition { Ok(()) } else { Err(Box::new(misfit())) }
    }

    fn ty(&self, operand: usize) -> &'a Type {
        &self.function.values()[self.operands[operand]].ty
    }

    fn kind(&self, operand: usize, expected: ValueKind) -> Box<Misfit> {
        Box::new(Misfit::Kind { operand, expected, found: self.ty(operand).clone() })
    }

    pub(super) fn tensor(&self, operand: usize) -> Result<&'a TensorType, Box<Misfit>> {
        self.ty(operand).as_tensor().ok_or_else(|| self.kind(operand, ValueKind::Tensor))
    }

    pub(super) fn index(&self, operand: usize) -> Result<Interval, Box<Misfit>> {
        if let Type::Index(interval) = *self.ty(operand) { Ok(interval) } else { Err(self.kind(operand, ValueKind::Index)) }
    }

    pub(super) fn effect(&self, operand: usize) -> Result<(), Box<Misfit>> {
        if *self.ty(operand) == Type::Effect { Ok(()) } else { Err(self.kind(operand, ValueKind::Effect)) }
    }

    /// Requires an element type.
    pub(super) fn element(&self, subject: Subject, found: ElementType, expected: Elements) -> Result<(), Box<Misfit>> {
        let ok = match &expected {
            Elements::Among(list) => list.contains(&found),
            Elements::AllBut(other) => found != *other,
            Elements::Integers => found.is_integer(),
            Elements::Numbers => found.is_integer() || found.is_float(),
            Elements::WholeBytes => found.bits() >= 8 && found != ElementType::Bool,
        };
        self.require(ok, || Misfit::Element { subject, expected, found })
    }

    /// Requires an operand of an element type.
    pub(super) fn operand_element(&self, operand: usize, expected: Elements) -> Result<(), Box<Misfit>> {
        self.element(Subject::Operand(operand), self.tensor(operand)?.element, expected)
    }

    /// Requires a number of dimensions, or of items of a list that has one for each.
    pub(super) fn rank(&self, subject: Subject, found: usize, expected: Ranks) -> Result<(), Box<Misfit>> {
        let ok = match expected {
            Ranks::Exactly(rank) => found == rank,
            Ranks::AtLeast(rank) => found >= rank,
            Ranks::AtMost(rank) => found <= rank,
        };
        self.require(ok, || Misfit::Rank { subject, expected, found })
    }

    /// An axis below a rank.
    pub(super) fn axis(&self, field: &'static str, axis: usize, rank: usize) -> Result<usize, Box<Misfit>> {
        self.require(axis < rank, || Misfit::Axis { field, rank, found: axis }).map(|()| axis)
    }

    /// Requires each number of a list to be in a range.
    pub(super) fn numbers(&self, field: &'static str, list: &[i64], least: i64, most: i64) -> Result<(), Box<Misfit>> {
        for (dimension, &found) in list.iter().enumerate() {
            self.number(field, Some(dimension), found, least, most)?;
        }
        Ok(())
    }

    /// Requires a number to be in a range.
    pub(super) fn number(
        &self,
        field: &'static str,
        dimension: Option<usize>,
        found: i64,
        least: i64,
        most: i64,
    ) -> Result<(), Box<Misfit>> {
        self.require((least..=most).contains(&found), || Misfit::Number {
            field,
            dimension,
            least: least.into(),
            most: most.into(),
            found: found.into(),
        })
    }

    /// A shape within the limits, whose extents are index values.
    pub(super) fn shape(&self, subject: Subject, shape: &[Extent]) -> Result<Vec<Extent>, Box<Misfit>> {
        self.rank(subject, shape.len(), Ranks::AtMost(MAX_RANK))?;
        for extent in shape {
            if let Extent::Value(v) = extent {
                let ok = self.function.values().get(*v).is_some_and(|d| matches!(d.ty, Type::Index(_)));
                self.require(ok, || Misfit::Missing { field: "an extent" })?;
            }
        }
        let product = shape.iter().filter_map(|e| e.as_static()).filter(|&n| n != 0).try_fold(1u64, u64::checked_mul);
        self.require(product.is_some_and(|n| n <= MAX_ELEMENTS), || Misfit::TooLarge { subject })?;
        Ok(shape.to_vec())
    }

    /// One tensor as the result.
    pub(super) fn one(&self, element: ElementType, shape: Vec<Extent>) -> Types {
        Ok(vec![Type::Tensor(TensorType::new(element, self.shape(Subject::Result, &shape)?))])
    }

    pub(super) fn same_extent(&self, a: Extent, b: Extent) -> bool {
        match (a, b) {
            (Extent::Static(x), Extent::Static(y)) => x == y,
            (Extent::Value(x), Extent::Value(y)) if x == y => true,
            // Different expressions may be equal when the program runs; intervals that cannot meet are an error.
            _ => {
                let (x, y) = (self.function.interval(a), self.function.interval(b));
                x.low <= y.high && y.low <= x.high
            }
        }
    }

    /// Requires an extent that may be another one.
    pub(super) fn extent(&self, subject: Subject, dimension: usize, found: Extent, expected: Extent) -> Result<(), Box<Misfit>> {
        self.require(self.same_extent(found, expected), || Misfit::Extent { subject, dimension, expected, found })
    }

    /// An extent that is known.
    pub(super) fn known(&self, operand: usize, dimension: usize) -> Result<u64, Box<Misfit>> {
        let extent = self.tensor(operand)?.shape[dimension].as_static();
        extent.ok_or_else(|| Box::new(Misfit::Dynamic { operand, dimension, field: None }))
    }

    /// Requires an operand of some elements.
    pub(super) fn count(&self, operand: usize, expected: u64) -> Result<(), Box<Misfit>> {
        let found = self.tensor(operand)?.static_elements();
        self.require(found == Some(expected), || Misfit::Count { subject: Subject::Operand(operand), expected, found })
    }

    /// The shape that shapes broadcast to.
    pub(super) fn broadcast(&self, shapes: &[&[Extent]]) -> Result<Vec<Extent>, Box<Misfit>> {
        let found = || Misfit::Broadcast { found: shapes.iter().map(|shape| shape.to_vec()).collect() };
        broadcast_shapes(shapes).ok_or_else(|| Box::new(found()))
    }

    /// Checks the type in which products of two operands are summed. Numbers of binary32 and its halves may be mixed; halves are widened to binary32.
    pub(super) fn accumulator(&self, found: ElementType) -> Result<(), Box<Misfit>> {
        let factors @ [left, right] = [self.tensor(0)?.element, self.tensor(1)?.element];
        let is_single = |element: ElementType| matches!(element, ElementType::F32 | ElementType::F16 | ElementType::Bf16);
        let ok = if left.is_float() {
            (left == right || is_single(left) && is_single(right)) && found.is_float()
        } else {
            left.is_integer() && right.is_integer() && matches!(found, ElementType::I32 | ElementType::I64)
        };
        self.require(ok, || Misfit::Accumulator { factors, found })
    }

    /// A zero point is a number of the operand's own type, so that padding can hold it; floats have none but 0.
    pub(super) fn zero_point(&self, operand: usize, field: &'static str, zero: i64) -> Result<(), Box<Misfit>> {
        let (least, most) = self.tensor(operand)?.element.integer_range().unwrap_or((0, 0));
        let found = i128::from(zero);
        self.require((least..=most).contains(&found), || Misfit::Number { field, dimension: None, least, most, found })
    }
}

/// The shape that operands broadcast to as NumPy does, trailing dimensions aligned.
pub fn broadcast_shapes(shapes: &[&[Extent]]) -> Option<Vec<Extent>> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut result = vec![Extent::Static(1); rank];
    for shape in shapes {
        for (slot, &extent) in result[rank - shape.len()..].iter_mut().zip(*shape) {
            match (*slot, extent) {
                (_, Extent::Static(1)) => {}
                (Extent::Static(1), _) => *slot = extent,
                (a, b) if a == b => {}
                (Extent::Static(_), Extent::Static(_)) => return None,
                // A dynamic extent that meets another one is taken to be equal to it: front ends say when it may be 1.
                (Extent::Value(_), Extent::Static(_)) => *slot = extent,
                (_, Extent::Value(_)) => {}
            }
        }
    }
    Some(result)
}
