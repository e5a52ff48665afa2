//! Conversions between lane types.

use super::arithmetic::by_float;
use super::held::{Held, Vector, is_general};
use super::inst::{Arg, Op, Width};
use super::length::Length;
use super::lowering::Lowering;
use super::pack::packs;
use super::registers::GENERAL;
use super::rows::{self, Row};
use crate::bug::Mistake;
use crate::fold::Narrowed;
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, ConvertOp, Lane, Type, Value};
use regalloc2::VReg;

/// Predicate of `vcmpps`: greater or equal; false for a NaN.
const AT_LEAST: i32 = 0x1D;

/// Returns the instruction that extends integer lanes of `from` bytes to `to` bytes.
pub(super) fn widening(from: u32, to: u32, signed: bool) -> &'static Row {
    match (from, to, signed) {
        (1, 2, true) => &rows::VPMOVSXBW,
        (1, 4, true) => &rows::VPMOVSXBD,
        (1, _, true) => &rows::VPMOVSXBQ,
        (2, 4, true) => &rows::VPMOVSXWD,
        (2, _, true) => &rows::VPMOVSXWQ,
        (_, _, true) => &rows::VPMOVSXDQ,
        (1, 2, false) => &rows::VPMOVZXBW,
        (1, 4, false) => &rows::VPMOVZXBD,
        (1, _, false) => &rows::VPMOVZXBQ,
        (2, 4, false) => &rows::VPMOVZXWD,
        (2, _, false) => &rows::VPMOVZXWQ,
        (_, _, false) => &rows::VPMOVZXDQ,
    }
}

impl Lowering<'_> {
    /// Lowers a conversion.
    pub fn convert(&mut self, op: ConvertOp, a: Value, ty: Type) -> Result<Held, CodegenError> {
        if op == ConvertOp::MaskToInteger {
            return self.mask_to_integer(a, ty);
        }
        let from = self.ty(a);
        if let Some(load) = self.set.widened_loads.get(&a).cloned() {
            return self.load_widened(&load, op == ConvertOp::SignExtend, ty);
        }
        if is_general(ty) && matches!(op, ConvertOp::SignExtend | ConvertOp::ZeroExtend) {
            let vector = self.vector(a)?;
            return Ok(Held::General(self.lowest(&vector, op == ConvertOp::SignExtend)));
        }
        if let Some(&Narrowed { value, low_halves, added, least, most }) = self.set.narrowed_sums.get(&a) {
            let (vector, signed) = (self.vector(value)?, op == ConvertOp::NarrowSigned);
            let mut result =
                if low_halves { self.pack_low_halves(&vector, signed, added) } else { self.pack(&vector, 1, packs(1, signed), added) };
            let [max, min] =
                if signed { [BinaryOp::SignedMax, BinaryOp::SignedMin] } else { [BinaryOp::UnsignedMax, BinaryOp::UnsignedMin] };
            for (op, limit) in [(max, least), (min, most)] {
                let Some(limit) = limit else { continue };
                let limit = self.number_like(&result, u64::from(limit as u8));
                result = self.binary_vectors(op, Lane::I8, &result, &limit)?;
            }
            return Ok(self.settle(ty, result));
        }
        let vector = self.vector(a)?;
        let result = self.convert_vector(op, &vector, from.lane, ty.lane)?;
        Ok(self.settle(ty, result))
    }

    /// Returns the lowest lane as a 64-bit integer.
    fn lowest(&mut self, vector: &Vector, signed: bool) -> VReg {
        let raw = self.general_of_vector(vector.parts[0]);
        self.extended(raw, vector.bytes, signed)
    }

    /// Extends the low bytes of a register to a 64-bit integer.
    fn extended(&mut self, raw: VReg, bytes: u32, signed: bool) -> VReg {
        if bytes == 8 {
            return raw;
        }
        self.defined(Op::Extend(Width::of(bytes), signed), &[Arg::Use(raw)])
    }

    fn convert_vector(&mut self, op: ConvertOp, a: &Vector, from: Lane, to: Lane) -> Result<Vector, CodegenError> {
        let bytes = to.bytes();
        Ok(match op {
            ConvertOp::SignExtend | ConvertOp::ZeroExtend => self.widen(a, bytes, op == ConvertOp::SignExtend),
            ConvertOp::Wrap => self.wrap(a, bytes),
            ConvertOp::NarrowSigned => self.narrow(a, bytes, true),
            ConvertOp::NarrowUnsigned => self.narrow(a, bytes, false),
            ConvertOp::SignedToFloat => self.integer_to_float(a, to, true),
            ConvertOp::UnsignedToFloat => self.integer_to_float(a, to, false),
            ConvertOp::FloatToSigned => self.float_to_integer(a, from, bytes, true)?,
            ConvertOp::FloatToUnsigned => self.float_to_integer(a, from, bytes, false)?,
            ConvertOp::FloatToSignedInRange if from == Lane::F32 => self.map(a, |l, n, x| l.one(&rows::VCVTTPS2DQ, n, x)),
            ConvertOp::FloatToSignedInRange => self.float_to_integer(a, from, 8, true)?,
            ConvertOp::Promote => self.widen_parts(a, 8, &rows::VCVTPS2PD),
            ConvertOp::Demote => self.halve_parts(a, &rows::VCVTPD2PS),
            ConvertOp::HalfToFloat => self.widen_parts(a, 4, &rows::VCVTPH2PS),
            ConvertOp::FloatToHalf => self.floats_to_halves(a),
            ConvertOp::Bitcast => a.clone(),
            ConvertOp::MaskToInteger => {
                return self.bug(Mistake::Operation { operation: Operation::Convert(op), of: Type::vector(to, a.lanes) });
            }
        })
    }

    /// Extends integer lanes to more bytes.
    pub fn widen(&mut self, a: &Vector, bytes: u32, signed: bool) -> Vector {
        if a.bytes == bytes {
            return a.clone();
        }
        self.widen_parts(a, bytes, widening(a.bytes, bytes, signed))
    }

    /// Applies an instruction that converts the low part of a register to wider lanes of a whole register.
    fn widen_parts(&mut self, a: &Vector, bytes: u32, row: &'static Row) -> Vector {
        let total = u32::from(a.lanes) * bytes;
        let part = total.min(self.set.width);
        let source = part / (bytes / a.bytes);
        let parts = (0..total / part)
            .map(|i| {
                let piece = self.piece(a, i * source, source);
                self.one(row, Length::of(part), piece)
            })
            .collect();
        Vector { bytes, lanes: a.lanes, parts }
    }

    /// Applies an instruction that converts a register to half a register.
    fn halve_parts(&mut self, a: &Vector, row: &'static Row) -> Vector {
        let length = a.length();
        let halves: Vec<VReg> = a.parts.iter().map(|&x| self.one(row, length, x)).collect();
        self.assemble(&halves, a.bytes / 2, a.lanes)
    }

    /// Converts binary32 to binary16, to nearest even.
    fn floats_to_halves(&mut self, a: &Vector) -> Vector {
        let length = a.length();
        let halves: Vec<VReg> = a.parts.iter().map(|&x| self.one_with(&rows::VCVTPS2PH, length, x, 0)).collect();
        self.assemble(&halves, 2, a.lanes)
    }

    /// Truncates integer lanes to fewer bytes.
    pub fn wrap(&mut self, a: &Vector, bytes: u32) -> Vector {
        let mut a = a.clone();
        if a.bytes == 8 && bytes < 8 {
            a = self.halve_quads(&a);
        }
        if a.bytes == bytes {
            return a;
        }
        // With the high bits cleared, unsigned saturation changes nothing.
        let a = self.with_number(&rows::VPAND, &a, (1 << (8 * bytes)) - 1);
        self.pack(&a, bytes, [&rows::VPACKUSDW, &rows::VPACKUSWB], 0)
    }

    /// Narrows signed integers to fewer bytes, with signed or unsigned saturation.
    pub fn narrow(&mut self, a: &Vector, bytes: u32, signed: bool) -> Vector {
        let mut a = a.clone();
        if a.bytes == 8 {
            if bytes == 4 && !signed {
                a = self.clamp_quads(&a, 0, u32::MAX.into());
                return self.halve_quads(&a);
            }
            a = self.clamp_quads(&a, i32::MIN.into(), i32::MAX.into());
            a = self.halve_quads(&a);
        }
        if a.bytes == bytes {
            return a;
        }
        self.pack(&a, bytes, packs(bytes, signed), 0)
    }

    fn clamp_quads(&mut self, a: &Vector, low: i64, high: i64) -> Vector {
        let low = self.number_like(a, low as u64);
        let high = self.number_like(a, high as u64);
        let clamped = self.binary_vectors(BinaryOp::SignedMax, Lane::I64, a, &low);
        let clamped = clamped.and_then(|a| self.binary_vectors(BinaryOp::SignedMin, Lane::I64, &a, &high));
        clamped.unwrap_or_else(|_| a.clone())
    }

    /// Makes a vector with a constant in every lane, in the shape of `a`.
    fn number_like(&mut self, a: &Vector, bits: u64) -> Vector {
        let number = self.number(a.bytes, a.length(), bits);
        a.with(vec![number; a.parts.len()])
    }

    /// Takes the low 32 bits of 64-bit lanes.
    fn halve_quads(&mut self, a: &Vector) -> Vector {
        self.halves_of_quads(a, false)
    }

    /// Takes the lower or the upper halves of 64-bit lanes.
    pub fn halves_of_quads(&mut self, a: &Vector, upper: bool) -> Vector {
        let order = if upper { 0xDD } else { 0x88 };
        self.halve(a, |l, n, low, high| l.two_with(&rows::VSHUFPS, n, low, high, order), true)
    }

    /// Converts integers to floats, to nearest even.
    fn integer_to_float(&mut self, a: &Vector, to: Lane, signed: bool) -> Vector {
        if a.bytes < 4 {
            let wide = self.widen(a, 4, signed);
            return self.integer_to_float(&wide, to, true);
        }
        match (a.bytes, to, signed) {
            (4, Lane::F32, true) => self.map(a, |l, n, x| l.one(&rows::VCVTDQ2PS, n, x)),
            (4, Lane::F32, false) if self.set.avx512 => self.map(a, |l, n, x| l.one(&rows::VCVTUDQ2PS, n, x)),
            (4, Lane::F32, false) => self.unsigned_to_single(a),
            (4, _, true) => self.widen_parts(a, 8, &rows::VCVTDQ2PD),
            (4, _, false) => {
                // Subtracts 2³¹ as integers, and adds 2³¹ as floats, which is exact.
                let less = self.with_number(&rows::VPXOR, a, 1 << 31);
                let float = self.widen_parts(&less, 8, &rows::VCVTDQ2PD);
                self.with_number(&rows::VADDPD, &float, 2f64.powi(31).to_bits())
            }
            (_, Lane::F64, _) if self.set.avx512 => {
                let row = if signed { &rows::VCVTQQ2PD } else { &rows::VCVTUQQ2PD };
                self.map(a, |l, n, x| l.one(row, n, x))
            }
            (_, _, _) if self.set.avx512 => self.halve_parts(a, if signed { &rows::VCVTQQ2PS } else { &rows::VCVTUQQ2PS }),
            _ => {
                let lanes = self.explode(a, signed);
                let floats: Vec<VReg> = lanes.into_iter().map(|x| self.quad_to_float(x, to, signed)).collect();
                self.assemble(&floats, to.bytes(), a.lanes)
            }
        }
    }

    /// Converts unsigned 32-bit lanes to binary32. The high 16 bits times 2¹⁶ and the low 16 bits are exact, so only their sum is rounded.
    fn unsigned_to_single(&mut self, a: &Vector) -> Vector {
        let high = self.shift_vector(BinaryOp::ShiftRightUnsigned, a, 16);
        let high = self.map(&high, |l, n, x| l.one(&rows::VCVTDQ2PS, n, x));
        let high = self.with_number(&rows::VMULPS, &high, u64::from(65536f32.to_bits()));
        let low = self.with_number(&rows::VPAND, a, 0xFFFF);
        let low = self.map(&low, |l, n, x| l.one(&rows::VCVTDQ2PS, n, x));
        self.map2(&high, &low, |l, n, x, y| l.two(&rows::VADDPS, n, x, y))
    }

    /// Converts a 64-bit scalar to a float in a vector register. An unsigned number from 2⁶³ on is halved first; its last bit is kept for rounding.
    fn quad_to_float(&mut self, x: VReg, to: Lane, signed: bool) -> VReg {
        let row = by_float(to, &rows::VCVTSI2SS, &rows::VCVTSI2SD);
        let zero = self.number(4, Length::X, 0);
        let plain = self.row(row, Length::X, &[Arg::Use(zero), Arg::Use(x)]);
        if signed {
            return plain;
        }
        let one = self.general_number(1);
        let half = self.general_binary(BinaryOp::ShiftRightUnsigned, x, one);
        let last = self.general_binary(BinaryOp::And, x, one);
        let half = self.general_binary(BinaryOp::Or, half, last);
        let half = self.row(row, Length::X, &[Arg::Use(zero), Arg::Use(half)]);
        let double = self.two(by_float(to, &rows::VADDPS, &rows::VADDPD), Length::X, half, half);
        // The number's sign bit becomes the sign bit of a lane.
        let sign = self.one(&rows::VMOVQ, Length::X, x);
        let sign = if to == Lane::F32 { self.one_with(&rows::VPSRLQ, Length::X, sign, 32) } else { sign };
        self.blend(to.bytes(), Length::X, sign, double, plain)
    }

    /// Converts floats to integers: towards zero, saturated, NaN to 0.
    fn float_to_integer(&mut self, a: &Vector, from: Lane, bytes: u32, signed: bool) -> Result<Vector, CodegenError> {
        if bytes < 4 {
            // A saturated 32-bit result saturates again to the right narrower one.
            let wide = self.float_to_integer(a, from, 4, true)?;
            return Ok(self.narrow(&wide, bytes, signed));
        }
        Ok(match (from, bytes, signed) {
            (Lane::F32, 4, true) => self.map(a, |l, n, x| {
                let converted = l.one(&rows::VCVTTPS2DQ, n, x);
                let limit = l.number(4, n, u64::from(2f32.powi(31).to_bits()));
                let largest = l.number(4, n, i32::MAX as u64);
                let limited = l.where_float(Lane::F32, n, [x, limit], AT_LEAST, largest, converted);
                l.without_nan_like(n, x, limited)
            }),
            (Lane::F32, 4, false) => self.map(a, |l, n, x| l.single_to_unsigned(n, x)),
            (Lane::F32, ..) => {
                let double = self.widen_parts(a, 8, &rows::VCVTPS2PD);
                self.double_to_quad(&double, signed)
            }
            (_, 4, _) => {
                let (low, high) = if signed { (f64::from(i32::MIN), f64::from(i32::MAX)) } else { (0.0, f64::from(u32::MAX)) };
                let mut clamped = self.clamp_doubles(a, low, high);
                if !signed {
                    // Whole numbers, minus 2³¹ before the conversion and plus 2³¹ after it.
                    clamped = self.round(Lane::F64, &clamped, 11);
                    clamped = self.with_number(&rows::VADDPD, &clamped, (-(2f64.powi(31))).to_bits());
                }
                let integers = self.halve_parts(&clamped, &rows::VCVTTPD2DQ);
                if signed { integers } else { self.with_number(&rows::VPXOR, &integers, 1 << 31) }
            }
            _ => self.double_to_quad(a, signed),
        })
    }

    /// Returns `result` where x is not a NaN, else 0.
    fn without_nan_like(&mut self, n: Length, x: VReg, result: VReg) -> VReg {
        let zero = self.number(4, n, 0);
        self.where_unordered(Lane::F32, n, [x, x], zero, result)
    }

    /// Converts binary32 to unsigned 32 bits. From 2³¹ on, the difference to 2³¹ is converted; from 2³² on, all bits are ones.
    fn single_to_unsigned(&mut self, n: Length, x: VReg) -> VReg {
        let zero = self.number(4, n, 0);
        // A NaN gives the second operand, 0.
        let x = self.two(&rows::VMAXPS, n, x, zero);
        let limit = self.number(4, n, u64::from(2f32.powi(31).to_bits()));
        let above = self.two(&rows::VSUBPS, n, x, limit);
        let low = self.one(&rows::VCVTTPS2DQ, n, x);
        let high = self.one(&rows::VCVTTPS2DQ, n, above);
        let sign = self.number(4, n, 1 << 31);
        let high = self.two(&rows::VPXOR, n, high, sign);
        let limit = self.number(4, n, u64::from(2f32.powi(31).to_bits()));
        let result = self.where_float(Lane::F32, n, [x, limit], AT_LEAST, high, low);
        let ones = self.number(4, n, u64::MAX);
        let limit = self.number(4, n, u64::from(2f32.powi(32).to_bits()));
        self.where_float(Lane::F32, n, [x, limit], AT_LEAST, ones, result)
    }

    /// Clamps binary64 to a range; a NaN becomes 0.
    fn clamp_doubles(&mut self, a: &Vector, low: f64, high: f64) -> Vector {
        self.map(a, |l, n, x| {
            let x = l.without_nan(Lane::F64, n, x);
            let low = l.number(8, n, low.to_bits());
            let x = l.two(&rows::VMAXPD, n, x, low);
            let high = l.number(8, n, high.to_bits());
            l.two(&rows::VMINPD, n, x, high)
        })
    }

    /// Converts binary64 to 64-bit integers, saturated.
    fn double_to_quad(&mut self, a: &Vector, signed: bool) -> Vector {
        let limit = if signed { 2f64.powi(63) } else { 2f64.powi(64) };
        let largest = if signed { i64::MAX as u64 } else { u64::MAX };
        // A number that is too small converts to the smallest signed number by itself. The smallest unsigned number is 0.
        let positive = self.map(a, |l, n, x| {
            let x = l.without_nan(Lane::F64, n, x);
            if signed {
                return x;
            }
            let zero = l.number(8, n, 0);
            l.two(&rows::VMAXPD, n, x, zero)
        });
        let converted = self.doubles_below(&positive, signed);
        self.map2(&positive, &converted, |l, n, x, result| {
            let limit = l.number(8, n, limit.to_bits());
            let largest = l.number(8, n, largest);
            l.where_float(Lane::F64, n, [x, limit], AT_LEAST, largest, result)
        })
    }

    /// Converts binary64 to 64-bit integers if it fits. For unsigned numbers from 2⁶³ on, the difference to 2⁶³ is converted.
    fn doubles_below(&mut self, a: &Vector, signed: bool) -> Vector {
        let low = self.doubles_to_signed(a);
        if signed {
            return low;
        }
        let above = self.with_number(&rows::VADDPD, a, (-(2f64.powi(63))).to_bits());
        let high = self.doubles_to_signed(&above);
        let high = self.with_number(&rows::VPXOR, &high, 1 << 63);
        let parts = (0..a.parts.len()).map(|i| {
            let limit = self.number(8, a.length(), 2f64.powi(63).to_bits());
            self.where_float(Lane::F64, a.length(), [a.parts[i], limit], AT_LEAST, high.parts[i], low.parts[i])
        });
        let parts = parts.collect();
        a.with(parts)
    }

    /// Converts binary64 to signed 64-bit integers; with AVX2 one lane at a time.
    fn doubles_to_signed(&mut self, a: &Vector) -> Vector {
        if self.set.avx512 {
            return self.map(a, |l, n, x| l.one(&rows::VCVTTPD2QQ, n, x));
        }
        let lanes: Vec<VReg> = (0..u32::from(a.lanes))
            .map(|i| {
                let lane = self.piece(a, 8 * i, 8);
                self.row_of(GENERAL, &rows::VCVTTSD2SI, Length::X, &[Arg::Use(lane)])
            })
            .collect();
        self.implode(&lanes, 8)
    }
}
