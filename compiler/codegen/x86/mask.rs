//! Masks: comparisons, selection, and conversion between widths.

use super::arithmetic::{MAGNITUDES, by_bytes, by_float, sign_bit};
use super::encode::Condition;
use super::held::{Bits, Held, Vector, is_general};
use super::inst::{Arg, Arithmetic, Op};
use super::length::Length;
use super::lowering::Lowering;
use super::registers::{GENERAL, MASK};
use super::rows::{self, Row};
use crate::bug::{MaskUse, Mistake};
use crate::own::integer;
use crate::{CodegenError, Operation};
use modelc_kernel::{BinaryOp, CompareOp, Lane, Type, Value};
use regalloc2::VReg;

/// Predicates of `vcmpps`: an operand is a NaN; no operand is a NaN.
const UNORDERED: i32 = 3;
const ORDERED: i32 = 7;

impl Lowering<'_> {
    /// Selects lanes of `yes` where the mask's lane is ones, else of `no`; AVX2.
    pub fn blend(&mut self, bytes: u32, n: Length, mask: VReg, yes: VReg, no: VReg) -> VReg {
        let row = match bytes {
            4 => &rows::VBLENDVPS,
            8 => &rows::VBLENDVPD,
            _ => &rows::VPBLENDVB,
        };
        self.row(row, n, &[Arg::Use(no), Arg::Use(yes), Arg::Use(mask)])
    }

    /// Selects lanes of `yes` where the mask's bit is 1, else of `no`; AVX-512.
    pub fn blend_bits(&mut self, bytes: u32, n: Length, mask: VReg, yes: VReg, no: VReg) -> VReg {
        let row = by_bytes(bytes, [&rows::VPBLENDMB, &rows::VPBLENDMW, &rows::VPBLENDMD, &rows::VPBLENDMQ]);
        self.row(row, n, &[Arg::Masked(mask), Arg::Use(no), Arg::Use(yes)])
    }

    /// Selects lanes of `yes` where a float comparison holds, else of `no`.
    pub fn where_float(&mut self, lane: Lane, n: Length, [x, y]: [VReg; 2], predicate: i32, yes: VReg, no: VReg) -> VReg {
        let bytes = lane.bytes();
        let args = [Arg::Use(x), Arg::Use(y), Arg::Number(predicate)];
        if self.set.avx512 {
            let mask = self.row_of(MASK, by_float(lane, &rows::VCMPPS_K, &rows::VCMPPD_K), n, &args);
            return self.blend_bits(bytes, n, mask, yes, no);
        }
        let mask = self.row(by_float(lane, &rows::VCMPPS, &rows::VCMPPD), n, &args);
        self.blend(bytes, n, mask, yes, no)
    }

    /// Selects lanes of `yes` where an operand is a NaN, else of `no`.
    pub fn where_unordered(&mut self, lane: Lane, n: Length, pair: [VReg; 2], yes: VReg, no: VReg) -> VReg {
        self.where_float(lane, n, pair, UNORDERED, yes, no)
    }

    /// Returns x where it is not a NaN, else 0.
    pub fn without_nan(&mut self, lane: Lane, n: Length, x: VReg) -> VReg {
        let zero = self.number(lane.bytes(), n, 0);
        self.where_float(lane, n, [x, x], ORDERED, x, zero)
    }

    /// Lowers a comparison.
    pub fn compare(&mut self, op: CompareOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        if is_general(ty) {
            let x = self.general(a)?;
            let y = match self.known(b).and_then(|number| i32::try_from(number).ok()) {
                Some(number) => Arg::Number(number),
                None => Arg::Use(self.general(b)?),
            };
            return Ok(Held::General(self.defined(Op::CompareSet(condition(op)), &[Arg::Use(x), y])));
        }
        let (x, y) = (self.vector(a)?, self.vector(b)?);
        let held = match self.set.avx512 {
            true => Held::Bits(self.compare_bits(op, ty.lane, &x, &y)),
            false => Held::Vector(self.compare_lanes(op, ty.lane, &x, &y)),
        };
        if ty.lanes > 1 { Ok(held) } else { Ok(Held::General(self.truth(&held))) }
    }

    /// Returns the lowest lane of a mask as 0 or 1.
    fn truth(&mut self, mask: &Held) -> VReg {
        let raw = self.scalar();
        let (row, part) = match mask {
            Held::Bits(bits) => (&rows::KMOVQ_STORE, bits.parts[0]),
            Held::Vector(vector) => (&rows::VMOVD_STORE, vector.parts[0]),
            Held::General(register) => return *register,
        };
        self.emit(Op::Vector { row, length: Length::X, zeroing: false, broadcast: false }, vec![Arg::Def(raw), Arg::Use(part)]);
        self.defined(Op::Arithmetic(Arithmetic::And), &[Arg::Tied(raw), Arg::Number(1)])
    }

    fn compare_bits(&mut self, op: CompareOp, lane: Lane, a: &Vector, b: &Vector) -> Bits {
        let unsigned = matches!(op, CompareOp::UnsignedLess | CompareOp::UnsignedLessEqual);
        let row = match unsigned {
            _ if lane.is_float() => by_float(lane, &rows::VCMPPS_K, &rows::VCMPPD_K),
            false => by_bytes(a.bytes, [&rows::VPCMPB, &rows::VPCMPW, &rows::VPCMPD, &rows::VPCMPQ]),
            true => by_bytes(a.bytes, [&rows::VPCMPUB, &rows::VPCMPUW, &rows::VPCMPUD, &rows::VPCMPUQ]),
        };
        let predicate = if lane.is_float() { float_predicate(op) } else { integer_predicate(op) };
        let length = a.length();
        let parts: Vec<VReg> = (a.parts.iter().zip(&b.parts))
            .map(|(&x, &y)| self.row_of(MASK, row, length, &[Arg::Use(x), Arg::Use(y), Arg::Number(predicate)]))
            .collect();
        Bits { lanes: a.lanes, per: a.lanes / parts.len() as u16, parts }
    }

    fn compare_lanes(&mut self, op: CompareOp, lane: Lane, a: &Vector, b: &Vector) -> Vector {
        if lane.is_float() {
            let row = by_float(lane, &rows::VCMPPS, &rows::VCMPPD);
            let predicate = float_predicate(op);
            return self.map2(a, b, |l, n, x, y| l.two_with(row, n, x, y, predicate));
        }
        let equal = by_bytes(a.bytes, [&rows::VPCMPEQB, &rows::VPCMPEQW, &rows::VPCMPEQD, &rows::VPCMPEQQ]);
        let greater = by_bytes(a.bytes, [&rows::VPCMPGTB, &rows::VPCMPGTW, &rows::VPCMPGTD, &rows::VPCMPGTQ]);
        let (mut a, mut b) = (a.clone(), b.clone());
        if matches!(op, CompareOp::UnsignedLess | CompareOp::UnsignedLessEqual) {
            let sign = sign_bit(a.bytes);
            (a, b) = (self.with_number(&rows::VPXOR, &a, sign), self.with_number(&rows::VPXOR, &b, sign));
        }
        let (row, swapped, inverted) = match op {
            CompareOp::Equal => (equal, false, false),
            CompareOp::NotEqual => (equal, false, true),
            CompareOp::Greater => (greater, false, false),
            CompareOp::LessEqual | CompareOp::UnsignedLessEqual => (greater, false, true),
            CompareOp::Less | CompareOp::UnsignedLess => (greater, true, false),
            CompareOp::GreaterEqual => (greater, true, true),
        };
        let (first, second) = if swapped { (&b, &a) } else { (&a, &b) };
        let mask = self.map2(first, second, |l, n, x, y| l.two(row, n, x, y));
        if inverted { self.with_number(&rows::VPXOR, &mask, u64::MAX) } else { mask }
    }

    /// Converts a mask to lanes of `bytes` bytes; AVX2.
    pub fn mask_at(&mut self, mask: &Vector, bytes: u32) -> Vector {
        if mask.bytes < bytes {
            return self.widen(mask, bytes, true);
        }
        // Saturation keeps lanes of ones and of zeros.
        if mask.bytes > bytes { self.narrow(mask, bytes, true) } else { mask.clone() }
    }

    /// Makes a mask whose first `count` lanes are true; AVX-512.
    pub fn first_lanes(&mut self, count: Value, ty: Type) -> Result<Held, CodegenError> {
        if !self.set.avx512 || !(2..=64).contains(&ty.lanes) {
            return self.unsupported(Operation::FirstLanes, ty);
        }
        let count = self.general(count)?;
        let all = self.general_number((u64::MAX >> (64 - ty.lanes)) as i64);
        let some = self.row_of(GENERAL, &rows::BZHI, Length::X, &[Arg::Use(all), Arg::Use(count)]);
        let mask = self.row_of(MASK, &rows::KMOVQ_LOAD, Length::X, &[Arg::Use(some)]);
        Ok(Held::Bits(Bits { lanes: ty.lanes, per: ty.lanes, parts: vec![mask] }))
    }

    /// Redistributes a mask to `per` lanes in each register, a power of two up to 64; AVX-512.
    pub fn bits_at(&mut self, bits: &Bits, per: u16) -> Bits {
        let count = bits.lanes.div_ceil(per);
        let parts = (0..count).map(|i| self.bits_from(bits, i * per, per)).collect();
        Bits { lanes: bits.lanes, per, parts }
    }

    /// Extracts `count` lanes from `first` on. Bits above them are undefined.
    fn bits_from(&mut self, bits: &Bits, first: u16, count: u16) -> VReg {
        let (mut result, mut done) = (None, 0);
        while done < count && first + done < bits.lanes {
            let lane = first + done;
            let (part, within) = (bits.parts[usize::from(lane / bits.per)], lane % bits.per);
            let some = (bits.per - within).min(count - done);
            let mut piece = part;
            if within > 0 {
                piece = self.shift_bits(&rows::KSHIFTRQ, piece, within);
            }
            result = Some(match result {
                None => piece,
                Some(before) => {
                    // Bits above the lanes of the earlier piece are undefined, so they are cleared.
                    let before = self.shift_bits(&rows::KSHIFTLQ, before, 64 - done);
                    let before = self.shift_bits(&rows::KSHIFTRQ, before, 64 - done);
                    let piece = self.shift_bits(&rows::KSHIFTLQ, piece, done);
                    self.row_of(MASK, &rows::KORQ, Length::X, &[Arg::Use(before), Arg::Use(piece)])
                }
            });
            done += some;
        }
        result.unwrap_or(bits.parts[0])
    }

    fn shift_bits(&mut self, row: &'static Row, bits: VReg, count: u16) -> VReg {
        self.row_of(MASK, row, Length::X, &[Arg::Use(bits), Arg::Number(i32::from(count))])
    }

    /// Computes and, or, exclusive or of masks.
    pub fn mask_binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        match (self.get(a)?, self.get(b)?) {
            (Held::General(x), Held::General(y)) => Ok(Held::General(self.general_binary(op, x, y))),
            (Held::Bits(a), Held::Bits(b)) => {
                let row = match op {
                    BinaryOp::And => &rows::KANDQ,
                    BinaryOp::Or => &rows::KORQ,
                    _ => &rows::KXORQ,
                };
                let b = self.bits_at(&b, a.per);
                let pairs = a.parts.iter().zip(&b.parts);
                let parts = pairs.map(|(&x, &y)| self.row_of(MASK, row, Length::X, &[Arg::Use(x), Arg::Use(y)])).collect();
                Ok(Held::Bits(Bits { parts, ..a }))
            }
            (Held::Vector(a), Held::Vector(b)) => {
                let b = self.mask_at(&b, a.bytes);
                self.binary_vectors(op, integer(a.bytes), &a, &b).map(Held::Vector)
            }
            _ => self.bug(Mistake::Mask(MaskUse::Binary)),
        }
    }

    /// Computes the complement of a mask.
    pub fn mask_not(&mut self, a: Value) -> Result<Held, CodegenError> {
        Ok(match self.get(a)? {
            Held::General(x) => Held::General(self.defined(Op::Arithmetic(Arithmetic::Xor), &[Arg::Tied(x), Arg::Number(1)])),
            Held::Bits(bits) => {
                let parts = bits.parts.iter().map(|&x| self.row_of(MASK, &rows::KNOTQ, Length::X, &[Arg::Use(x)])).collect();
                Held::Bits(Bits { parts, ..bits })
            }
            Held::Vector(mask) => Held::Vector(self.with_number(&rows::VPXOR, &mask, u64::MAX)),
        })
    }

    /// Lowers a selection: mask ? a : b.
    pub fn select(&mut self, mask: Value, a: Value, b: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        if is_general(ty) {
            let (mask, yes, no) = (self.general(mask)?, self.general(a)?, self.general(b)?);
            return Ok(Held::General(self.defined(Op::TestSelect, &[Arg::Tied(no), Arg::Use(yes), Arg::Use(mask)])));
        }
        if ty.lane == Lane::Mask {
            // (mask and a) or (not mask and b)
            return self.select_masks(mask, a, b);
        }
        let (yes, no) = (self.vector(a)?, self.vector(b)?);
        let mask = match self.get(mask)? {
            Held::General(register) => self.splat_truth(register, ty.lanes),
            other => other,
        };
        self.select_vectors(&mask, &yes, &no).map(Held::Vector)
    }

    /// Selects lanes of one of two vectors by a mask.
    pub fn select_vectors(&mut self, mask: &Held, yes: &Vector, no: &Vector) -> Result<Vector, CodegenError> {
        let (bytes, length) = (yes.bytes, yes.length());
        let parts = match mask {
            Held::Bits(bits) => {
                let bits = self.bits_at(bits, yes.lanes / yes.parts.len() as u16);
                (0..yes.parts.len()).map(|i| self.blend_bits(bytes, length, bits.parts[i], yes.parts[i], no.parts[i])).collect()
            }
            Held::Vector(mask) => {
                let mask = self.mask_at(mask, bytes);
                (0..yes.parts.len()).map(|i| self.blend(bytes, length, mask.parts[i], yes.parts[i], no.parts[i])).collect()
            }
            Held::General(_) => return self.bug(Mistake::Mask(MaskUse::Select)),
        };
        Ok(yes.with(parts))
    }

    fn select_masks(&mut self, mask: Value, a: Value, b: Value) -> Result<Held, CodegenError> {
        match (self.get(mask)?, self.get(a)?, self.get(b)?) {
            (Held::Vector(mask), Held::Vector(yes), Held::Vector(no)) => {
                let no = self.mask_at(&no, yes.bytes);
                self.select_vectors(&Held::Vector(mask), &yes, &no).map(Held::Vector)
            }
            (Held::Bits(mask), Held::Bits(yes), Held::Bits(no)) => {
                let (mask, no) = (self.bits_at(&mask, yes.per), self.bits_at(&no, yes.per));
                let mut parts = vec![];
                for i in 0..yes.parts.len() {
                    // no ^ (mask & (yes ^ no))
                    let differ = self.row_of(MASK, &rows::KXORQ, Length::X, &[Arg::Use(yes.parts[i]), Arg::Use(no.parts[i])]);
                    let change = self.row_of(MASK, &rows::KANDQ, Length::X, &[Arg::Use(mask.parts[i]), Arg::Use(differ)]);
                    parts.push(self.row_of(MASK, &rows::KXORQ, Length::X, &[Arg::Use(no.parts[i]), Arg::Use(change)]));
                }
                Ok(Held::Bits(Bits { parts, ..yes }))
            }
            _ => self.bug(Mistake::Mask(MaskUse::SelectMasks)),
        }
    }

    /// Copies a truth value in a general-purpose register to every lane of a mask.
    pub fn splat_truth(&mut self, register: VReg, lanes: u16) -> Held {
        let ones = self.negate(register);
        if self.set.avx512 {
            let mask = self.row_of(MASK, &rows::KMOVQ_LOAD, Length::X, &[Arg::Use(ones)]);
            return Held::Bits(Bits { lanes, per: lanes.min(64), parts: vec![mask; usize::from(lanes.div_ceil(64))] });
        }
        let word = self.one(&rows::VMOVD, Length::X, ones);
        let part = self.one(&rows::VPBROADCASTD, self.length_of(4, lanes), word);
        Held::Vector(self.repeated(4, lanes, part))
    }

    /// Returns one lane of a mask as 0 or 1.
    pub fn extract_truth(&mut self, mask: &Held, lane: u16) -> VReg {
        let lowest = match mask {
            Held::Bits(bits) => {
                let part = self.bits_from(bits, lane, 1);
                Held::Bits(Bits { lanes: 1, per: 1, parts: vec![part] })
            }
            Held::Vector(vector) => {
                let part = self.piece(vector, u32::from(lane) * vector.bytes, vector.bytes);
                Held::Vector(Vector { bytes: vector.bytes, lanes: 1, parts: vec![part] })
            }
            Held::General(register) => return *register,
        };
        self.truth(&lowest)
    }

    /// Converts a mask to integers 0 and 1.
    pub fn mask_to_integer(&mut self, a: Value, ty: Type) -> Result<Held, CodegenError> {
        let bytes = ty.lane.bytes();
        let ones = match self.get(a)? {
            Held::General(register) if is_general(ty) => return Ok(Held::General(register)),
            Held::General(register) => {
                let part = self.one(&rows::VMOVD, Length::X, register);
                return Ok(Held::Vector(Vector { bytes, lanes: 1, parts: vec![part] }));
            }
            Held::Vector(mask) => {
                let mask = self.mask_at(&mask, bytes);
                return Ok(Held::Vector(self.with_number(&rows::VPAND, &mask, 1)));
            }
            Held::Bits(bits) => self.bits_to_lanes(&bits, bytes),
        };
        // Lanes of −1 become 1.
        let row = by_bytes(bytes, MAGNITUDES);
        Ok(Held::Vector(self.map(&ones, |l, n, x| l.one(row, n, x))))
    }

    /// Subtracts 1 from the 32-bit lanes where a mask is true.
    pub fn subtract_mask(&mut self, a: Value, mask: Value) -> Result<Held, CodegenError> {
        let a = self.vector(a)?;
        let length = a.length();
        let parts = match self.get(mask)? {
            Held::Bits(bits) => {
                let bits = self.bits_at(&bits, a.lanes.min((self.set.width / 4) as u16));
                let ones = self.number(4, length, u64::MAX);
                let pairs = a.parts.iter().zip(&bits.parts);
                pairs
                    .map(|(&x, &bits)| self.row(&rows::VPADDD, length, &[Arg::Tied(x), Arg::Masked(bits), Arg::Use(x), Arg::Use(ones)]))
                    .collect()
            }
            Held::Vector(mask) => {
                let mask = self.mask_at(&mask, 4);
                a.parts.iter().zip(&mask.parts).map(|(&x, &ones)| self.two(&rows::VPADDD, length, x, ones)).collect()
            }
            Held::General(_) => return self.bug(Mistake::Mask(MaskUse::Subtract)),
        };
        Ok(Held::Vector(a.with(parts)))
    }

    /// Converts mask bits to lanes of zeros or ones.
    pub fn bits_to_lanes(&mut self, bits: &Bits, bytes: u32) -> Vector {
        let row = by_bytes(bytes, [&rows::VPMOVM2B, &rows::VPMOVM2W, &rows::VPMOVM2D, &rows::VPMOVM2Q]);
        let total = u32::from(bits.lanes) * bytes;
        let per = bits.lanes.min((self.set.width / bytes) as u16);
        let bits = self.bits_at(bits, per);
        let length = Length::of(total.min(self.set.width));
        let parts = bits.parts.iter().map(|&x| self.one(row, length, x)).collect();
        Vector { bytes, lanes: bits.lanes, parts }
    }

    /// Converts lanes of zeros or ones to mask bits.
    pub fn lanes_to_bits(&mut self, lanes: &Vector) -> Bits {
        let zero = self.number(lanes.bytes, lanes.length(), 0);
        let zeros = lanes.with(vec![zero; lanes.parts.len()]);
        self.compare_bits(CompareOp::NotEqual, integer(lanes.bytes), lanes, &zeros)
    }
}

/// Returns the condition of a comparison after `cmp`.
fn condition(op: CompareOp) -> Condition {
    match op {
        CompareOp::Equal => Condition::Equal,
        CompareOp::NotEqual => Condition::NotEqual,
        CompareOp::Less => Condition::Less,
        CompareOp::LessEqual => Condition::LessOrEqual,
        CompareOp::Greater => Condition::Greater,
        CompareOp::GreaterEqual => Condition::GreaterOrEqual,
        CompareOp::UnsignedLess => Condition::Below,
        CompareOp::UnsignedLessEqual => Condition::BelowOrEqual,
    }
}

/// Returns the predicate of a comparison for `vpcmp`.
fn integer_predicate(op: CompareOp) -> i32 {
    match op {
        CompareOp::Equal => 0,
        CompareOp::Less | CompareOp::UnsignedLess => 1,
        CompareOp::LessEqual | CompareOp::UnsignedLessEqual => 2,
        CompareOp::NotEqual => 4,
        CompareOp::GreaterEqual => 5,
        CompareOp::Greater => 6,
    }
}

/// Returns the predicate of a comparison for `vcmpps`: quiet; a NaN gives false, except for `NotEqual`.
fn float_predicate(op: CompareOp) -> i32 {
    match op {
        CompareOp::Equal => 0x00,
        CompareOp::NotEqual => 0x04,
        CompareOp::Less | CompareOp::UnsignedLess => 0x11,
        CompareOp::LessEqual | CompareOp::UnsignedLessEqual => 0x12,
        CompareOp::GreaterEqual => 0x1D,
        CompareOp::Greater => 0x1E,
    }
}
