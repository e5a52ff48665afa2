//! Movement of lanes: pieces of registers, shuffles, splats, horizontal reductions, access to single lanes.

use super::arithmetic::by_bytes;
use super::held::{Bits, Held, Vector, is_general};
use super::inst::{Arg, Op, Width};
use super::length::Length;
use super::lowering::Lowering;
use super::registers::{GENERAL, MASK};
use super::rows::{self, Row};
use crate::CodegenError;
use crate::own::Address;
use modelc_kernel::{HorizontalOp, Lane, Type, Value, orders};
use regalloc2::VReg;

impl Lowering<'_> {
    /// Returns `bytes` bytes of a vector in the low end of a register: a power of two of bytes, at a multiple of it.
    pub fn piece(&mut self, a: &Vector, at: u32, bytes: u32) -> VReg {
        let part = a.parts[(at / self.set.width) as usize];
        let within = at % self.set.width;
        if within == 0 {
            return part;
        }
        let (chunk, rest) = (within / 16, within % 16);
        let mut result = part;
        if bytes == 32 {
            return self.row(&rows::VEXTRACTI64X4, Length::Z, &[Arg::Use(part), Arg::Number(1)]);
        }
        if chunk > 0 {
            let chunk = Arg::Number(chunk as i32);
            result = match self.set.avx512 {
                true => self.row(&rows::VEXTRACTI32X4, if within >= 32 { Length::Z } else { Length::Y }, &[Arg::Use(part), chunk]),
                false => self.row(&rows::VEXTRACTI128, Length::Y, &[Arg::Use(part), chunk]),
            };
        }
        if rest > 0 { self.one_with(&rows::VPSRLDQ, Length::X, result, rest as i32) } else { result }
    }

    /// Joins registers whose low ends hold equal shares of a vector's lanes.
    pub fn assemble(&mut self, pieces: &[VReg], bytes: u32, lanes: u16) -> Vector {
        let total = u32::from(lanes) * bytes;
        let mut parts = pieces.to_vec();
        let mut share = total / parts.len() as u32;
        while parts.len() > 1 && share < self.set.width {
            parts = parts.chunks(2).map(|pair| self.joined(pair[0], pair[1], share)).collect();
            share *= 2;
        }
        Vector { bytes, lanes, parts }
    }

    /// Joins the low `bytes` bytes of two registers.
    fn joined(&mut self, low: VReg, high: VReg, bytes: u32) -> VReg {
        let row = match bytes {
            1 => &rows::VPUNPCKLBW,
            2 => &rows::VPUNPCKLWD,
            4 => &rows::VPUNPCKLDQ,
            8 => &rows::VPUNPCKLQDQ,
            16 if self.set.avx512 => return self.two_with(&rows::VINSERTI32X4, Length::Y, low, high, 1),
            16 => return self.two_with(&rows::VINSERTI128, Length::Y, low, high, 1),
            _ => return self.two_with(&rows::VINSERTI64X4, Length::Z, low, high, 1),
        };
        self.two(row, Length::X, low, high)
    }

    /// Moves the lanes to general-purpose registers, extended to 64 bits.
    pub fn explode(&mut self, a: &Vector, signed: bool) -> Vec<VReg> {
        (0..u32::from(a.lanes))
            .map(|i| {
                let at = i * a.bytes;
                // Pieces of up to 16 bytes; an instruction then extracts the lane by its position.
                let chunk = self.piece(a, at / 16 * 16, 16);
                let within = (at % 16 / a.bytes) as i32;
                let raw = match a.bytes {
                    1 => self.extract_element(&rows::VPEXTRB, chunk, within),
                    2 => self.extract_element(&rows::VPEXTRW, chunk, within),
                    _ => {
                        let lane = match at % 16 {
                            0 => chunk,
                            shift => self.one_with(&rows::VPSRLDQ, Length::X, chunk, shift as i32),
                        };
                        self.general_of_vector(lane)
                    }
                };
                if a.bytes == 8 || a.bytes < 4 && !signed {
                    return raw;
                }
                self.defined(Op::Extend(Width::of(a.bytes), signed), &[Arg::Use(raw)])
            })
            .collect()
    }

    fn extract_element(&mut self, row: &'static Row, chunk: VReg, lane: i32) -> VReg {
        self.row_of(GENERAL, row, Length::X, &[Arg::Use(chunk), Arg::Number(lane)])
    }

    /// Makes a vector from the low bytes of general-purpose registers.
    pub fn implode(&mut self, lanes: &[VReg], bytes: u32) -> Vector {
        let per_chunk = (16 / bytes) as usize;
        let chunks: Vec<VReg> = lanes.chunks(per_chunk).map(|some| self.implode_chunk(some, bytes)).collect();
        let total = bytes * lanes.len() as u32;
        if total <= 16 {
            return Vector { bytes, lanes: lanes.len() as u16, parts: chunks };
        }
        self.assemble(&chunks, bytes, lanes.len() as u16)
    }

    fn implode_chunk(&mut self, lanes: &[VReg], bytes: u32) -> VReg {
        let row = self.insert_row(bytes);
        let mut chunk = self.one(if bytes == 8 { &rows::VMOVQ } else { &rows::VMOVD }, Length::X, lanes[0]);
        for (i, &lane) in lanes.iter().enumerate().skip(1) {
            chunk = self.two_with(row, Length::X, chunk, lane, i as i32);
        }
        chunk
    }

    /// Returns the instruction that inserts one lane.
    pub fn insert_row(&self, bytes: u32) -> &'static Row {
        by_bytes(bytes, [&rows::VPINSRB, &rows::VPINSRW, &rows::VPINSRD, &rows::VPINSRQ])
    }

    /// Copies a scalar to every lane.
    pub fn splat(&mut self, a: Value, ty: Type) -> Result<Held, CodegenError> {
        if ty.lanes == 1 {
            return self.get(a);
        }
        if ty.lane == Lane::Mask {
            let register = self.general(a)?;
            return Ok(self.splat_truth(register, ty.lanes));
        }
        let bytes = ty.lane.bytes();
        let scalar = self.vector(a)?;
        let part = self.one(broadcast(bytes), self.length_of(bytes, ty.lanes), scalar.parts[0]);
        Ok(Held::Vector(self.repeated(bytes, ty.lanes, part)))
    }

    /// Extracts one lane.
    pub fn extract(&mut self, a: Value, lane: u16, ty: Type) -> Result<Held, CodegenError> {
        if ty.lane == Lane::Mask {
            let mask = self.get(a)?;
            return Ok(Held::General(self.extract_truth(&mask, lane)));
        }
        let a = self.vector(a)?;
        let part = self.piece(&a, u32::from(lane) * a.bytes, a.bytes);
        Ok(self.settle(ty, Vector { bytes: a.bytes, lanes: 1, parts: vec![part] }))
    }

    /// Converts a mask to lanes of bytes.
    fn mask_lanes(&mut self, a: Value) -> Result<Vector, CodegenError> {
        Ok(match self.get(a)? {
            Held::Vector(mask) => self.mask_at(&mask, 1),
            Held::Bits(bits) => self.bits_to_lanes(&bits, 1),
            Held::General(register) => {
                let ones = self.negate(register);
                self.implode(&[ones], 1)
            }
        })
    }

    /// Converts lanes of bytes to a mask.
    fn mask_again(&mut self, lanes: Vector) -> Held {
        if lanes.lanes == 1 {
            return Held::General(self.extract_truth(&Held::Vector(lanes), 0));
        }
        if self.set.avx512 { Held::Bits(self.lanes_to_bits(&lanes)) } else { Held::Vector(lanes) }
    }

    /// Concatenates the lanes of a and of b.
    pub fn join(&mut self, a: Value, b: Value, ty: Type) -> Result<Held, CodegenError> {
        if ty.lane == Lane::Mask {
            let (a, b) = (self.mask_lanes(a)?, self.mask_lanes(b)?);
            let joined = self.join_vectors(&a, &b);
            return Ok(self.mask_again(joined));
        }
        let (a, b) = (self.vector(a)?, self.vector(b)?);
        Ok(Held::Vector(self.join_vectors(&a, &b)))
    }

    fn join_vectors(&mut self, a: &Vector, b: &Vector) -> Vector {
        self.assemble(&[&a.parts[..], &b.parts[..]].concat(), a.bytes, 2 * a.lanes)
    }

    /// Extracts consecutive lanes from `first` on.
    pub fn part(&mut self, a: Value, first: u16, ty: Type) -> Result<Held, CodegenError> {
        if ty.lane == Lane::Mask {
            let lanes = self.mask_lanes(a)?;
            let part = self.part_of(&lanes, first, ty.lanes);
            return Ok(self.mask_again(part));
        }
        let a = self.vector(a)?;
        let part = self.part_of(&a, first, ty.lanes);
        Ok(self.settle(ty, part))
    }

    fn part_of(&mut self, a: &Vector, first: u16, lanes: u16) -> Vector {
        let (at, total) = (u32::from(first) * a.bytes, u32::from(lanes) * a.bytes);
        let parts = match total >= self.set.width {
            true => a.parts[(at / self.set.width) as usize..((at + total) / self.set.width) as usize].to_vec(),
            false => vec![self.piece(a, at, total)],
        };
        Vector { bytes: a.bytes, lanes, parts }
    }

    /// Picks lanes from the concatenation of a and b.
    pub fn shuffle(&mut self, a: Value, b: Value, lanes: &[u16], ty: Type) -> Result<Held, CodegenError> {
        if ty.lane == Lane::Mask {
            let (a, b) = (self.mask_lanes(a)?, self.mask_lanes(b)?);
            let picked = self.pick(&a, &b, lanes);
            return Ok(self.mask_again(picked));
        }
        let (a, b) = (self.vector(a)?, self.vector(b)?);
        let picked = self.pick(&a, &b, lanes);
        Ok(if is_general(ty) { self.settle(ty, picked) } else { Held::Vector(picked) })
    }

    fn pick(&mut self, a: &Vector, b: &Vector, lanes: &[u16]) -> Vector {
        if let Some(unpacked) = self.unpack(a, b, lanes) {
            return unpacked;
        }
        if let Some(interleaved) = self.interleave(a, b, lanes) {
            return interleaved;
        }
        if let Some(halves) = self.every_second(a, lanes) {
            return halves;
        }
        if let Some(picked) = self.pick_anywhere(a, b, lanes) {
            return picked;
        }
        if let Some(permuted) = self.permute_bytes(a, lanes) {
            return permuted;
        }
        let per_chunk = (16 / a.bytes) as usize;
        let chunks: Vec<VReg> = lanes.chunks(per_chunk).map(|some| self.pick_chunk(a, b, some)).collect();
        let total = a.bytes * lanes.len() as u32;
        if total <= 16 {
            return Vector { bytes: a.bytes, lanes: lanes.len() as u16, parts: chunks };
        }
        self.assemble(&chunks, a.bytes, lanes.len() as u16)
    }

    /// Picks lanes of 16 bits or more from anywhere in two registers, by one instruction for each result register; AVX-512. `None` if all lanes come
    /// from one register of 16 bytes: a byte shuffle then suffices.
    fn pick_anywhere(&mut self, a: &Vector, b: &Vector, lanes: &[u16]) -> Option<Vector> {
        if !self.set.avx512 || a.bytes < 2 || a.parts.len() != 1 || b.parts.len() != 1 {
            return None;
        }
        let per = lanes.len().min((self.set.width / a.bytes) as usize);
        let length = Length::of((per as u32 * a.bytes).max(a.total()));
        let is_of_one = lanes.iter().all(|&lane| lane < a.lanes) || lanes.iter().all(|&lane| lane >= a.lanes);
        if length == Length::X && is_of_one {
            return None;
        }
        let row = match a.bytes {
            2 => &rows::VPERMI2W,
            4 => &rows::VPERMI2D,
            _ => &rows::VPERMI2Q,
        };
        let second = length.bytes() / a.bytes;
        let place = |&lane: &u16| lane.checked_sub(a.lanes).map_or(u32::from(lane), |lane| second + u32::from(lane));
        let parts = lanes.chunks(per).map(|some| {
            let places = some.iter().map(place).flat_map(|place| u64::from(place).to_le_bytes().into_iter().take(a.bytes as usize));
            let mut order: Vec<u8> = places.collect();
            order.resize(length.bytes() as usize, 0);
            let order = self.pool(length, &order);
            self.tied(row, length, order, a.parts[0], b.parts[0])
        });
        Some(Vector { bytes: a.bytes, lanes: lanes.len() as u16, parts: parts.collect() })
    }

    /// Picks up to 16 bytes from anywhere. Each block of 16 source bytes is shuffled, with zeros for bytes of other blocks; then the blocks are
    /// combined by or.
    fn pick_chunk(&mut self, a: &Vector, b: &Vector, lanes: &[u16]) -> VReg {
        let bytes = a.bytes;
        let place = |lane: u16| {
            let (source, lane) = if lane < a.lanes { (0, lane) } else { (1, lane - a.lanes) };
            let at = u32::from(lane) * bytes;
            (source, at / 16, at % 16)
        };
        let mut sources: Vec<(u32, u32)> = lanes.iter().map(|&lane| place(lane)).map(|(source, chunk, _)| (source, chunk)).collect();
        sources.sort_unstable();
        sources.dedup();
        let mut result = None;
        for (source, chunk) in sources {
            let from = if source == 0 { a } else { b };
            let register = self.piece(from, 16 * chunk, 16);
            let mut order = [0x80; 16];
            for (i, &lane) in lanes.iter().enumerate() {
                let (its_source, its_chunk, at) = place(lane);
                if (its_source, its_chunk) == (source, chunk) {
                    for byte in 0..bytes {
                        order[i * bytes as usize + byte as usize] = (at + byte) as u8;
                    }
                }
            }
            let order = self.pool(Length::X, &order);
            let picked = self.two(&rows::VPSHUFB, Length::X, register, order);
            result = Some(match result {
                None => picked,
                Some(before) => self.two(&rows::VPOR, Length::X, before, picked),
            });
        }
        result.unwrap_or(a.parts[0])
    }

    /// Interleaves two vectors (a₀, b₀, a₁, …) by unpacking instructions, or does the permutation that prepares for them. `None` if `lanes` has
    /// another order.
    fn interleave(&mut self, a: &Vector, b: &Vector, lanes: &[u16]) -> Option<Vector> {
        if a.bytes == 1 {
            return self.interleave_bytes(a, b, lanes);
        }
        if a.bytes == 4 && a.total() == 16 && !self.set.avx512 && lanes == orders::interleaved(a.lanes) {
            let (x, y) = (a.parts[0], b.parts[0]);
            let parts = [self.two(&rows::VPUNPCKLDQ, Length::X, x, y), self.two(&rows::VPUNPCKHDQ, Length::X, x, y)];
            return Some(self.assemble(&parts, 4, 2 * a.lanes));
        }
        if a.bytes != 2 || a.total() < 16 {
            return None;
        }
        let length = a.length();
        let longer = length != Length::X && a.parts.len() == 1;
        if longer && lanes == orders::spread(a.lanes) {
            let spread = self.spread(length, a.parts[0]);
            return Some(a.with(vec![spread]));
        }
        if longer && lanes == orders::interleaved_of_spread(a.lanes) {
            let (x, y) = (a.parts[0], b.parts[0]);
            let parts = [self.two(&rows::VPUNPCKLWD, length, x, y), self.two(&rows::VPUNPCKHWD, length, x, y)];
            return Some(self.assemble(&parts, 2, 2 * a.lanes));
        }
        if lanes != orders::interleaved(a.lanes) {
            return None;
        }
        let mut parts = vec![];
        for (&x, &y) in a.parts.iter().zip(&b.parts) {
            if length == Length::X {
                let (low, high) = (self.two(&rows::VPUNPCKLWD, length, x, y), self.two(&rows::VPUNPCKHWD, length, x, y));
                parts.extend([low, high]);
                continue;
            }
            // Unpacking works within 128-bit lanes, so the matching 64-bit lanes are moved there first.
            let (x, y) = (self.spread(length, x), self.spread(length, y));
            parts.extend([self.two(&rows::VPUNPCKLWD, length, x, y), self.two(&rows::VPUNPCKHWD, length, x, y)]);
        }
        Some(self.assemble(&parts, 2, 2 * a.lanes))
    }

    /// Interleaves the bytes of two vectors of at most a register. The order of bytes is that of the vectors, or another that keeps groups of four
    /// bytes; the groups are then moved first.
    fn interleave_bytes(&mut self, a: &Vector, b: &Vector, lanes: &[u16]) -> Option<Vector> {
        let alike = lanes.chunks_exact(2).all(|pair| pair[0] < a.lanes && pair[1] == pair[0] + a.lanes);
        if !alike || a.parts.len() != 1 || lanes.len() != 2 * usize::from(a.lanes) {
            return None;
        }
        let (length, mut x, mut y) = (a.length(), a.parts[0], b.parts[0]);
        if a.total() < 16 {
            let in_order = lanes.iter().step_by(2).copied().eq(0..a.lanes);
            return in_order.then(|| Vector { bytes: 1, lanes: 2 * a.lanes, parts: vec![self.two(&rows::VPUNPCKLBW, Length::X, x, y)] });
        }
        let fours = fours_before_unpacking(lanes)?;
        if !fours.iter().copied().eq(0..fours.len() as u32) {
            if length == Length::X {
                return None;
            }
            let order: Vec<u8> = fours.iter().flat_map(|four| four.to_le_bytes()).collect();
            let order = self.pool(length, &order);
            (x, y) = (self.two(&rows::VPERMD, length, order, x), self.two(&rows::VPERMD, length, order, y));
        }
        let parts = [self.two(&rows::VPUNPCKLBW, length, x, y), self.two(&rows::VPUNPCKHBW, length, x, y)];
        Some(self.assemble(&parts, 1, 2 * a.lanes))
    }

    /// Picks every second lane of a vector of 32-bit lanes, starting from the first or from the second.
    fn every_second(&mut self, a: &Vector, lanes: &[u16]) -> Option<Vector> {
        let first = *lanes.first().filter(|first| **first < 2)?;
        let alternates = lanes.iter().enumerate().all(|(i, &lane)| usize::from(lane) == 2 * i + usize::from(first));
        if !alternates || a.bytes != 4 || 2 * lanes.len() != usize::from(a.lanes) {
            return None;
        }
        let quads = Vector { bytes: 8, lanes: a.lanes / 2, parts: a.parts.clone() };
        Some(self.halves_of_quads(&quads, first == 1))
    }

    /// Reorders 64-bit lanes: the lower half of the vector goes to the lower halves of 128-bit lanes, the upper half to the upper halves.
    fn spread(&mut self, length: Length, x: VReg) -> VReg {
        if length == Length::Y {
            return self.one_with(&rows::VPERMQ, length, x, 0xD8);
        }
        let order: Vec<u8> = [0u64, 4, 1, 5, 2, 6, 3, 7].iter().flat_map(|i| i.to_le_bytes()).collect();
        let order = self.pool(length, &order);
        self.two(&rows::VPERMQ_LANES, length, order, x)
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

    /// Makes a constant mask of at most 64 lanes. It comes from the pool: a move from a general-purpose register takes the port of dot products.
    pub fn constant_bits(&mut self, ones: u64, lanes: u16) -> Bits {
        let at = self.function.constant(&ones.to_le_bytes());
        let mask = self.row_of(MASK, &rows::KMOVQ, Length::X, &[Arg::Memory(Address::pool(at))]);
        Bits { lanes, per: lanes, parts: vec![mask] }
    }
}

/// Returns the order of groups of four bytes before unpacking, so that unpacking within 16 bytes interleaves two vectors to `lanes`. The vectors have
/// 16 bytes or more. `None` if no such order exists.
fn fours_before_unpacking(lanes: &[u16]) -> Option<Vec<u32>> {
    let half = lanes.len() / 4;
    // The byte of a vector that unpacking of the lower, or the upper, halves of 16 bytes moves to each place.
    let mut bytes = vec![0; lanes.len() / 2];
    for (place, &byte) in lanes.iter().step_by(2).enumerate() {
        let (upper, within) = (place / half, place % half);
        bytes[within / 8 * 16 + 8 * upper + within % 8] = byte;
    }
    let four = |four: &[u16]| {
        let in_order = four[0].is_multiple_of(4) && four.iter().zip(four[0]..).all(|(&byte, wanted)| byte == wanted);
        in_order.then_some(u32::from(four[0] / 4))
    };
    bytes.chunks_exact(4).map(four).collect()
}

/// Returns the instruction that repeats the lowest lane, or an element in memory.
pub(super) fn broadcast(bytes: u32) -> &'static Row {
    by_bytes(bytes, [&rows::VPBROADCASTB, &rows::VPBROADCASTW, &rows::VPBROADCASTD, &rows::VPBROADCASTQ])
}

#[cfg(test)]
mod tests {
    use super::fours_before_unpacking;
    use modelc_kernel::orders;

    /// Simulates the instructions: groups of four bytes are moved, then the lower and the upper halves of 16 bytes are interleaved.
    fn unpacked(fours: &[u32]) -> Vec<u16> {
        let count = 4 * fours.len() as u16;
        let bytes: Vec<u16> = fours.iter().flat_map(|&four| 4 * four as u16..4 * four as u16 + 4).collect();
        let half = |upper: usize| {
            bytes.chunks(16).flat_map(move |chunk| chunk[8 * upper..8 * upper + 8].iter().flat_map(move |&byte| [byte, byte + count]))
        };
        half(0).chain(half(1)).collect()
    }

    #[test]
    fn registers_of_every_length_are_unpacked_in_order() {
        // Two rows of 64 channels as they are staged for blocks of 32, and for blocks of 16.
        let staged = |block: usize| -> Vec<u16> {
            let order = orders::interleaved(64);
            let spread = orders::spread_bytes(block as u16 * 2);
            order.chunks(2 * block).flat_map(|block| spread.iter().map(|&at| block[usize::from(at)]).collect::<Vec<_>>()).collect()
        };
        let of_lengths = [16, 32, 64].into_iter().flat_map(|n| [orders::interleaved(n), orders::interleaved_of_spread_bytes(n)]);
        for order in of_lengths.chain([staged(32), staged(16)]) {
            let fours = fours_before_unpacking(&order).expect("four bytes stay together");
            assert_eq!(unpacked(&fours), order);
        }
    }

    #[test]
    fn bytes_that_are_brought_in_order_are_unpacked() {
        let identity: Vec<u32> = (0..8).collect();
        assert_eq!(fours_before_unpacking(&orders::interleaved(16)), Some(vec![0, 1, 2, 3]));
        assert_eq!(fours_before_unpacking(&orders::interleaved(32)), Some(vec![0, 1, 4, 5, 2, 3, 6, 7]));
        assert_eq!(fours_before_unpacking(&orders::interleaved_of_spread_bytes(32)), Some(identity));
        let mut broken = orders::interleaved(32);
        broken.swap(0, 2);
        assert_eq!(fours_before_unpacking(&broken), None);
    }
}
