//! Tests of lane-wise instructions.

use super::engines::check;
use super::{
    Case, FLOATS, INTEGERS, OF_A_FLOAT, OF_AN_INTEGER, OF_FLOATS, OF_INTEGERS, OF_SHORT_INTEGERS, Random, SHIFTS, SUMS_AND_PRODUCTS, bytes,
    reference,
};
use modelc_kernel::interpret::fma_toward_zero;
use modelc_kernel::{BinaryOp, BufferKind, CompareOp, ConvertOp, DotOp, KernelBuilder, Lane, Rounding, Type, UnaryOp, Value};

const LANES: [u16; 6] = [1, 2, 4, 8, 16, 32];
/// Number of elements in one round: one for each lane of each vector length.
const ROUND: usize = 63;
const ROUNDS: usize = 12;
const COUNT: usize = ROUND * ROUNDS;

/// Makes a kernel that applies `op` to elements of its inputs, in vectors of every length, in a loop.
fn lane_wise(
    name: String,
    inputs: &[(Lane, Vec<u64>)],
    output: (Lane, Vec<u64>),
    mut op: impl FnMut(&mut KernelBuilder, &[Value]) -> Value,
) -> Case {
    let mut b = KernelBuilder::new(name);
    let buffers: Vec<_> =
        inputs.iter().map(|(lane, data)| b.buffer("in", BufferKind::Input, *lane, data.len() as u64, lane.bytes())).collect();
    let out = b.buffer("out", BufferKind::Output, output.0, COUNT as u64, 1);
    b.for_range(0, COUNT as i64, ROUND as i64, |b, i| {
        for lanes in LANES {
            let offset = i64::from(lanes) - 1;
            let operands: Vec<_> = buffers.iter().map(|&buffer| b.load(buffer, i, offset, lanes)).collect();
            let result = op(b, &operands);
            b.store(out, i, offset, result);
        }
    });
    let inputs = inputs.iter().map(|(lane, data)| bytes(*lane, data)).collect();
    Case::new(b.finish(), inputs, bytes(output.0, &output.1))
}

fn pairs(a: &[u64], b: &[u64], f: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

#[test]
fn binary() {
    let mut random = Random(1);
    let mut cases = vec![];
    let of_kind = |lane: Lane| match lane.is_float() {
        true => OF_FLOATS.to_vec(),
        false if lane.bytes() <= 2 => [&OF_INTEGERS[..], &SHIFTS, &OF_SHORT_INTEGERS].concat(),
        false => [&OF_INTEGERS[..], &SHIFTS].concat(),
    };
    let ops = |lane: Lane| SUMS_AND_PRODUCTS.into_iter().chain(of_kind(lane)).map(move |op| (op, lane));
    for (op, lane) in INTEGERS.into_iter().chain(FLOATS).flat_map(ops) {
        let a = random.elements(lane, COUNT);
        let mut b = random.elements(lane, COUNT);
        if SHIFTS.contains(&op) {
            b.iter_mut().for_each(|b| *b &= u64::from(8 * lane.bytes() - 1));
        }
        let wanted = pairs(&a, &b, |a, b| reference::binary(op, lane, a, b));
        cases.push(lane_wise(format!("{op:?}_{lane:?}"), &[(lane, a), (lane, b)], (lane, wanted), |b, v| b.binary(op, v[0], v[1])));
    }
    cases.push(products_with_powers_of_two(&mut random));
    check(&cases);
}

/// Makes a case that multiplies numbers of every kind by powers of two, with overflow and underflow.
fn products_with_powers_of_two(random: &mut Random) -> Case {
    let lane = Lane::F32;
    let a = random.elements(lane, COUNT);
    let b: Vec<u64> = (0..COUNT).map(|i| u64::from(((random.below(601) as f32) - 300.0 + (i % 2) as f32).to_bits())).collect();
    let wanted = pairs(&a, &b, |a, b| reference::float_bits(lane, reference::float(lane, a) * reference::float(lane, b).exp2()));
    lane_wise("FloatScale".into(), &[(lane, a), (lane, b)], (lane, wanted), |b, v| b.binary(BinaryOp::FloatScale, v[0], v[1]))
}

#[test]
fn by_constants() {
    use BinaryOp::*;
    let mut random = Random(2);
    let mut cases = vec![];
    for lane in INTEGERS {
        let a = random.elements(lane, COUNT);
        let width = 8 * lane.bytes();
        for op in SHIFTS {
            for count in [0, 1, width / 2 - 1, width - 1] {
                let wanted = a.iter().map(|&a| reference::binary(op, lane, a, u64::from(count))).collect();
                let name = format!("{op:?}_{lane:?}_by_{count}");
                cases.push(lane_wise(name, &[(lane, a.clone())], (lane, wanted), |b, v| b.shift(op, v[0], count as u8)));
            }
        }
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        for op in [SignedDiv, UnsignedDiv, SignedRem, UnsignedRem] {
            for divisor in [0, 1, 8, 7, mask, mask >> 1, (mask >> 1) + 1] {
                let wanted = a.iter().map(|&a| reference::binary(op, lane, a, divisor)).collect();
                let name = format!("{op:?}_{lane:?}_by_{divisor}");
                cases.push(lane_wise(name, &[(lane, a.clone())], (lane, wanted), |b, v| {
                    let ty = b.ty(v[0]);
                    let divisor = b.int(ty, divisor as i64);
                    b.binary(op, v[0], divisor)
                }));
            }
        }
    }
    for (lane, op) in FLOATS.into_iter().flat_map(|lane| [FloatMinFirst, FloatMaxFirst].map(|op| (lane, op))) {
        let a = random.elements(lane, COUNT);
        for limit in [6.0, -1.5, 0.0, -0.0, f64::NAN, f64::INFINITY] {
            let bits = reference::float_bits(lane, limit);
            let wanted = a.iter().map(|&a| reference::binary(op, lane, a, bits)).collect();
            cases.push(lane_wise(format!("{op:?}_{lane:?}_by_{limit}"), &[(lane, a.clone())], (lane, wanted), |b, v| {
                let ty = b.ty(v[0]);
                let limit = b.float(ty, limit);
                b.binary(op, v[0], limit)
            }));
        }
    }
    check(&cases);
}

#[test]
fn unary() {
    let mut random = Random(3);
    let mut cases = vec![];
    let integers = INTEGERS.iter().flat_map(|&lane| OF_AN_INTEGER.map(|op| (op, lane)));
    let floats = FLOATS.iter().flat_map(|&lane| OF_A_FLOAT.map(|op| (op, lane)));
    for (op, lane) in integers.chain(floats) {
        let a = random.elements(lane, COUNT);
        let wanted = a.iter().map(|&a| reference::unary(op, lane, a)).collect();
        cases.push(lane_wise(format!("{op:?}_{lane:?}"), &[(lane, a)], (lane, wanted), |b, v| b.unary(op, v[0])));
    }
    check(&cases);
}

#[test]
fn conversions() {
    use ConvertOp::*;
    let mut random = Random(4);
    let mut cases = vec![];
    let mut add = |op: ConvertOp, from: Lane, to: Lane| {
        let mut a = random.elements(from, COUNT);
        if op == FloatToSignedInRange {
            a.iter_mut().for_each(|a| {
                let x = reference::float(from, *a);
                *a = reference::float_bits(from, if x.is_finite() { x % 1e9 } else { 0.0 });
            });
        }
        let wanted = a.iter().map(|&a| reference::convert(op, from, to, a)).collect();
        cases.push(lane_wise(format!("{op:?}_{from:?}_{to:?}"), &[(from, a)], (to, wanted), |b, v| b.convert(op, v[0], to)));
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
        for to in FLOATS {
            add(SignedToFloat, from, to);
            add(UnsignedToFloat, from, to);
            add(FloatToSigned, to, from);
            add(FloatToUnsigned, to, from);
        }
    }
    for (float, integer) in [(Lane::F32, Lane::I32), (Lane::F64, Lane::I64)] {
        add(FloatToSignedInRange, float, integer);
        add(Bitcast, float, integer);
        add(Bitcast, integer, float);
    }
    add(Promote, Lane::F32, Lane::F64);
    add(Demote, Lane::F64, Lane::F32);
    check(&cases);
}

#[test]
fn sums_that_are_narrowed() {
    // Numbers around the range of bytes, around the range of 16 bits, and far from both.
    let numbers: Vec<i64> = (-700..700).chain((-40000..40000).step_by(97)).chain((-(1 << 30)..1 << 30).step_by(10_000_019)).collect();
    let numbers: Vec<u64> = numbers.iter().cycle().take(numbers.len().next_multiple_of(64)).map(|&x| x as u32 as u64).collect();
    let mut cases = vec![];
    for (op, leasts) in [(ConvertOp::NarrowSigned, [None, Some(-11), Some(100)]), (ConvertOp::NarrowUnsigned, [None, Some(3), Some(200)])] {
        for (added, least) in [-128, -11, 0, 77].into_iter().flat_map(|added| leasts.map(|least| (added, least))) {
            for lanes in [1, 4, 8, 16, 32, 64] {
                let mut b = KernelBuilder::new(format!("{op:?}_{added}_{least:?}_{lanes}"));
                let input = b.buffer("in", BufferKind::Input, Lane::I32, numbers.len() as u64, 4);
                let output = b.buffer("out", BufferKind::Output, Lane::I8, numbers.len() as u64, 1);
                b.for_range(0, numbers.len() as i64, i64::from(lanes), |b, i| {
                    let x = b.load(input, i, 0, lanes);
                    let ty = b.ty(x);
                    let number = b.int(ty, added);
                    let mut sum = if added == 0 { x } else { b.add(x, number) };
                    if let Some(least) = least {
                        let least = b.int(ty, least);
                        sum = b.binary(BinaryOp::SignedMax, sum, least);
                    }
                    let narrow = b.convert(op, sum, Lane::I8);
                    b.store(output, i, 0, narrow);
                });
                let (low, high) = if op == ConvertOp::NarrowSigned { (-128, 127) } else { (0, 255) };
                let result = |&x: &u64| ((i64::from(x as u32 as i32) + added).max(least.unwrap_or(low)).clamp(low, high)) as u8 as u64;
                let wanted: Vec<u64> = numbers.iter().map(result).collect();
                cases.push(Case::new(b.finish(), vec![bytes(Lane::I32, &numbers)], bytes(Lane::I8, &wanted)));
            }
        }
    }
    check(&cases);
}

#[test]
fn halves() {
    // Every binary16; and, for every second one, the binary32 numbers half way to the next.
    let every: Vec<u64> = (0..1 << 16).collect();
    let floats = every.iter().step_by(2).flat_map(|&h| {
        let middle = reference::convert(ConvertOp::HalfToFloat, Lane::I16, Lane::F32, h) + 0x1000;
        [middle - 1, middle, middle + 1]
    });
    let floats: Vec<u64> = floats.collect();
    let mut cases = vec![];
    let mut add = |op: ConvertOp, from: Lane, to: Lane, a: &[u64]| {
        for lanes in [1, 16] {
            let mut b = KernelBuilder::new(format!("{op:?}_{lanes}"));
            let input = b.buffer("in", BufferKind::Input, from, a.len() as u64, from.bytes());
            let output = b.buffer("out", BufferKind::Output, to, a.len() as u64, to.bytes());
            b.for_range(0, a.len() as i64, i64::from(lanes), |b, i| {
                let value = b.load(input, i, 0, lanes);
                let value = b.convert(op, value, to);
                b.store(output, i, 0, value);
            });
            let wanted: Vec<u64> = a.iter().map(|&a| reference::convert(op, from, to, a)).collect();
            cases.push(Case::new(b.finish(), vec![bytes(from, a)], bytes(to, &wanted)));
        }
    };
    add(ConvertOp::HalfToFloat, Lane::I16, Lane::F32, &every);
    add(ConvertOp::FloatToHalf, Lane::F32, Lane::I16, &floats);
    check(&cases);
}

#[test]
fn comparisons_and_masks() {
    use CompareOp::*;
    let mut random = Random(5);
    let mut cases = vec![];
    let all = [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, UnsignedLess, UnsignedLessEqual];
    let integers = INTEGERS.iter().flat_map(|&lane| all.map(|op| (op, lane)));
    let floats = FLOATS.iter().flat_map(|&lane| all.map(|op| (op, lane))).filter(|(op, _)| !matches!(op, UnsignedLess | UnsignedLessEqual));
    for (i, (op, lane)) in integers.chain(floats).enumerate() {
        let (a, mut b) = (random.elements(lane, COUNT), random.elements(lane, COUNT));
        b.iter_mut().zip(&a).step_by(5).for_each(|(b, &a)| *b = a);
        let to = INTEGERS[i % 4];
        let wanted = pairs(&a, &b, |a, b| u64::from(reference::compare(op, lane, a, b)));
        let inputs = [(lane, a.clone()), (lane, b.clone())];
        cases.push(lane_wise(format!("{op:?}_{lane:?}_{to:?}"), &inputs, (to, wanted), |b, v| {
            let mask = b.compare(op, v[0], v[1]);
            b.convert(ConvertOp::MaskToInteger, mask, to)
        }));
        let wanted = pairs(&a, &b, |a, b| if reference::compare(op, lane, a, b) { b } else { a });
        cases.push(lane_wise(format!("Select_{op:?}_{lane:?}"), &inputs, (lane, wanted), |b, v| {
            let mask = b.compare(op, v[0], v[1]);
            b.select(mask, v[1], v[0])
        }));
    }
    // Masks of different widths meet: selection by them with a third width, selection of masks, negation.
    for (narrow, wide, chosen) in [(Lane::I8, Lane::F32, Lane::I16), (Lane::I64, Lane::I16, Lane::I8), (Lane::F64, Lane::I8, Lane::I64)] {
        let data: Vec<_> = [narrow, narrow, wide, wide, chosen].map(|lane| (lane, random.elements(lane, COUNT))).to_vec();
        let wanted = (0..COUNT).map(|i| {
            let p = reference::compare(Less, narrow, data[0].1[i], data[1].1[i]);
            let q = reference::compare(LessEqual, wide, data[2].1[i], data[3].1[i]);
            let mask = ((p & q) ^ (p | !q)) != if p { q } else { !p };
            if mask { data[4].1[i] } else { 7 }
        });
        let wanted = wanted.collect();
        cases.push(lane_wise(format!("masks_{narrow:?}_{wide:?}_{chosen:?}"), &data, (chosen, wanted), |b, v| {
            let p = b.compare(Less, v[0], v[1]);
            let q = b.compare(LessEqual, v[2], v[3]);
            let (not_p, not_q) = (b.unary(UnaryOp::Not, p), b.unary(UnaryOp::Not, q));
            let both = b.binary(BinaryOp::And, p, q);
            let either = b.binary(BinaryOp::Or, p, not_q);
            let odd = b.binary(BinaryOp::Xor, both, either);
            let picked = b.select(p, q, not_p);
            let mask = b.binary(BinaryOp::Xor, odd, picked);
            let ty = b.ty(v[4]);
            let seven = b.int(ty, 7);
            b.select(mask, v[4], seven)
        }));
    }
    check(&cases);
}

#[test]
fn fused_multiply_add() {
    let mut random = Random(6);
    let mut cases = vec![];
    for lane in FLOATS {
        let (a, b) = (random.elements(lane, COUNT), random.elements(lane, COUNT));
        // Every second addend nearly cancels the product.
        let c = (0..COUNT).map(|i| {
            let near = float_near(-(reference::float(lane, a[i]) * reference::float(lane, b[i])));
            if i % 2 == 0 { reference::float_bits(lane, near) } else { random.lane(lane) }
        });
        let c: Vec<u64> = c.into_iter().collect();
        let wanted = (0..COUNT).map(|i| {
            if lane == Lane::F32 {
                let [x, y, z] = [a[i], b[i], c[i]].map(|v| f32::from_bits(v as u32));
                u64::from(x.mul_add(y, z).to_bits())
            } else {
                let [x, y, z] = [a[i], b[i], c[i]].map(f64::from_bits);
                x.mul_add(y, z).to_bits()
            }
        });
        let wanted = wanted.collect();
        let mut case =
            lane_wise(format!("Fma_{lane:?}"), &[(lane, a), (lane, b), (lane, c)], (lane, wanted), |b, v| b.fma(v[0], v[1], v[2]));
        case.fma = lane == Lane::F64;
        cases.push(case);
    }
    check(&cases);
}

/// Tests that the processor's rounding mode is set for the kernel, and restored afterwards.
#[test]
fn fused_products_towards_zero() {
    let mut random = Random(11);
    let [a, b, c] = [0, 1, 2].map(|_| random.elements(Lane::F32, COUNT));
    let float = |bits: u64| f32::from_bits(bits as u32);
    let wanted = (0..COUNT).map(|i| u64::from(fma_toward_zero(float(a[i]), float(b[i]), float(c[i])).to_bits())).collect();
    let name = "Fma_toward_zero".to_string();
    let operands = [(Lane::F32, a), (Lane::F32, b), (Lane::F32, c)];
    let mut case = lane_wise(name, &operands, (Lane::F32, wanted), |b, v| b.fma_rounded(v[0], v[1], v[2], Rounding::TowardZero));
    case.long_vectors = true;
    check(&[case]);
    let third = std::hint::black_box(2.0f32) / std::hint::black_box(3.0);
    assert_eq!(third, 2.0 / 3.0, "rounded to nearest, as before");
}

/// Returns a number close to x.
fn float_near(x: f64) -> f64 {
    x * (1.0 + 1.0 / f64::from(1 << 22))
}

#[test]
fn fixed_point() {
    let mut random = Random(7);
    let lane = Lane::I32;
    let (mut a, mut b) = (random.elements(lane, COUNT), random.elements(lane, COUNT));
    let (smallest, largest) = (i32::MIN as u32 as u64, i32::MAX as u64);
    for (i, (x, y)) in
        [(smallest, smallest), (smallest, largest), (largest, largest), (smallest, 1), (0xC0000000, 0xC0000000)].into_iter().enumerate()
    {
        for place in [i, ROUND * 3 + 7 + i, ROUND * 5 + 40 + i] {
            (a[place], b[place]) = (x, y);
        }
    }
    let inputs = [(lane, a.clone()), (lane, b.clone())];
    let on = |f: fn(i32, i32) -> i32| pairs(&a, &b, |a, b| u64::from(f(a as i32, b as i32) as u32));
    let high = on(|a, b| ((u64::from(a as u32) * u64::from(b as u32)) >> 32) as i32);
    let signed_high = on(|a, b| ((i64::from(a) * i64::from(b)) >> 32) as i32);
    let doubling = on(reference::doubling_high_multiply);
    let mut cases = vec![
        lane_wise("MulHighUnsigned".into(), &inputs, (lane, high), |b, v| b.mul_high(false, v[0], v[1])),
        lane_wise("MulHighSigned".into(), &inputs, (lane, signed_high), |b, v| b.mul_high(true, v[0], v[1])),
        lane_wise("SaturatingRoundingDoublingHighMul".into(), &inputs, (lane, doubling), |b, v| {
            b.saturating_rounding_doubling_high_mul(v[0], v[1], true)
        }),
    ];
    let exponents: Vec<u64> = b.iter().map(|b| b & 31).collect();
    let wanted = pairs(&a, &exponents, |a, n| u64::from(reference::rounding_divide(a as i32, n as u32) as u32));
    let inputs = [(lane, a.clone()), (lane, exponents)];
    cases.push(lane_wise("RoundingDivideByPowerOfTwo".into(), &inputs, (lane, wanted), |b, v| {
        b.rounding_divide_by_power_of_two(v[0], v[1])
    }));
    let counts: Vec<u64> = b.iter().map(|b| u64::from(-((b & 31) as i32) as u32)).collect();
    let nearest = |a: u64, b: u64| u64::from(reference::shift_to_nearest(a as i32, -(b as i32) as u32) as u32);
    let (wanted, inputs) = (pairs(&a, &counts, nearest), [(lane, a.clone()), (lane, counts)]);
    cases.push(lane_wise("ShiftNearest".into(), &inputs, (lane, wanted), |b, v| b.binary(BinaryOp::ShiftNearest, v[0], v[1])));
    for n in [0, 1, 2, 7, 30, 31] {
        let wanted = a.iter().map(|&a| nearest(a, u64::from(-(n as i32) as u32))).collect();
        cases.push(lane_wise(format!("ShiftNearest_{n}"), &[(lane, a.clone())], (lane, wanted), |b, v| {
            let ty = b.ty(v[0]);
            let count = b.int(ty, -i64::from(n));
            b.binary(BinaryOp::ShiftNearest, v[0], count)
        }));
        let wanted = a.iter().map(|&a| u64::from(reference::rounding_divide(a as i32, n) as u32)).collect();
        cases.push(lane_wise(format!("RoundingDivideByPowerOfTwo_{n}"), &[(lane, a.clone())], (lane, wanted), |b, v| {
            let ty = b.ty(v[0]);
            let exponent = b.int(ty, i64::from(n));
            b.rounding_divide_by_power_of_two(v[0], exponent)
        }));
    }
    check(&cases);
}

#[test]
fn dot_products() {
    let mut random = Random(8);
    let mut cases = vec![];
    for op in [DotOp::UnsignedSigned8, DotOp::Signed8, DotOp::Signed16, DotOp::UnsignedSigned8To16] {
        let (lane, sum_lane, group) = (op.factor_lane(), op.sum_lane(), usize::from(op.group()));
        let c = random.elements(sum_lane, COUNT);
        let (a, b) = (random.elements(lane, COUNT * group), random.elements(lane, COUNT * group));
        let signed = |v: u64| if lane == Lane::I8 { i32::from(v as i8) } else { i32::from(v as i16) };
        let wanted = (0..COUNT).map(|i| {
            let products = (i * group..(i + 1) * group).map(|j| {
                let x = if op.has_unsigned_factor() { a[j] as i32 } else { signed(a[j]) };
                x.wrapping_mul(signed(b[j]))
            });
            let sum = products.fold(0, i32::wrapping_add);
            if sum_lane == Lane::I16 {
                return u64::from((c[i] as i16).wrapping_add(sum.clamp(i16::MIN.into(), i16::MAX.into()) as i16) as u16);
            }
            u64::from((c[i] as i32).wrapping_add(sum) as u32)
        });
        let wanted: Vec<u64> = wanted.into_iter().collect();
        let mut k = KernelBuilder::new(format!("Dot_{op:?}"));
        let [a_buffer, b_buffer] = ["a", "b"].map(|n| k.buffer(n, BufferKind::Input, lane, (COUNT * group) as u64, 1));
        let c_buffer = k.buffer("c", BufferKind::Input, sum_lane, COUNT as u64, 4);
        let out = k.buffer("out", BufferKind::Output, sum_lane, COUNT as u64, 4);
        k.for_range(0, COUNT as i64, ROUND as i64, |k, i| {
            let narrow = k.scale_index(i, group as i64, 0);
            for lanes in LANES {
                let offset = i64::from(lanes) - 1;
                let x = k.load(a_buffer, narrow, offset * group as i64, lanes * group as u16);
                let y = k.load(b_buffer, narrow, offset * group as i64, lanes * group as u16);
                let z = k.load(c_buffer, i, offset, lanes);
                let result = k.dot(op, z, x, y);
                k.store(out, i, offset, result);
            }
        });
        cases.push(Case::new(k.finish(), vec![bytes(lane, &a), bytes(lane, &b), bytes(sum_lane, &c)], bytes(sum_lane, &wanted)));
    }
    check(&cases);
}

#[test]
fn constants() {
    let mut cases = vec![];
    for (lane, value) in [(Lane::I8, -3), (Lane::I16, -300), (Lane::I32, 70000), (Lane::I64, -1), (Lane::I32, 0)] {
        let wanted = vec![value as u64; COUNT];
        cases.push(lane_wise(format!("constant_{lane:?}"), &[(lane, vec![0; COUNT])], (lane, wanted), |b, v| {
            let ty = b.ty(v[0]);
            b.int(ty, value)
        }));
    }
    for lane in FLOATS {
        let wanted = vec![reference::float_bits(lane, -1.25); COUNT];
        cases.push(lane_wise(format!("constant_{lane:?}"), &[(lane, vec![0; COUNT])], (lane, wanted), |b, v| {
            let ty: Type = b.ty(v[0]);
            b.float(ty, -1.25)
        }));
    }
    check(&cases);
}
