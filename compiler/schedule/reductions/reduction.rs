//! Reductions in registers, for windows, whole axes and rows: neutral element and combination.

use crate::ir::{ElementType, Reduction as Kind};
use crate::kernel::{BinaryOp, CompareOp, ConvertOp, HorizontalOp, KernelBuilder, Lane, Type, Value};
use crate::schedule::elementwise::lanes::{exact, narrow, register_lane};
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::unsupported::Unsupported;

/// Bound of an element's work, in additions, for which more results are computed side by side.
pub const SHORT_WORK: u64 = 24;

/// A reduction of elements of one type.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    kind: Kind,
    element: ElementType,
    lane: Lane,
}

impl Reduction {
    /// Makes a reduction.
    ///
    /// [`Unsupported`] for types that it is not defined or not compiled for.
    pub fn new(kind: Kind, element: ElementType) -> Result<Self, Unsupported> {
        let lane = register_lane(element)?;
        let ok = match kind {
            // Narrow sums wrap; sums in registers of 32 bits do not.
            Kind::Sum | Kind::Product => !matches!(lane, Lane::Mask) && element.bits() >= 32,
            Kind::Any | Kind::All => lane == Lane::Mask,
            _ => lane != Lane::Mask,
        };
        if !ok {
            return Err(Unsupported::Reduction { reduction: kind, element });
        }
        Ok(Self { kind, element, lane })
    }

    /// Makes a reduction whose results are stored by [`wrapped`]. On truth values, a sum or maximum becomes `any`, and a product or minimum becomes
    /// `all`.
    ///
    /// [`Unsupported`] for types without arithmetic.
    pub fn wrapping(kind: Kind, element: ElementType) -> Result<Self, Unsupported> {
        let lane = register_lane(element)?;
        let kind = match kind {
            Kind::Sum | Kind::Max | Kind::MaxOrNan if lane == Lane::Mask => Kind::Any,
            Kind::Product | Kind::Min | Kind::MinOrNan if lane == Lane::Mask => Kind::All,
            kind => kind,
        };
        Ok(Self { kind, element, lane })
    }

    /// Returns the same reduction of bytes in stored form. `None` unless it is the maximum or minimum of bytes.
    pub fn of_bytes(self) -> Option<Self> {
        let is_extreme = matches!(self.kind, Kind::Max | Kind::MaxOrNan | Kind::Min | Kind::MinOrNan);
        let is_byte = matches!(self.element, ElementType::I8 | ElementType::U8);
        (is_extreme && is_byte).then_some(Self { lane: Lane::I8, ..self })
    }

    /// Tests whether elements must be combined in their order. A product of floats in parts can overflow or vanish when the product in order does
    /// not, and the reverse. Infinity times 0 is NaN.
    pub fn is_ordered(&self) -> bool {
        self.kind == Kind::Product && self.lane.is_float()
    }

    /// Tests whether the reduction has this kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind == kind
    }

    /// Tests whether elements are floats, for which the order of combination can change the result.
    pub fn is_of_floats(&self) -> bool {
        self.lane.is_float()
    }

    /// Tests whether NaN elements make the result NaN.
    pub fn keeps_nan(&self) -> bool {
        self.lane.is_float() && matches!(self.kind, Kind::MaxOrNan | Kind::MinOrNan)
    }

    /// Returns `true` for a maximum and `false` for a minimum. `None` for other reductions.
    pub fn is_maximum(&self) -> Option<bool> {
        match self.kind {
            Kind::Max | Kind::MaxOrNan => Some(true),
            Kind::Min | Kind::MinOrNan => Some(false),
            _ => None,
        }
    }

    /// Returns the bytes of a lane of a partial result.
    pub fn lane_bytes(&self) -> u32 {
        self.lane.bytes()
    }

    /// Returns the neutral element in every lane.
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

    /// Combines two partial results.
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

    /// Tests whether registers hold elements that are compared as unsigned. Narrow elements are extended and compared as signed, since they may be
    /// negative until a store saturates them. Bytes in stored form are unsigned.
    fn is_unsigned(&self) -> bool {
        self.element.is_unsigned_integer() && (self.element.bits() >= 32 || self.lane == Lane::I8)
    }

    /// Converts a complete result for a reader other than a store. Work on narrow elements leaves saturation to the store. Saturation keeps the order
    /// of elements, so it can follow a maximum or minimum.
    pub fn finish(&self, b: &mut KernelBuilder, work: &ElementWise<'_>, result: usize, value: Value) -> Value {
        if work.saturates(result) { exact(b, value, self.element) } else { value }
    }

    /// Combines all lanes of a partial result to one.
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

/// Tests whether any lane of a mask is set (by a maximum), or all lanes (by a minimum). Machines combine numbers across lanes in a few instructions.
fn any_or_all(b: &mut KernelBuilder, mask: Value, extreme: HorizontalOp) -> Value {
    let ty = Type::vector(Lane::I32, b.ty(mask).lanes);
    let (one, zero) = (b.int(ty, 1), b.int(ty, 0));
    let numbers = b.select(mask, one, zero);
    let number = b.horizontal(extreme, numbers);
    let zero = b.int(Type::vector(Lane::I32, 1), 0);
    b.compare(CompareOp::NotEqual, number, zero)
}

/// Replaces an extreme of lanes by NaN if any lane is NaN. Machines differ in their treatment of NaN in extremes across lanes.
fn or_nan(b: &mut KernelBuilder, lanes: Value, extreme: Value) -> Value {
    let mut unordered = b.compare(CompareOp::NotEqual, lanes, lanes);
    if b.ty(lanes).lanes > 1 {
        unordered = any_or_all(b, unordered, HorizontalOp::Max);
    }
    let nan = b.float(b.ty(extreme), f64::NAN);
    b.select(unordered, nan, extreme)
}

/// Converts a combined value to the stored form. Narrow integers wrap, and 16-bit floats are rounded.
pub fn wrapped(b: &mut KernelBuilder, value: Value, element: ElementType) -> Value {
    match element {
        ElementType::I8 | ElementType::U8 => b.convert(ConvertOp::Wrap, value, Lane::I8),
        ElementType::I16 | ElementType::U16 => b.convert(ConvertOp::Wrap, value, Lane::I16),
        _ => narrow(b, value, element),
    }
}
