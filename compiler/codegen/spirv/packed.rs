//! Elements of 8 and 16 bits in packed words. The first element of a word is in its low bits.

use super::assembler::Register;
use super::lower::{Held, Lowering};
use super::place::{At, View, elements_of_word};
use modelc_kernel::{Buffer, Inst, Lane, Type};
use rspirv::dr::Operand;
use rspirv::spirv::{Op, Scope, Word};

impl Lowering<'_> {
    fn lane_of_buffer(&self, buffer: Buffer) -> Lane {
        self.kernel.buffer(buffer).lane
    }

    fn int_op(&mut self, op: Op, a: Word, number: u32) -> Word {
        let number = self.out.int(Register::INT, number);
        self.out.op(op, Register::INT, &[a, number])
    }

    /// Computes the number of the word that holds an element, and the element's lowest bit in it.
    fn place_in_word(&mut self, lane: Lane, element: Word) -> (Word, Word) {
        let per_word = elements_of_word(lane) as u32;
        let word = self.int_op(Op::ShiftRightLogical, element, per_word.trailing_zeros());
        let place = self.int_op(Op::BitwiseAnd, element, per_word - 1);
        (word, self.int_op(Op::ShiftLeftLogical, place, (8 * lane.bytes()).trailing_zeros()))
    }

    fn load_word(&mut self, buffer: Buffer, word: Word) -> Word {
        let (pointer, ty, _) = self.pointer(buffer, View::Words, word);
        if !self.shares_words(buffer) {
            return self.out.result(Op::Load, ty, vec![Operand::IdRef(pointer)]);
        }
        let [scope, order] = self.atomic_operands();
        self.out.result(Op::AtomicLoad, ty, vec![Operand::IdRef(pointer), scope, order])
    }

    /// Returns the scope and order of atomic operations: the whole device, relaxed.
    pub fn atomic_operands(&mut self) -> [Operand; 2] {
        let (scope, relaxed) = (self.out.int(Register::INT, Scope::Device as u32), self.out.int(Register::INT, 0));
        [Operand::IdScope(scope), Operand::IdMemorySemantics(relaxed)]
    }

    /// Loads one element from its word.
    pub fn load_part_of_word(&mut self, buffer: Buffer, element: Word) -> Word {
        let lane = self.lane_of_buffer(buffer);
        let (word, bit) = self.place_in_word(lane, element);
        let word = self.load_word(buffer, word);
        let count = self.out.int(Register::INT, 8 * lane.bytes());
        self.out.op(Op::BitFieldSExtract, Register::INT, &[word, bit, count])
    }

    /// Loads consecutive elements: the first `active` lanes of a type; the others are 0.
    pub fn load_packed(&mut self, buffer: Buffer, at: At, active: u16, ty: Type, register: Register) -> Held {
        if active == 1 {
            let element = self.element(at, 0);
            let mut lanes = vec![self.load_part_of_word(buffer, element)];
            lanes.resize(ty.lanes.into(), self.out.int(Register::INT, 0));
            return self.gathered(&lanes, register);
        }
        let words = self.load_words(buffer, at, active);
        self.unpacked(ty.lane, &words, active, ty.lanes, register)
    }

    /// Loads whole groups of bytes as packed words. `None` if the instruction is no such load, or the buffer has another view.
    pub fn loaded_words(&mut self, inst: &Inst, ty: Type) -> Option<Vec<Word>> {
        let (buffer, at, count) = match *inst {
            Inst::Load { buffer, index, offset, active, mask: None } if active == ty.lanes => (buffer, (index, offset), active),
            Inst::LoadSplatGroup { buffer, index, offset, group } => (buffer, (index, offset), group),
            _ => return None,
        };
        let is_packed = count.is_multiple_of(4) && !self.is_array(buffer) && self.view_of_group(buffer, at, count) == View::Words;
        let words = is_packed.then(|| self.load_words(buffer, at, count))?;
        Some(words.into_iter().cycle().take(usize::from(ty.lanes / 4)).collect())
    }

    /// Loads words from an element on; bits after the last active element are undefined.
    fn load_words(&mut self, buffer: Buffer, at: At, active: u16) -> Vec<Word> {
        let lane = self.lane_of_buffer(buffer);
        let per_word = elements_of_word(lane);
        let count = u32::from(active).div_ceil(per_word as u32);
        let element = self.element(at, 0);
        let (first, bit) = self.place_in_word(lane, element);
        let words: Vec<Word> = (0..count)
            .map(|i| {
                let word = self.plus(first, i);
                self.load_word(buffer, word)
            })
            .collect();
        if self.is_aligned(at, per_word) {
            return words;
        }
        // Each group begins in one word and ends in the next, or at its own end. The word after the last group may be outside the buffer, and then is
        // not needed. So the word of the last element is loaded instead.
        let end = self.plus(element, u32::from(active) - 1);
        let (last, _) = self.place_in_word(lane, end);
        let last = self.load_word(buffer, last);
        let ends: Vec<Word> = words[1..].iter().copied().chain([last]).collect();
        let all = self.out.int(Register::INT, 31);
        let rest = self.out.op(Op::ISub, Register::INT, &[all, bit]);
        words
            .into_iter()
            .zip(ends)
            .map(|(low, high)| {
                let low = self.out.op(Op::ShiftRightLogical, Register::INT, &[low, bit]);
                // A shift by 32 is undefined.
                let high = self.int_op(Op::ShiftLeftLogical, high, 1);
                let high = self.out.op(Op::ShiftLeftLogical, Register::INT, &[high, rest]);
                self.out.op(Op::BitwiseOr, Register::INT, &[low, high])
            })
            .collect()
    }

    /// Unpacks elements of words into lanes, with sign: the first `active` lanes; the others are 0.
    pub fn unpacked(&mut self, lane: Lane, words: &[Word], active: u16, lanes: u16, register: Register) -> Held {
        let per_word = elements_of_word(lane) as u16;
        let bits = 8 * lane.bytes();
        let zero = self.out.int(Register::INT, 0);
        let parts = (0..lanes).step_by(register.lanes.into());
        parts
            .map(|first| {
                let of_part = first..first + register.lanes;
                let sources: Vec<Word> =
                    of_part.clone().map(|i| if i < active { words[usize::from(i / per_word)] } else { zero }).collect();
                let lefts: Vec<Word> = of_part.map(|i| self.out.int(Register::INT, 32 - bits * u32::from(i % per_word + 1))).collect();
                let source = self.out.vector(register, &sources);
                let left = if register.lanes == 1 { lefts[0] } else { self.out.constant_vector(register, &lefts) };
                let shifted = self.out.op(Op::ShiftLeftLogical, register, &[source, left]);
                let right = self.out.int(register, 32 - bits);
                self.out.op(Op::ShiftRightArithmetic, register, &[shifted, right])
            })
            .collect()
    }

    /// Stores lanes to consecutive elements. Whole words are stored directly. Parts of words are stored by atomic bit operations, which keep the
    /// other parts.
    pub fn store_packed(&mut self, buffer: Buffer, at: At, lanes: &[Word]) {
        let lane = self.lane_of_buffer(buffer);
        let per_word = elements_of_word(lane);
        let is_aligned = self.is_aligned(at, per_word);
        for (i, group) in (0..).zip(lanes.chunks(per_word as usize)) {
            let further = i * per_word as u32;
            if is_aligned && group.len() as u64 == per_word {
                let element = self.element(at, further);
                let (word, _) = self.place_in_word(lane, element);
                let packed = self.packed(lane, group);
                let (pointer, ..) = self.pointer(buffer, View::Words, word);
                self.store_word(buffer, pointer, packed);
            } else {
                for (j, &element) in (0..).zip(group) {
                    let number = self.element(at, further + j);
                    self.store_part_of_word(buffer, number, element);
                }
            }
        }
    }

    /// Stores packed words; the access begins at a whole word.
    pub fn store_words(&mut self, buffer: Buffer, at: At, words: &[Word]) {
        let element = self.element(at, 0);
        let (first, _) = self.place_in_word(self.lane_of_buffer(buffer), element);
        for (i, &word) in (0..).zip(words) {
            let number = self.plus(first, i);
            let (pointer, ..) = self.pointer(buffer, View::Words, number);
            self.store_word(buffer, pointer, word);
        }
    }

    fn store_word(&mut self, buffer: Buffer, pointer: Word, word: Word) {
        if self.shares_words(buffer) {
            let [scope, order] = self.atomic_operands();
            self.out.effect(Op::AtomicStore, vec![Operand::IdRef(pointer), scope, order, Operand::IdRef(word)]);
        } else {
            self.out.effect(Op::Store, vec![Operand::IdRef(pointer), Operand::IdRef(word)]);
        }
    }

    /// Packs lanes into one word.
    pub fn packed(&mut self, lane: Lane, lanes: &[Word]) -> Word {
        let bits = 8 * lane.bytes();
        let count = self.out.int(Register::INT, bits);
        let mut word = lanes[0];
        for (i, &element) in (1..).zip(&lanes[1..]) {
            let first = self.out.int(Register::INT, i * bits);
            word = self.out.op(Op::BitFieldInsert, Register::INT, &[word, element, first, count]);
        }
        word
    }

    /// Stores one element of a word: clears its bits, then sets them, both atomically.
    fn store_part_of_word(&mut self, buffer: Buffer, number: Word, element: Word) {
        let lane = self.lane_of_buffer(buffer);
        let (word, bit) = self.place_in_word(lane, number);
        let (pointer, ty, _) = self.pointer(buffer, View::Words, word);
        let ones = self.out.int(Register::INT, (1 << (8 * lane.bytes())) - 1);
        let place = self.out.op(Op::ShiftLeftLogical, Register::INT, &[ones, bit]);
        let others = self.out.op(Op::Not, Register::INT, &[place]);
        let bits = self.out.op(Op::ShiftLeftLogical, Register::INT, &[element, bit]);
        let bits = self.out.op(Op::BitwiseAnd, Register::INT, &[bits, place]);
        for (op, bits) in [(Op::AtomicAnd, others), (Op::AtomicOr, bits)] {
            let [scope, order] = self.atomic_operands();
            self.out.result(op, ty, vec![Operand::IdRef(pointer), scope, order, Operand::IdRef(bits)]);
        }
    }
}
