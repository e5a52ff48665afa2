//! Loads and stores. They touch no byte outside the active lanes.

use super::convert::widening;
use super::encode::Condition;
use super::held::{Held, Vector, is_general};
use super::inst::{Arg, Op, Shift, Width};
use super::length::Length;
use super::look_up::ENTRIES;
use super::lowering::Lowering;
use super::permute::broadcast;
use super::registers::{MASK, VECTOR};
use super::rows::{self, Row};
use crate::bug::{MaskUse, Mistake, Route};
use crate::own::{Access, Address};
use crate::{CodegenError, Operation};
use modelc_kernel::{Bounds, Buffer, BufferKind, Inst, Lane, Type, Value};
use regalloc2::VReg;

/// Bytes between an access to a streamed buffer and the elements that are fetched at the same time. On a Cascade Lake, 1 to 4 KiB are equally fast.
const AHEAD: u32 = 2 << 10;

/// Bytes of a cache line.
const LINE: u32 = 64;

/// The index and the constant offset of an access.
type At = (Value, i64);

/// Describes the access to a whole vector.
fn access(ty: Type) -> Access {
    let bytes = u32::from(ty.lanes) * ty.lane.bytes();
    Access::Memory { unit: bytes.min(16), bytes }
}

impl Lowering<'_> {
    /// Loads the first `active` lanes; the others are zero.
    pub fn load(&mut self, buffer: Buffer, at: At, active: u16, ty: Type) -> Result<Held, CodegenError> {
        let address = self.address(buffer, at, access(ty))?;
        if is_general(ty) {
            return Ok(Held::General(self.defined(Op::Load(Width::Quad, false), &[Arg::Memory(address)])));
        }
        let bytes = ty.lane.bytes();
        let total = u32::from(ty.lanes) * bytes;
        let part = total.min(self.set.width);
        let loaded = u32::from(active) * bytes;
        self.fetch_ahead(buffer, address, loaded);
        let constant = self.kernel.buffer(buffer).kind == BufferKind::Input;
        let parts = (0..total / part)
            .map(|i| {
                let place = address.plus((i * part) as i32);
                match loaded.saturating_sub(i * part) {
                    0 => self.number(bytes, Length::X, 0),
                    some if some >= part => {
                        let register = self.load_some(place, part);
                        if part >= 16 && constant {
                            self.set.constant_loads.insert(register, place);
                        }
                        register
                    }
                    some => self.load_partly(place, some, bytes, Length::of(part)),
                }
            })
            .collect();
        Ok(Held::Vector(Vector { bytes, lanes: ty.lanes, parts }))
    }

    /// Loads a power of two of bytes.
    fn load_some(&mut self, place: Address, bytes: u32) -> VReg {
        let row = match bytes {
            4 => &rows::VMOVSS,
            8 => &rows::VMOVSD,
            16.. => return self.row(&rows::VMOVUPS, Length::of(bytes), &[Arg::Memory(place)]),
            _ => {
                let word = self.load_general(place, bytes);
                return self.one(&rows::VMOVD, Length::X, word);
            }
        };
        self.row(row, Length::X, &[Arg::Memory(place)])
    }

    fn load_general(&mut self, place: Address, bytes: u32) -> VReg {
        self.defined(Op::Load(Width::of(bytes), false), &[Arg::Memory(place)])
    }

    /// Loads some bytes into the low end of a register, with zeros above.
    fn load_partly(&mut self, place: Address, bytes: u32, lane: u32, length: Length) -> VReg {
        if bytes.is_power_of_two() {
            return self.load_some(place, bytes);
        }
        if self.set.avx512 {
            let row = masked_rows(lane).0;
            let mask = self.constant_bits((1 << (bytes / lane)) - 1, 64).parts[0];
            return self.load_masked(row, length, place, mask);
        }
        if bytes < 16 {
            return self.load_bytes(place, bytes);
        }
        let low = self.load_some(place, 16);
        let high = self.load_bytes(place.plus(16), bytes - 16);
        self.two_with(&rows::VINSERTI128, Length::Y, low, high, 1)
    }

    fn load_masked(&mut self, row: &'static Row, length: Length, place: Address, mask: VReg) -> VReg {
        let op = Op::Vector { row, length, zeroing: true, broadcast: false };
        self.defined_in(VECTOR, op, &[Arg::Masked(mask), Arg::Memory(place)])
    }

    /// Loads the lanes where a mask is true; the others are zero. AVX-512.
    pub fn load_where(&mut self, buffer: Buffer, at: At, mask: Value, ty: Type) -> Result<Held, CodegenError> {
        let bytes = ty.lane.bytes();
        let (masks, part) = self.masks_of(Operation::MaskedLoad, mask, ty)?;
        let address = self.address(buffer, at, access(ty))?;
        let places = (0..).step_by(part as usize).map(|at| address.plus(at));
        let row = masked_rows(bytes).0;
        let parts = masks.iter().zip(places).map(|(&mask, place)| self.load_masked(row, Length::of(part), place, mask)).collect();
        Ok(Held::Vector(Vector { bytes, lanes: ty.lanes, parts }))
    }

    /// Stores the lanes where a mask is true; AVX-512.
    pub fn store_where(&mut self, buffer: Buffer, at: At, mask: Value, value: Value) -> Result<(), CodegenError> {
        let (masks, part) = self.masks_of(Operation::MaskedStore, mask, self.ty(value))?;
        let address = self.address(buffer, at, access(self.ty(value)))?;
        let vector = self.vector(value)?;
        let row = masked_rows(vector.bytes).1;
        for ((mask, &register), at) in masks.into_iter().zip(&vector.parts).zip((0..).step_by(part as usize)) {
            let args = vec![Arg::Memory(address.plus(at)), Arg::Masked(mask), Arg::Use(register)];
            self.store_row(row, Length::of(part), args);
        }
        Ok(())
    }

    /// Returns a mask for each register of a vector, and the bytes of a register. `access` names the access in an error.
    fn masks_of(&mut self, access: Operation, mask: Value, ty: Type) -> Result<(Vec<VReg>, u32), CodegenError> {
        let Held::Bits(bits) = self.get(mask)? else { return self.unsupported(access, ty) };
        let part = (u32::from(ty.lanes) * ty.lane.bytes()).min(self.set.width);
        let mut bits = self.bits_at(&bits, (part / ty.lane.bytes()) as u16);
        if part < 16 {
            // Bits above the lanes are undefined, and the shortest register has more lanes.
            let lanes = self.constant_bits((1 << bits.per) - 1, bits.per).parts[0];
            bits.parts = vec![self.row_of(MASK, &rows::KANDQ, Length::X, &[Arg::Use(bits.parts[0]), Arg::Use(lanes)])];
        }
        Ok((bits.parts, part))
    }

    /// Loads 1 to 15 bytes into a vector register.
    fn load_bytes(&mut self, place: Address, bytes: u32) -> VReg {
        if bytes <= 8 {
            let word = self.load_word(place, bytes);
            return self.one(&rows::VMOVQ, Length::X, word);
        }
        // Two overlapping words; the overlap is shifted out of the second.
        let low = self.load_general(place, 8);
        let high = self.load_general(place.plus(bytes as i32 - 8), 8);
        let high = self.shift_right(high, 8 * (16 - bytes));
        let low = self.one(&rows::VMOVQ, Length::X, low);
        self.two_with(&rows::VPINSRQ, Length::X, low, high, 1)
    }

    /// Loads 1 to 8 bytes into a general-purpose register: one load for a power of two, else two.
    fn load_word(&mut self, place: Address, bytes: u32) -> VReg {
        if bytes.is_power_of_two() {
            return self.load_general(place, bytes);
        }
        let half = if bytes == 3 { 2 } else { 4 };
        let low = self.load_general(place, half);
        let high = self.load_general(place.plus((bytes - half) as i32), half);
        let high = self.shift_right(high, 8 * (2 * half - bytes));
        let high = self.shift_general(Shift::Left, high, 8 * half);
        self.general_binary(modelc_kernel::BinaryOp::Or, low, high)
    }

    fn shift_right(&mut self, x: VReg, count: u32) -> VReg {
        self.shift_general(Shift::RightUnsigned, x, count)
    }

    fn shift_general(&mut self, shift: Shift, x: VReg, count: u32) -> VReg {
        self.defined(Op::Shift(shift), &[Arg::Tied(x), Arg::Number(count as i32)])
    }

    /// Loads integers with a widening instruction.
    pub fn load_widened(&mut self, load: &Inst, signed: bool, ty: Type) -> Result<Held, CodegenError> {
        let Inst::Load { buffer, index, offset, .. } = *load else { return self.bug(Mistake::Route(Route::WidenedLoad)) };
        let address = self.address(buffer, (index, offset), access(ty))?;
        let (from, to) = (self.kernel.buffer(buffer).lane.bytes(), ty.lane.bytes());
        let total = u32::from(ty.lanes) * to;
        let part = total.min(self.set.width);
        let source = part / (to / from);
        let row = widening(from, to, signed);
        self.fetch_ahead(buffer, address, u32::from(ty.lanes) * from);
        let parts = (0..total / part).map(|i| self.row(row, Length::of(part), &[Arg::Memory(address.plus((i * source) as i32))])).collect();
        Ok(Held::Vector(Vector { bytes: to, lanes: ty.lanes, parts }))
    }

    /// Stores the first `active` lanes.
    pub fn store(&mut self, buffer: Buffer, at: At, active: u16, value: Value) -> Result<(), CodegenError> {
        let address = self.address(buffer, at, access(self.ty(value)))?;
        if is_general(self.ty(value)) {
            let register = self.general(value)?;
            self.emit(Op::Store(Width::Quad), vec![Arg::Memory(address), Arg::Use(register)]);
            return Ok(());
        }
        let vector = self.vector(value)?;
        let part = vector.part_bytes();
        let stored = u32::from(active) * vector.bytes;
        self.fetch_ahead(buffer, address, stored);
        for (i, &register) in vector.parts.iter().enumerate() {
            let done = i as u32 * part;
            let place = address.plus(done as i32);
            match stored.saturating_sub(done) {
                0 => break,
                some if some >= part => self.store_some(place, register, part),
                some => self.store_partly(place, register, some, vector.bytes, vector.length()),
            }
        }
        Ok(())
    }

    /// Fetches the lines that later accesses of `bytes` bytes need, if the buffer is streamed. A fetch beyond the end of memory does nothing.
    fn fetch_ahead(&mut self, buffer: Buffer, address: Address, bytes: u32) {
        let data = self.kernel.buffer(buffer);
        let op = Op::Fetch { writes: data.kind != BufferKind::Input };
        let is_in_reach = address.displacement.checked_add((AHEAD + bytes) as i32).is_some();
        if data.streamed && is_in_reach {
            (AHEAD..AHEAD + bytes).step_by(LINE as usize).for_each(|at| self.emit(op, vec![Arg::Memory(address.plus(at as i32))]));
        }
    }

    fn store_row(&mut self, row: &'static Row, length: Length, args: Vec<Arg>) {
        self.emit(Op::Vector { row, length, zeroing: false, broadcast: false }, args);
    }

    /// Stores a power of two of bytes from the low end of a register.
    fn store_some(&mut self, place: Address, register: VReg, bytes: u32) {
        let row = match bytes {
            1 | 2 => {
                let word = self.general_of_vector(register);
                self.emit(Op::Store(Width::of(bytes)), vec![Arg::Memory(place), Arg::Use(word)]);
                return;
            }
            4 => &rows::VMOVSS_STORE,
            8 => &rows::VMOVSD_STORE,
            _ => &rows::VMOVUPS_STORE,
        };
        self.store_row(row, Length::of(bytes), vec![Arg::Memory(place), Arg::Use(register)]);
    }

    /// Stores some low bytes of a register.
    fn store_partly(&mut self, place: Address, register: VReg, bytes: u32, lane: u32, length: Length) {
        if bytes.is_power_of_two() {
            return self.store_some(place, register, bytes);
        }
        if self.set.avx512 {
            let mask = self.constant_bits((1 << (bytes / lane)) - 1, 64).parts[0];
            let args = vec![Arg::Memory(place), Arg::Masked(mask), Arg::Use(register)];
            self.store_row(masked_rows(lane).1, length, args);
            return;
        }
        let mut rest = register;
        let (mut done, mut chunk_done) = (0, 0);
        for size in [16, 8, 4, 2, 1] {
            if bytes & size == 0 {
                continue;
            }
            let place = place.plus(done as i32);
            if size == 16 {
                self.store_some(place, rest, 16);
                rest = self.row(&rows::VEXTRACTI128, Length::Y, &[Arg::Use(rest), Arg::Number(1)]);
            } else {
                let piece = match chunk_done {
                    0 => rest,
                    shift => self.one_with(&rows::VPSRLDQ, Length::X, rest, shift),
                };
                self.store_some(place, piece, size);
                chunk_done += size as i32;
            }
            done += size;
        }
    }

    /// Loads a group of elements, and repeats it over the lanes.
    pub fn load_splat(&mut self, buffer: Buffer, at: At, group: u16, ty: Type) -> Result<Held, CodegenError> {
        if ty.lanes == group {
            return self.load(buffer, at, group, ty);
        }
        let place = self.address(buffer, at, access(ty))?;
        let lane = ty.lane.bytes();
        let (bytes, length) = (u32::from(group) * lane, self.length_of(lane, ty.lanes));
        let row = match bytes {
            1..=8 => broadcast(bytes),
            16 if self.set.avx512 => &rows::VBROADCASTI32X4,
            16 => &rows::VBROADCASTI128,
            32 if length == Length::Z => {
                let low = self.load_some(place, 32);
                let part = self.two_with(&rows::VINSERTI64X4, Length::Z, low, low, 1);
                return Ok(Held::Vector(self.repeated(lane, ty.lanes, part)));
            }
            _ => return self.bug(Mistake::Splat { group, over: ty }),
        };
        let part = self.row(row, length, &[Arg::Memory(place)]);
        Ok(Held::Vector(self.repeated(lane, ty.lanes, part)))
    }

    /// Loads each lane from its own index. Tables with an entry for every byte are read in registers: entries of bytes, and of 4 bytes with AVX-512.
    /// Other lanes are loaded one by one.
    pub fn gather(&mut self, buffer: Buffer, (indices, offset): At, bounds: Bounds, ty: Type) -> Result<Held, CodegenError> {
        let bytes = ty.lane.bytes();
        let elements = self.kernel.buffer(buffer).elements;
        if elements == 0 {
            return self.zeros(ty);
        }
        let has_entries = offset >= 128 && elements.saturating_sub(offset as u64 - 128) >= ENTRIES;
        let in_registers = ty.lane == Lane::I8 || bytes == 4 && self.set.avx512;
        if self.ty(indices).lane == Lane::I8 && ty.lanes > 1 && has_entries && in_registers {
            let table = self.element_at(buffer, offset - 128, Access::Memory { unit: 16, bytes: ENTRIES as u32 * bytes });
            let indices = self.vector(indices)?;
            let entries = if bytes == 1 { self.look_up(table, &indices) } else { self.look_up_words(table, &indices) };
            return Ok(Held::Vector(entries));
        }
        let places = match self.get(indices)? {
            Held::General(register) => vec![register],
            Held::Vector(vector) => self.explode(&vector, true),
            Held::Bits(_) => return self.bug(Mistake::Mask(MaskUse::Gather)),
        };
        let mut chunks = vec![];
        for some in places.chunks((16 / bytes) as usize) {
            let mut chunk = None;
            for (i, &index) in some.iter().enumerate() {
                let index = self.bounded(index, offset, bounds, elements);
                let place = self.element(buffer, index);
                if is_general(ty) {
                    return Ok(Held::General(self.load_general(place, 8)));
                }
                chunk = Some(match chunk {
                    None => self.load_some(place, bytes),
                    Some(before) => {
                        let args = [Arg::Use(before), Arg::Memory(place), Arg::Number(i as i32)];
                        self.row(self.insert_row(bytes), Length::X, &args)
                    }
                });
            }
            chunks.extend(chunk);
        }
        if bytes * u32::from(ty.lanes) <= 16 {
            return Ok(Held::Vector(Vector { bytes, lanes: ty.lanes, parts: chunks }));
        }
        Ok(Held::Vector(self.assemble(&chunks, bytes, ty.lanes)))
    }

    fn zeros(&mut self, ty: Type) -> Result<Held, CodegenError> {
        if is_general(ty) {
            return Ok(Held::General(self.general_number(0)));
        }
        let zero = self.number(ty.lane.bytes(), Length::X, 0);
        Ok(Held::Vector(self.repeated(ty.lane.bytes(), ty.lanes, zero)))
    }

    /// Computes an index plus an offset, clamped to the buffer if `bounds` requires it.
    fn bounded(&mut self, index: VReg, offset: i64, bounds: Bounds, elements: u64) -> VReg {
        let index = match offset {
            0 => index,
            _ => {
                let offset = self.general_number(offset);
                self.general_binary(modelc_kernel::BinaryOp::Add, index, offset)
            }
        };
        if bounds == Bounds::Proven {
            return index;
        }
        let (zero, last) = (self.general_number(0), self.general_number(elements as i64 - 1));
        let index = self.extreme(Condition::Greater, index, zero);
        self.extreme(Condition::Less, index, last)
    }
}

/// Returns the masked load and store of a lane width.
fn masked_rows(lane: u32) -> (&'static Row, &'static Row) {
    match lane {
        1 => (&rows::VMOVDQU8, &rows::VMOVDQU8_STORE),
        2 => (&rows::VMOVDQU16, &rows::VMOVDQU16_STORE),
        4 => (&rows::VMOVDQU32, &rows::VMOVDQU32_STORE),
        _ => (&rows::VMOVDQU64, &rows::VMOVDQU64_STORE),
    }
}
