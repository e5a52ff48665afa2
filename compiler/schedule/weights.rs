//! The right operand of a contraction: constants, as narrow as the file has them, or a tensor that the program computes.

use super::{Context, Unsupported};
use crate::ir::{ElementType, Scalar, Value};

/// The right operand, zero point subtracted.
#[derive(Clone, Debug)]
pub enum Weights {
    /// Constant integers that fit 16 bits.
    Integers {
        /// The integers.
        values: Vec<i16>,
        /// The element type that the file stores.
        stored: ElementType,
        /// What was subtracted from the stored integers.
        zero_point: i64,
    },
    /// Constant floats.
    Floats(Vec<f32>),
    /// Constant floats stored as binary16, by their bits.
    Halves(Vec<u16>),
    /// A tensor that is known when the program runs.
    Computed {
        /// The tensor.
        tensor: Value,
        /// Its element type: f32, f16 that is widened, i8 or u8.
        element: ElementType,
        /// Subtracted from integers.
        zero_point: i64,
        /// Number of its elements.
        count: u64,
    },
}

impl Weights {
    /// Reads the right operand of a `conv` or `matmul`. `computed` has even a constant read when the program runs.
    ///
    /// # Errors
    /// For element types without a schedule.
    pub fn read(cx: &Context<'_>, operand: Value, zero_point: i64, computed: bool) -> Result<Self, Unsupported> {
        let source = crate::fuse::widened_constant(cx.function, operand).unwrap_or(operand);
        let constant = if computed { None } else { cx.constant_data(source) };
        let Some(constant) = constant else { return Self::of_tensor(cx, source, zero_point) };
        let (stored, bytes) = (cx.element(source), constant.bytes());
        let integer = |element: ElementType, bits: u8| Scalar::from_bits(element, u64::from(bits)).as_i64() - zero_point;
        let integers = |list: &mut dyn Iterator<Item = i64>| -> Result<Self, Unsupported> {
            let values: Option<Vec<i16>> = list.map(|n| i16::try_from(n).ok()).collect();
            let values = values.ok_or_else(|| Unsupported::new("a filter zero point outside its type"))?;
            Ok(Self::Integers { values, stored, zero_point })
        };
        match stored {
            ElementType::F32 => {
                let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
                Ok(Self::Floats(bytes.chunks_exact(4).map(float).collect()))
            }
            ElementType::F16 => Ok(Self::Halves(bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect())),
            ElementType::I8 | ElementType::U8 => integers(&mut bytes.iter().map(|&b| integer(stored, b))),
            ElementType::I4 => {
                let count = cx.shape(operand)?.iter().product::<u64>() as usize;
                let nibbles = bytes.iter().flat_map(|b| [b & 15, b >> 4]).take(count);
                integers(&mut nibbles.map(|n| integer(stored, n)))
            }
            other => Err(Unsupported::new(format!("a contraction with a {other} right operand"))),
        }
    }

    fn of_tensor(cx: &Context<'_>, tensor: Value, zero_point: i64) -> Result<Self, Unsupported> {
        let element = cx.element(tensor);
        if !matches!(element, ElementType::F32 | ElementType::F16 | ElementType::I8 | ElementType::U8) {
            return Err(Unsupported::new(format!("a contraction with a {element} right operand that is no constant")));
        }
        if element.is_integer() && cx.module.open_constants {
            let what = format!("a contraction with a computed {element} right operand, with weights in a file of their own,");
            return Err(Unsupported::new(what));
        }
        let (low, high) = element.integer_range().unwrap_or((0, 0));
        if i16::try_from(low as i64 - zero_point).is_err() || i16::try_from(high as i64 - zero_point).is_err() {
            return Err(Unsupported::new("a filter zero point outside its type"));
        }
        Ok(Self::Computed { tensor, element, zero_point, count: cx.shape(tensor)?.iter().product() })
    }

    /// Number of weights.
    pub fn len(&self) -> u64 {
        match self {
            Self::Integers { values, .. } => values.len() as u64,
            Self::Floats(list) => list.len() as u64,
            Self::Halves(list) => list.len() as u64,
            Self::Computed { count, .. } => *count,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether they are floats.
    pub fn are_floats(&self) -> bool {
        match self {
            Self::Integers { .. } => false,
            Self::Floats(_) | Self::Halves(_) => true,
            Self::Computed { element, .. } => element.is_float(),
        }
    }

    /// Whether they are constant integers each of which fits a signed byte; if they are open, whatever takes their place.
    pub fn fit_signed_byte(&self, open: bool) -> bool {
        match self {
            Self::Integers { stored, zero_point, .. } if open => *stored == ElementType::I8 && *zero_point == 0,
            Self::Integers { values, .. } => values.iter().all(|&w| i8::try_from(w).is_ok()),
            _ => false,
        }
    }

    /// The largest magnitude of an integer, and of the sum of the magnitudes that belong to one output; `None` for floats.
    pub fn magnitudes(&self, per_output: u64) -> Option<(i64, i64)> {
        match self {
            Self::Integers { values, .. } => {
                let magnitude = |w: &i16| i64::from(*w).abs();
                let sums = values.chunks(per_output.max(1) as usize).map(|chunk| chunk.iter().map(magnitude).sum::<i64>());
                Some((values.iter().map(magnitude).max().unwrap_or(0), sums.max().unwrap_or(0)))
            }
            Self::Computed { element, zero_point, .. } => {
                let (low, high) = element.integer_range()?;
                let largest = (low as i64 - zero_point).abs().max((high as i64 - zero_point).abs());
                Some((largest, largest.checked_mul(i64::try_from(per_output).ok()?)?))
            }
            Self::Floats(_) | Self::Halves(_) => None,
        }
    }
}
