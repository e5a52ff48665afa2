//! Kernels that determine the speed of real models, compared with this computer's peak: `cargo bench --bench peaks`.
//!
//! The kernels are matrix products, pointwise convolutions whose channels are a multiple of the lanes, and depthwise convolutions. Each is a
//! small model made here, compiled and run as any other. The peaks are those of `modelc bench --profile`. All kernels are measured in turns, so
//! that a slowdown of the computer affects all; the fastest call of each counts.
//!
//! `--listing LEVEL` prints the machine code of every case for a CPU level instead. This computer need not have the level. The hot loops can be
//! analysed with `llvm-mca`.

use modelc::codegen;
use modelc::ir::{
    ElementType, ExpressionBuilder, Method, Module, NanRule, Port, RequantizeRule, Scalar, ScalarOp, TensorType, Type, Value, ZeroPoints,
};
use modelc::ir::{FunctionBuilder, WindowGeometry};
use modelc::jit::peaks::{self, Peaks};
use modelc::jit::{Instance, Jit};
use modelc::lower::{Lowered, Options};
use modelc::machine::{CpuMachine, machine};
use modelc::{passes, pipeline, target};
use std::time::Instant;

/// Number of turns, and seconds of one kernel in a turn.
const TURNS: usize = 7;
const SECONDS: f64 = 0.05;

/// Work of a kernel.
#[derive(Clone, Copy)]
enum Work {
    /// Matrix product of f32, [pixels, depth] × [depth, outputs].
    Product { pixels: u64, depth: u64, outputs: u64 },
    /// Pointwise convolution of f32.
    FloatPointwise { pixels: u64, depth: u64, outputs: u64 },
    /// Pointwise convolution of bytes, requantized by a rule; `relu` clamps negative results to zero.
    Pointwise { pixels: u64, depth: u64, outputs: u64, rule: RequantizeRule, relu: bool },
    /// Depthwise 3×3 convolution of bytes.
    Depthwise { size: u64, channels: u64, stride: i64 },
}

struct Case {
    name: &'static str,
    work: Work,
    /// Fraction of the peak that is required.
    target: Option<f64>,
}

const DOUBLE: RequantizeRule = RequantizeRule::TfliteDouble;

fn cases() -> Vec<Case> {
    let pointwise = |depth, relu| Work::Pointwise { pixels: 784, depth, outputs: 64, rule: DOUBLE, relu };
    let case = |name, work, target| Case { name, work, target };
    vec![
        case("f32 256×256×256", Work::Product { pixels: 256, depth: 256, outputs: 256 }, Some(0.95)),
        case("f32 1×1, K = 64", Work::FloatPointwise { pixels: 784, depth: 64, outputs: 64 }, Some(0.95)),
        case("f32 1×1, K = 256", Work::FloatPointwise { pixels: 784, depth: 256, outputs: 64 }, Some(0.95)),
        case("i8 1×1, K = 32", pointwise(32, false), Some(0.55)),
        case("i8 1×1, K = 32, ReLU", pointwise(32, true), Some(0.55)),
        case("i8 1×1, K = 64", pointwise(64, false), None),
        case("i8 1×1, K = 64, ReLU", pointwise(64, true), None),
        case("i8 1×1, K = 256", pointwise(256, false), Some(0.9)),
        case("i8 1×1, K = 256, ReLU", pointwise(256, true), Some(0.9)),
        case("i8 depthwise 3×3", Work::Depthwise { size: 28, channels: 128, stride: 1 }, None),
        case("i8 depthwise 3×3, stride 2", Work::Depthwise { size: 28, channels: 128, stride: 2 }, None),
    ]
}

impl Work {
    /// Returns the multiply-accumulates.
    fn products(self) -> u64 {
        match self {
            Self::Product { pixels, depth, outputs }
            | Self::FloatPointwise { pixels, depth, outputs }
            | Self::Pointwise { pixels, depth, outputs, .. } => pixels * depth * outputs,
            Self::Depthwise { size, channels, stride } => size.div_ceil(stride as u64).pow(2) * channels * 9,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Self::Product { .. } | Self::FloatPointwise { .. })
    }

    fn module(self) -> Module {
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let result = match self {
            Self::Product { pixels, depth, outputs } => {
                let left = parameter(&mut builder, ElementType::F32, &[pixels, depth]);
                let right = floats(&mut builder, &[outputs, depth]);
                builder.matmul(left, right, ZeroPoints::NONE, ElementType::F32)
            }
            Self::FloatPointwise { pixels, depth, outputs } => {
                let image = parameter(&mut builder, ElementType::F32, &[1, 1, pixels, depth]);
                let filter = floats(&mut builder, &[outputs, 1, 1, depth]);
                builder.conv(image, filter, geometry(1, 0), 1, ZeroPoints::NONE, ElementType::F32)
            }
            Self::Pointwise { pixels, depth, outputs, rule, relu } => {
                let image = parameter(&mut builder, ElementType::I8, &[1, 1, pixels, depth]);
                let filter = bytes(&mut builder, &[outputs, 1, 1, depth]);
                let sums =
                    builder.conv(image, filter, geometry(1, 0), 1, ZeroPoints::of_left(-3), ElementType::I32).expect("a convolution");
                Ok(requantized(&mut builder, sums, outputs, (rule, relu), depth))
            }
            Self::Depthwise { size, channels, stride } => {
                let image = parameter(&mut builder, ElementType::I8, &[1, size, size, channels]);
                let filter = bytes(&mut builder, &[channels, 3, 3, 1]);
                let sums = builder
                    .conv(image, filter, geometry(stride, 1), channels, ZeroPoints::of_left(-3), ElementType::I32)
                    .expect("a convolution");
                Ok(requantized(&mut builder, sums, channels, (DOUBLE, true), 9))
            }
        };
        let function = builder.finish(vec![result.expect("types that fit")]);
        let ports = || vec![Port::default()];
        module.methods.push(Method { name: "forward".into(), function, inputs: ports(), outputs: ports() });
        passes::run_all(&mut module);
        module
    }
}

fn parameter(builder: &mut FunctionBuilder<'_>, element: ElementType, shape: &[u64]) -> Value {
    builder.param(Type::Tensor(TensorType::of(element, shape)), "x".to_owned())
}

/// Returns a window with padding of one on each side at stride 1; at stride 2 only after, as TFLite does for even sizes.
fn geometry(stride: i64, padding: i64) -> WindowGeometry {
    let low = if stride == 1 { padding } else { 0 };
    WindowGeometry {
        strides: vec![stride; 2],
        dilation: vec![1; 2],
        padding_low: vec![low; 2],
        padding_high: vec![padding; 2],
        ..WindowGeometry::default()
    }
}

/// Returns a pseudo-random number, the same on every computer.
fn hash(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 29)
}

fn literal(builder: &mut FunctionBuilder<'_>, element: ElementType, shape: &[u64], number: impl Fn(u64) -> Vec<u8>) -> Value {
    let contents = (0..shape.iter().product()).flat_map(number).collect();
    builder.literal(TensorType::of(element, shape), contents).expect("a literal fits its own type")
}

fn floats(builder: &mut FunctionBuilder<'_>, shape: &[u64]) -> Value {
    literal(builder, ElementType::F32, shape, |i| ((hash(i) % 2000) as f32 / 1000.0 - 1.0).to_le_bytes().to_vec())
}

fn bytes(builder: &mut FunctionBuilder<'_>, shape: &[u64]) -> Value {
    literal(builder, ElementType::I8, shape, |i| vec![((hash(i) % 255) as i8).wrapping_sub(127) as u8])
}

/// Adds a bias, a scale for each channel that spreads the sums of random operands over the bytes, a zero point, and a clamp.
fn requantized(builder: &mut FunctionBuilder<'_>, sums: Value, channels: u64, (rule, relu): (RequantizeRule, bool), depth: u64) -> Value {
    let element = ElementType::I32;
    let bias = literal(builder, element, &[channels], |i| ((hash(i) % 2000) as i32 - 1000).to_le_bytes().to_vec());
    let multipliers = literal(builder, element, &[channels], |i| ((1 << 30) + (hash(i + 7) % (1 << 30)) as i32).to_le_bytes().to_vec());
    // Two random bytes have a product of about 74².
    let spread = 74.0 * 74.0 * (depth as f64).sqrt() / 48.0;
    let right = spread.log2().round() as i32;
    let shifts = literal(builder, element, &[channels], |i| (-(right + (hash(i + 99) % 2) as i32)).to_le_bytes().to_vec());
    let mut e = ExpressionBuilder::new(&[element; 4]);
    let inputs: Vec<_> = (0..4).map(|i| e.input(i)).collect();
    let op = |e: &mut ExpressionBuilder, op, operands: &[_]| e.op(op, operands).expect("operations on i32");
    let sum = op(&mut e, ScalarOp::Add, &[inputs[0], inputs[1]]);
    let scaled = op(&mut e, ScalarOp::Requantize(rule), &[sum, inputs[2], inputs[3]]);
    let zero = e.constant(Scalar::i32(-11));
    let moved = op(&mut e, ScalarOp::Add, &[scaled, zero]);
    let least = e.constant(Scalar::i32(if relu { -11 } else { -128 }));
    let most = e.constant(Scalar::i32(127));
    let above = op(&mut e, ScalarOp::Max(NanRule::First), &[moved, least]);
    let clamped = op(&mut e, ScalarOp::Min(NanRule::First), &[above, most]);
    let narrow = e.convert(clamped, ElementType::I8);
    let expression = e.finish(vec![narrow]);
    builder.map(&[sums, bias, multipliers, shifts], expression).expect("shapes that broadcast")
}

fn lowered(work: Work, machine: &'static CpuMachine) -> Lowered {
    let options = Options::new(machine);
    pipeline::lower(&work.module(), "peaks", options).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the seconds of the fastest of many calls.
fn fastest(instance: &mut Instance) -> f64 {
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    while begin.elapsed().as_secs_f64() < SECONDS {
        let start = Instant::now();
        instance.run(0).expect("a run");
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

fn instance(work: Work, machine: &'static CpuMachine) -> Instance {
    let jit = Jit::new(&lowered(work, machine).program, machine).unwrap_or_else(|error| panic!("{error}"));
    let mut instance = jit.instance().expect("memory");
    let input: Vec<u8> = match work {
        Work::Product { pixels, depth, .. } | Work::FloatPointwise { pixels, depth, .. } => {
            (0..pixels * depth).flat_map(|i| ((hash(i) % 100) as f32 / 50.0 - 1.0).to_le_bytes()).collect()
        }
        Work::Pointwise { pixels, depth, .. } => (0..pixels * depth).map(|i| hash(i) as u8).collect(),
        Work::Depthwise { size, channels, .. } => (0..size * size * channels).map(|i| hash(i) as u8).collect(),
    };
    instance.write_inputs(0, &[&input]).expect("an input that fits");
    instance
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(place) = arguments.iter().position(|argument| argument == "--listing") {
        let level = arguments.get(place + 1).and_then(|level| machine(level)).expect("--listing wants a CPU level");
        return list(level);
    }
    let machine = target::host_machine().expect("the host has a machine description");
    let cases = cases();
    let mut instances: Vec<Instance> = cases.iter().map(|case| instance(case.work, machine)).collect();
    let mut best = vec![f64::INFINITY; cases.len()];
    let mut peaks = Peaks { float: 0.0, integer: 0.0, copy_bytes: 0.0, read_bytes: 0.0 };
    for _ in 0..TURNS {
        let now = peaks::measure(machine).unwrap_or_else(|error| panic!("{error}"));
        peaks.float = peaks.float.max(now.float);
        peaks.integer = peaks.integer.max(now.integer);
        for (instance, best) in instances.iter_mut().zip(&mut best) {
            *best = best.min(fastest(instance));
        }
    }
    println!("{}, peaks: {:.1} GFLOP/s (f32), {:.1} GOP/s (8-bit)", machine.level, 2e-9 * peaks.float, 2e-9 * peaks.integer);
    for (case, seconds) in cases.iter().zip(best) {
        let rate = case.work.products() as f64 / seconds;
        let share = rate / peaks.multiply_accumulates(case.work.is_float());
        let unit = if case.work.is_float() { "GFLOP/s" } else { "GOP/s" };
        let wanted = case.target.map_or(String::new(), |target| format!(", wanted {:.0} %", 100.0 * target));
        println!("{:28} {:8.1} {unit:8} {:5.1} % of the peak{wanted}", case.name, 2e-9 * rate, 100.0 * share);
    }
}

/// Prints the code of every kernel for a level.
fn list(machine: &'static CpuMachine) {
    for case in cases() {
        for kernel in &lowered(case.work, machine).program.kernels {
            let text = codegen::x86::KERNELS.text(kernel, machine).unwrap_or_else(|error| panic!("{error}"));
            println!("; {}: {}\n{text}", case.name, kernel.name);
        }
    }
}
