//! Every operation on lanes, with vectors of every length, at aligned and unaligned offsets.

use super::{Case, Random};
use modelc::kernel::BinaryOp::*;
use modelc::kernel::ConvertOp::{self, *};
use modelc::kernel::{BufferKind, CompareOp, DotOp, Grid, HorizontalOp, KernelBuilder, Lane, Type, UnaryOp, Value};

const POSITIONS: u64 = 12;
/// Number of elements of a position: one for each lane of each vector length.
const ROUND: i64 = 32;

/// Returns the vectors of a position: the lanes and the first element of each.
fn places(is_aligned: bool) -> Vec<(u16, i64)> {
    if is_aligned { vec![(16, 0), (8, 16), (4, 24), (2, 28), (1, 30), (1, 31)] } else { vec![(1, 0), (2, 1), (4, 3), (8, 7), (16, 15)] }
}

/// Makes a kernel that applies `op` to elements of its inputs.
fn lane_wise(
    name: &str,
    inputs: &[Lane],
    output: Lane,
    random: &mut Random,
    mut op: impl FnMut(&mut KernelBuilder, &[Value]) -> Value,
) -> Vec<Case> {
    let mut cases = Vec::new();
    for is_aligned in [false, true] {
        let mut b = KernelBuilder::new(format!("{name}{}", if is_aligned { "_aligned" } else { "" }));
        let elements = POSITIONS * ROUND as u64;
        let buffers: Vec<_> = inputs.iter().map(|&lane| b.buffer("in", BufferKind::Input, lane, elements, lane.bytes())).collect();
        let out = b.buffer("out", BufferKind::Output, output, elements, 1);
        let position = b.grid(Grid { positions: POSITIONS, workgroup: 8 });
        let first = b.scale_index(position, ROUND, 0);
        for (lanes, offset) in places(is_aligned) {
            let operands: Vec<_> = buffers.iter().map(|&buffer| b.load(buffer, first, offset, lanes)).collect();
            let result = op(&mut b, &operands);
            b.store(out, first, offset, result);
        }
        cases.push(Case::new(&b.finish(), random));
    }
    cases
}

const INTEGERS: [Lane; 3] = [Lane::I8, Lane::I16, Lane::I32];

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    let random = &mut Random(7);
    let mut cases = Vec::new();
    binary(&mut cases, random);
    unary(&mut cases, random);
    conversions(&mut cases, random);
    comparisons(&mut cases, random);
    products(&mut cases, random);
    across(&mut cases, random);
    cases
}

fn binary(cases: &mut Vec<Case>, random: &mut Random) {
    let integer = [
        Add,
        Sub,
        Mul,
        SignedDiv,
        UnsignedDiv,
        SignedRem,
        UnsignedRem,
        And,
        Or,
        Xor,
        ShiftLeft,
        ShiftRightSigned,
        ShiftRightUnsigned,
        SignedMin,
        SignedMax,
        UnsignedMin,
        UnsignedMax,
        SignedAddSaturating,
        SignedSubSaturating,
    ];
    let float =
        [Add, Sub, Mul, FloatDiv, FloatMinFirst, FloatMaxFirst, FloatMinPropagate, FloatMaxPropagate, FloatMinIgnore, FloatMaxIgnore];
    let integers = INTEGERS.iter().flat_map(|&lane| integer.map(|op| (op, lane)));
    for (op, lane) in integers.chain(float.map(|op| (op, Lane::F32))) {
        if matches!(op, SignedAddSaturating | SignedSubSaturating) && lane == Lane::I32 {
            continue;
        }
        let is_shift = matches!(op, ShiftLeft | ShiftRightSigned | ShiftRightUnsigned);
        cases.extend(lane_wise(&format!("{op:?}_{lane:?}"), &[lane, lane], lane, random, |b, v| {
            let ty = b.ty(v[1]);
            let count = if is_shift {
                let most = b.int(ty, i64::from(8 * lane.bytes() - 1));
                b.binary(And, v[1], most)
            } else {
                v[1]
            };
            b.binary(op, v[0], count)
        }));
    }
    for lane in INTEGERS {
        for divisor in [0, 1, 7, -1, -5] {
            cases.extend(lane_wise(&format!("by_{divisor}_{lane:?}"), &[lane], lane, random, |b, v| by_number(b, v[0], divisor)));
        }
        for (op, count) in [(ShiftLeft, 3), (ShiftRightSigned, 7), (ShiftRightUnsigned, 1), (ShiftRightUnsigned, 0)] {
            let name = format!("{op:?}_{lane:?}_by_{count}");
            cases.extend(lane_wise(&name, &[lane], lane, random, |b, v| b.shift(op, v[0], count)));
        }
    }
}

/// Combines all quotients and remainders by a constant.
fn by_number(b: &mut KernelBuilder, a: Value, divisor: i64) -> Value {
    let ty = b.ty(a);
    let divisor = b.int(ty, divisor);
    let mut all = a;
    for op in [SignedDiv, UnsignedDiv, SignedRem, UnsignedRem] {
        let result = b.binary(op, a, divisor);
        all = b.binary(Xor, all, result);
    }
    all
}

fn unary(cases: &mut Vec<Case>, random: &mut Random) {
    use UnaryOp::*;
    let integers = INTEGERS.iter().flat_map(|&lane| [Neg, Abs, Not, CountLeadingZeros].map(|op| (op, lane)));
    let floats = [Neg, Abs, Sqrt, Floor, Ceil, Trunc, Nearest].map(|op| (op, Lane::F32));
    for (op, lane) in integers.chain(floats) {
        cases.extend(lane_wise(&format!("{op:?}_{lane:?}"), &[lane], lane, random, |b, v| b.unary(op, v[0])));
    }
}

fn conversions(cases: &mut Vec<Case>, random: &mut Random) {
    let mut add = |op: ConvertOp, from: Lane, to: Lane| {
        cases.extend(lane_wise(&format!("{op:?}_{from:?}_{to:?}"), &[from], to, random, |b, v| match op {
            FloatToSignedInRange => {
                let ty = b.ty(v[0]);
                let (low, high) = (b.float(ty, -1e9), b.float(ty, 1e9));
                let least = b.binary(FloatMaxIgnore, v[0], low);
                let inside = b.binary(FloatMinFirst, high, least);
                b.convert(op, inside, to)
            }
            _ => b.convert(op, v[0], to),
        }));
    };
    for from in INTEGERS {
        for to in INTEGERS {
            if from.bytes() < to.bytes() {
                add(SignExtend, from, to);
                add(ZeroExtend, from, to);
            } else if from.bytes() > to.bytes() {
                add(Wrap, from, to);
                add(NarrowSigned, from, to);
                add(NarrowUnsigned, from, to);
            }
        }
        add(SignedToFloat, from, Lane::F32);
        add(UnsignedToFloat, from, Lane::F32);
        add(FloatToSigned, Lane::F32, from);
        add(FloatToUnsigned, Lane::F32, from);
    }
    add(FloatToSignedInRange, Lane::F32, Lane::I32);
    add(Bitcast, Lane::F32, Lane::I32);
    add(Bitcast, Lane::I32, Lane::F32);
    add(HalfToFloat, Lane::I16, Lane::F32);
    add(FloatToHalf, Lane::F32, Lane::I16);
}

fn comparisons(cases: &mut Vec<Case>, random: &mut Random) {
    use CompareOp::*;
    let all = [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, UnsignedLess, UnsignedLessEqual];
    let integers = INTEGERS.iter().flat_map(|&lane| all.map(|op| (op, lane)));
    let floats = all[..6].iter().map(|&op| (op, Lane::F32));
    for (i, (op, lane)) in integers.chain(floats).enumerate() {
        let to = INTEGERS[i % 3];
        cases.extend(lane_wise(&format!("{op:?}_{lane:?}_{to:?}"), &[lane, lane], to, random, |b, v| {
            let mask = b.compare(op, v[0], v[1]);
            let not = b.unary(UnaryOp::Not, mask);
            let lanes = b.ty(mask).lanes;
            let (yes, equal) = (b.mask(lanes, true), b.compare(Equal, v[0], v[0]));
            let mask = b.binary(Xor, mask, not);
            let mask = b.binary(And, mask, yes);
            let mask = b.binary(Xor, mask, not);
            let mask = b.binary(Or, mask, not);
            let mask = b.binary(Xor, mask, not);
            let mask = b.select(equal, mask, mask);
            b.convert(MaskToInteger, mask, to)
        }));
    }
}

fn products(cases: &mut Vec<Case>, random: &mut Random) {
    let lane = Lane::I32;
    let two = [lane, lane];
    cases.extend(lane_wise("MulHighUnsigned", &two, lane, random, |b, v| b.mul_high(false, v[0], v[1])));
    cases.extend(lane_wise("MulHighSigned", &two, lane, random, |b, v| b.mul_high(true, v[0], v[1])));
    for saturates in [false, true] {
        let name = format!("DoublingHighMul_{saturates}");
        cases.extend(lane_wise(&name, &two, lane, random, |b, v| {
            // Two smallest factors only if the operation saturates.
            let ty = b.ty(v[0]);
            let one = b.int(ty, 1);
            let a = if saturates { v[0] } else { b.binary(Or, v[0], one) };
            b.saturating_rounding_doubling_high_mul(a, v[1], saturates)
        }));
    }
    cases.extend(lane_wise("RoundingDivide", &two, lane, random, |b, v| {
        let ty = b.ty(v[1]);
        let most = b.int(ty, 31);
        let count = b.binary(And, v[1], most);
        b.rounding_divide_by_power_of_two(v[0], count)
    }));
    for op in [DotOp::UnsignedSigned8, DotOp::Signed8, DotOp::Signed16, DotOp::UnsignedSigned8To16] {
        cases.push(dot(op, random));
    }
    cases.extend(lane_wise("Fma", &[Lane::F32; 3], Lane::F32, random, |b, v| b.fma(v[0], v[1], v[2])));
}

/// Makes sums of products of consecutive factors, of vectors and of repeated groups.
fn dot(op: DotOp, random: &mut Random) -> Case {
    let mut b = KernelBuilder::new(format!("Dot_{op:?}"));
    let group = u64::from(op.group());
    let a = b.buffer("a", BufferKind::Input, op.factor_lane(), POSITIONS * 16 * group, 1);
    let w = b.buffer("w", BufferKind::Input, op.factor_lane(), POSITIONS * 16 * group, 1);
    let sums = b.buffer("sums", BufferKind::Output, op.sum_lane(), POSITIONS * 16, 1);
    let position = b.grid(Grid { positions: POSITIONS, workgroup: 4 });
    let (first, of_factors) = (b.scale_index(position, 16, 0), b.scale_index(position, 16 * group as i64, 0));
    for (lanes, offset) in [(8u16, 0i64), (4, 8), (2, 12), (1, 15)] {
        let factors = lanes * op.group();
        let x = b.load(a, of_factors, offset * group as i64, factors);
        let y = b.load(w, of_factors, offset * group as i64, factors);
        let repeated = b.load_splat_group(a, of_factors, offset * group as i64, op.group(), factors);
        let sum = b.load(sums, first, offset, lanes);
        let sum = b.dot(op, sum, x, y);
        let sum = b.dot(op, sum, repeated, y);
        b.store(sums, first, offset, sum);
    }
    Case::new(&b.finish(), random)
}

/// Adds cases of moving lanes and of reductions.
fn across(cases: &mut Vec<Case>, random: &mut Random) {
    for lane in [Lane::I8, Lane::I16, Lane::I32, Lane::F32] {
        for op in [HorizontalOp::Add, HorizontalOp::Max, HorizontalOp::Min] {
            cases.extend(lane_wise(&format!("Horizontal{op:?}_{lane:?}"), &[lane], lane, random, |b, v| {
                let (sum, lanes) = (b.horizontal(op, v[0]), b.ty(v[0]).lanes);
                b.splat(sum, lanes)
            }));
        }
        cases.extend(lane_wise(&format!("moves_{lane:?}"), &[lane, lane], lane, random, |b, v| {
            let lanes = b.ty(v[0]).lanes;
            let both = b.join(v[0], v[1]);
            let mixed = b.shuffle(both, both, (0..2 * lanes).map(|i| (7 * i + 3) % (4 * lanes)).collect());
            let high = b.part(mixed, lanes, lanes);
            let last = b.extract(mixed, lanes - 1);
            let last = b.splat(last, lanes);
            let mask = b.compare(CompareOp::Less, v[0], v[1]);
            b.select(mask, high, last)
        }));
    }
    for lanes in [2, 4, 8] {
        let mut b = KernelBuilder::new(format!("pattern_{lanes}"));
        let out = b.buffer("out", BufferKind::Output, Lane::I8, POSITIONS * 8, 8);
        let position = b.grid(Grid { positions: POSITIONS, workgroup: 4 });
        let first = b.scale_index(position, 8, 0);
        let number = b.int(Type::vector(Lane::I8, lanes), -3);
        b.store_active(out, first, 0, number, lanes - 1);
        cases.push(Case::new(&b.finish(), random));
    }
}
