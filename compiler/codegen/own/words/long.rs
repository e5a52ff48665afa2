//! Arithmetic of 64-bit integers in two words, low half first.

use super::ops::{Operand, Ops, Test, WordOp};
use modelc_kernel::{BinaryOp, CompareOp, UnaryOp};

/// The halves of a 64-bit number, low half first.
type Pair<O> = [<O as Ops>::Word; 2];

/// Computes an operation on two numbers. `None` for operations that take more than a few instructions, such as divisions.
pub fn binary<O: Ops>(ops: &mut O, op: BinaryOp, a: Pair<O>, b: Pair<O>) -> Option<Pair<O>> {
    Some(match op {
        BinaryOp::Add | BinaryOp::SignedAddInRange => ops.long_sum(false, a, b),
        BinaryOp::Sub => ops.long_sum(true, a, b),
        BinaryOp::Mul => product(ops, a, b),
        BinaryOp::And => halves(ops, WordOp::And, a, b),
        BinaryOp::Or => halves(ops, WordOp::Or, a, b),
        BinaryOp::Xor => halves(ops, WordOp::Xor, a, b),
        BinaryOp::SignedMin => limit(ops, true, [a, b], [a, b]),
        BinaryOp::UnsignedMin => limit(ops, false, [a, b], [a, b]),
        BinaryOp::SignedMax => limit(ops, true, [b, a], [a, b]),
        BinaryOp::UnsignedMax => limit(ops, false, [b, a], [a, b]),
        BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned => shift_by(ops, op, a, b[0]),
        _ => return None,
    })
}

fn halves<O: Ops>(ops: &mut O, op: WordOp, a: Pair<O>, b: Pair<O>) -> Pair<O> {
    [0, 1].map(|half| ops.two(op, a[half], Operand::Word(b[half])))
}

fn product<O: Ops>(ops: &mut O, a: Pair<O>, b: Pair<O>) -> Pair<O> {
    let [low, high] = ops.long_product(false, a[0], b[0]);
    let high = ops.add_product(false, high, a[0], b[1]);
    [low, ops.add_product(false, high, a[1], b[0])]
}

/// Selects `yes` if `less` is less than `than`, else `no`.
fn limit<O: Ops>(ops: &mut O, signed: bool, [less, than]: [Pair<O>; 2], [yes, no]: [Pair<O>; 2]) -> Pair<O> {
    let truth = ops.long_less(signed, less, than);
    choose(ops, truth, yes, no)
}

/// Selects one of two numbers by a word that is 1 or 0.
pub fn choose<O: Ops>(ops: &mut O, truth: O::Word, yes: Pair<O>, no: Pair<O>) -> Pair<O> {
    [0, 1].map(|half| ops.choose(Test::not_zero(truth), yes[half], no[half]))
}

/// Computes an operation on one number. `None` for operations that integers do not have.
pub fn unary<O: Ops>(ops: &mut O, op: UnaryOp, a: Pair<O>) -> Option<Pair<O>> {
    Some(match op {
        UnaryOp::Neg => {
            let zero = ops.word(0);
            ops.long_sum(true, [zero; 2], a)
        }
        UnaryOp::Not => {
            let ones = ops.word(-1);
            halves(ops, WordOp::Xor, a, [ones; 2])
        }
        UnaryOp::Abs => {
            let sign = ops.shift(WordOp::RightSigned, a[1], 31);
            let flipped = halves(ops, WordOp::Xor, a, [sign; 2]);
            ops.long_sum(true, flipped, [sign; 2])
        }
        UnaryOp::CountLeadingZeros => {
            let [low, high] = a.map(|half| ops.leading_zeros(half));
            let further = ops.two(WordOp::Add, low, Operand::Number(32));
            let zeros = ops.choose(Test::not_zero(a[1]), high, further);
            [zeros, ops.word(0)]
        }
        _ => return None,
    })
}

/// Shifts by a constant below 64.
pub fn shift<O: Ops>(ops: &mut O, op: BinaryOp, [low, high]: Pair<O>, count: u32) -> Pair<O> {
    let right = if op == BinaryOp::ShiftRightSigned { WordOp::RightSigned } else { WordOp::Right };
    match (op, count) {
        (_, 0) => [low, high],
        (BinaryOp::ShiftLeft, 32..) => [ops.word(0), ops.shift(WordOp::Left, low, count - 32)],
        (BinaryOp::ShiftLeft, _) => {
            let over = ops.shift(WordOp::Right, low, 32 - count);
            let rest = ops.shift(WordOp::Left, high, count);
            [ops.shift(WordOp::Left, low, count), ops.two(WordOp::Or, rest, Operand::Word(over))]
        }
        (_, 32..) => {
            let above = if right == WordOp::RightSigned { ops.shift(right, high, 31) } else { ops.word(0) };
            [ops.shift(right, high, count - 32), above]
        }
        _ => {
            let over = ops.shift(WordOp::Left, high, 32 - count);
            let rest = ops.shift(WordOp::Right, low, count);
            [ops.two(WordOp::Or, rest, Operand::Word(over)), ops.shift(right, high, count)]
        }
    }
}

/// Shifts by a word below 64.
fn shift_by<O: Ops>(ops: &mut O, op: BinaryOp, a: Pair<O>, count: O::Word) -> Pair<O> {
    let far = ops.two(WordOp::And, count, Operand::Number(32));
    let near = ops.two(WordOp::And, count, Operand::Number(31));
    let rest = ops.two(WordOp::Xor, near, Operand::Number(31));
    let by = |ops: &mut O, op, word, count| ops.two(op, word, Operand::Word(count));
    // The half that bits leave (`from`), and the half that they enter (`to`).
    let (from, to, out, back, filled) = match op {
        BinaryOp::ShiftLeft => (a[0], a[1], WordOp::Left, WordOp::Right, WordOp::Left),
        BinaryOp::ShiftRightSigned => (a[1], a[0], WordOp::Right, WordOp::Left, WordOp::RightSigned),
        _ => (a[1], a[0], WordOp::Right, WordOp::Left, WordOp::Right),
    };
    let moved = by(ops, out, to, near);
    // The opposite shift by 32 minus the count takes two steps, because a shift by 32 is not possible.
    let over = ops.shift(back, from, 1);
    let over = by(ops, back, over, rest);
    let met = ops.two(WordOp::Or, moved, Operand::Word(over));
    let left = by(ops, filled, from, near);
    let empty = if filled == WordOp::RightSigned { ops.shift(filled, from, 31) } else { ops.word(0) };
    let is_far = Test::not_zero(far);
    let (to, from) = (ops.choose(is_far, left, met), ops.choose(is_far, empty, left));
    if op == BinaryOp::ShiftLeft { [from, to] } else { [to, from] }
}

/// Returns 1 if a comparison of a and b holds, else 0.
pub fn compare<O: Ops>(ops: &mut O, op: CompareOp, a: Pair<O>, b: Pair<O>) -> O::Word {
    let negated = |ops: &mut O, truth| ops.two(WordOp::Xor, truth, Operand::Number(1));
    match op {
        CompareOp::Equal | CompareOp::NotEqual => {
            let [low, high] = halves(ops, WordOp::Xor, a, b);
            let all = ops.two(WordOp::Or, low, Operand::Word(high));
            ops.truth(Test::words(op, all, Operand::Number(0)))
        }
        CompareOp::Less => ops.long_less(true, a, b),
        CompareOp::Greater => ops.long_less(true, b, a),
        CompareOp::UnsignedLess => ops.long_less(false, a, b),
        CompareOp::LessEqual => {
            let greater = ops.long_less(true, b, a);
            negated(ops, greater)
        }
        CompareOp::GreaterEqual => {
            let less = ops.long_less(true, a, b);
            negated(ops, less)
        }
        CompareOp::UnsignedLessEqual => {
            let greater = ops.long_less(false, b, a);
            negated(ops, greater)
        }
    }
}

/// Narrows a signed number to a signed or unsigned word, with saturation.
pub fn narrow<O: Ops>(ops: &mut O, signed: bool, [low, high]: Pair<O>) -> O::Word {
    if signed {
        let sign = ops.shift(WordOp::RightSigned, high, 31);
        let limit = ops.two(WordOp::Xor, sign, Operand::Number(i32::MAX));
        let above = ops.shift(WordOp::RightSigned, low, 31);
        return ops.choose(Test::words(CompareOp::Equal, high, Operand::Word(above)), low, limit);
    }
    let (zero, ones) = (ops.word(0), ops.word(-1));
    let limit = ops.choose(Test::words(CompareOp::Less, high, Operand::Number(0)), zero, ones);
    ops.choose(Test::not_zero(high), limit, low)
}
