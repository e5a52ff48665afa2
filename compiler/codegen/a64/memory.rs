//! Loads and stores. They touch no byte outside the active lanes.

use super::encode::Flags;
use super::held::{Held, Vector, WIDTH, is_general, part_count};
use super::inst::{Arg, Op};
use super::lowering::Lowering;
use super::registers::VECTOR;
use super::rows::{self, Size};
use crate::CodegenError;
use crate::own::{Access, Address};
use modelc_kernel::{BinaryOp, Bounds, Buffer, BufferKind, Type, Value};
use regalloc2::VReg;

/// The index and the constant offset of an access.
type At = (Value, i64);

/// Describes the access to the first `bytes` bytes of a vector, whose registers hold `part` bytes each.
fn access(bytes: u32, part: u32) -> Access {
    if bytes.is_multiple_of(part) || bytes.is_power_of_two() {
        return Access::Memory { unit: part.min(bytes), bytes };
    }
    Access::Pieces { bytes }
}

impl Lowering<'_> {
    /// Loads the first `active` lanes; the others are zero.
    pub fn load(&mut self, buffer: Buffer, at: At, active: u16, ty: Type) -> Result<Held, CodegenError> {
        let bytes = ty.lane.bytes();
        let (part, loaded) = ((u32::from(ty.lanes) * bytes).min(WIDTH), u32::from(active) * bytes);
        let address = self.address(buffer, at, access(loaded, part))?;
        if is_general(ty) {
            return Ok(Held::General(self.load_general(address, 8)));
        }
        let is_input = self.kernel.buffer(buffer).kind == BufferKind::Input;
        let parts = (0..part_count(bytes, ty.lanes) as u32).map(|i| {
            let place = || address.plus((i * part) as i32);
            match loaded.saturating_sub(i * part) {
                0 => self.number(bytes, 0),
                WIDTH.. if is_input => self.load_input(place()),
                some => self.load_some(place(), some.min(part)),
            }
        });
        let parts = parts.collect();
        Ok(Held::Vector(Vector { bytes, lanes: ty.lanes, parts }))
    }

    /// Loads a whole register from memory that is read-only in the kernel.
    fn load_input(&mut self, place: Address) -> VReg {
        self.defined_in(VECTOR, Op::LoadInput, &[Arg::Memory(place)])
    }

    /// Loads 1 to 16 bytes into the low end of a register, with zeros above.
    fn load_some(&mut self, place: Address, bytes: u32) -> VReg {
        if bytes.is_power_of_two() {
            return self.defined_in(VECTOR, Op::LoadVector(bytes), &[Arg::Memory(place)]);
        }
        if bytes < 8 {
            let word = self.load_word(place, bytes);
            return self.one(&rows::FMOV_TO_D, Size::D, word);
        }
        // Two overlapping words; the overlap is shifted out of the second.
        let low = self.load_some(place, 8);
        let high = self.load_general(place.plus(bytes as i32 - 8), 8);
        let high = self.shift_general(BinaryOp::ShiftRightUnsigned, high, 8 * (16 - bytes));
        self.insert(low, 8, 1, high)
    }

    fn load_general(&mut self, place: Address, bytes: u32) -> VReg {
        self.defined(Op::Load(bytes, false), &[Arg::Memory(place)])
    }

    /// Loads 3, 5, 6 or 7 bytes into a general-purpose register, as two overlapping words.
    fn load_word(&mut self, place: Address, bytes: u32) -> VReg {
        let half = if bytes == 3 { 2 } else { 4 };
        let low = self.load_general(place, half);
        let high = self.load_general(place.plus((bytes - half) as i32), half);
        let high = self.shift_general(BinaryOp::ShiftRightUnsigned, high, 8 * (2 * half - bytes));
        let high = self.shift_general(BinaryOp::ShiftLeft, high, 8 * half);
        self.general_binary(BinaryOp::Or, low, high)
    }

    /// Stores the first `active` lanes.
    pub fn store(&mut self, buffer: Buffer, at: At, active: u16, value: Value) -> Result<(), CodegenError> {
        let ty = self.ty(value);
        let bytes = ty.lane.bytes();
        let (part, stored) = ((u32::from(ty.lanes) * bytes).min(WIDTH), u32::from(active) * bytes);
        let address = self.address(buffer, at, access(stored, part))?;
        if is_general(ty) {
            let register = self.general(value)?;
            self.emit(Op::Store(8), vec![Arg::Memory(address), Arg::Use(register)]);
            return Ok(());
        }
        let vector = self.vector(value)?;
        for (&register, done) in vector.parts.iter().zip((0..stored).step_by(part as usize)) {
            self.store_some(address.plus(done as i32), register, (stored - done).min(part));
        }
        Ok(())
    }

    /// Stores low bytes of a register, a power of two at a time.
    fn store_some(&mut self, place: Address, register: VReg, bytes: u32) {
        let mut done = 0;
        for size in [16, 8, 4, 2, 1] {
            if bytes & size == 0 {
                continue;
            }
            let piece = match done {
                0 => register,
                at => self.row(&rows::EXT, Size::B, &[Arg::Use(register), Arg::Use(register), Arg::Number(at)]),
            };
            self.emit(Op::StoreVector(size), vec![Arg::Memory(place.plus(done as i32)), Arg::Use(piece)]);
            done += i64::from(size);
        }
    }

    /// Loads a group of elements, and repeats it over the lanes.
    pub fn load_splat(&mut self, buffer: Buffer, at: At, group: u16, ty: Type) -> Result<Held, CodegenError> {
        if ty.lanes == group {
            return self.load(buffer, at, group, ty);
        }
        let lane = ty.lane.bytes();
        let (bytes, total) = (u32::from(group) * lane, u32::from(ty.lanes) * lane);
        let unit = bytes.min(WIDTH);
        // Neighbouring loads are joined later. A joint load has no index, so this address must not need one.
        let place = self.address(buffer, at, Access::Memory { unit, bytes: bytes.max(WIDTH) })?;
        let loaded: Vec<VReg> = (0..bytes / unit).map(|i| self.load_some(place.plus((i * unit) as i32), unit)).collect();
        let whole = if bytes < WIDTH { vec![self.repeat(Size::of(bytes), loaded[0], 0)] } else { loaded };
        let parts = whole.into_iter().cycle().take(total.div_ceil(WIDTH) as usize).collect();
        Ok(Held::Vector(Vector { bytes: lane, lanes: ty.lanes, parts }))
    }

    /// Loads each lane from its own index.
    pub fn gather(&mut self, buffer: Buffer, (indices, offset): At, bounds: Bounds, ty: Type) -> Result<Held, CodegenError> {
        let bytes = ty.lane.bytes();
        let elements = self.kernel.buffer(buffer).elements;
        if elements == 0 {
            return Ok(self.constant_of(ty, 0));
        }
        let places = match self.get(indices)? {
            Held::General(register) => vec![register],
            Held::Vector(vector) => self.explode(&vector, true),
        };
        let lanes: Vec<VReg> = places
            .into_iter()
            .map(|index| {
                let index = self.bounded(index, offset, bounds, elements);
                let place = self.element(buffer, index);
                self.load_general(place, bytes)
            })
            .collect();
        if is_general(ty) {
            return Ok(Held::General(lanes[0]));
        }
        Ok(Held::Vector(self.implode(&lanes, bytes)))
    }

    /// Computes an index plus an offset, clamped to the buffer if `bounds` requires it.
    fn bounded(&mut self, index: VReg, offset: i64, bounds: Bounds, elements: u64) -> VReg {
        let index = match offset {
            0 => index,
            _ => {
                let offset = self.general_number(offset);
                self.general_binary(BinaryOp::Add, index, offset)
            }
        };
        if bounds == Bounds::Proven {
            return index;
        }
        let zero = self.general_number(0);
        let index = self.choose(Flags::Less, (index, Arg::Number(0)), zero, index);
        let last = self.general_number(elements as i64 - 1);
        self.choose(Flags::Less, (index, Arg::Use(last)), index, last)
    }
}
