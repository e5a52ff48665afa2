//! Conversions between lane types. Each step doubles or halves the width.

use super::held::{Held, Vector, is_general};
use super::inst::Arg;
use super::lowering::Lowering;
use super::rows::{self, Row, Size};
use crate::bug::Mistake;
use crate::fold::Narrowed;
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, ConvertOp, Lane, Type, Value};
use regalloc2::VReg;

impl Lowering<'_> {
    /// Lowers a conversion.
    pub fn convert(&mut self, op: ConvertOp, a: Value, ty: Type) -> Result<Held, CodegenError> {
        if op == ConvertOp::MaskToInteger {
            return self.mask_to_integer(a, ty);
        }
        if is_general(ty) && matches!(op, ConvertOp::SignExtend | ConvertOp::ZeroExtend) {
            let vector = self.vector(a)?;
            return Ok(Held::General(self.lane_of(&vector, 0, op == ConvertOp::SignExtend)));
        }
        if let Some(&narrowed) = self.set.narrowed_sums.get(&a) {
            let result = self.narrow_sum(narrowed, op == ConvertOp::NarrowSigned)?;
            return Ok(self.settle(ty, result));
        }
        let vector = self.vector(a)?;
        let result = self.convert_vector(op, &vector, ty.lane)?;
        Ok(self.settle(ty, result))
    }

    fn convert_vector(&mut self, op: ConvertOp, a: &Vector, to: Lane) -> Result<Vector, CodegenError> {
        let bytes = to.bytes();
        Ok(match op {
            ConvertOp::SignExtend | ConvertOp::ZeroExtend => self.widen(a, bytes, op == ConvertOp::SignExtend),
            ConvertOp::Wrap => self.wrap(a, bytes),
            ConvertOp::NarrowSigned => self.narrow(a, bytes, true),
            ConvertOp::NarrowUnsigned => self.narrow(a, bytes, false),
            ConvertOp::SignedToFloat => self.integer_to_float(a, to, true),
            ConvertOp::UnsignedToFloat => self.integer_to_float(a, to, false),
            ConvertOp::FloatToSigned | ConvertOp::FloatToSignedInRange => self.float_to_integer(a, bytes, true),
            ConvertOp::FloatToUnsigned => self.float_to_integer(a, bytes, false),
            ConvertOp::Promote | ConvertOp::HalfToFloat => self.double(a, [&rows::FCVTL, &rows::FCVTL2], &[]),
            ConvertOp::Demote | ConvertOp::FloatToHalf => self.halve(a, [&rows::FCVTN, &rows::FCVTN2]),
            ConvertOp::Bitcast => a.clone(),
            ConvertOp::MaskToInteger => {
                return self.bug(Mistake::Operation { operation: Operation::Convert(op), of: Type::vector(to, a.lanes) });
            }
        })
    }

    /// Widens lanes to twice the size, from the lower and the upper half of each register.
    fn double(&mut self, a: &Vector, [lower, upper]: [&'static Row; 2], number: &[Arg]) -> Vector {
        let both = a.part_bytes() > 8;
        let mut parts = vec![];
        for &x in &a.parts {
            let args = [&[Arg::Use(x)], number].concat();
            parts.push(self.row(lower, a.size(), &args));
            if both {
                parts.push(self.row(upper, a.size(), &args));
            }
        }
        Vector { bytes: 2 * a.bytes, lanes: a.lanes, parts }
    }

    /// Narrows lanes to half the size: two registers become the halves of one.
    fn halve(&mut self, a: &Vector, [lower, upper]: [&'static Row; 2]) -> Vector {
        let size = Size::of(a.bytes / 2);
        let parts = a.parts.chunks(2).map(|pair| {
            let low = self.one(lower, size, pair[0]);
            if let [_, high] = *pair { self.tied_one(upper, size, low, high) } else { low }
        });
        let parts = parts.collect();
        Vector { bytes: a.bytes / 2, lanes: a.lanes, parts }
    }

    /// Extends integer lanes to more bytes.
    pub fn widen(&mut self, a: &Vector, bytes: u32, signed: bool) -> Vector {
        let rows: [&'static Row; 2] = if signed { [&rows::SSHLL, &rows::SSHLL2] } else { [&rows::USHLL, &rows::USHLL2] };
        let mut a = a.clone();
        while a.bytes < bytes {
            let wide = self.double(&a, rows, &[Arg::Number(0)]);
            self.note_widened(&a, &wide, signed);
            a = wide;
        }
        a
    }

    /// Truncates integer lanes to fewer bytes, by the even lanes of half the size.
    pub fn wrap(&mut self, a: &Vector, bytes: u32) -> Vector {
        let mut a = a.clone();
        while a.bytes > bytes {
            a = self.wrap_half(&a);
        }
        a
    }

    fn wrap_half(&mut self, a: &Vector) -> Vector {
        let size = Size::of(a.bytes / 2);
        let parts = a.parts.chunks(2).map(|pair| self.two(&rows::UZP1, size, pair[0], pair[pair.len() - 1]));
        let parts = parts.collect();
        Vector { bytes: a.bytes / 2, lanes: a.lanes, parts }
    }

    /// Narrows signed integers to fewer bytes, saturated. Steps before the last saturate as signed numbers, which keeps every unsigned result.
    pub fn narrow(&mut self, a: &Vector, bytes: u32, signed: bool) -> Vector {
        let mut a = a.clone();
        while a.bytes > bytes {
            let last = a.bytes == 2 * bytes;
            a = self.halve(&a, if signed || !last { [&rows::SQXTN, &rows::SQXTN2] } else { [&rows::SQXTUN, &rows::SQXTUN2] });
        }
        a
    }

    /// Narrows 32-bit sums to bytes through 16 bits, where the constant is added.
    fn narrow_sum(&mut self, narrowed: Narrowed, signed: bool) -> Result<Vector, CodegenError> {
        let Narrowed { value, low_halves, added, least, most } = narrowed;
        let sums = self.vector(value)?;
        let mut words = if low_halves { self.wrap_half(&sums) } else { self.narrow(&sums, 2, true) };
        if added != 0 {
            let number = self.number_like(&words, u64::from(added as u16));
            words = self.binary_vectors(BinaryOp::SignedAddSaturating, Lane::I16, &words, &number)?;
        }
        let mut bytes = self.narrow(&words, 1, signed);
        let [max, min] = if signed { [BinaryOp::SignedMax, BinaryOp::SignedMin] } else { [BinaryOp::UnsignedMax, BinaryOp::UnsignedMin] };
        for (op, limit) in [(max, least), (min, most)] {
            let Some(limit) = limit else { continue };
            let limit = self.number_like(&bytes, u64::from(limit as u8));
            bytes = self.binary_vectors(op, Lane::I8, &bytes, &limit)?;
        }
        Ok(bytes)
    }

    /// Converts integers to floats, to nearest even.
    fn integer_to_float(&mut self, a: &Vector, to: Lane, signed: bool) -> Vector {
        if a.bytes < to.bytes() {
            let wide = self.widen(a, to.bytes(), signed);
            return self.integer_to_float(&wide, to, signed);
        }
        if a.bytes == 8 && to == Lane::F32 {
            let lanes = self.explode(a, signed);
            let row = if signed { &rows::SCVTF_S } else { &rows::UCVTF_S };
            let floats: Vec<VReg> = lanes.into_iter().map(|x| self.one(row, Size::D, x)).collect();
            return self.assemble(&floats, 4, a.lanes);
        }
        let (row, size) = (if signed { &rows::SCVTF } else { &rows::UCVTF }, a.size());
        self.map(a, |l, x| l.one(row, size, x))
    }

    /// Converts floats to integers: towards zero, saturated, NaN to 0.
    fn float_to_integer(&mut self, a: &Vector, bytes: u32, signed: bool) -> Vector {
        if bytes < 4 {
            // A saturated 32-bit result saturates again to the right narrower one.
            let wide = self.float_to_integer(a, 4, true);
            return self.narrow(&wide, bytes, signed);
        }
        if bytes > a.bytes {
            let double = self.double(a, [&rows::FCVTL, &rows::FCVTL2], &[]);
            return self.float_to_integer(&double, bytes, signed);
        }
        let (row, size) = (if signed { &rows::FCVTZS } else { &rows::FCVTZU }, a.size());
        let integers = self.map(a, |l, x| l.one(row, size, x));
        if bytes == integers.bytes {
            return integers;
        }
        self.halve(&integers, if signed { [&rows::SQXTN, &rows::SQXTN2] } else { [&rows::UQXTN, &rows::UQXTN2] })
    }
}
