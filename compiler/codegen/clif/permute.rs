//! Movement of lanes: shuffles, halves, splats, horizontal reductions.

use super::held::{Held, register_lanes, vector_of};
use super::lower::Lowering;
use crate::CodegenError;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use modelc_kernel::{HorizontalOp, Lane, Type};

/// Positions of the bytes of a result in one register, or in two consecutive registers.
type Bytes = [u8; 16];

/// A lane of one of several registers.
struct Place {
    register: usize,
    lane: usize,
}

impl Lowering<'_> {
    /// Picks bytes from two registers.
    fn shuffle_bytes(&mut self, a: ir::Value, b: ir::Value, bytes: Bytes) -> ir::Value {
        let ty = self.builder.func.dfg.value_type(a);
        if bytes.iter().enumerate().all(|(i, &byte)| usize::from(byte) == i) {
            return a;
        }
        let (a, b) = (self.bits_as(types::I8X16, a), self.bits_as(types::I8X16, b));
        if self.features.riscv_vectors() {
            let shuffled = self.shuffle_by_gathers(a, b, bytes);
            return self.bits_as(ty, shuffled);
        }
        let mask = self.builder.func.dfg.immediates.push(bytes.to_vec().into());
        let shuffled = self.builder.ins().shuffle(a, b, mask);
        self.bits_as(ty, shuffled)
    }

    /// Picks bytes on riscv64, from each register separately. Cranelift's `shuffle` expects positions from 16 on to be outside a register, which is
    /// wrong for longer registers.
    fn shuffle_by_gathers(&mut self, a: ir::Value, b: ir::Value, bytes: Bytes) -> ir::Value {
        let mut gathered = [a, b].map(|register| (register, false));
        for (number, (register, used)) in gathered.iter_mut().enumerate() {
            let own = |byte: u8| usize::from(byte) / 16 == number;
            *used = bytes.iter().any(|&byte| own(byte));
            let in_place = bytes.iter().enumerate().all(|(i, &byte)| !own(byte) || usize::from(byte) % 16 == i);
            if *used && !in_place {
                let positions = self.bytes(bytes.map(|byte| if own(byte) { byte % 16 } else { 0 }));
                *register = self.builder.ins().swizzle(*register, positions);
            }
        }
        match gathered {
            [(a, _), (_, false)] => a,
            [(_, false), (b, _)] => b,
            [(a, true), (b, true)] => {
                let from_b = self.bytes(bytes.map(|byte| byte / 16));
                let zero = self.number(types::I8, false, 0);
                let from_b = self.builder.ins().icmp(IntCC::NotEqual, from_b, zero);
                self.builder.ins().bitselect(from_b, b, a)
            }
        }
    }

    fn bytes(&mut self, bytes: Bytes) -> ir::Value {
        let constant = self.builder.func.dfg.constants.insert(bytes.to_vec().into());
        self.builder.ins().vconst(types::I8X16, constant)
    }

    /// Picks lanes from two registers of one type.
    fn shuffle_lanes(&mut self, a: ir::Value, b: ir::Value, lane_bytes: usize, pick: impl Fn(usize) -> usize) -> ir::Value {
        let mut bytes = [0; 16];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = (pick(i / lane_bytes) * lane_bytes + i % lane_bytes) as u8;
        }
        self.shuffle_bytes(a, b, bytes)
    }

    /// Takes the low 32 bits of four 64-bit lanes.
    pub fn low_halves(&mut self, low: ir::Value, high: ir::Value) -> ir::Value {
        self.even_lanes(types::I32, low, high)
    }

    /// Takes the high 32 bits of four 64-bit lanes.
    pub fn high_halves(&mut self, low: ir::Value, high: ir::Value) -> ir::Value {
        let (low, high) = (self.bits_as(types::I32X4, low), self.bits_as(types::I32X4, high));
        self.shuffle_lanes(low, high, 4, |i| 2 * i + 1)
    }

    /// Takes the even lanes of two registers, which are seen as lanes of a type.
    pub fn even_lanes(&mut self, lane: ir::Type, low: ir::Value, high: ir::Value) -> ir::Value {
        let (low, high) = (self.bits_as(vector_of(lane), low), self.bits_as(vector_of(lane), high));
        self.shuffle_lanes(low, high, lane.bytes() as usize, |i| 2 * i)
    }

    /// Copies the upper 64 bits to the lower ones.
    pub fn upper_half(&mut self, x: ir::Value) -> ir::Value {
        self.shuffle_lanes(x, x, 8, |_| 1)
    }

    /// Takes the lower 64 bits of two registers.
    pub fn lower_halves(&mut self, low: ir::Value, high: ir::Value) -> ir::Value {
        self.shuffle_lanes(low, high, 8, |i| 2 * i)
    }

    /// Copies a scalar to every lane.
    pub fn splat(&mut self, a: &Held, ty: Type) -> Held {
        let mut shape = self.shape(ty);
        let x = a.single();
        if shape.scalar {
            return shape.with_parts(vec![x; usize::from(ty.lanes)]);
        }
        let x = if ty.lane == Lane::Mask {
            shape.lane = types::I8;
            self.builder.ins().ineg(x)
        } else {
            x
        };
        let part = self.builder.ins().splat(vector_of(shape.lane), x);
        let count = super::held::part_count(shape.lane, ty.lanes, false);
        shape.with_parts(vec![part; count])
    }

    /// Extracts one lane.
    pub fn extract(&mut self, a: &Held, lane: u16, mask: bool) -> Held {
        if a.scalar {
            return Held::of_scalar(a.lane, a.parts[usize::from(lane)]);
        }
        let per_part = a.part_lanes();
        let value = self.builder.ins().extractlane(a.parts[usize::from(lane / per_part)], (lane % per_part) as u8);
        if mask {
            let truth = self.builder.ins().icmp_imm_s(IntCC::NotEqual, value, 0);
            return Held::of_scalar(types::I8, truth);
        }
        Held::of_scalar(a.lane, value)
    }

    /// Concatenates the lanes of a and of b.
    pub fn join(&mut self, a: &Held, b: &Held, ty: Type) -> Held {
        let shape = self.shape(ty);
        if shape.scalar || (!a.scalar && a.part_lanes() == register_lanes(a.lane) && a.lane == b.lane) {
            return shape.with_lane(a.lane, [&a.parts[..], &b.parts[..]].concat());
        }
        let lanes: Vec<u16> = (0..ty.lanes).collect();
        self.shuffle(a, b, &lanes, ty)
    }

    /// Extracts consecutive lanes from `first` on.
    pub fn part(&mut self, a: &Held, first: u16, ty: Type) -> Held {
        let shape = self.shape(ty);
        let per_part = a.part_lanes();
        if !shape.scalar && !a.scalar && first.is_multiple_of(per_part) {
            // Lanes beyond the count are undefined, so a low part of a register is the register itself.
            let from = usize::from(first / per_part);
            let count = super::held::part_count(a.lane, ty.lanes, false);
            return shape.with_lane(a.lane, a.parts[from..from + count].to_vec());
        }
        let lanes: Vec<u16> = (first..first + ty.lanes).collect();
        self.shuffle(a, a, &lanes, ty)
    }

    /// Picks lanes from the concatenation of a and b.
    pub fn shuffle(&mut self, a: &Held, b: &Held, lanes: &[u16], ty: Type) -> Held {
        let mask = ty.lane == Lane::Mask;
        let shape = self.shape(ty);
        if a.scalar && !shape.scalar {
            // Scalars become a short vector.
            let sources: Vec<_> = a.parts.iter().chain(&b.parts).copied().collect();
            let picked: Vec<_> = lanes.iter().map(|&l| sources[usize::from(l)]).collect();
            if !mask {
                return self.implode(&shape, a.lane, &picked);
            }
            let picked: Vec<_> = picked.into_iter().map(|m| self.builder.ins().ineg(m)).collect();
            return self.implode(&shape, types::I8, &picked);
        }
        if shape.scalar && !a.scalar {
            let (source, lane) = if lanes[0] < a.lanes { (a, lanes[0]) } else { (b, lanes[0] - a.lanes) };
            return self.extract(source, lane, mask);
        }
        if a.scalar {
            let sources: Vec<_> = a.parts.iter().chain(&b.parts).copied().collect();
            return shape.with_lane(a.lane, lanes.iter().map(|&l| sources[usize::from(l)]).collect());
        }
        let (a, b) = if a.lane == b.lane { (a.clone(), b.clone()) } else { self.masks_alike(a, b) };
        let per_part = usize::from(a.part_lanes());
        let sources: Vec<_> = a.parts.iter().chain(&b.parts).copied().collect();
        let parts: Vec<_> = lanes
            .chunks(usize::from(register_lanes(a.lane)))
            .map(|chunk| {
                let place = |&lane: &u16| Place { register: usize::from(lane) / per_part, lane: usize::from(lane) % per_part };
                let places: Vec<Place> = chunk.iter().map(place).collect();
                self.gather_lanes(&sources, &places, a.lane.bytes() as usize)
            })
            .collect();
        let result = shape.with_lane(a.lane, parts);
        let in_turn = lanes.iter().enumerate().all(|(i, &lane)| usize::from(lane) == i / 2 + i % 2 * usize::from(a.lanes));
        if self.features.riscv_vectors() && in_turn && lanes.len() == 2 * usize::from(a.lanes) {
            self.know_interleaved(&a, &b, &result);
        }
        result
    }

    /// Builds a register from lanes of others, two source registers at a time.
    fn gather_lanes(&mut self, sources: &[ir::Value], places: &[Place], lane_bytes: usize) -> ir::Value {
        let mut needed: Vec<usize> = places.iter().map(|place| place.register).collect();
        needed.sort_unstable();
        needed.dedup();
        let register_lanes = 16 / lane_bytes;
        let mut result = sources[needed[0]];
        let mut placed = vec![false; places.len()];
        let second = needed.get(1).copied();
        let first = self.shuffle_lanes(result, sources[second.unwrap_or(needed[0])], lane_bytes, |i| match places.get(i) {
            Some(&Place { register, lane }) if register == needed[0] => lane,
            Some(&Place { register, lane }) if Some(register) == second => register_lanes + lane,
            Some(_) => i,
            // Lanes that do not count continue the pattern.
            None => regular(places, i, needed[0], register_lanes),
        });
        for (done, &Place { register, .. }) in placed.iter_mut().zip(places) {
            *done = register == needed[0] || Some(register) == second;
        }
        result = first;
        for &register in needed.iter().skip(2) {
            result = self.shuffle_lanes(result, sources[register], lane_bytes, |i| match places.get(i) {
                Some(&Place { register: from, lane }) if from == register => register_lanes + lane,
                _ => i,
            });
        }
        result
    }

    /// Reduces a vector to a scalar: lane i with lane i + n/2, until one lane is left.
    pub fn horizontal(&mut self, op: HorizontalOp, a: Held) -> Result<Held, CodegenError> {
        let op = op.of_two(a.lane.is_float());
        let mut a = a;
        while a.lanes > 1 {
            let half = a.lanes / 2;
            let (mut low, mut high) = (a.clone(), a.clone());
            (low.lanes, high.lanes) = (half, half);
            if a.parts.len() > 1 {
                low.parts.truncate(a.parts.len() / 2);
                high.parts.drain(..a.parts.len() / 2);
            } else {
                let lane_bytes = a.lane.bytes() as usize;
                let register = a.parts[0];
                let count = 16 / lane_bytes;
                let moved = self.shuffle_lanes(register, register, lane_bytes, |i| (i + usize::from(half)) % count);
                high.parts = vec![moved];
            }
            a = self.binary(op, &low, &high)?;
        }
        if a.scalar {
            return Ok(Held::of_scalar(a.lane, a.single()));
        }
        let value = self.builder.ins().extractlane(a.parts[0], 0);
        Ok(Held::of_scalar(a.lane, value))
    }
}

/// Returns the lane to name for a result lane that does not count. It continues the pattern of the others, so that a cheaper shuffle (an unpack, a
/// rotation) may fit.
fn regular(places: &[Place], i: usize, first: usize, register_lanes: usize) -> usize {
    let Place { register, lane } = places[i % places.len()];
    if register == first { lane } else { register_lanes + lane }
}
