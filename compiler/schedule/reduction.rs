//! The reductions that windows and whole-axis reductions share: neutral element and combination, in registers.

use super::expression::{Unsupported, narrow, register_lane};
use crate::ir::ElementType;
use crate::kernel::{BinaryOp, ConvertOp, HorizontalOp, KernelBuilder, Lane, Type, Value};

/// A reduction of elements of one type.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    word: &'static str,
    element: ElementType,
    lane: Lane,
}

impl Reduction {
    /// The reduction of a word of the table.
    ///
    /// # Errors
    /// For types that it is not defined or not compiled for.
    pub fn new(word: &'static str, element: ElementType) -> Result<Self, Unsupported> {
        let lane = register_lane(element)?;
        let ok = match word {
            // Narrow sums wrap, which registers of 32 bits do not.
            "sum" | "product" => !matches!(lane, Lane::Mask) && element.bits() >= 32,
            "any" | "all" => lane == Lane::Mask,
            _ => lane != Lane::Mask,
        };
        if !ok {
            return Err(Unsupported::new(format!("{word} over {element}")));
        }
        Ok(Self { word, element, lane })
    }

    /// The reduction of a word whose results are stored by [`wrapped`]; on truth values a sum or maximum is `any`, a product or minimum `all`.
    ///
    /// # Errors
    /// For types that nothing is computed with.
    pub fn wrapping(word: &'static str, element: ElementType) -> Result<Self, Unsupported> {
        let lane = register_lane(element)?;
        let word = match word {
            "sum" | "max" if lane == Lane::Mask => "any",
            "product" | "min" if lane == Lane::Mask => "all",
            word => word,
        };
        Ok(Self { word, element, lane })
    }

    /// Whether elements must be combined in their order. A product of floats in parts can overflow, or vanish, where none in order
    /// does, and the other way round: infinity times 0 is no number.
    pub fn is_ordered(&self) -> bool {
        self.word == "product" && self.lane.is_float()
    }

    /// The neutral element in every lane.
    pub fn neutral(&self, b: &mut KernelBuilder, lanes: u16) -> Value {
        let ty = Type::vector(self.lane, lanes);
        match (self.word, self.lane) {
            ("any", _) => b.mask(lanes, false),
            ("all", _) => b.mask(lanes, true),
            ("sum", Lane::F32 | Lane::F64) => b.float(ty, 0.0),
            ("product", Lane::F32 | Lane::F64) => b.float(ty, 1.0),
            ("max", Lane::F32 | Lane::F64) => b.float(ty, f64::NEG_INFINITY),
            ("min", Lane::F32 | Lane::F64) => b.float(ty, f64::INFINITY),
            ("sum", _) => b.int(ty, 0),
            ("product", _) => b.int(ty, 1),
            (word, _) => {
                let (low, high) = self.element.integer_range().unwrap_or((0, 0));
                b.int(ty, if word == "max" { low as i64 } else { high as i64 })
            }
        }
    }

    /// Two partial results combined.
    pub fn combine(&self, b: &mut KernelBuilder, a: Value, x: Value) -> Value {
        let float = self.lane.is_float();
        let unsigned = self.element.is_unsigned_integer();
        let op = match self.word {
            "sum" => BinaryOp::Add,
            "product" => BinaryOp::Mul,
            "any" => BinaryOp::Or,
            "all" => BinaryOp::And,
            "max" if float => BinaryOp::FloatMaxFirst,
            "min" if float => BinaryOp::FloatMinFirst,
            "max" if unsigned => BinaryOp::UnsignedMax,
            "min" if unsigned => BinaryOp::UnsignedMin,
            "max" => BinaryOp::SignedMax,
            _ => BinaryOp::SignedMin,
        };
        b.binary(op, a, x)
    }

    /// All lanes of a partial result combined to one.
    pub fn horizontal(&self, b: &mut KernelBuilder, a: Value) -> Value {
        let op = match self.word {
            "sum" => Some(HorizontalOp::Add),
            "max" if !self.element.is_unsigned_integer() => Some(HorizontalOp::Max),
            "min" if !self.element.is_unsigned_integer() => Some(HorizontalOp::Min),
            _ => None,
        };
        if let Some(op) = op {
            return b.horizontal(op, a);
        }
        let lanes = b.ty(a).lanes;
        let mut result = b.extract(a, 0);
        for lane in 1..lanes {
            let next = b.extract(a, lane);
            result = self.combine(b, result, next);
        }
        result
    }
}

/// A combined value as it is stored: narrow integers wrap, floats of 16 bits are rounded.
pub fn wrapped(b: &mut KernelBuilder, value: Value, element: ElementType) -> Value {
    match element {
        ElementType::I8 | ElementType::U8 => b.convert(ConvertOp::Wrap, value, Lane::I8),
        ElementType::I16 | ElementType::U16 => b.convert(ConvertOp::Wrap, value, Lane::I16),
        _ => narrow(b, value, element),
    }
}
