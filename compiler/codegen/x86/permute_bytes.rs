//! Permutations of the bytes of one register, in two steps.

use super::held::Vector;
use super::lowering::Lowering;
use super::rows;

impl Lowering<'_> {
    /// Permutes the bytes of a register of more than 16 bytes, if two steps suffice: groups of four bytes, and bytes within 16. `None` otherwise.
    pub fn permute_bytes(&mut self, a: &Vector, lanes: &[u16]) -> Option<Vector> {
        let is_whole = a.bytes == 1 && a.parts.len() == 1 && a.total() > 16 && lanes.len() == usize::from(a.lanes);
        if !is_whole || lanes.iter().any(|&lane| lane >= a.lanes) {
            return None;
        }
        let (length, x) = (a.length(), a.parts[0]);
        let (two_steps, fours_first) = match fours_then_bytes(lanes) {
            Some(steps) => (steps, true),
            None => (bytes_then_fours(lanes)?, false),
        };
        let fours: Vec<u8> = two_steps.fours.iter().flat_map(|four| four.to_le_bytes()).collect();
        let (fours, bytes) = (self.pool(length, &fours), self.pool(length, &two_steps.bytes));
        let part = if fours_first {
            let moved = self.two(&rows::VPERMD, length, fours, x);
            self.two(&rows::VPSHUFB, length, moved, bytes)
        } else {
            let moved = self.two(&rows::VPSHUFB, length, x, bytes);
            self.two(&rows::VPERMD, length, fours, moved)
        };
        Some(a.with(vec![part]))
    }
}

/// A permutation of bytes as two steps: an order of groups of four bytes, and an order of bytes within 16.
struct TwoSteps {
    fours: Vec<u32>,
    bytes: Vec<u8>,
}

/// Splits a permutation into one of groups of four, then one within 16 bytes.
fn fours_then_bytes(lanes: &[u16]) -> Option<TwoSteps> {
    let (mut fours, mut bytes) = (vec![], vec![]);
    for block in lanes.chunks(16) {
        let mut own: Vec<u32> = block.iter().map(|lane| u32::from(lane / 4)).collect();
        own.sort_unstable();
        own.dedup();
        let place =
            |&lane: &u16| own.iter().position(|&four| four == u32::from(lane / 4)).map(|place| (4 * place) as u8 + (lane % 4) as u8);
        bytes.extend(block.iter().filter_map(place));
        own.resize(own.len().max(4), 0);
        fours.extend(own);
    }
    (fours.len() * 4 == lanes.len()).then_some(TwoSteps { fours, bytes })
}

/// Splits a permutation into one within 16 bytes, then one of groups of four.
fn bytes_then_fours(lanes: &[u16]) -> Option<TwoSteps> {
    let (mut fours, mut bytes) = (vec![], vec![0; lanes.len()]);
    let mut taken = vec![0; lanes.len() / 16];
    for four in lanes.chunks(4) {
        let block = usize::from(four[0] / 16);
        if four.iter().any(|&lane| usize::from(lane / 16) != block) || taken[block] == 4 {
            return None;
        }
        let place = 16 * block + 4 * taken[block];
        four.iter().zip(&mut bytes[place..]).for_each(|(lane, byte)| *byte = (lane % 16) as u8);
        fours.push((place / 4) as u32);
        taken[block] += 1;
    }
    Some(TwoSteps { fours, bytes })
}

#[cfg(test)]
mod tests {
    use super::{bytes_then_fours, fours_then_bytes};

    #[test]
    fn squares_of_bytes_are_turned_in_two_steps() {
        for blocks in [2u16, 4] {
            let lanes = 16 * blocks;
            let turned: Vec<u16> = (0..lanes).map(|place| place % blocks * 16 + place / blocks).collect();
            let back: Vec<u16> = (0..lanes).map(|place| place % 16 * blocks + place / 16).collect();
            let four = |four: &u32| 4 * *four as u16..4 * *four as u16 + 4;
            let block = |place: usize| place / 16 * 16;
            let steps = fours_then_bytes(&turned).expect("a block needs four groups");
            let moved: Vec<u16> = steps.fours.iter().flat_map(four).collect();
            let found: Vec<u16> = (0..lanes.into()).map(|i| moved[block(i) + usize::from(steps.bytes[i])]).collect();
            assert_eq!(found, turned);
            assert!(fours_then_bytes(&back).is_none() || blocks == 2);
            let steps = bytes_then_fours(&back).expect("a group is of one block");
            let moved: Vec<u16> = (0..lanes.into()).map(|i| block(i) as u16 + u16::from(steps.bytes[i])).collect();
            let found: Vec<u16> = steps.fours.iter().flat_map(four).map(|i| moved[usize::from(i)]).collect();
            assert_eq!(found, back);
        }
        let anywhere: Vec<u16> = (0..64).map(|i| i * 37 % 64).collect();
        assert!(fours_then_bytes(&anywhere).is_none() && bytes_then_fours(&anywhere).is_none());
    }
}
