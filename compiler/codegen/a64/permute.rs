//! Movement of lanes: pieces of registers, splats, horizontal reductions, access to single lanes.

use super::held::{Held, Vector, WIDTH, is_general, part_count};
use super::inst::Arg;
use super::lowering::Lowering;
use super::rows::{self, Size};
use crate::CodegenError;
use modelc_kernel::{HorizontalOp, Lane, Type, Value};
use regalloc2::VReg;

impl Lowering<'_> {
    /// Returns bytes of a vector, from byte `at` on, in the low end of a register.
    pub fn piece(&mut self, a: &Vector, at: u32, _: u32) -> VReg {
        let part = a.parts[(at / WIDTH) as usize];
        match at % WIDTH {
            0 => part,
            within => self.row(&rows::EXT, Size::B, &[Arg::Use(part), Arg::Use(part), Arg::Number(within.into())]),
        }
    }

    /// Joins registers whose low ends hold equal shares of a vector's lanes.
    pub fn assemble(&mut self, pieces: &[VReg], bytes: u32, lanes: u16) -> Vector {
        let total = u32::from(lanes) * bytes;
        let mut parts = pieces.to_vec();
        let mut share = total / parts.len() as u32;
        while parts.len() > 1 && share < WIDTH {
            parts = parts.chunks(2).map(|pair| self.two(&rows::ZIP1, Size::of(share), pair[0], pair[1])).collect();
            share *= 2;
        }
        Vector { bytes, lanes, parts }
    }

    /// Moves a lane to a general-purpose register, extended to 64 bits.
    pub fn lane_of(&mut self, a: &Vector, lane: u32, signed: bool) -> VReg {
        let at = lane * a.bytes;
        let part = a.parts[(at / WIDTH) as usize];
        let within = Arg::Number((at % WIDTH / a.bytes).into());
        match (a.bytes, within, signed) {
            (8, Arg::Number(0), _) => self.general_of_vector(part),
            (8, ..) | (_, _, false) => self.general_row(&rows::UMOV, a.size(), &[Arg::Use(part), within]),
            _ => self.general_row(&rows::SMOV, a.size(), &[Arg::Use(part), within]),
        }
    }

    /// Moves the lanes to general-purpose registers, extended to 64 bits.
    pub fn explode(&mut self, a: &Vector, signed: bool) -> Vec<VReg> {
        (0..u32::from(a.lanes)).map(|lane| self.lane_of(a, lane, signed)).collect()
    }

    /// Makes a vector from the low bytes of general-purpose registers.
    pub fn implode(&mut self, lanes: &[VReg], bytes: u32) -> Vector {
        let per_part = (WIDTH / bytes) as usize;
        let parts = lanes.chunks(per_part).map(|some| {
            let first = self.one(&rows::FMOV_TO_D, Size::D, some[0]);
            let rest = some.iter().zip(0..).skip(1);
            rest.fold(first, |part, (&lane, i)| self.insert(part, bytes, i, lane))
        });
        Vector { bytes, lanes: lanes.len() as u16, parts: parts.collect() }
    }

    /// Inserts a lane from a general-purpose register.
    pub fn insert(&mut self, part: VReg, bytes: u32, lane: i64, from: VReg) -> VReg {
        self.row(&rows::INS_GENERAL, Size::of(bytes), &[Arg::Tied(part), Arg::Number(lane), Arg::Use(from)])
    }

    /// Copies a lane of a register to all lanes.
    pub fn repeat(&mut self, size: Size, part: VReg, lane: i64) -> VReg {
        let result = self.one_with(&rows::DUP, size, part, lane);
        self.set.elements.insert(result, (part, size, lane));
        result
    }

    /// Finds a factor that repeats a lane. Returns the other factor, and the register and lane as an element operand. `None` if neither repeats a
    /// lane.
    pub fn with_element(&mut self, size: Size, x: VReg, y: VReg) -> Option<(VReg, [Arg; 2])> {
        let of = |register| self.set.elements.get(&register).filter(|(_, lanes, _)| *lanes == size);
        let (other, &(part, _, lane)) = of(y).map(|element| (x, element)).or_else(|| of(x).map(|element| (y, element)))?;
        Some((other, [Arg::Use(part), Arg::Number(lane)]))
    }

    /// Copies a scalar to every lane.
    pub fn splat(&mut self, a: Value, ty: Type) -> Result<Held, CodegenError> {
        if ty.lanes == 1 {
            return self.get(a);
        }
        if ty.lane == Lane::Mask {
            let register = self.general(a)?;
            return Ok(Held::Vector(self.splat_truth(register, 4, ty.lanes)));
        }
        let bytes = ty.lane.bytes();
        let part = match self.get(a)? {
            Held::General(register) => self.row(&rows::DUP_GENERAL, Size::D, &[Arg::Use(register)]),
            // An extracted lane is already in all lanes.
            Held::Vector(scalar) if self.set.elements.contains_key(&scalar.parts[0]) => scalar.parts[0],
            Held::Vector(scalar) => self.repeat(Size::of(bytes), scalar.parts[0], 0),
        };
        Ok(Held::Vector(Vector { bytes, lanes: ty.lanes, parts: vec![part; part_count(bytes, ty.lanes)] }))
    }

    /// Extracts one lane.
    pub fn extract(&mut self, a: Value, lane: u16, ty: Type) -> Result<Held, CodegenError> {
        if ty.lane == Lane::Mask {
            let mask = self.get(a)?;
            return Ok(Held::General(self.extract_truth(&mask, lane)));
        }
        let a = self.vector(a)?;
        if is_general(ty) {
            return Ok(Held::General(self.lane_of(&a, lane.into(), false)));
        }
        let at = u32::from(lane) * a.bytes;
        let part = self.repeat(a.size(), a.parts[(at / WIDTH) as usize], (at % WIDTH / a.bytes).into());
        Ok(Held::Vector(Vector { bytes: a.bytes, lanes: 1, parts: vec![part] }))
    }

    /// Converts a mask to lanes of bytes.
    fn mask_lanes(&mut self, a: Value) -> Result<Vector, CodegenError> {
        Ok(match self.get(a)? {
            Held::Vector(mask) => self.mask_at(&mask, 1),
            Held::General(register) => self.splat_truth(register, 1, 1),
        })
    }

    /// Converts lanes of bytes to a mask.
    fn mask_again(&mut self, lanes: Vector) -> Held {
        if lanes.lanes == 1 {
            return Held::General(self.extract_truth(&Held::Vector(lanes), 0));
        }
        Held::Vector(lanes)
    }

    /// Concatenates the lanes of a and of b.
    pub fn join(&mut self, a: Value, b: Value, ty: Type) -> Result<Held, CodegenError> {
        let mask = ty.lane == Lane::Mask;
        let (a, b) = if mask { (self.mask_lanes(a)?, self.mask_lanes(b)?) } else { (self.vector(a)?, self.vector(b)?) };
        let joined = self.assemble(&[&a.parts[..], &b.parts[..]].concat(), a.bytes, 2 * a.lanes);
        Ok(if mask { self.mask_again(joined) } else { Held::Vector(joined) })
    }

    /// Extracts consecutive lanes from `first` on.
    pub fn part(&mut self, a: Value, first: u16, ty: Type) -> Result<Held, CodegenError> {
        let mask = ty.lane == Lane::Mask;
        let a = if mask { self.mask_lanes(a)? } else { self.vector(a)? };
        let part = self.part_of(&a, first, ty.lanes);
        Ok(if mask { self.mask_again(part) } else { self.settle(ty, part) })
    }

    fn part_of(&mut self, a: &Vector, first: u16, lanes: u16) -> Vector {
        let (at, total) = (u32::from(first) * a.bytes, u32::from(lanes) * a.bytes);
        if at % total != 0 && at % WIDTH + total > WIDTH {
            let order: Vec<u16> = (first..first + lanes).collect();
            return self.pick(a, a, &order);
        }
        let parts = match total >= WIDTH {
            true => a.parts[(at / WIDTH) as usize..((at + total) / WIDTH) as usize].to_vec(),
            false => vec![self.piece(a, at, total)],
        };
        Vector { bytes: a.bytes, lanes, parts }
    }

    /// Picks lanes from the concatenation of a and b.
    pub fn shuffle(&mut self, a: Value, b: Value, lanes: &[u16], ty: Type) -> Result<Held, CodegenError> {
        let mask = ty.lane == Lane::Mask;
        let (a, b) = if mask { (self.mask_lanes(a)?, self.mask_lanes(b)?) } else { (self.vector(a)?, self.vector(b)?) };
        let picked = self.pick(&a, &b, lanes);
        Ok(if mask { self.mask_again(picked) } else { self.settle(ty, picked) })
    }

    /// Reduces a vector to a scalar: lane i with lane i + n/2, until one lane is left.
    pub fn horizontal(&mut self, op: HorizontalOp, a: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(a);
        let op = op.of_two(ty.lane.is_float());
        let mut a = self.vector(a)?;
        while a.lanes > 1 {
            let half = a.lanes / 2;
            let (low, high) = (self.part_of(&a, 0, half), self.part_of(&a, half, half));
            a = self.binary_vectors(op, ty.lane, &low, &high)?;
        }
        Ok(self.settle(Type::scalar(ty.lane), a))
    }
}
