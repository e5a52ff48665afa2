use super::*;
use crate::KernelBuilder;

fn bytes_of_i32(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn i32_of_bytes(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|chunk| i32::from_le_bytes(chunk.try_into().expect("four bytes"))).collect()
}

/// Runs a kernel that `build` makes, without inputs and with one i32 vector as result, and returns the vector's lanes.
fn lanes_of(build: impl FnOnce(&mut KernelBuilder) -> Value) -> Vec<i32> {
    let mut b = KernelBuilder::new("lanes");
    let output = b.buffer("output", BufferKind::Output, Lane::I32, 16, 4);
    let value = build(&mut b);
    let zero = b.index(0);
    b.store(output, zero, 0, value);
    let lanes = usize::from(b.ty(value).lanes);
    let mut buffers = [vec![0; 64]];
    assert_eq!(interpret(&b.finish(), &mut buffers, &[]), Ok(0));
    i32_of_bytes(&buffers[0])[..lanes].to_vec()
}

fn vector(b: &mut KernelBuilder, lane: Lane, numbers: &[i64]) -> Value {
    let local = b.buffer("numbers", BufferKind::Local, lane, numbers.len() as u64, 8);
    for (i, &number) in numbers.iter().enumerate() {
        let (index, number) = (b.index(i as i64), b.int(Type::scalar(lane), number));
        b.store(local, index, 0, number);
    }
    let zero = b.index(0);
    b.load(local, zero, 0, numbers.len() as u16)
}

#[test]
fn a_counted_loop_carries_values_and_swaps_them() {
    // Fibonacci: each step yields (b, a + b), so the yields name each other's parameters.
    let lanes = lanes_of(|b| {
        let (start, end) = (b.index(0), b.index(20));
        let one = b.int(Type::scalar(Lane::I32), 1);
        let zero = b.int(Type::scalar(Lane::I32), 0);
        let last = b.for_carry(start, end, 2, &[zero, one], |b, _, carried| vec![carried[1], b.add(carried[0], carried[1])]);
        last[0]
    });
    assert_eq!(lanes, [55]);
}

#[test]
fn a_while_loop_runs_once_at_least_and_an_if_takes_one_side() {
    let count = |limit: i64| {
        lanes_of(move |b| {
            let ty = Type::scalar(Lane::I32);
            let zero = b.int(ty, 0);
            let last = b.loop_while(&[zero], |b, carried| {
                let one = b.int(ty, 1);
                let next = b.add(carried[0], one);
                let limit = b.int(ty, limit);
                (b.compare(CompareOp::Less, next, limit), vec![next])
            });
            let limit = b.int(ty, limit);
            let met = b.compare(CompareOp::Equal, last[0], limit);
            b.if_else(met, |_| vec![last[0]], |b| vec![b.int(ty, -1)])[0]
        })
    };
    assert_eq!(count(7), [7]);
    assert_eq!(count(0), [-1]);
}

#[test]
fn a_failure_leaves_with_its_status_and_keeps_earlier_stores() {
    let mut b = KernelBuilder::new("fails");
    let output = b.buffer("output", BufferKind::Output, Lane::I32, 4, 4);
    let limit = b.integer();
    b.for_range(0, 4, 1, |b, i| {
        let reached = b.compare(CompareOp::GreaterEqual, i, limit);
        b.fail_if(reached, -12);
        let one = b.int(Type::scalar(Lane::I32), 1);
        b.store(output, i, 0, one);
    });
    let kernel = b.finish();
    let mut buffers = [vec![0; 16]];
    assert_eq!(interpret(&kernel, &mut buffers, &[2]), Ok(-12));
    assert_eq!(i32_of_bytes(&buffers[0]), [1, 1, 0, 0]);
    assert_eq!(interpret(&kernel, &mut buffers, &[4]), Ok(0));
}

/// Makes a kernel that loads two elements of an input, and stores them to a buffer at an index that is a parameter.
fn copier(to: BufferKind) -> Kernel {
    let mut b = KernelBuilder::new("copier");
    let input = b.buffer("input", BufferKind::Input, Lane::I32, 4, 4);
    let output = b.buffer("output", to, Lane::I32, 8, 4);
    let (from, to) = (b.integer(), b.integer());
    let value = b.load(input, from, 1, 2);
    b.store(output, to, -1, value);
    b.finish()
}

#[test]
fn accesses_outside_name_the_buffer_and_the_index() {
    let run = |from, to| {
        let mut buffers = [bytes_of_i32(&[1, 2, 3, 4]), vec![0; 32]];
        interpret(&copier(BufferKind::Output), &mut buffers, &[from, to]).map_err(|e| e.to_string())
    };
    assert_eq!(run(1, 7), Ok(0));
    assert_eq!(run(2, 7), Err("kernel copier: a load of element 4 of buffer input, which has 4".into()));
    assert_eq!(run(i64::MAX, 7), Err(format!("kernel copier: a load of element {} of buffer input, which has 4", i64::MIN)));
    assert_eq!(run(1, 8), Err("kernel copier: a store of element 8 of buffer output, which has 8".into()));
    assert_eq!(run(1, 0), Err("kernel copier: a store of element -1 of buffer output, which has 8".into()));
}

#[test]
fn wrong_arguments_are_told() {
    let run = |kernel: &Kernel, buffers: &mut [Vec<u8>], integers: &[i64]| interpret(kernel, buffers, integers).map_err(|e| e.to_string());
    let kernel = copier(BufferKind::Output);
    let mut good = vec![vec![0; 16], vec![0; 32]];
    assert_eq!(run(&kernel, &mut good, &[0]), Err("kernel copier: 1 integers for 2 parameters".into()));
    assert_eq!(run(&kernel, &mut good[..1], &[0, 1]), Err("kernel copier: no buffer for output".into()));
    good.push(vec![]);
    assert_eq!(run(&kernel, &mut good, &[0, 1]), Err("kernel copier: 3 buffers for 2 parameters".into()));
    let mut short = vec![vec![0; 15], vec![0; 32]];
    assert_eq!(run(&kernel, &mut short, &[0, 1]), Err("kernel copier: 15 bytes for input, which needs 16".into()));
    let mut good = vec![vec![0; 16], vec![0; 32]];
    assert_eq!(run(&copier(BufferKind::Input), &mut good, &[0, 1]), Err("kernel copier: a store to the input output".into()));
}

#[test]
fn memory_is_little_endian_and_partial_loads_fill_with_zeros() {
    let mut b = KernelBuilder::new("partial");
    let input = b.buffer("input", BufferKind::Input, Lane::I16, 3, 2);
    let output = b.buffer("output", BufferKind::Output, Lane::I32, 8, 4);
    let zero = b.index(0);
    let value = b.load_active(input, zero, 0, 8, 3);
    let value = b.convert(ConvertOp::SignExtend, value, Lane::I32);
    b.store_active(output, zero, 0, value, 4);
    let mut buffers = [vec![0xfe, 0xff, 0x34, 0x12, 1, 0], vec![9; 32]];
    assert_eq!(interpret(&b.finish(), &mut buffers, &[]), Ok(0));
    assert_eq!(i32_of_bytes(&buffers[1])[..5], [-2, 0x1234, 1, 0, 0x0909_0909]);
}

#[test]
fn masks_leave_lanes_out() {
    let mut b = KernelBuilder::new("masked");
    let count = b.integer();
    let input = b.buffer("input", BufferKind::Input, Lane::I32, 3, 4);
    let output = b.buffer("output", BufferKind::Output, Lane::I32, 6, 4);
    let zero = b.index(0);
    let mask = b.first_lanes(count, 4);
    let value = b.load_active(input, zero, 0, 4, Active::Where(mask));
    let one = b.int(Type::vector(Lane::I32, 4), 1);
    let value = b.add(value, one);
    b.store_active(output, zero, 1, value, Active::Where(mask));
    let kernel = b.finish();
    let run = |count: i64| {
        let mut buffers = [bytes_of_i32(&[10, 20, 30]), bytes_of_i32(&[7; 6])];
        interpret(&kernel, &mut buffers, &[count]).map(|_| i32_of_bytes(&buffers[1])).map_err(|e| e.to_string())
    };
    assert_eq!(run(0), Ok(vec![7; 6]));
    assert_eq!(run(3), Ok(vec![7, 11, 21, 31, 7, 7]));
    assert_eq!(run(4), Err("kernel masked: a load of element 3 of buffer input, which has 3".into()));
}

#[test]
fn gathers_clamp_or_are_checked() {
    let gather = |bounds| {
        let mut b = KernelBuilder::new("gather");
        let input = b.buffer("input", BufferKind::Input, Lane::I32, 3, 4);
        let output = b.buffer("output", BufferKind::Output, Lane::I32, 4, 4);
        let indices = vector(&mut b, Lane::I32, &[-5, 0, 1, 9]);
        let value = b.gather(input, indices, 1, bounds);
        let zero = b.index(0);
        b.store(output, zero, 0, value);
        let mut buffers = [bytes_of_i32(&[10, 20, 30]), vec![0; 16]];
        interpret(&b.finish(), &mut buffers, &[]).map(|_| i32_of_bytes(&buffers[1])).map_err(|e| e.to_string())
    };
    assert_eq!(gather(Bounds::Clamp), Ok(vec![10, 20, 30, 30]));
    assert_eq!(gather(Bounds::Proven), Err("kernel gather: a load of element -4 of buffer input, which has 3".into()));
}

#[test]
fn bytes_are_indices_with_a_sign() {
    let mut b = KernelBuilder::new("gather");
    let input = b.buffer("input", BufferKind::Input, Lane::I8, 257, 1);
    let output = b.buffer("output", BufferKind::Output, Lane::I8, 4, 1);
    let indices = vector(&mut b, Lane::I8, &[-128, -1, 0, 127]);
    let value = b.gather(input, indices, 129, Bounds::Proven);
    let zero = b.index(0);
    b.store(output, zero, 0, value);
    let mut buffers = [(0..257u16).map(|n| n as u8).collect(), vec![0; 4]];
    interpret(&b.finish(), &mut buffers, &[]).expect("indices inside");
    assert_eq!(buffers[1], [1, 128, 129, 0]);
}

#[test]
fn splats_and_groups_repeat() {
    let lanes = lanes_of(|b| {
        let numbers = b.buffer("numbers", BufferKind::Local, Lane::I16, 4, 8);
        let zero = b.index(0);
        for i in 0..4 {
            let number = b.int(Type::scalar(Lane::I16), i + 1);
            b.store(numbers, zero, i, number);
        }
        let group = b.load_splat_group(numbers, zero, 1, 2, 4);
        let one = b.load_splat(numbers, zero, 3, 4);
        let both = b.join(group, one);
        b.convert(ConvertOp::SignExtend, both, Lane::I32)
    });
    assert_eq!(lanes, [2, 3, 2, 3, 4, 4, 4, 4]);
}

#[test]
fn lanes_are_picked_and_joined() {
    let lanes = lanes_of(|b| {
        let (low, high) = (vector(b, Lane::I32, &[0, 1, 2, 3]), vector(b, Lane::I32, &[4, 5, 6, 7]));
        let shuffled = b.shuffle(low, high, vec![7, 0, 3, 4]);
        let part = b.part(high, 2, 2);
        let part = b.join(part, part);
        b.join(shuffled, part)
    });
    assert_eq!(lanes, [7, 0, 3, 4, 6, 7, 6, 7]);
}

/// Each row: an operation, its lane, two operands and the result, read as signed.
const INTEGERS: &[(BinaryOp, Lane, i64, i64, i64)] = &[
    (BinaryOp::Add, Lane::I8, 127, 1, -128),
    (BinaryOp::Sub, Lane::I16, -32768, 1, 32767),
    (BinaryOp::Mul, Lane::I64, i64::MIN, 3, i64::MIN),
    (BinaryOp::SignedDiv, Lane::I32, -7, 2, -3),
    (BinaryOp::SignedDiv, Lane::I32, 7, 0, 0),
    (BinaryOp::SignedDiv, Lane::I32, i32::MIN as i64, -1, i32::MIN as i64),
    (BinaryOp::SignedDiv, Lane::I64, i64::MIN, -1, i64::MIN),
    (BinaryOp::SignedRem, Lane::I32, -7, 2, -1),
    (BinaryOp::SignedRem, Lane::I64, i64::MIN, -1, 0),
    (BinaryOp::UnsignedDiv, Lane::I8, -1, 2, 127),
    (BinaryOp::UnsignedRem, Lane::I8, -1, 16, 15),
    (BinaryOp::UnsignedRem, Lane::I8, -1, 0, 0),
    (BinaryOp::ShiftLeft, Lane::I16, 3, 15, -32768),
    (BinaryOp::ShiftRightSigned, Lane::I8, -128, 7, -1),
    (BinaryOp::ShiftRightUnsigned, Lane::I8, -128, 7, 1),
    (BinaryOp::SignedMin, Lane::I8, -1, 1, -1),
    (BinaryOp::UnsignedMin, Lane::I8, -1, 1, 1),
    (BinaryOp::SignedAddSaturating, Lane::I8, 100, 100, 127),
    (BinaryOp::SignedSubSaturating, Lane::I16, -30000, 30000, -32768),
];

#[test]
fn integers_wrap_saturate_and_divide_by_zero() {
    for &(op, lane, a, b, expected) in INTEGERS {
        let cut = |n: i64| if lane == Lane::I64 { n as u64 } else { n as u64 & ((1 << (8 * lane.bytes())) - 1) };
        let result = lane::binary(op, lane, cut(a), cut(b));
        assert_eq!(result, cut(expected), "{op:?} {lane:?} {a} {b}");
    }
}

#[test]
fn shifts_by_the_width_break_a_rule() {
    let mut b = KernelBuilder::new("shifts");
    let ty = Type::scalar(Lane::I32);
    let (one, count) = (b.int(ty, 1), b.int(ty, 32));
    b.binary(BinaryOp::ShiftLeft, one, count);
    let error = interpret(&b.finish(), &mut [], &[]).map_err(|e| e.to_string());
    assert_eq!(error, Err("kernel shifts: %2: a shift by 32 of 32 bits".into()));
}

#[test]
fn float_minima_differ_in_nan_and_zero() {
    let f = |op, a: f32, b: f32| f32::from_bits(lane::binary(op, Lane::F32, a.to_bits().into(), b.to_bits().into()) as u32);
    let nan = f32::NAN;
    assert!(f(BinaryOp::FloatMinFirst, nan, 1.0).is_nan());
    assert_eq!(f(BinaryOp::FloatMinFirst, 1.0, nan), 1.0);
    assert!(f(BinaryOp::FloatMaxPropagate, 1.0, nan).is_nan());
    assert!(f(BinaryOp::FloatMinPropagate, nan, 1.0).is_nan());
    assert_eq!(f(BinaryOp::FloatMaxIgnore, nan, 1.0), 1.0);
    assert_eq!(f(BinaryOp::FloatMinIgnore, 1.0, nan), 1.0);
    assert_eq!(f(BinaryOp::FloatMinFirst, 0.0, -0.0).to_bits(), 0);
    assert_eq!(f(BinaryOp::FloatMinPropagate, 0.0, -0.0).to_bits(), 1 << 31);
    assert_eq!(f(BinaryOp::FloatMaxPropagate, -0.0, 0.0).to_bits(), 0);
}

#[test]
fn conversions_saturate_and_round_once() {
    let f32_bits = |x: f32| u64::from(x.to_bits());
    assert_eq!(lane::convert(ConvertOp::FloatToSigned, Lane::F32, Lane::I8, f32_bits(-300.0)), 0x80);
    assert_eq!(lane::convert(ConvertOp::FloatToSigned, Lane::F32, Lane::I32, f32_bits(f32::NAN)), 0);
    assert_eq!(lane::convert(ConvertOp::FloatToUnsigned, Lane::F32, Lane::I8, f32_bits(300.0)), 0xff);
    assert_eq!(lane::convert(ConvertOp::FloatToSignedInRange, Lane::F32, Lane::I32, f32_bits(-2.9)), 0xffff_fffe);
    assert_eq!(lane::convert(ConvertOp::NarrowUnsigned, Lane::I16, Lane::I8, 0xffff), 0);
    assert_eq!(lane::convert(ConvertOp::NarrowSigned, Lane::I16, Lane::I8, 0x7fff), 0x7f);
    // 2⁶² + 2³⁸ + 1 is above the middle between two binary32 numbers only by the 1, which binary64 would lose.
    let number = (1u64 << 62) + (1 << 38) + 1;
    let expected = f32_bits(4_611_686_568_183_201_792.0);
    assert_eq!(lane::convert(ConvertOp::SignedToFloat, Lane::I64, Lane::F32, number), expected);
}

#[test]
fn wide_products_round_as_gemmlowp() {
    let n = |number: i32| u64::from(number as u32);
    assert_eq!(wide::mul_high(false, n(-1), n(-1)), n(-2));
    assert_eq!(wide::mul_high(true, n(-1), n(-1)), n(0));
    assert_eq!(wide::mul_high(true, n(i32::MIN), n(3)), n(-2));
    assert_eq!(wide::saturating_rounding_doubling_high_mul(n(i32::MIN), n(i32::MIN)), n(i32::MAX));
    assert_eq!(wide::saturating_rounding_doubling_high_mul(n(-1), n(1 << 30)), n(0));
    assert_eq!(wide::saturating_rounding_doubling_high_mul(n(3), n(1 << 30)), n(2));
    assert_eq!(wide::rounding_divide_by_power_of_two(n(-3), n(1)), n(-2));
    assert_eq!(wide::rounding_divide_by_power_of_two(n(i32::MIN), n(31)), n(-1));
    assert_eq!(wide::rounding_divide_by_power_of_two(n(5), n(0)), n(5));
}

#[test]
fn dot_products_know_signs() {
    assert_eq!(wide::dot(DotOp::UnsignedSigned8, &[1], &[0xff, 1, 0, 0], &[0x80, 0xff, 5, 5]), [u64::from((1 - 255 * 128 - 1) as u32)]);
    assert_eq!(wide::dot(DotOp::Signed8, &[0], &[0xff, 1, 0, 0], &[0x80, 0xff, 5, 5]), [127]);
    assert_eq!(wide::dot(DotOp::Signed16, &[0], &[0x8000, 0x8000], &[0x8000, 0x8000]), [0x8000_0000]);
    let (rows, columns): (Vec<u64>, Vec<u64>) =
        ((0..16).map(|i| if i < 8 { 0xff } else { 1 }).collect(), (0..16).map(|i| 1 + i / 8).collect());
    let number = |n: i32| u64::from(n as u32);
    assert_eq!(wide::dot(DotOp::SignedSquares, &[100; 4], &rows, &columns), [92, 84, 108, 116]);
    assert_eq!(wide::dot(DotOp::UnsignedSignedSquares, &[0; 4], &rows, &columns), [8 * 255, 16 * 255, 8, 16].map(number));
    assert_eq!(wide::dot(DotOp::UnsignedSigned8To16, &[0xffff, 2], &[0xff, 0xff, 3, 4], &[0x80, 0x80, 0xff, 5]), [0x7fff, 19]);
}

#[test]
fn sums_are_taken_by_halves() {
    let lanes = [1e8f32, 1.0, -1e8, 1.0].map(|x| u64::from(x.to_bits()));
    // (1e8 − 1e8) + (1 + 1); in order the first 1 would be lost.
    assert_eq!(wide::horizontal(HorizontalOp::Add, Lane::F32, &lanes), [u64::from(2f32.to_bits())]);
    assert_eq!(wide::horizontal(HorizontalOp::Max, Lane::I8, &[0x80, 0x7f]), [0x7f]);
}

#[test]
fn products_towards_zero_are_the_largest_floats_not_beyond_the_exact_ones() {
    let mut state = 5u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    // In units of 2⁻⁷⁰, a number up to 2¹² with 24 bits is an integer. So is the product of two in units of 2⁻³⁵.
    let exact = |x: f32, unit: i32| (f64::from(x) * 2f64.powi(unit)) as i128;
    for _ in 0..20_000 {
        let [a, b, c] = [0, 1, 2].map(|_| {
            let magnitude = f32::from_bits((117 + random(20) as u32) << 23 | random(1 << 23) as u32);
            if random(2) == 0 { magnitude } else { -magnitude }
        });
        let c = if random(8) == 0 { -(a * b) } else { c };
        let wanted = exact(a, 35) * exact(b, 35) + exact(c, 70);
        let found = fma_toward_zero(a, b, c);
        let next = f32::from_bits(found.to_bits() + 1);
        assert!(wanted == 0 || (found < 0.0) == (wanted < 0) || found == 0.0, "{a} {b} {c}: {found}");
        let between = exact(found, 70).abs() <= wanted.abs() && wanted.abs() < exact(next, 70).abs();
        assert!(between || exact(found, 70) == wanted, "{a} {b} {c}: {found}");
    }
    assert!(fma_toward_zero(f32::NAN, 1.0, 1.0).is_nan());
    assert_eq!(fma_toward_zero(f32::MAX, 2.0, 0.0), f32::MAX);
    assert_eq!(fma_toward_zero(f32::INFINITY, -2.0, 0.0), f32::NEG_INFINITY);
}
