//! Loads, gathers and stores.

use super::assembler::{Extended, Register};
use super::lower::{Held, Lowering};
use super::place::{At, View, elements_of_word};
use crate::CodegenError;
use crate::unsupported::Lack;
use modelc_kernel::{Bounds, Buffer, Type, Value};
use rspirv::dr::Operand;
use rspirv::spirv::{Op, Word};

impl Lowering<'_> {
    /// Loads the first `active` lanes of a type from consecutive elements; the other lanes are 0.
    pub fn load(&mut self, buffer: Buffer, at: At, active: u16, ty: Type) -> Result<Held, CodegenError> {
        let register = self.register(ty)?;
        let lane = ty.lane;
        let is_packed = lane.bytes() < 4 && !self.is_array(buffer);
        if is_packed && self.view_of_group(buffer, at, active) == View::Words {
            return Ok(self.load_packed(buffer, at, active, ty, register));
        }
        if !is_packed && !self.is_array(buffer) && self.view_for(buffer, self.groups(at, active, 4)) == View::Quads {
            return Ok(self.load_quads(buffer, at, active / 4, ty));
        }
        let zero = self.out.constant(register.scalar(), 0);
        let lanes: Vec<Word> = (0..ty.lanes)
            .map(|i| match i < active {
                true => {
                    let element = self.element(at, i.into());
                    self.load_element(buffer, element)
                }
                false => zero,
            })
            .collect();
        Ok(self.gathered(&lanes, register))
    }

    /// Returns the view for `count` consecutive elements of less than a word. Groups of a word or more are loaded as words, even if they begin inside
    /// one.
    pub fn view_of_group(&mut self, buffer: Buffer, at: At, count: u16) -> View {
        let per_word = elements_of_word(self.kernel.buffer(buffer).lane);
        let long = u64::from(count) >= per_word && per_word == 4;
        self.view_for(buffer, if long { per_word } else { self.groups(at, count, per_word) })
    }

    /// Returns the number of elements per access: `most`, or 1 if the access is not aligned, or not a multiple of `most` elements.
    fn groups(&self, at: At, active: u16, most: u64) -> u64 {
        if u64::from(active).is_multiple_of(most) && self.is_aligned(at, most) { most } else { 1 }
    }

    /// Loads four words at a time.
    fn load_quads(&mut self, buffer: Buffer, at: At, quads: u16, ty: Type) -> Held {
        let element = self.element(at, 0);
        let two = self.out.int(Register::INT, 2);
        let first = self.out.op(Op::ShiftRightLogical, Register::INT, &[element, two]);
        let mut held: Held = (0..quads)
            .map(|i| {
                let quad = self.plus(first, i.into());
                let (pointer, quad, _) = self.pointer(buffer, View::Quads, quad);
                self.out.result(Op::Load, quad, vec![Operand::IdRef(pointer)])
            })
            .collect();
        let zero = self.register(ty).map(|register| self.out.constant(register, 0)).unwrap_or_default();
        held.resize(ty.lanes.div_ceil(4).into(), zero);
        held
    }

    /// Loads one element; an integer is extended with its sign to 32 bits.
    pub fn load_element(&mut self, buffer: Buffer, element: Word) -> Word {
        let lane = self.kernel.buffer(buffer).lane;
        let view = self.view_for(buffer, 1);
        match view {
            _ if self.is_array(buffer) => {
                let (pointer, ty, _) = self.pointer(buffer, view, element);
                self.out.result(Op::Load, ty, vec![Operand::IdRef(pointer)])
            }
            View::Words if lane.bytes() < 4 => self.load_part_of_word(buffer, element),
            View::Narrow => {
                let (pointer, ty, register) = self.pointer(buffer, view, element);
                let narrow = self.out.result(Op::Load, ty, vec![Operand::IdRef(pointer)]);
                self.out.op(Op::SConvert, register, &[narrow])
            }
            // A buffer has the view of four words only if all accesses fit it.
            View::Words | View::Quads => {
                let (pointer, ty, _) = self.pointer(buffer, View::Words, element);
                self.out.result(Op::Load, ty, vec![Operand::IdRef(pointer)])
            }
        }
    }

    /// Loads each lane from the element that its index names.
    pub fn gather(&mut self, buffer: Buffer, indices: Value, offset: i64, bounds: Bounds, ty: Type) -> Result<Held, CodegenError> {
        let register = self.register(ty)?;
        let of_indices = self.register(self.ty(indices))?;
        let last = self.kernel.buffer(buffer).elements as i64 - 1;
        if bounds == Bounds::Clamp && last < 0 {
            let zero = self.out.constant(register, 0);
            return Ok(vec![zero; ty.lanes.div_ceil(4).into()]);
        }
        // Indices are clamped before the offset is added, since the sum may wrap.
        let ends = [0, last].map(|end| i32::try_from(end - offset));
        let [Ok(low), Ok(high)] = ends else { return Err(self.lack(Lack::GatherOffset(offset))) };
        let held = self.get(indices);
        let elements = self.lanes(&held, of_indices);
        let mut lanes = Vec::with_capacity(elements.len());
        for element in elements {
            let inside = match bounds {
                Bounds::Clamp => {
                    let [low, high] = [low, high].map(|end| self.out.int(Register::INT, end as u32));
                    self.out.extended(Extended::SClamp, Register::INT, &[element, low, high])
                }
                Bounds::Proven => element,
            };
            let element = self.plus(inside, offset as u32);
            lanes.push(self.load_element(buffer, element));
        }
        Ok(self.gathered(&lanes, register))
    }

    /// Stores the first `active` lanes of a value to consecutive elements.
    pub fn store(&mut self, buffer: Buffer, at: At, active: u16, value: Value) -> Result<(), CodegenError> {
        let ty = self.ty(value);
        let register = self.register(ty)?;
        let view = self.view_for(buffer, 1);
        if let Some(words) = self.only_words(value) {
            self.store_words(buffer, at, &words);
            return Ok(());
        }
        let held = self.get(value);
        if !self.is_array(buffer) && view == View::Quads {
            self.store_quads(buffer, at, &held[..usize::from(active / 4)]);
            return Ok(());
        }
        let lanes = self.lanes(&held, register);
        let lanes = &lanes[..active.into()];
        if !self.is_array(buffer) && view == View::Words && ty.lane.bytes() < 4 {
            self.store_packed(buffer, at, lanes);
            return Ok(());
        }
        for (i, &lane) in (0..).zip(lanes) {
            let element = self.element(at, i);
            let (pointer, of_element, _) = self.pointer(buffer, view, element);
            let is_narrow = view == View::Narrow && !self.is_array(buffer);
            let lane = if is_narrow { self.out.result(Op::UConvert, of_element, vec![Operand::IdRef(lane)]) } else { lane };
            self.out.effect(Op::Store, vec![Operand::IdRef(pointer), Operand::IdRef(lane)]);
        }
        Ok(())
    }

    /// Stores whole registers of four words.
    fn store_quads(&mut self, buffer: Buffer, at: At, held: &[Word]) {
        let element = self.element(at, 0);
        let two = self.out.int(Register::INT, 2);
        let first = self.out.op(Op::ShiftRightLogical, Register::INT, &[element, two]);
        for (i, &part) in (0..).zip(held) {
            let quad = self.plus(first, i);
            let (pointer, ..) = self.pointer(buffer, View::Quads, quad);
            self.out.effect(Op::Store, vec![Operand::IdRef(pointer), Operand::IdRef(part)]);
        }
    }
}
