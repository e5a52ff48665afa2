//! Tests of support functions, computed on the host and compared with the host's arithmetic.

use super::result;
use crate::own::words::tests::Computing;
use crate::support::{FloatOp, Format, LongOp, Support};

/// Calls a support function. Its arguments and its result are bits of one or two words.
pub(super) fn call(what: Support, arguments: &[u64]) -> u64 {
    let (mut words, mut count) = ([0; 4], 0);
    for (&bits, &width) in arguments.iter().zip(what.arguments()) {
        words[count] = bits as u32;
        words[count + width - 1] = (bits >> (32 * (width - 1))) as u32;
        count += width;
    }
    let [low, high] = result(&mut Computing, what, &words[..count]);
    u64::from(low) | if what.result() == 2 { u64::from(high) << 32 } else { 0 }
}

/// A pseudo-random generator of bits (xorshift).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Makes a float: with any bits, with an exponent near another one's, with few bits, or at an edge.
    pub(super) fn float(&mut self, format: Format, near: u64) -> u64 {
        let (fraction, width) = (format.fraction(), if format == Format::Double { 64 } else { 32 });
        let mask = if width == 64 { u64::MAX } else { u64::from(u32::MAX) };
        let bits = self.next() & mask;
        match self.next() % 4 {
            0 => bits,
            1 => {
                let exponent = ((near >> fraction) as i64 + (self.next() % 9) as i64 - 4).max(0) as u64;
                (bits & ((1 << fraction) - 1) | exponent << fraction | bits >> 63 << (width - 1)) & mask
            }
            2 => bits & !((1 << (self.next() % u64::from(fraction + 1))) - 1),
            _ => EDGES[(self.next() % EDGES.len() as u64) as usize].0(format),
        }
    }
}

/// A number at the edge of a format.
struct Edge(fn(Format) -> u64);

const EDGES: &[Edge] = &[
    Edge(|_| 0),
    Edge(|_| 1),
    Edge(sign),
    Edge(|format| sign(format) | 1),
    Edge(|format| 1 << format.fraction()),
    Edge(|format| (1 << format.fraction()) - 1),
    Edge(|format| (format.bias() as u64) << format.fraction()),
    Edge(|format| ((format.bias() + 1) as u64) << format.fraction()),
    Edge(|format| ((format.most() - 1) as u64) << format.fraction() | ((1 << format.fraction()) - 1)),
    Edge(infinity),
    Edge(|format| infinity(format) | sign(format)),
    Edge(|format| infinity(format) | 1 << (format.fraction() - 1)),
];

pub(super) fn sign(format: Format) -> u64 {
    if format == Format::Double { 1 << 63 } else { 1 << 31 }
}

pub(super) fn infinity(format: Format) -> u64 {
    (format.most() as u64) << format.fraction()
}

pub(super) fn is_nan(format: Format, bits: u64) -> bool {
    bits & !sign(format) > infinity(format)
}

/// Returns the host's result as bits.
pub(super) fn host(format: Format, op: FloatOp, a: u64, b: u64) -> u64 {
    macro_rules! of {
        ($float:ty, $bits:ty) => {{
            let (x, y) = (<$float>::from_bits(a as $bits), <$float>::from_bits(b as $bits));
            match op {
                FloatOp::Add => u64::from((x + y).to_bits()),
                FloatOp::Multiply => u64::from((x * y).to_bits()),
                FloatOp::Divide => u64::from((x / y).to_bits()),
                FloatOp::SquareRoot => u64::from(x.sqrt().to_bits()),
                FloatOp::Truncate => u64::from(x.trunc().to_bits()),
                FloatOp::Equal => u64::from(x == y),
                FloatOp::Less => u64::from(x < y),
                FloatOp::LessEqual => u64::from(x <= y),
                FloatOp::ToSigned => (x as i64) as u64,
                FloatOp::ToUnsigned => x as u64,
                FloatOp::FromSigned => u64::from((a as i64 as $float).to_bits()),
                FloatOp::FromUnsigned => u64::from((a as $float).to_bits()),
            }
        }};
    }
    if format == Format::Double { of!(f64, u64) } else { of!(f32, u32) }
}

#[test]
fn floats_are_those_of_the_host() {
    use FloatOp::*;
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for format in [Format::Single, Format::Double] {
        for op in [Add, Multiply, Divide, SquareRoot, Truncate, Equal, Less, LessEqual, ToSigned, ToUnsigned, FromSigned, FromUnsigned] {
            let what = Support::Float(format, op);
            let (of_integers, gives_float) =
                (matches!(op, FromSigned | FromUnsigned), !matches!(op, Equal | Less | LessEqual | ToSigned | ToUnsigned));
            let count = if cfg!(debug_assertions) { 6_000 } else { 60_000 };
            for round in 0..count {
                let near = random.next();
                let (mut a, mut b) = (random.float(format, near), 0);
                b |= random.float(format, a);
                if of_integers {
                    a = random.next() >> (random.next() & 63);
                }
                if !of_integers && let (edge, Some(other)) = (&EDGES[round % EDGES.len()], EDGES.get(round / EDGES.len())) {
                    (a, b) = (edge.0(format), other.0(format));
                }
                let (found, wanted) = (call(what, &[a, b]), host(format, op, a, b));
                let both_nan = gives_float && is_nan(format, found) && is_nan(format, wanted);
                assert!(found == wanted || both_nan, "{what:?} of {a:#x} and {b:#x}: {found:#x}, not {wanted:#x}");
            }
        }
    }
}

#[test]
fn formats_are_converted_as_the_host_does() {
    let mut random = Random(0x1234_5678_9ABC_DEF1);
    for round in 0..20_000 {
        let edge = |format| EDGES.get(round).map(|edge| edge.0(format));
        let bits = edge(Format::Single).unwrap_or_else(|| random.float(Format::Single, 0x3F80_0000));
        let found = call(Support::Convert(Format::Single, Format::Double), &[bits]);
        let wanted = f64::from(f32::from_bits(bits as u32));
        assert!(found == wanted.to_bits() || wanted.is_nan() && is_nan(Format::Double, found), "{bits:#x}: {found:#x}");
        let near = (random.next() % 400 + 850) << 52;
        let bits = edge(Format::Double).unwrap_or_else(|| random.float(Format::Double, near));
        let found = call(Support::Convert(Format::Double, Format::Single), &[bits]);
        let wanted = f64::from_bits(bits) as f32;
        assert!(found == u64::from(wanted.to_bits()) || wanted.is_nan() && is_nan(Format::Single, found), "{bits:#x}: {found:#x}");
    }
}

/// Converts every binary16 to binary32 and back.
#[test]
fn halves_are_kept() {
    for bits in 0..=u64::from(u16::MAX) {
        let single = call(Support::Convert(Format::Half, Format::Single), &[bits]);
        let back = call(Support::Convert(Format::Single, Format::Half), &[single]);
        let nan = bits & 0x7FFF > 0x7C00;
        assert!(
            if nan { is_nan(Format::Single, single) && back & 0x7FFF > 0x7C00 } else { back == bits },
            "{bits:#x}: {single:#x}, {back:#x}"
        );
    }
    let half = |single: f32| call(Support::Convert(Format::Single, Format::Half), &[single.to_bits().into()]);
    assert_eq!([half(1.0), half(-2.5), half(65504.0), half(65520.0), half(5.96e-8), half(2.9e-8)], [0x3C00, 0xC100, 0x7BFF, 0x7C00, 1, 0]);
}

#[test]
fn integers_are_divided() {
    let mut random = Random(0xD1B5_4A32_D192_ED03);
    let edges = [0u64, 1, 2, u64::MAX, 1 << 63, i64::MAX as u64, 1 << 32, 0xFFFF_FFFF];
    for round in 0..4_000usize {
        let pick = |random: &mut Random, i: usize| if round < 64 { edges[i] } else { random.next() >> (random.next() & 63) };
        let (a, b) = (pick(&mut random, round % 8), pick(&mut random, round / 8 % 8));
        let (x, y) = (a as i64, b as i64);
        let wanted = [
            (LongOp::DivideSigned, if y == 0 { 0 } else { x.wrapping_div(y) as u64 }),
            (LongOp::RemainderSigned, if y == 0 { 0 } else { x.wrapping_rem(y) as u64 }),
            (LongOp::Divide, a.checked_div(b).unwrap_or(0)),
            (LongOp::Remainder, a.checked_rem(b).unwrap_or(0)),
        ];
        let (low, other) = (a as u32, b as u32);
        let signed = if other == 0 { 0 } else { (low as i32).wrapping_div(other as i32) as u32 };
        let high = (i64::from(low as i32) * i64::from(other as i32)) >> 32;
        let unsigned = low.checked_div(other).unwrap_or(0);
        for (what, wanted) in [(Support::Divide, unsigned), (Support::DivideSigned, signed), (Support::HighProduct, high as u32)] {
            assert_eq!(call(what, &[low.into(), other.into()]), u64::from(wanted), "{what:?} of {low:#x} and {other:#x}");
        }
        for (op, wanted) in wanted {
            let found = call(Support::Long(op), &[a, b]);
            assert_eq!(found, wanted, "{op:?} of {a:#x} and {b:#x}");
        }
    }
}

#[test]
fn functions_have_names_of_their_own() {
    assert_eq!(Support::Float(Format::Double, FloatOp::SquareRoot).name(), "float_double_squareroot");
    assert_eq!(Support::Long(LongOp::Divide).name(), "long_divide");
}
