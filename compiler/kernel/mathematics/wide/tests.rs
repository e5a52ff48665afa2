//! Tests that measure errors and special values with the kernel interpreter, against libm.

use super::super::super::interpret::interpret;
use super::super::constant;
use super::*;
use crate::{BufferKind, Kernel, KernelBuilder, Lane, Value};

/// Lanes of one run: so many that the interpreter spends its time on lanes.
const LANES: u16 = 1024;

/// Makes a kernel over `LANES` operands in each of `inputs` buffers.
fn kernel(inputs: usize, build: impl FnOnce(&mut KernelBuilder, &[Value]) -> Value) -> Kernel {
    let mut b = KernelBuilder::new("mathematics");
    let buffers: Vec<_> = (0..inputs).map(|i| b.buffer(format!("x{i}"), BufferKind::Input, Lane::F64, LANES.into(), 8)).collect();
    let output = b.buffer("y", BufferKind::Output, Lane::F64, LANES.into(), 8);
    let zero = b.index(0);
    let operands: Vec<_> = buffers.iter().map(|&buffer| b.load(buffer, zero, 0, LANES)).collect();
    let result = build(&mut b, &operands);
    b.store(output, zero, 0, result);
    b.finish()
}

fn to_bytes(numbers: &[f64]) -> Vec<u8> {
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    bytes.resize(8 * usize::from(LANES), 0);
    bytes
}

fn run(kernel: &Kernel, operands: &[&[f64]]) -> Vec<f64> {
    let mut buffers: Vec<_> = operands.iter().map(|numbers| to_bytes(numbers)).collect();
    buffers.push(to_bytes(&[]));
    assert_eq!(interpret(kernel, &mut buffers, &[]), Ok(0));
    let results = buffers[operands.len()].chunks_exact(8).take(operands[0].len());
    results.map(|chunk| f64::from_le_bytes(chunk.try_into().expect("eight bytes"))).collect()
}

/// A generator of numbers that are equal in every run.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let high = self.0 >> 32;
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        high << 32 | self.0 >> 32
    }

    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / 2f64.powi(53)
    }
}

/// Returns bit patterns of every kind, numbers of moderate size, all special numbers, and the neighbours of edges where a function changes its form.
fn everything(edges: &[f64]) -> Vec<f64> {
    let mut random = Random(1);
    let mut numbers: Vec<f64> = (0..20_000).map(|_| f64::from_bits(random.bits())).collect();
    numbers.extend((0..30_000).map(|_| (random.unit() - 0.5) * 2f64.powi((random.bits() % 14) as i32 - 3)));
    for edge in edges.iter().chain(&[0.0, 1.0, 0.5, 2.0, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY]) {
        for sign in [0, 1 << 63] {
            let middle = edge.to_bits() | sign;
            numbers.extend((0..200u64).map(|i| f64::from_bits(middle.wrapping_add(i).wrapping_sub(100))));
        }
    }
    numbers
}

/// Returns the distance of a result from libm's, in units of the last place of libm's.
fn ulps(result: f64, truth: f64) -> f64 {
    if result.to_bits() == truth.to_bits() || result.is_nan() && truth.is_nan() {
        return 0.0;
    }
    if result.is_nan() || truth.is_nan() || result.is_sign_negative() != truth.is_sign_negative() {
        return f64::INFINITY;
    }
    // Bit patterns of one sign count the units. Infinity is one beyond the largest number.
    result.to_bits().abs_diff(truth.to_bits()) as f64
}

type Unary = fn(&mut KernelBuilder, Value) -> Value;

#[track_caller]
fn within(bound: f64, function: Unary, truth: fn(f64) -> f64, numbers: &[f64]) {
    let kernel = kernel(1, |b, x| function(b, x[0]));
    let mut worst = (0.0, 0.0);
    for chunk in numbers.chunks(LANES.into()) {
        for (&x, y) in chunk.iter().zip(run(&kernel, &[chunk])) {
            let error = ulps(y, truth(x));
            if error > worst.0 {
                worst = (error, x);
            }
        }
    }
    assert!(worst.0 <= bound, "{} ulp at {:e} ({:#x})", worst.0, worst.1, worst.1.to_bits());
}

#[test]
fn exp_and_log_are_within_one_ulp() {
    within(1.0, exp, libm::exp, &everything(&[709.782_712_893_384, 708.396_418_532_264_1, 745.133_219_101_941_1, 0.346_573_590_279_972_6]));
    within(1.0, log, libm::log, &everything(&[std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::SQRT_2]));
}

#[test]
fn tanh_and_erf_are_within_two_ulp() {
    within(2.0, tanh, libm::tanh, &everything(&[0.625, 19.0]));
    within(2.0, erf, libm::erf, &everything(&[0.84375, 1.25, 2.857_142_857_142_857, 5.9, 6.0]));
}

#[test]
fn erfc_is_within_four_ulp_where_it_is_normal() {
    let normal: Vec<f64> = everything(&[0.84375, 1.25, 2.857_142_857_142_857]).into_iter().filter(|x| !(26.5..27.3).contains(x)).collect();
    within(4.0, erfc, libm::erfc, &normal);
}

#[test]
fn sin_and_cos_are_within_one_ulp_to_two_to_the_45th() {
    let largest = 2f64.powi(45);
    let mut random = Random(3);
    let mut numbers = everything(&[std::f64::consts::FRAC_PI_4, largest]);
    numbers.extend((0..20_000).map(|_| largest * random.unit() * 2f64.powi(-((random.bits() % 50) as i32))));
    // Multiples of a quarter turn have the smallest remainders.
    numbers.extend((1..20_000u64).map(|n| (n * n * n) as f64 * std::f64::consts::FRAC_PI_2));
    numbers.retain(|x| x.abs() <= largest || !x.is_finite());
    within(1.0, sin, libm::sin, &numbers);
    within(1.0, cos, libm::cos, &numbers);
}

#[test]
fn sin_and_cos_of_large_angles_are_those_of_the_whole_angle() {
    let mut random = Random(4);
    let mut numbers: Vec<f64> = (0..20_000).map(|_| 2f64.powi(45 + (random.bits() % 979) as i32) * (1.0 + random.unit())).collect();
    // Edges at which the parts of 2/π change.
    let edges = (0..22).map(|i| 2f64.powi(6 + 48 * i)).filter(|&x| x > 2f64.powi(45));
    numbers.extend(edges.flat_map(|x| [x, x.next_down(), x.next_up()]));
    // A small angle follows each large one, since each lane chooses its own form. The first extra number is the binary64 nearest to a multiple of
    // π/2.
    numbers = numbers.iter().flat_map(|&x| [x, 1.0, -x]).collect();
    numbers.extend([6_381_956_970_095_103.0 * 2f64.powi(797), f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    within(1.0, sin, libm::sin, &numbers);
    within(1.0, cos, libm::cos, &numbers);
}

/// Returns pairs of operands: of all kinds, of moderate size, with powers near an edge, and all special ones.
fn pairs() -> (Vec<f64>, Vec<f64>) {
    let special = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        9_007_199_254_740_993.0,
        9_007_199_254_740_992.0,
        1e300,
        f64::INFINITY,
        f64::NAN,
        f64::MIN_POSITIVE,
        5e-324,
        f64::MAX,
    ];
    let special: Vec<f64> = special.iter().flat_map(|&x| [x, -x]).collect();
    let (mut xs, mut ys) = (vec![], vec![]);
    for &x in &special {
        xs.extend(special.iter().map(|_| x));
        ys.extend(&special);
    }
    let mut random = Random(2);
    for i in 0..30_000 {
        let x = f64::from_bits(random.bits());
        let unit = random.unit();
        // Powers of x are between 2⁻¹⁰⁸⁰ and 2¹⁰³⁰, or arbitrary, or small integers, or x is near 1.
        let (x, y) = match i % 4 {
            0 => (x.abs(), (unit * 2110.0 - 1080.0) / libm::log2(x.abs())),
            1 => (x, f64::from_bits(random.bits())),
            2 => (x, (unit * 21.0 - 10.0).floor()),
            _ => (1.0 + (unit * 0.02 - 0.01), random.unit() * 65_536.0),
        };
        xs.push(x);
        ys.push(y);
    }
    (xs, ys)
}

fn of_pairs(function: fn(&mut KernelBuilder, Value, Value) -> Value, xs: &[f64], ys: &[f64]) -> Vec<f64> {
    let kernel = kernel(2, |b, x| function(b, x[0], x[1]));
    xs.chunks(LANES.into()).zip(ys.chunks(LANES.into())).flat_map(|(xs, ys)| run(&kernel, &[xs, ys])).collect()
}

#[test]
fn pow_is_within_two_ulp_and_as_c99() {
    let (xs, ys) = pairs();
    for ((&x, &y), result) in xs.iter().zip(&ys).zip(of_pairs(pow, &xs, &ys)) {
        let error = ulps(result, libm::pow(x, y));
        assert!(error <= 2.0, "{x:e} to the {y:e} gives {result:e}: {error} ulp");
    }
}

#[test]
fn remainders_are_exact() {
    let (xs, ys) = pairs();
    let few = 4096;
    for ((&x, &y), result) in xs.iter().zip(&ys).zip(of_pairs(remainder, &xs[..few], &ys[..few])) {
        let truth = x % y;
        assert!(result.to_bits() == truth.to_bits() || result.is_nan() && truth.is_nan(), "{x:e} % {y:e} is {truth:e}, not {result:e}");
    }
}

#[test]
fn one_lane_gives_what_many_give() {
    let numbers = [-3.0f64, -0.4, -0.0, 0.7, 2.5];
    for function in [exp as Unary, log, tanh, erf, erfc, sin, cos] {
        let many = run(&kernel(1, |b, x| function(b, x[0])), &[&numbers]);
        let alone = kernel(1, |b, x| {
            let mut all = constant(b, x[0], 0.0);
            for lane in 0..numbers.len() as u16 {
                let one = b.extract(x[0], lane);
                let one = function(b, one);
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
