//! Operations on the parts of values: one Cranelift instruction for every part, access to single lanes, and reinterpretation of bits.

use super::held::{Held, register_lanes, vector_of};
use super::lower::Lowering;
use cranelift_codegen::ir::immediates::Ieee32;
use cranelift_codegen::ir::immediates::Ieee64;
use cranelift_codegen::ir::{self, Endianness, InstBuilder, MemFlagsData, types};

impl Lowering<'_> {
    /// Applies one instruction to every part.
    pub fn map(&mut self, a: &Held, mut f: impl FnMut(&mut Self, ir::Value) -> ir::Value) -> Held {
        let parts = a.parts.iter().map(|&x| f(self, x)).collect();
        a.with_parts(parts)
    }

    /// Applies one instruction to every pair of parts.
    pub fn map2(&mut self, a: &Held, b: &Held, mut f: impl FnMut(&mut Self, ir::Value, ir::Value) -> ir::Value) -> Held {
        let parts = a.parts.iter().zip(&b.parts).map(|(&x, &y)| f(self, x, y)).collect();
        a.with_parts(parts)
    }

    /// Extracts all lanes as scalars.
    pub fn explode(&mut self, a: &Held) -> Vec<ir::Value> {
        if a.scalar {
            return a.parts.clone();
        }
        let per_part = a.part_lanes();
        if self.features.riscv_vectors() {
            return a.parts.clone().into_iter().flat_map(|part| self.spill_lanes(part, a.lane, per_part)).collect();
        }
        (0..a.lanes)
            .map(|lane| {
                let part = a.parts[usize::from(lane / per_part)];
                self.builder.ins().extractlane(part, (lane % per_part) as u8)
            })
            .collect()
    }

    /// Combines scalars to the lanes of a value shaped like `shape`.
    pub fn implode(&mut self, shape: &Held, lane: ir::Type, scalars: &[ir::Value]) -> Held {
        if shape.scalar {
            return shape.with_lane(lane, scalars.to_vec());
        }
        let parts = scalars
            .chunks(usize::from(register_lanes(lane)))
            .map(|chunk| {
                if self.features.riscv_vectors() {
                    return self.collect_lanes(lane, chunk);
                }
                let mut part = self.low_lane(lane, chunk[0]);
                for (i, &scalar) in chunk.iter().enumerate().skip(1) {
                    part = self.builder.ins().insertlane(part, scalar, i as u8);
                }
                part
            })
            .collect();
        shape.with_lane(lane, parts)
    }

    /// Moves a scalar to the low lane of a register; the other lanes are undefined.
    fn low_lane(&mut self, lane: ir::Type, scalar: ir::Value) -> ir::Value {
        if lane.bits() >= 32 {
            return self.builder.ins().scalar_to_vector(vector_of(lane), scalar);
        }
        // Cranelift moves no fewer than 32 bits.
        let wide = self.builder.ins().uextend(types::I32, scalar);
        let vector = self.builder.ins().scalar_to_vector(types::I32X4, wide);
        self.bits_as(vector_of(lane), vector)
    }

    /// Applies a function of scalars to every lane; the result has lanes of type `lane`.
    pub fn per_lane(&mut self, a: &Held, lane: ir::Type, mut f: impl FnMut(&mut Self, ir::Value) -> ir::Value) -> Held {
        let scalars: Vec<_> = self.explode(a).into_iter().map(|x| f(self, x)).collect();
        self.implode(a, lane, &scalars)
    }

    /// Applies a function of two scalars to every pair of lanes.
    pub fn per_lane2(&mut self, a: &Held, b: &Held, mut f: impl FnMut(&mut Self, ir::Value, ir::Value) -> ir::Value) -> Held {
        let (xs, ys) = (self.explode(a), self.explode(b));
        let scalars: Vec<_> = xs.into_iter().zip(ys).map(|(x, y)| f(self, x, y)).collect();
        self.implode(a, a.lane, &scalars)
    }

    /// Reinterprets the bits of a part as another type of the same size.
    pub fn bits_as(&mut self, ty: ir::Type, part: ir::Value) -> ir::Value {
        if self.builder.func.dfg.value_type(part) == ty {
            return part;
        }
        let flags = if ty.is_vector() { MemFlagsData::new().with_endianness(Endianness::Little) } else { MemFlagsData::new() };
        self.builder.ins().bitcast(ty, flags, part)
    }

    /// Reinterprets a value with another lane type of the same width.
    pub fn cast(&mut self, a: &Held, lane: ir::Type) -> Held {
        debug_assert_eq!(a.lane.bits(), lane.bits());
        let ty = super::held::part_type(lane, a.scalar);
        let parts = a.parts.iter().map(|&x| self.bits_as(ty, x)).collect();
        a.with_lane(lane, parts)
    }

    /// Moves a scalar float to the low lane of a vector register, if the machine has them. Minimum, maximum and selection are then one instruction,
    /// not a branch.
    pub fn in_register(&mut self, a: &Held) -> Held {
        if !a.scalar || !self.features.vectors || self.features.riscv_vectors() {
            return a.clone();
        }
        let part = self.builder.ins().scalar_to_vector(vector_of(a.lane), a.single());
        Held { scalar: false, ..a.with_parts(vec![part]) }
    }

    /// Reverses [`Self::in_register`].
    pub fn out_of_register(&mut self, a: &Held, scalar: bool) -> Held {
        if !scalar || a.scalar {
            return a.clone();
        }
        let value = self.builder.ins().extractlane(a.parts[0], 0);
        Held { scalar: true, ..a.with_parts(vec![value]) }
    }

    /// Makes a part with a constant in every lane, or a scalar constant.
    pub fn number(&mut self, lane: ir::Type, scalar: bool, bits: u64) -> ir::Value {
        if scalar {
            return match lane {
                types::F32 => self.builder.ins().f32const(Ieee32::with_bits(bits as u32)),
                types::F64 => self.builder.ins().f64const(Ieee64::with_bits(bits)),
                _ => self.builder.ins().iconst(lane, sign_extended(bits, lane.bits())),
            };
        }
        if self.features.riscv_vectors() {
            // Most instructions take a scalar instead of such a register.
            let scalar = self.number(lane, true, bits);
            return self.builder.ins().splat(vector_of(lane), scalar);
        }
        let bytes = lane.bytes() as usize;
        let data: Vec<u8> = bits.to_le_bytes()[..bytes].iter().copied().cycle().take(16).collect();
        let constant = self.builder.func.dfg.constants.insert(data.into());
        self.builder.ins().vconst(vector_of(lane), constant)
    }

    /// Makes a value with a constant in every lane, shaped like `shape`.
    pub fn number_like(&mut self, shape: &Held, lane: ir::Type, bits: u64) -> Held {
        let part = self.number(lane, shape.scalar, bits);
        let count = super::held::part_count(lane, shape.lanes, shape.scalar);
        shape.with_lane(lane, vec![part; count])
    }
}

/// Returns the low bits of a number, as Cranelift's 64-bit immediates require: without bits above the width.
fn sign_extended(bits: u64, width: u32) -> i64 {
    if width >= 64 { bits as i64 } else { (bits & ((1 << width) - 1)) as i64 }
}
