//! Branches and jumps: on how one register stands to another, in 16 bits and in 32, or around a far jump.

use super::encode::Assembler;
use super::registers::{ZERO, is_low};
use crate::own::Reach;

/// Relation of one register to another, by its number in branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Relation {
    /// Equal.
    Equal = 0,
    /// Not equal.
    NotEqual = 1,
    /// Less, with a sign.
    Less = 4,
    /// At least, with a sign.
    AtLeast = 5,
    /// Less, without a sign.
    Below = 6,
    /// At least, without a sign.
    NotBelow = 7,
}

impl Relation {
    /// Relation that holds where this does not.
    pub fn inverse(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::AtLeast,
            Self::AtLeast => Self::Less,
            Self::Below => Self::NotBelow,
            Self::NotBelow => Self::Below,
        }
    }
}

/// Condition of a jump: how one register stands to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Condition {
    /// Relation of the two.
    pub relation: Relation,
    /// The first register.
    pub a: u8,
    /// The second.
    pub b: u8,
}

impl Condition {
    /// The condition that holds where this does not.
    pub fn inverse(self) -> Self {
        Self { relation: self.relation.inverse(), ..self }
    }

    /// The register that is compared with 0 by an instruction of 16 bits, and whether it shall be 0.
    fn short(self) -> Option<(u8, bool)> {
        let is_equality = matches!(self.relation, Relation::Equal | Relation::NotEqual);
        let register = if self.a == ZERO { self.b } else { self.a };
        let fits = is_equality && (self.a == ZERO || self.b == ZERO) && is_low(register);
        fits.then_some((register, self.relation == Relation::Equal))
    }
}

const fn reach(bytes: usize, far: i64, before: i64) -> Reach {
    Reach { bytes, from: before - far, to: before + far - 2 }
}

/// C.J and JAL.
const ALWAYS: [Reach; 2] = [reach(2, 1 << 11, 0), reach(4, 1 << 20, 0)];
/// C.BEQZ and C.BNEZ; a branch; its inverse around JAL.
const ON_ZERO: [Reach; 3] = [reach(2, 1 << 8, 0), reach(4, 1 << 12, 0), reach(8, 1 << 20, 4)];
/// A branch; its inverse around JAL.
const ON_RELATION: [Reach; 2] = [reach(4, 1 << 12, 0), reach(8, 1 << 20, 4)];

/// The encodings of a jump, the shortest first.
pub(super) fn reaches(condition: Option<Condition>) -> &'static [Reach] {
    match condition {
        None => &ALWAYS,
        Some(condition) if condition.short().is_some() => &ON_ZERO,
        Some(_) => &ON_RELATION,
    }
}

/// Writes a jump of so many bytes.
pub(super) fn jump(condition: Option<Condition>, bytes: usize, distance: i64, code: &mut Assembler) {
    match (condition, bytes) {
        (None, 2) => short_jump(distance, code),
        (None, _) => far_jump(distance, code),
        (Some(condition), 2 | 4) => branch(condition, distance, bytes == 2, code),
        (Some(condition), _) => {
            branch(condition.inverse(), 8, false, code);
            far_jump(distance - 4, code);
        }
    }
}

/// A branch over an instruction of so many bytes that comes next.
pub(super) fn skip(condition: Condition, bytes: i64, code: &mut Assembler) {
    let is_short = condition.short().is_some();
    branch(condition, bytes + if is_short { 2 } else { 4 }, is_short, code);
}

/// `count` bits of a distance from one on, moved to another.
fn bits(distance: i64, from: u32, count: u32, to: u32) -> u32 {
    (distance as u32 >> from & ((1 << count) - 1)) << to
}

fn branch(condition: Condition, distance: i64, short: bool, code: &mut Assembler) {
    let d = |from, count, to| bits(distance, from, count, to);
    if let Some((register, is_zero)) = condition.short().filter(|_| short) {
        let word = if is_zero { 0xC001 } else { 0xE001 };
        let place = d(8, 1, 12) | d(3, 2, 10) | d(6, 2, 5) | d(1, 2, 3) | d(5, 1, 2);
        code.half((word | place | u32::from(register & 7) << 7) as u16);
        return;
    }
    let place = d(12, 1, 31) | d(5, 6, 25) | d(1, 4, 8) | d(11, 1, 7);
    code.word(0x63 | place | (condition.relation as u32) << 12 | u32::from(condition.a) << 15 | u32::from(condition.b) << 20);
}

/// C.J.
fn short_jump(distance: i64, code: &mut Assembler) {
    let d = |from, count, to| bits(distance, from, count, to);
    let place = d(11, 1, 12) | d(4, 1, 11) | d(8, 2, 9) | d(10, 1, 8) | d(6, 1, 7) | d(7, 1, 6) | d(1, 3, 3) | d(5, 1, 2);
    code.half((0xA001 | place) as u16);
}

/// JAL without a return address.
fn far_jump(distance: i64, code: &mut Assembler) {
    let d = |from, count, to| bits(distance, from, count, to);
    code.word(0x6F | d(20, 1, 31) | d(1, 10, 21) | d(11, 1, 20) | d(12, 8, 12));
}
