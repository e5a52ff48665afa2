//! Tests that measure errors and special values with the kernel interpreter, against libm in binary64.

use super::super::interpret::interpret;
use super::*;
use crate::{BufferKind, ConvertOp, Kernel, KernelBuilder, Lane, Value};

/// Lanes of one run: so many that the interpreter spends its time on lanes.
const LANES: u16 = 1024;

type Unary = fn(&mut KernelBuilder, Arithmetic, Value) -> Value;

/// All arithmetics of machines. Each gives a function another form.
const ARITHMETICS: [Arithmetic; 3] =
    [Arithmetic::PLAIN, Arithmetic { fused: true, scales: false }, Arithmetic { fused: true, scales: true }];

/// Makes a kernel over `LANES` operands in each of `inputs` buffers.
fn kernel(inputs: usize, build: impl FnOnce(&mut KernelBuilder, &[Value]) -> Value) -> Kernel {
    let mut b = KernelBuilder::new("mathematics");
    let buffers: Vec<_> = (0..inputs).map(|i| b.buffer(format!("x{i}"), BufferKind::Input, Lane::F32, LANES.into(), 4)).collect();
    let output = b.buffer("y", BufferKind::Output, Lane::F32, LANES.into(), 4);
    let zero = b.index(0);
    let operands: Vec<_> = buffers.iter().map(|&buffer| b.load(buffer, zero, 0, LANES)).collect();
    let result = build(&mut b, &operands);
    b.store(output, zero, 0, result);
    b.finish()
}

fn to_bytes(numbers: &[f32]) -> Vec<u8> {
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    bytes.resize(4 * usize::from(LANES), 0);
    bytes
}

fn run(kernel: &Kernel, operands: &[&[f32]]) -> Vec<f32> {
    let mut buffers: Vec<_> = operands.iter().map(|numbers| to_bytes(numbers)).collect();
    buffers.push(to_bytes(&[]));
    assert_eq!(interpret(kernel, &mut buffers, &[]), Ok(0));
    let results = buffers[operands.len()].chunks_exact(4).take(operands[0].len());
    results.map(|chunk| f32::from_le_bytes(chunk.try_into().expect("four bytes"))).collect()
}

/// Returns every `step`th bit pattern of a range.
fn bits(range: std::ops::RangeInclusive<u32>, step: usize) -> Vec<f32> {
    range.step_by(step).map(f32::from_bits).collect()
}

/// Returns bit patterns of all kinds, NaN included, and the neighbours of edges where a function changes its form.
fn everything(edges: &[f32]) -> Vec<f32> {
    let mut numbers = bits(0..=u32::MAX, 5077);
    for edge in edges.iter().chain(&[0.0, 1.0, 0.5, 2.0, f32::MIN_POSITIVE, f32::MAX]) {
        for sign in [0, 1 << 31] {
            let middle = edge.to_bits() | sign;
            numbers.extend((0..2000u32).map(|i| f32::from_bits(middle.wrapping_add(i).wrapping_sub(1000))));
        }
    }
    numbers
}

/// Returns the distance of a result from the true one, in units of the last place of the true one as binary32.
fn ulps(result: f32, truth: f64) -> f64 {
    let rounded = truth as f32;
    if result.to_bits() == rounded.to_bits() || result.is_nan() && truth.is_nan() {
        return 0.0;
    }
    if result.is_nan() || truth.is_nan() || (result.is_infinite() && rounded.is_finite() && rounded.abs() != f32::MAX) {
        return f64::INFINITY;
    }
    // +0 instead of −0 is an error: the sign is part of a special value.
    if result == 0.0 && rounded == 0.0 {
        return if truth == 0.0 { f64::INFINITY } else { 0.0 };
    }
    let exponent = libm::ilogb(truth.abs().max(f64::from(f32::MIN_POSITIVE)));
    let limited = if result.is_infinite() { 2f64.powi(128).copysign(f64::from(result)) } else { f64::from(result) };
    let truth = if truth.abs() > 2f64.powi(128) { 2f64.powi(128).copysign(truth) } else { truth };
    (limited - truth).abs() / 2f64.powi(exponent.min(127) - 23)
}

/// Returns the largest error over some numbers, in all arithmetics.
fn worst(function: Unary, truth: impl Fn(f64) -> f64, numbers: &[f32]) -> (f64, f32) {
    worst_with(&[ARITHMETICS[0], ARITHMETICS[2]], function, truth, numbers)
}

/// Returns the largest error over some numbers, in some arithmetics.
fn worst_with(arithmetics: &[Arithmetic], function: Unary, truth: impl Fn(f64) -> f64, numbers: &[f32]) -> (f64, f32) {
    let kernels: Vec<_> = arithmetics.iter().map(|&arithmetic| kernel(1, |b, x| function(b, arithmetic, x[0]))).collect();
    let mut worst = (0.0, 0.0);
    for chunk in numbers.chunks(LANES.into()) {
        let truths: Vec<f64> = chunk.iter().map(|&x| truth(f64::from(x))).collect();
        for kernel in &kernels {
            for ((&x, &truth), y) in chunk.iter().zip(&truths).zip(run(kernel, &[chunk])) {
                let error = ulps(y, truth);
                if error > worst.0 {
                    worst = (error, x);
                }
            }
        }
    }
    worst
}

#[test]
fn products_with_powers_of_two_have_the_same_bits_either_way() {
    let [parts, once] = [ARITHMETICS[1], ARITHMETICS[2]].map(|arithmetic| kernel(1, |b, x| exp(b, arithmetic, x[0])));
    for chunk in everything(&[88.722_84, 87.336_54, 103.972_08]).chunks(LANES.into()) {
        for ((x, a), b) in chunk.iter().zip(run(&parts, &[chunk])).zip(run(&once, &[chunk])) {
            assert!(a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(), "{x:e}: {a:e} and {b:e}");
        }
    }
}

#[track_caller]
fn within(bound: f64, (error, x): (f64, f32)) {
    assert!(error <= bound, "{error} ulp at {x:e} ({:#x})", x.to_bits());
    // A bound far above the measured error would not notice a worse polynomial.
    assert!(error > 0.4 * bound, "only {error} ulp");
}

#[test]
fn exp_is_within_one_ulp() {
    within(1.0, worst(exp, libm::exp, &everything(&[88.722_84, 87.336_54, 103.972_08, 0.346_573_6])));
}

#[test]
fn log_is_within_one_ulp() {
    within(1.0, worst(log, libm::log, &everything(&[0.707_106_77, std::f32::consts::SQRT_2])));
}

#[test]
fn tanh_is_within_two_ulp() {
    within(2.0, worst(tanh, libm::tanh, &everything(&[0.625, 9.01])));
}

#[test]
fn logistic_is_within_three_ulp_and_tiny_results_are_zero() {
    // 2⁻¹²⁸ is the result at −88.72.
    let flushed = |x: f64| if x < -88.72 { 0.0 } else { 1.0 / (1.0 + libm::exp(-x)) };
    let numbers: Vec<f32> = everything(&[16.6, 87.3]).into_iter().filter(|x| !(-88.73..-88.71).contains(x)).collect();
    let (normal, tiny): (Vec<f32>, Vec<f32>) = numbers.iter().partition(|&&x| !(-88.72..=-87.336).contains(&x));
    within(3.0, worst(logistic, flushed, &normal));
    // Denormal results have the error of one division.
    assert!(worst(logistic, flushed, &tiny).0 <= 3.0);
}

#[test]
fn erf_is_within_two_ulp() {
    within(2.0, worst(erf, libm::erf, &everything(&[0.92, 3.92, 4.0])));
}

#[test]
fn erfc_is_within_six_ulp_where_it_is_normal() {
    // erfc 9.19 is the smallest normal number.
    let normal: Vec<f32> = everything(&[3.0, 9.19]).into_iter().filter(|x| !(*x > 9.19 && *x < 10.2)).collect();
    within(6.0, worst(erfc, libm::erfc, &normal));
    let tiny: Vec<f32> = bits(9.19f32.to_bits()..=10.2f32.to_bits(), 37);
    assert!(worst(erfc, libm::erfc, &tiny).0 <= 6.0 + 2.0);
}

/// The error is absolute, in units of 2⁻²²: the result may be 0.
#[test]
fn normal_cdf_is_within_two_to_the_minus_22nd() {
    let numbers: Vec<f32> = everything(&[5.45, 1.0]).into_iter().chain(bits(1f32.to_bits()..=6f32.to_bits(), 37)).collect();
    let numbers: Vec<f32> = numbers.iter().flat_map(|&x| [x, -x]).collect();
    for arithmetic in [ARITHMETICS[0], ARITHMETICS[2]] {
        let kernel = kernel(1, |b, x| normal_cdf(b, arithmetic, x[0]));
        for part in numbers.chunks(LANES.into()) {
            for (&x, found) in part.iter().zip(run(&kernel, &[part])) {
                let truth = 0.5 * libm::erfc(-f64::from(x) * std::f64::consts::FRAC_1_SQRT_2);
                let error = (f64::from(found) - truth).abs() * f64::from(1u32 << 22);
                let is_share = (0.0..=1.0 + f32::EPSILON).contains(&found);
                assert!(if x.is_nan() { found.is_nan() } else { error <= 1.0 && is_share }, "{x}: {found}, not {truth}");
            }
        }
        assert_eq!(run(&kernel, &[&[5.45, 1e30, f32::INFINITY, -5.45, -1e30, f32::NEG_INFINITY]]), [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    }
}

#[test]
fn reciprocals_are_within_one_ulp() {
    let numbers = bits(1f32.to_bits()..=2f32.powi(125).to_bits(), 997)
        .into_iter()
        .chain(bits(1f32.to_bits()..=4f32.to_bits(), 37))
        .collect::<Vec<_>>();
    within(1.0, worst_with(&[ARITHMETICS[2]], |b, _, x| reciprocal::negative_reciprocal(b, x), |x| -1.0 / x, &numbers));
}

#[test]
fn rsqrt_is_within_two_ulp() {
    within(2.0, worst(|b, _, x| rsqrt(b, x), |x| 1.0 / libm::sqrt(x), &everything(&[])));
}

#[test]
fn sin_and_cos_are_within_two_ulp_to_two_to_the_26th() {
    let largest = 67_108_864f32;
    let mut numbers: Vec<f32> =
        everything(&[std::f32::consts::FRAC_PI_4, largest]).into_iter().filter(|x| x.abs() <= largest || !x.is_finite()).collect();
    numbers.extend(bits(0.25f32.to_bits()..=largest.to_bits(), 709));
    // Multiples of a quarter turn have the smallest remainders.
    numbers.extend((1..20_000u32).map(|n| (f64::from(n * n) * std::f64::consts::FRAC_PI_2) as f32).filter(|x| x.abs() <= largest));
    within(2.0, worst(sin, libm::sin, &numbers));
    within(2.0, worst(cos, libm::cos, &numbers));
}

#[test]
fn sin_and_cos_of_large_angles_are_those_of_the_whole_angle() {
    let far = bits(67_108_864f32.to_bits()..=f32::MAX.to_bits(), 2011);
    // A small angle follows each large one, since each lane chooses its own form. The first extra number is the binary32 nearest to a multiple of
    // π/2.
    let mut numbers: Vec<f32> = far.iter().flat_map(|&x| [x, 1.0, -x]).collect();
    numbers.extend([16_367_173.0 * 2f32.powi(72), f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
    within(2.0, worst(sin, libm::sin, &numbers));
    within(2.0, worst(cos, libm::cos, &numbers));
}

/// Returns the values of a function of two operands.
fn of_pairs(function: impl Fn(&mut KernelBuilder, Value, Value) -> Value, xs: &[f32], ys: &[f32]) -> Vec<f32> {
    let kernel = kernel(2, |b, x| function(b, x[0], x[1]));
    xs.chunks(LANES.into()).zip(ys.chunks(LANES.into())).flat_map(|(xs, ys)| run(&kernel, &[xs, ys])).collect()
}

#[test]
fn atan2_is_within_three_ulp_and_as_c99() {
    let (ys, xs) = pairs();
    let mut worst = 0.0;
    for ((&y, &x), result) in ys.iter().zip(&xs).zip(of_pairs(atan2, &ys, &xs)) {
        let error = ulps(result, libm::atan2(y.into(), x.into()));
        assert!(error <= 3.0, "the angle of ({x:e}, {y:e}) is {result:e}: {error} ulp");
        worst = f64::max(worst, error);
    }
    assert!(worst > 1.0, "only {worst} ulp");
}

#[test]
fn atan2_of_binary64_is_far_more_exact() {
    let wide = |b: &mut KernelBuilder, y, x| {
        let (y, x) = (b.convert(ConvertOp::Promote, y, Lane::F64), b.convert(ConvertOp::Promote, x, Lane::F64));
        let angle = atan2(b, y, x);
        // This is the rounding error of the angle in binary32, scaled up to a range that binary32 holds.
        let near = b.convert(ConvertOp::Demote, angle, Lane::F32);
        let near = b.convert(ConvertOp::Promote, near, Lane::F64);
        let rest = b.sub(angle, near);
        let rest = mul_constant(b, rest, 1e12);
        b.convert(ConvertOp::Demote, rest, Lane::F32)
    };
    let (ys, xs): (Vec<f32>, Vec<f32>) = (0..20_000).map(|i| ((i as f32 * 0.37).sin(), (i as f32 * 0.71).cos())).unzip();
    for ((&y, &x), rest) in ys.iter().zip(&xs).zip(of_pairs(wide, &ys, &xs)) {
        let truth = libm::atan2(y.into(), x.into());
        let expected = (truth - f64::from(truth as f32)) * 1e12;
        assert!((f64::from(rest) - expected).abs() < 0.005, "{rest} instead of {expected} at ({x}, {y})");
    }
}

#[test]
fn remainders_are_exact() {
    let (xs, ys) = pairs();
    for ((&x, &y), result) in xs.iter().zip(&ys).zip(of_pairs(remainder, &xs, &ys)) {
        let truth = x % y;
        assert!(result.to_bits() == truth.to_bits() || result.is_nan() && truth.is_nan(), "{x:e} % {y:e} is {truth:e}, not {result:e}");
    }
}

#[test]
fn bfloat16_is_read_and_rounded_exactly() {
    let all: Vec<f32> = (0..=u16::MAX).map(|n| f32::from_bits(n.into())).collect();
    let reader = kernel(1, |b, x| {
        let bits = b.convert(ConvertOp::Bitcast, x[0], Lane::I32);
        f32_of_bf16(b, bits)
    });
    for chunk in all.chunks(LANES.into()) {
        for (n, x) in chunk.iter().zip(run(&reader, &[chunk])) {
            assert_eq!(x.to_bits(), n.to_bits() << 16);
        }
    }
    let writer = kernel(1, |b, x| {
        let bits = bf16_of_f32(b, x[0]);
        b.convert(ConvertOp::Bitcast, bits, Lane::F32)
    });
    for chunk in everything(&[3.389_531_4e38]).chunks(LANES.into()) {
        for (&x, bits) in chunk.iter().zip(run(&writer, &[chunk])) {
            assert_eq!(bits.to_bits(), u32::from(half::bf16::from_f32(x).to_bits()), "{x:e}");
        }
    }
}

/// Returns pairs of operands: of all kinds, of moderate size, with powers near an edge, and all special ones.
fn pairs() -> (Vec<f32>, Vec<f32>) {
    let special =
        [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 8_388_609.0, 16_777_217.0, 1e30, f32::INFINITY, f32::NAN, f32::MIN_POSITIVE, 1e-45, f32::MAX];
    let special: Vec<f32> = special.iter().flat_map(|&x| [x, -x]).collect();
    let (mut xs, mut ys) = (vec![], vec![]);
    for &x in &special {
        xs.extend(special.iter().map(|_| x));
        ys.extend(&special);
    }
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    for i in 0..300_000 {
        let x = f32::from_bits(random());
        let unit = f64::from(random()) / 2f64.powi(32);
        // Powers of x are between 2⁻¹⁵² and 2¹³⁰, or arbitrary, or small integers, or x is near 1.
        let log2 = libm::log2(f64::from(x).abs());
        let (x, y) = match i % 4 {
            0 => (x.abs(), ((unit * 282.0 - 152.0) / log2) as f32),
            1 => (x, f32::from_bits(random())),
            2 => (x, (unit * 21.0 - 10.0).floor() as f32),
            _ => (1.0 + (unit * 0.02 - 0.01) as f32, (f64::from(random()) / 2f64.powi(20)) as f32),
        };
        xs.push(x);
        ys.push(y);
    }
    (xs, ys)
}

#[test]
fn pow_is_within_one_ulp_and_as_c99() {
    let kernel = kernel(2, |b, x| pow(b, x[0], x[1]));
    let (xs, ys) = pairs();
    let mut worst = 0.0;
    for (xs, ys) in xs.chunks(LANES.into()).zip(ys.chunks(LANES.into())) {
        for ((&x, &y), result) in xs.iter().zip(ys).zip(run(&kernel, &[xs, ys])) {
            let error = ulps(result, libm::pow(x.into(), y.into()));
            assert!(error <= 1.0, "{x:e} to the {y:e} gives {result:e}: {error} ulp");
            worst = f64::max(worst, error);
        }
    }
    assert!(worst > 0.4, "only {worst} ulp");
}

#[test]
fn one_lane_gives_what_many_give() {
    let numbers = [-3.0f32, -0.4, -0.0, 0.7, 2.5];
    let functions: [Unary; 9] = [exp, log, tanh, logistic, erf, erfc, sin, cos, |b, _, x| rsqrt(b, x)];
    for (function, arithmetic) in functions.iter().flat_map(|function| ARITHMETICS.map(|arithmetic| (function, arithmetic))) {
        let many = run(&kernel(1, |b, x| function(b, arithmetic, x[0])), &[&numbers]);
        let alone = kernel(1, |b, x| {
            let mut all = constant(b, x[0], 0.0);
            for lane in 0..numbers.len() as u16 {
                let one = b.extract(x[0], lane);
                let one = function(b, arithmetic, one);
                let one = b.splat(one, LANES);
                let picks = (0..LANES).map(|i| if i == lane { LANES } else { i }).collect();
                all = b.shuffle(all, one, picks);
            }
            all
        });
        let alone = run(&alone, &[&numbers]);
        assert!(many.iter().zip(&alone).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()), "{many:?} {alone:?}");
    }
}
