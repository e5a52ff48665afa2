//! Loads and stores.

use super::held::{Held, integer_lane, part_count, vector_of};
use super::lower::Lowering;
use super::scope::Address;
use crate::CodegenError;
use crate::bug::{Mistake, Route};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use modelc_kernel::{Bounds, Buffer, Inst, Type, Value};

impl Lowering<'_> {
    pub(super) fn load_at(&mut self, ty: ir::Type, address: Address, further: u32) -> ir::Value {
        let flags = address.flags(further, ty.bytes());
        self.builder.ins().load(ty, flags, address.base, address.displacement + further as i32)
    }

    pub(super) fn store_at(&mut self, value: ir::Value, address: Address, further: u32) {
        let bytes = self.builder.func.dfg.value_type(value).bytes();
        let flags = address.flags(further, bytes);
        self.builder.ins().store(flags, value, address.base, address.displacement + further as i32);
    }

    /// Loads a full register. Instructions before AVX need aligned memory operands, which Cranelift sometimes ignores (vector comparisons). A bitcast
    /// then hides the load, so that it stays a separate instruction.
    fn load_register(&mut self, ty: ir::Type, address: Address, further: u32) -> ir::Value {
        if !self.features.x86() || self.features.fma {
            return self.load_at(ty, address, further);
        }
        let other = if ty == types::I8X16 { types::I64X2 } else { types::I8X16 };
        let loaded = self.load_at(other, address, further);
        self.bits_as(ty, loaded)
    }

    /// Loads the first `active` lanes; the others are zero.
    pub fn load(&mut self, buffer: Buffer, index: Value, offset: i64, active: u16, ty: Type) -> Result<Held, CodegenError> {
        let address = self.address(buffer, index, offset)?;
        let shape = self.shape(ty);
        let lane_bytes = shape.lane.bytes();
        if shape.scalar {
            let parts = (0..ty.lanes).map(|i| match i < active {
                true => self.load_at(shape.lane, address, u32::from(i) * lane_bytes),
                false => self.number(shape.lane, true, 0),
            });
            let parts = parts.collect();
            return Ok(shape.with_parts(parts));
        }
        let vector = vector_of(shape.lane);
        if self.features.riscv_vectors() {
            return Ok(shape.with_parts(self.load_lanes(address, shape.lane, active, ty.lanes)));
        }
        let bytes = u32::from(active) * lane_bytes;
        let parts = (0..part_count(shape.lane, ty.lanes, false) as u32).map(|part| match bytes.saturating_sub(16 * part) {
            0 => self.number(shape.lane, false, 0),
            16.. => self.load_register(vector, address, 16 * part),
            some => {
                let loaded = self.load_bytes(address, 16 * part, some);
                self.bits_as(vector, loaded)
            }
        });
        let parts = parts.collect();
        Ok(shape.with_parts(parts))
    }

    /// Loads integers at twice their width, eight bytes an instruction.
    pub fn load_widened(&mut self, load: &Inst, signed: bool, ty: Type) -> Result<Held, CodegenError> {
        let Inst::Load { buffer, index, offset, .. } = *load else { return self.bug(Mistake::Route(Route::WidenedLoad)) };
        let address = self.address(buffer, index, offset)?;
        let shape = self.shape(ty);
        let pieces = u32::from(ty.lanes) * shape.lane.bytes() / 8;
        if self.features.riscv_vectors() && address.alignment < 3 {
            // Cranelift loads one lane of eight bytes, which must be aligned to eight.
            let parts = self.load_lanes(address, shape.lane, ty.lanes, ty.lanes);
            let narrow = shape.with_parts(parts);
            return Ok(self.widen(&narrow, signed));
        }
        let parts = (0..pieces).map(|piece| {
            let flags = address.flags(8 * piece, 8);
            let (base, displacement) = (address.base, address.displacement + 8 * piece as i32);
            let ins = self.builder.ins();
            match (shape.lane, signed) {
                (types::I8, true) => ins.sload8x8(flags, base, displacement),
                (types::I8, false) => ins.uload8x8(flags, base, displacement),
                (types::I16, true) => ins.sload16x4(flags, base, displacement),
                (types::I16, false) => ins.uload16x4(flags, base, displacement),
                (_, true) => ins.sload32x2(flags, base, displacement),
                (_, false) => ins.uload32x2(flags, base, displacement),
            }
        });
        let parts = parts.collect();
        Ok(shape.with_lane(integer_lane(2 * shape.lane.bits()), parts))
    }

    /// Loads 1 to 15 bytes into the low end of a register, with zeros above. It reads nothing beyond them.
    fn load_bytes(&mut self, address: Address, at: u32, bytes: u32) -> ir::Value {
        if bytes <= 8 {
            let low = self.load_word(address, at, bytes);
            let lane = self.builder.func.dfg.value_type(low);
            return self.builder.ins().scalar_to_vector(vector_of(lane), low);
        }
        // Two overlapping words; the overlap is shifted out of the second.
        let low = self.load_at(types::I64, address, at);
        let high = self.load_at(types::I64, address, at + bytes - 8);
        let high = self.builder.ins().ushr_imm_u(high, i64::from(8 * (16 - bytes)));
        let vector = self.builder.ins().scalar_to_vector(types::I64X2, low);
        self.builder.ins().insertlane(vector, high, 1)
    }

    /// Loads 1 to 8 bytes as an integer of 32 or 64 bits: one load for a power of two, else two.
    fn load_word(&mut self, address: Address, at: u32, bytes: u32) -> ir::Value {
        match bytes {
            8 => self.load_at(types::I64, address, at),
            4 => self.load_at(types::I32, address, at),
            1 | 2 => {
                let word = self.load_at(integer_lane(8 * bytes), address, at);
                self.builder.ins().uextend(types::I32, word)
            }
            3 => {
                let low = self.load_word(address, at, 2);
                let high = self.load_word(address, at + 2, 1);
                let high = self.builder.ins().ishl_imm_u(high, 16);
                self.builder.ins().bor(low, high)
            }
            _ => {
                let low = self.load_at(types::I32, address, at);
                let high = self.load_at(types::I32, address, at + bytes - 4);
                let low = self.builder.ins().uextend(types::I64, low);
                let high = self.builder.ins().uextend(types::I64, high);
                let high = self.builder.ins().ushr_imm_u(high, i64::from(8 * (8 - bytes)));
                let high = self.builder.ins().ishl_imm_u(high, 32);
                self.builder.ins().bor(low, high)
            }
        }
    }

    /// Stores the first `active` lanes.
    pub fn store(&mut self, buffer: Buffer, index: Value, offset: i64, active: u16, value: &Held) -> Result<(), CodegenError> {
        let address = self.address(buffer, index, offset)?;
        let lane_bytes = value.lane.bytes();
        if value.scalar {
            for (i, &part) in value.parts.iter().take(usize::from(active)).enumerate() {
                self.store_at(part, address, i as u32 * lane_bytes);
            }
            return Ok(());
        }
        if self.features.riscv_vectors() {
            self.store_lanes(value, address, active);
            return Ok(());
        }
        let bytes = u32::from(active) * lane_bytes;
        for (part, &x) in value.parts.iter().enumerate() {
            let at = 16 * part as u32;
            match bytes.saturating_sub(at) {
                0 => break,
                16.. => self.store_at(x, address, at),
                some => self.store_bytes(x, address, at, some),
            }
        }
        Ok(())
    }

    /// Stores the low 1 to 15 bytes of a register, in pieces of 8, 4, 2 and 1.
    fn store_bytes(&mut self, x: ir::Value, address: Address, at: u32, bytes: u32) {
        let mut done = 0;
        for size in [8, 4, 2, 1] {
            if bytes & size == 0 {
                continue;
            }
            let lane = integer_lane(8 * size);
            let view = self.bits_as(vector_of(lane), x);
            let piece = self.builder.ins().extractlane(view, (done / size) as u8);
            self.store_at(piece, address, at + done);
            done += size;
        }
    }

    /// Loads one element into every lane.
    pub fn load_splat(&mut self, buffer: Buffer, index: Value, offset: i64, ty: Type) -> Result<Held, CodegenError> {
        let address = self.address(buffer, index, offset)?;
        let lane = self.shape(ty).lane;
        let element = self.load_at(lane, address, 0);
        Ok(self.splat(&Held::of_scalar(lane, element), ty))
    }

    /// Loads a group of elements, and repeats it over the lanes.
    pub fn load_splat_group(&mut self, buffer: Buffer, index: Value, offset: i64, group: u16, ty: Type) -> Result<Held, CodegenError> {
        let address = self.address(buffer, index, offset)?;
        let shape = self.shape(ty);
        let bytes = u32::from(group) * shape.lane.bytes();
        if !bytes.is_power_of_two() || bytes > 16 || group > ty.lanes {
            return self.bug(Mistake::Splat { group, over: ty });
        }
        if shape.scalar {
            let elements = (0..u32::from(group)).map(|i| self.load_at(shape.lane, address, i * shape.lane.bytes()));
            let elements: Vec<_> = elements.collect();
            let parts = elements.into_iter().cycle().take(usize::from(ty.lanes)).collect();
            return Ok(shape.with_parts(parts));
        }
        let vector = vector_of(shape.lane);
        let part = if bytes == 16 {
            self.load_register(vector, address, 0)
        } else if self.features.riscv_vectors() {
            self.load_group(shape.lane, group, address)
        } else {
            // A float type of this size, if there is one: floats are loaded directly to a vector register.
            let lane = match bytes {
                4 => types::F32,
                8 => types::F64,
                _ => integer_lane(8 * bytes),
            };
            let word = self.load_at(lane, address, 0);
            let splat = self.builder.ins().splat(vector_of(lane), word);
            self.bits_as(vector, splat)
        };
        Ok(shape.with_parts(vec![part; part_count(shape.lane, ty.lanes, false)]))
    }

    /// Loads each lane from its own index.
    pub fn gather(&mut self, buffer: Buffer, indices: Value, offset: i64, bounds: Bounds, ty: Type) -> Result<Held, CodegenError> {
        let indices = self.get(indices)?;
        let shape = self.shape(ty);
        let elements = self.kernel.buffer(buffer).elements;
        if elements == 0 {
            return Ok(self.number_like(&shape, shape.lane, 0));
        }
        let mut lanes = vec![];
        for index in self.explode(&indices) {
            let index = match self.builder.func.dfg.value_type(index) {
                types::I64 => index,
                _ => self.builder.ins().sextend(types::I64, index),
            };
            let index = if offset == 0 { index } else { self.builder.ins().iadd_imm_s(index, offset) };
            let index = if bounds == Bounds::Clamp { self.clamp_index(index, elements as i64 - 1) } else { index };
            let address = self.element_address(buffer, index);
            lanes.push(self.load_at(shape.lane, address, 0));
        }
        Ok(self.implode(&shape, shape.lane, &lanes))
    }

    /// Clamps an index to 0..=last.
    fn clamp_index(&mut self, index: ir::Value, last: i64) -> ir::Value {
        let zero = self.builder.ins().iconst(types::I64, 0);
        let last = self.builder.ins().iconst(types::I64, last);
        let below = self.builder.ins().icmp(IntCC::SignedLessThan, index, zero);
        let index = self.builder.ins().select(below, zero, index);
        let above = self.builder.ins().icmp(IntCC::SignedGreaterThan, index, last);
        self.builder.ins().select(above, last, index)
    }
}
