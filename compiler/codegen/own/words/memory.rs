//! Loads and stores: each lane by itself.

use super::held::{Held, Shape, Upper};
use super::ops::{Half, Operand, Ops, Test, WordOp, Words};
use super::vector_ops::VectorOps;
use crate::CodegenError;
use crate::own::lowering::Holding;
use crate::own::{Access, Address, Lowering, Select};
use cranelift_entity::EntitySet;
use modelc_kernel::{Bounds, Buffer, BufferKind, CompareOp, ConvertOp, Inst, Kernel, Lane, Type, Value};
use regalloc2::VReg;

/// Index and offset of an access.
type At = (Value, i64);

/// Loads of bytes and halves that are only made wider with zeros.
pub(super) fn widened(kernel: &Kernel) -> EntitySet<Value> {
    let (mut widened, mut others) = (EntitySet::new(), EntitySet::new());
    for region in kernel.regions() {
        region.yields.iter().for_each(|&value| _ = others.insert(value));
        for statement in &region.statements {
            match statement.inst {
                Inst::Convert { op: ConvertOp::ZeroExtend, a } => _ = widened.insert(a),
                ref inst => inst.operands().into_iter().for_each(|value| _ = others.insert(value)),
            }
        }
    }
    others.iter().for_each(|value| _ = widened.remove(value));
    widened
}

/// Lanes that are extended to words.
#[derive(Clone, Copy)]
struct Extended {
    lane: Lane,
    /// `true` for zeros above a lane; else its sign.
    zeros: bool,
}

/// Bytes of memory that are accessed in pieces.
struct Pieces {
    bytes: u32,
    /// The most bytes of a piece.
    piece: u32,
}

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// `active` lanes, the others zero; once, unless something has been stored since that may be there.
    pub(super) fn load(&mut self, buffer: Buffer, at: At, active: u16, (result, ty): (Value, Type)) -> Result<Held, CodegenError> {
        let bytes = u32::from(active) * ty.lane.bytes();
        if self.holds_bytes(result) {
            return self.load_vectors(buffer, at, active, ty);
        }
        let packed = active == ty.lanes
            && self.has_halves()
            && self.loads_factors(result)
            && bytes.is_multiple_of(4)
            && self.takes_words(buffer, at);
        let zeros = self.zeros.contains(result);
        let holding = if packed { Holding::Packed { zeros } } else { Holding::Lanes { zeros } };
        let key = (self.block, buffer, at, active, ty, holding);
        if let Some(known) = self.loads.get(&key) {
            return Ok(known.clone());
        }
        let loaded = if packed { self.load_packed(buffer, at, bytes, ty.lane)? } else { self.load_lanes(buffer, at, active, ty, zeros)? };
        self.loads.insert(key, loaded.clone());
        Ok(loaded)
    }

    fn load_lanes(&mut self, buffer: Buffer, at: At, active: u16, ty: Type, zeros: bool) -> Result<Held, CodegenError> {
        let loaded = self.load_some(buffer, at, active, Extended { lane: ty.lane, zeros })?;
        if active == ty.lanes {
            return Ok(loaded);
        }
        let rest = self.constant_words(Type { lanes: ty.lanes - active, ..ty }, 0)?;
        Ok(match (loaded, rest) {
            (Held::Words(upper, words), Held::Words(_, rest)) => Held::Words(upper, [words, rest].concat()),
            (Held::Floats(floats), Held::Floats(rest)) => Held::Floats([floats, rest].concat()),
            (Held::Pairs(pairs), Held::Pairs(rest)) => Held::Pairs([pairs, rest].concat()),
            (loaded, _) => loaded,
        })
    }

    /// Halves or bytes, a word at a time.
    fn load_packed(&mut self, buffer: Buffer, at: At, bytes: u32, lane: Lane) -> Result<Held, CodegenError> {
        let address = self.address(buffer, at, Access::Memory { unit: 4, bytes })?;
        let aligned = self.is_aligned(buffer, at);
        let words: Vec<VReg> = (0..bytes).step_by(4).map(|i| self.load_four(address.plus(i as i32), aligned)).collect();
        if lane == Lane::I8 {
            return Ok(Held::Bytes(words));
        }
        Ok(Held::Halves(words.into_iter().flat_map(|word| [false, true].map(|upper| Half { word, upper })).collect()))
    }

    fn load_some(&mut self, buffer: Buffer, at: At, lanes: u16, extended: Extended) -> Result<Held, CodegenError> {
        let Extended { lane, zeros } = extended;
        let bytes = lane.bytes();
        let shape = self.shape(Type::scalar(lane));
        if lanes > 1
            && bytes < 4
            && self.takes_apart()
            && let Some(held) = self.load_apart(buffer, at, lanes, extended)?
        {
            return Ok(held);
        }
        let address = self.address(buffer, at, self.access(buffer, shape, u32::from(lanes) * bytes))?;
        let places = (0..u32::from(lanes)).map(|i| address.plus((i * bytes) as i32));
        let (aligned, piece) = (self.is_aligned(buffer, at), self.piece(buffer));
        Ok(match shape {
            Shape::Words if piece == 4 => Held::Words(Upper::Sign, places.map(|place| self.load_four(place, aligned)).collect()),
            Shape::Words => {
                let upper = if zeros && bytes < 4 { Upper::Zeros } else { Upper::Sign };
                Held::Words(upper, places.map(|place| self.load_pieces(place, Pieces { bytes, piece }, upper == Upper::Sign)).collect())
            }
            Shape::Doubles if self.has_words(buffer) => {
                Held::Floats(places.map(|place| self.load_double(place)).collect::<Result<_, _>>()?)
            }
            Shape::Pairs | Shape::Doubles => {
                let pairs = places.map(|place| self.load_pair(place, piece)).collect();
                if shape == Shape::Doubles { self.doubles_of(pairs)? } else { Held::Pairs(pairs) }
            }
            Shape::Floats if self.has_words(buffer) => Held::Floats(places.map(|place| self.load_float(place)).collect()),
            Shape::Floats => {
                let words: Vec<VReg> = places.map(|place| self.load_pieces(place, Pieces { bytes: 4, piece }, true)).collect();
                Held::Floats(self.each(&words, |s, word| s.float_of_word(word)))
            }
        })
    }

    /// Bytes or halves of whole words, which are taken apart. Each word is loaded once. `None` if the words do not lie at multiples of four.
    fn load_apart(
        &mut self,
        buffer: Buffer,
        (index, offset): At,
        lanes: u16,
        Extended { lane, zeros }: Extended,
    ) -> Result<Option<Held>, CodegenError> {
        let bytes = i64::from(lane.bytes());
        let before = (offset * bytes).rem_euclid(4) / bytes;
        let start = offset - before;
        if !self.is_aligned(buffer, (index, start)) || !self.kernel.buffer(buffer).bytes().is_multiple_of(4) {
            return Ok(None);
        }
        let in_word = 4 / bytes;
        let mut words = vec![];
        for number in before..before + i64::from(lanes) {
            let at = (index, start + number / in_word * in_word);
            let word = self.load_whole(buffer, at)?;
            words.push(self.taken(word, (number % in_word * 8 * bytes) as u32, 8 * lane.bytes(), !zeros));
        }
        Ok(Some(Held::Words(if zeros { Upper::Zeros } else { Upper::Sign }, words)))
    }

    /// The word of elements at a multiple of four bytes. The key is of no other load, because the buffer has narrower elements.
    fn load_whole(&mut self, buffer: Buffer, at: At) -> Result<VReg, CodegenError> {
        let key = (self.block, buffer, at, 1, Type::scalar(Lane::I32), Holding::Lanes { zeros: false });
        if let Some(known) = self.loads.get(&key).and_then(Held::single) {
            return Ok(known);
        }
        let address = self.address(buffer, at, Access::one(4))?;
        let word = self.load_aligned(address);
        self.loads.insert(key, Held::word(word));
        Ok(word)
    }

    /// Some bits of a word, extended. `at` is the lowest one.
    fn taken(&mut self, word: VReg, at: u32, bits: u32, signed: bool) -> VReg {
        let right = if signed { WordOp::RightSigned } else { WordOp::Right };
        match (at, signed) {
            (0, _) => self.extend(word, bits, signed),
            _ if at + bits == 32 => self.shift(right, word, at),
            (_, true) => {
                let upper = self.shift(WordOp::Left, word, 32 - at - bits);
                self.shift(right, upper, 32 - bits)
            }
            (_, false) => {
                let lower = self.shift(right, word, at);
                self.extend(lower, bits, false)
            }
        }
    }

    /// True if an access begins at a multiple of four bytes.
    pub(super) fn is_aligned(&self, buffer: Buffer, (index, offset): At) -> bool {
        let bytes = self.kernel.buffer(buffer).lane.bytes();
        let exponent = self.indices.multiple(index) + bytes.trailing_zeros();
        self.has_words(buffer) && exponent >= 2 && (offset * i64::from(bytes)) % 4 == 0
    }

    fn load_four(&mut self, address: Address, aligned: bool) -> VReg {
        if aligned { self.load_aligned(address) } else { self.load_word(address, 4, true) }
    }

    fn store_four(&mut self, address: Address, word: VReg, aligned: bool) {
        if aligned {
            self.store_aligned(address, word);
        } else {
            self.store_word(address, 4, word);
        }
    }

    /// Tests whether the elements of a buffer lie at multiples of four. They have four bytes or more.
    fn has_words(&self, buffer: Buffer) -> bool {
        self.kernel.buffer(buffer).alignment.is_multiple_of(4)
    }

    fn access(&self, buffer: Buffer, shape: Shape, bytes: u32) -> Access {
        match shape {
            Shape::Floats | Shape::Doubles if self.has_words(buffer) => Access::Words { bytes },
            _ => Access::Memory { unit: self.piece(buffer), bytes },
        }
    }

    /// Bytes of an element that one instruction reads or writes: up to four. If alignment counts, they divide the places of elements.
    fn piece(&self, buffer: Buffer) -> u32 {
        let data = self.kernel.buffer(buffer);
        let whole = data.lane.bytes().min(4);
        if self.only_aligned() { whole.min(1 << data.alignment.trailing_zeros().min(2)) } else { whole }
    }

    /// Some bytes of memory as a word, of pieces where they are longer.
    fn load_pieces(&mut self, place: Address, Pieces { bytes, piece }: Pieces, signed: bool) -> VReg {
        if bytes <= piece {
            return self.load_word(place, bytes, signed);
        }
        let last = bytes - piece;
        let mut word = self.load_word(place.plus(last as i32), piece, signed);
        for at in (0..last).step_by(piece as usize).rev() {
            let lower = self.load_word(place.plus(at as i32), piece, false);
            let upper = self.shift(WordOp::Left, word, 8 * piece);
            word = self.two(WordOp::Or, upper, Operand::Word(lower));
        }
        word
    }

    /// Loads 64 bits as two words, the low one first.
    fn load_pair(&mut self, place: Address, piece: u32) -> [VReg; 2] {
        [0, 4].map(|half| self.load_pieces(place.plus(half), Pieces { bytes: 4, piece }, true))
    }

    /// Stores 64 bits of two words, the low one first.
    fn store_pair(&mut self, place: Address, piece: u32, pair: [VReg; 2]) {
        [0, 4].into_iter().zip(pair).for_each(|(half, word)| self.store_pieces(place.plus(half), Pieces { bytes: 4, piece }, word));
    }

    /// The low bytes of a word to memory, in pieces where they are longer.
    fn store_pieces(&mut self, place: Address, Pieces { bytes, piece }: Pieces, word: VReg) {
        for at in (0..bytes).step_by(piece.min(bytes) as usize) {
            let lower = self.shift(WordOp::Right, word, 8 * at);
            self.store_word(place.plus(at as i32), piece.min(bytes), lower);
        }
    }

    /// Tells whether words may be read and written at an element.
    fn takes_words(&self, buffer: Buffer, at: At) -> bool {
        !self.only_aligned() || self.is_aligned(buffer, at)
    }

    /// A word full of lanes that are one number, of bytes or halves.
    fn repeated(&self, value: Value) -> Option<i32> {
        let number = self.number_of(value)?;
        match self.ty(value).lane {
            Lane::I8 => Some((number as u8 as i32).wrapping_mul(0x0101_0101)),
            Lane::I16 => Some((number as u16 as i32).wrapping_mul(0x0001_0001)),
            _ => None,
        }
    }

    /// A word again and again.
    fn store_number(&mut self, buffer: Buffer, at: At, bytes: u32, number: i32) -> Result<(), CodegenError> {
        let address = self.address(buffer, at, Access::Memory { unit: 4, bytes })?;
        let (word, aligned) = (self.word(number), self.is_aligned(buffer, at));
        (0..bytes).step_by(4).for_each(|i| self.store_four(address.plus(i as i32), word, aligned));
        Ok(())
    }

    /// The words of some bytes or halves that fill them.
    fn packed(&mut self, value: Value, bytes: u32) -> Result<Option<Vec<VReg>>, CodegenError> {
        if !bytes.is_multiple_of(4) {
            return Ok(None);
        }
        let is_word = |pair: &[Half; 2]| pair[0].word == pair[1].word && !pair[0].upper && pair[1].upper;
        Ok(match self.get(value)? {
            Held::Bytes(words) => Some(words),
            Held::Halves(halves) => {
                let pairs = halves.as_chunks::<2>().0;
                pairs.iter().all(is_word).then(|| pairs.iter().map(|pair| pair[0].word).collect())
            }
            _ => None,
        })
    }

    /// The first `active` lanes to memory.
    pub(super) fn store_lanes(&mut self, buffer: Buffer, at: At, active: u16, value: Value) -> Result<(), CodegenError> {
        let kernel = self.kernel;
        self.loads.retain(|key, _| kernel.buffer(key.1).kind == BufferKind::Input);
        let ty = self.ty(value);
        if let Held::Vectors(vectors) = self.get(value)? {
            return match self.holds_lanes(value) {
                true => self.store_lane_vectors(buffer, at, (ty.lane, active), &vectors),
                false => self.store_vectors(buffer, at, u32::from(active) * ty.lane.bytes(), &vectors),
            };
        }
        let (bytes, shape) = (ty.lane.bytes(), self.shape(ty));
        if let Some(number) = self.repeated(value).filter(|_| (u32::from(active) * bytes).is_multiple_of(4) && self.takes_words(buffer, at))
        {
            return self.store_number(buffer, at, u32::from(active) * bytes, number);
        }
        let whole = u32::from(active) * bytes;
        let aligned = self.is_aligned(buffer, at);
        if let Some(words) = self.packed(value, whole)?.filter(|_| self.takes_words(buffer, at)) {
            let address = self.address(buffer, at, Access::Memory { unit: 4, bytes: whole })?;
            (0..whole).step_by(4).zip(words).for_each(|(i, word)| self.store_four(address.plus(i as i32), word, aligned));
            return Ok(());
        }
        let address = self.address(buffer, at, self.access(buffer, shape, whole))?;
        let places = (0..u32::from(active)).map(|i| address.plus((i * bytes) as i32));
        let piece = self.piece(buffer);
        match shape {
            Shape::Words if piece == 4 => {
                let words = self.low_words(value)?;
                places.zip(words).for_each(|(place, word)| self.store_four(place, word, aligned));
            }
            Shape::Words => {
                let words = self.low_words(value)?;
                places.zip(words).for_each(|(place, word)| self.store_pieces(place, Pieces { bytes, piece }, word));
            }
            Shape::Pairs => {
                let pairs = self.pairs(value)?;
                places.zip(pairs).for_each(|(place, pair)| self.store_pair(place, piece, pair));
            }
            Shape::Doubles => {
                let (piece, doubles) = ((!self.has_words(buffer)).then_some(piece), self.floats(value)?);
                places.zip(doubles).try_for_each(|(place, double)| self.store_one_double(place, double, piece))?;
            }
            Shape::Floats => {
                let (piece, floats) = ((!self.has_words(buffer)).then_some(piece), self.floats(value)?);
                places.zip(floats).for_each(|(place, float)| self.store_one_float(place, float, piece));
            }
        }
        Ok(())
    }

    /// Stores a binary64 number, in pieces if it has a size of these.
    fn store_one_double(&mut self, place: Address, double: VReg, piece: Option<u32>) -> Result<(), CodegenError> {
        let Some(piece) = piece else { return self.store_double(place, double) };
        let pair = self.words_of_double(double)?;
        self.store_pair(place, piece, pair);
        Ok(())
    }

    /// Stores a binary32 number, in pieces if it has a size of these.
    fn store_one_float(&mut self, place: Address, float: VReg, piece: Option<u32>) {
        let Some(piece) = piece else { return self.store_float(place, float) };
        let word = self.word_of_float(float);
        self.store_pieces(place, Pieces { bytes: 4, piece }, word);
    }

    /// A group of elements repeated over the lanes.
    pub(super) fn load_splat(&mut self, buffer: Buffer, at: At, group: u16, (result, ty): (Value, Type)) -> Result<Held, CodegenError> {
        let loaded = self.load(buffer, at, group, (result, Type { lanes: group, ..ty }))?;
        Ok(loaded.pick((0..usize::from(ty.lanes)).map(|lane| lane % usize::from(group))))
    }

    /// Each lane from its own index.
    pub(super) fn gather(&mut self, buffer: Buffer, (indices, offset): At, bounds: Bounds, ty: Type) -> Result<Held, CodegenError> {
        let elements = self.kernel.buffer(buffer).elements;
        if elements == 0 {
            return self.constant_words(ty, 0);
        }
        let places = self.places_of(indices, (offset, bounds), elements)?;
        let (shape, piece) = (self.shape(ty), self.piece(buffer));
        let mut words = vec![];
        for index in places {
            let mut place = self.element(buffer, index);
            // Pieces have displacements.
            if place.index.is_some() && ty.lane.bytes().min(4) > piece {
                place = Address::at(self.register_of(place));
            }
            match shape {
                Shape::Words | Shape::Floats => words.push(self.load_pieces(place, Pieces { bytes: ty.lane.bytes(), piece }, true)),
                Shape::Pairs | Shape::Doubles => {
                    let whole = Address::at(self.register_of(place));
                    words.extend(self.load_pair(whole, piece));
                }
            }
        }
        Ok(match shape {
            Shape::Floats => Held::Floats(self.each(&words, |s, word| s.float_of_word(word))),
            Shape::Doubles => self.doubles_of(words.as_chunks::<2>().0.to_vec())?,
            shape => shape.held(words),
        })
    }

    /// Indices plus an offset, limited to the buffer if that is wanted.
    fn places_of(&mut self, indices: Value, (offset, bounds): (i64, Bounds), elements: u64) -> Result<Vec<VReg>, CodegenError> {
        let word = |number: i64| number.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        let mut words = match self.get(indices)? {
            Held::Pairs(pairs) if bounds == Bounds::Clamp => self.each(&pairs, |s, pair| super::long::narrow(s, true, pair)),
            Held::Pairs(pairs) => pairs.into_iter().map(|[low, _]| low).collect(),
            held => self.with_signs(self.ty(indices).lane, held),
        };
        if bounds == Bounds::Clamp {
            let (first, last) = (self.word(word(offset.saturating_neg())), self.word(word((elements as i64 - 1).saturating_sub(offset))));
            words = self.each(&words, |s, index| {
                let index = s.choose(Test::words(CompareOp::Less, index, Operand::Word(first)), first, index);
                s.choose(Test::words(CompareOp::Less, index, Operand::Word(last)), index, last)
            });
        }
        if offset != 0 {
            words = self.each(&words, |s, index| s.two(WordOp::Add, index, Operand::Number(offset as i32)));
        }
        Ok(words)
    }
}
