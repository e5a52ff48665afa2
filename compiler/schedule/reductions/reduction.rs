//! The reductions that windows and whole-axis reductions share: neutral element and combination, in registers.

use crate::ir::{ElementType, Reduction as Kind, Word};
use crate::kernel::{BinaryOp, CompareOp, ConvertOp, HorizontalOp, KernelBuilder, Lane, Type, Value};
use crate::schedule::elementwise::lanes::{exact, narrow, register_lane};
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::unsupported::Unsupported;

/// Work on an element that takes less, in additions, is written out for more results side by side.
pub const SHORT_WORK: u64 = 24;

/// A reduction of elements of one type.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    kind: Kind,
    element: ElementType,
    lane: Lane,
}

impl Reduction {
    /// The reduction of a kind.
    ///
    /// # Errors
    /// For types that it is not defined or not compiled for.
    pub fn new(kind: Kind, element: ElementType) -> Result<Self, Unsupported> {
        let lane = register_lane(element)?;
        let ok = match kind {
            // Narrow sums wrap, which registers of 32 bits do not.
            Kind::Sum | Kind::Product => !matches!(lane, Lane::Mask) && element.bits() >= 32,
            Kind::Any | Kind::All => lane == Lane::Mask,
            _ => lane != Lane::Mask,
        };
        if !ok {
            return Err(Unsupported::new(format!("{} over {element}", kind.word())));
        }
        Ok(Self { kind, element, lane })
    }

    /// The reduction of a kind whose results are stored by [`wrapped`]; on truth values a sum or maximum is `any`, a product or minimum `all`.
    ///
    /// # Errors
    /// For types that nothing is computed with.
    pub fn wrapping(kind: Kind, element: ElementType) -> Result<Self, Unsupported> {
        let lane = register_lane(element)?;
        let kind = match kind {
            Kind::Sum | Kind::Max | Kind::MaxOrNan if lane == Lane::Mask => Kind::Any,
            Kind::Product | Kind::Min | Kind::MinOrNan if lane == Lane::Mask => Kind::All,
            kind => kind,
        };
        Ok(Self { kind, element, lane })
    }

    /// The same reduction of elements as they lie in memory, if it is the largest or smallest of bytes.
    pub fn of_bytes(self) -> Option<Self> {
        let is_extreme = matches!(self.kind, Kind::Max | Kind::MaxOrNan | Kind::Min | Kind::MinOrNan);
        let is_byte = matches!(self.element, ElementType::I8 | ElementType::U8);
        (is_extreme && is_byte).then_some(Self { lane: Lane::I8, ..self })
    }

    /// Whether elements must be combined in their order. A product of floats in parts can overflow, or vanish, where none in order
    /// does, and the other way round: infinity times 0 is no number.
    pub fn is_ordered(&self) -> bool {
        self.kind == Kind::Product && self.lane.is_float()
    }

    /// Tells whether it is one of a kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind == kind
    }

    /// Whether floats are combined, whose order tells in the result.
    pub fn is_of_floats(&self) -> bool {
        self.lane.is_float()
    }

    /// Whether a float that is no number becomes the one NaN.
    pub fn keeps_nan(&self) -> bool {
        self.lane.is_float() && matches!(self.kind, Kind::MaxOrNan | Kind::MinOrNan)
    }

    /// Whether it is a maximum, or a minimum; nothing where it is neither.
    pub fn is_maximum(&self) -> Option<bool> {
        match self.kind {
            Kind::Max | Kind::MaxOrNan => Some(true),
            Kind::Min | Kind::MinOrNan => Some(false),
            _ => None,
        }
    }

    /// Bytes of a lane of a partial result.
    pub fn lane_bytes(&self) -> u32 {
        self.lane.bytes()
    }

    /// The neutral element in every lane.
    pub fn neutral(&self, b: &mut KernelBuilder, lanes: u16) -> Value {
        let ty = Type::vector(self.lane, lanes);
        match (self.kind, self.lane) {
            (Kind::Any, _) => b.mask(lanes, false),
            (Kind::All, _) => b.mask(lanes, true),
            (Kind::Sum, Lane::F32 | Lane::F64) => b.float(ty, 0.0),
            (Kind::Product, Lane::F32 | Lane::F64) => b.float(ty, 1.0),
            (Kind::Max | Kind::MaxOrNan, Lane::F32 | Lane::F64) => b.float(ty, f64::NEG_INFINITY),
            (Kind::Min | Kind::MinOrNan, Lane::F32 | Lane::F64) => b.float(ty, f64::INFINITY),
            (Kind::Sum, _) => b.int(ty, 0),
            (Kind::Product, _) => b.int(ty, 1),
            (kind, _) => {
                let (low, high) = self.element.integer_range().unwrap_or((0, 0));
                b.int(ty, if matches!(kind, Kind::Max | Kind::MaxOrNan) { low as i64 } else { high as i64 })
            }
        }
    }

    /// Two partial results combined.
    pub fn combine(&self, b: &mut KernelBuilder, a: Value, x: Value) -> Value {
        let float = self.lane.is_float();
        let unsigned = self.is_unsigned();
        let op = match self.kind {
            Kind::Sum => BinaryOp::Add,
            Kind::Product => BinaryOp::Mul,
            Kind::Any => BinaryOp::Or,
            Kind::All => BinaryOp::And,
            Kind::Max if float => BinaryOp::FloatMaxFirst,
            Kind::Min if float => BinaryOp::FloatMinFirst,
            Kind::MaxOrNan if float => BinaryOp::FloatMaxPropagate,
            Kind::MinOrNan if float => BinaryOp::FloatMinPropagate,
            Kind::Max | Kind::MaxOrNan if unsigned => BinaryOp::UnsignedMax,
            Kind::Min | Kind::MinOrNan if unsigned => BinaryOp::UnsignedMin,
            Kind::Max | Kind::MaxOrNan => BinaryOp::SignedMax,
            Kind::Min | Kind::MinOrNan => BinaryOp::SignedMin,
        };
        b.binary(op, a, x)
    }

    /// Whether registers hold elements that are compared without sign. Narrow ones are extended, and compared with sign: they may be negative
    /// there until a store saturates them. Bytes as they lie in memory are not.
    fn is_unsigned(&self) -> bool {
        self.element.is_unsigned_integer() && (self.element.bits() >= 32 || self.lane == Lane::I8)
    }

    /// What everything combines to, as others than a store read it. Work on the elements leaves it to the store to saturate what is narrow. That
    /// keeps the order of elements, so the extreme of what saturates is the extreme saturated.
    pub fn finish(&self, b: &mut KernelBuilder, work: &ElementWise<'_>, result: usize, value: Value) -> Value {
        if work.saturates(result) { exact(b, value, self.element) } else { value }
    }

    /// All lanes of a partial result combined to one.
    pub fn horizontal(&self, b: &mut KernelBuilder, a: Value) -> Value {
        let op = match self.kind {
            Kind::Sum => Some(HorizontalOp::Add),
            Kind::Max | Kind::MaxOrNan if !self.is_unsigned() => Some(HorizontalOp::Max),
            Kind::Min | Kind::MinOrNan if !self.is_unsigned() => Some(HorizontalOp::Min),
            _ => None,
        };
        if let Some(op) = op {
            let result = b.horizontal(op, a);
            return if self.keeps_nan() { or_nan(b, a, result) } else { result };
        }
        let lanes = b.ty(a).lanes;
        if self.lane == Lane::Mask && lanes > 1 {
            return any_or_all(b, a, if self.kind == Kind::Any { HorizontalOp::Max } else { HorizontalOp::Min });
        }
        let mut result = b.extract(a, 0);
        for lane in 1..lanes {
            let next = b.extract(a, lane);
            result = self.combine(b, result, next);
        }
        result
    }
}

/// Whether any, as their maximum, or all lanes of a mask are set, as their minimum: machines combine numbers across lanes in a few instructions.
fn any_or_all(b: &mut KernelBuilder, mask: Value, extreme: HorizontalOp) -> Value {
    let ty = Type::vector(Lane::I32, b.ty(mask).lanes);
    let (one, zero) = (b.int(ty, 1), b.int(ty, 0));
    let numbers = b.select(mask, one, zero);
    let number = b.horizontal(extreme, numbers);
    let zero = b.int(Type::vector(Lane::I32, 1), 0);
    b.compare(CompareOp::NotEqual, number, zero)
}

/// An extreme of the lanes, or NaN if a lane is: extremes across lanes leave NaN out or not, as the machine has it.
fn or_nan(b: &mut KernelBuilder, lanes: Value, extreme: Value) -> Value {
    let mut unordered = b.compare(CompareOp::NotEqual, lanes, lanes);
    if b.ty(lanes).lanes > 1 {
        unordered = any_or_all(b, unordered, HorizontalOp::Max);
    }
    let nan = b.float(b.ty(extreme), f64::NAN);
    b.select(unordered, nan, extreme)
}

/// A combined value as it is stored: narrow integers wrap, floats of 16 bits are rounded.
pub fn wrapped(b: &mut KernelBuilder, value: Value, element: ElementType) -> Value {
    match element {
        ElementType::I8 | ElementType::U8 => b.convert(ConvertOp::Wrap, value, Lane::I8),
        ElementType::I16 | ElementType::U16 => b.convert(ConvertOp::Wrap, value, Lane::I16),
        _ => narrow(b, value, element),
    }
}
