//! Peak speeds of generated code on this computer, for comparison in a profile. They are measured with kernels that pass through the same back
//! end as all others. So they do not include what this back end cannot reach.

use super::{Instance, Jit};
use crate::diagnostic::Diagnostics;
use crate::ir::{ElementType, PortNotes};
use crate::kernel::{BufferKind, DotOp, Inst, Kernel, KernelBuilder, Lane, Statement, Type, Value};
use crate::machine::{CpuMachine, DotProduct};
use crate::program::{Address, Call, Division, Method, Origin, Port, Program, Step};
use std::time::{Duration, Instant};

/// Rates per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Multiply-accumulates of binary32, fused if the machine can.
    pub float: f64,
    /// Multiply-accumulates of 8-bit integers, with the machine's dot product.
    pub integer: f64,
    /// Bytes read plus bytes written by a copy within half of the second-level cache.
    pub copy_bytes: f64,
    /// Bytes read sequentially from memory outside the caches, by one thread.
    pub read_bytes: f64,
}

/// Number of independent sums: enough to hide the latency of an addition, and few enough for 16 registers with the factors.
const CHAINS: usize = 10;
/// Iterations of the loop in one call: about ten microseconds.
const ROUNDS: i64 = 10_000;
/// Bytes read to measure memory: several times the third-level cache of large processors.
const READ_BYTES: u64 = 256 << 20;
/// Duration of the measurement of each kernel; the fastest call counts.
const TIME: Duration = Duration::from_millis(20);

/// Measures the peaks. It takes a quarter of a second, and 256 MiB of memory.
///
/// # Errors
/// Diagnostics if this computer cannot run code for the machine.
pub fn measure(machine: &CpuMachine) -> Result<Peaks, Diagnostics> {
    let lanes = machine.lanes(4);
    let (operation, products) = match machine.dot {
        DotProduct::Signed8 if machine.byte_squares => (DotOp::SignedSquares, 8),
        DotProduct::UnsignedSigned8 => (DotOp::UnsignedSigned8, 4),
        DotProduct::Signed8 => (DotOp::Signed8, 4),
        DotProduct::Signed16 => (DotOp::Signed16, 2),
    };
    let copied = (machine.l2_bytes / 4).next_multiple_of(1 << 10);
    let kernels = vec![
        float_kernel(machine, lanes),
        dot_kernel(operation, lanes),
        copy_kernel(machine, copied / 4),
        read_kernel(machine, READ_BYTES / 4),
    ];
    let sides = [[64 * 4, 64 * 4], [64 * 4, 64 * 4], [copied, copied], [READ_BYTES, 64 * 4]];
    let methods = sides.iter().enumerate().map(|(number, &bytes)| method(number, bytes)).collect();
    let program = Program { kernels, methods, ..Program::default() };
    let mut instance = Jit::new(&program, machine)?.instance()?;
    // Untouched pages would all map to one page of zeros, and be read from the cache.
    instance.write_inputs(3, &[&vec![1; READ_BYTES as usize]])?;
    let mut rate = |method: usize, amount: f64| -> Result<f64, Diagnostics> { Ok(amount / fastest(&mut instance, method)?) };
    let rounds = ROUNDS as f64 * CHAINS as f64 * f64::from(lanes);
    Ok(Peaks {
        float: rate(0, rounds)?,
        integer: rate(1, rounds * f64::from(products))?,
        copy_bytes: rate(2, 2.0 * copied as f64)?,
        read_bytes: rate(3, READ_BYTES as f64)?,
    })
}

/// Returns the seconds of the fastest call.
fn fastest(instance: &mut Instance, method: usize) -> Result<f64, Diagnostics> {
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    while begin.elapsed() < TIME {
        let start = Instant::now();
        instance.run(method)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// Makes a method of one kernel with an input and an output of these bytes.
fn method(number: usize, [input, output]: [u64; 2]) -> Method {
    let port = |name: &str, bytes: u64| Port {
        name: name.into(),
        element: ElementType::F32,
        shape: vec![bytes / 4],
        dynamic: vec![false],
        bytes,
        quantization: None,
        scalar: false,
        value: None,
        notes: PortNotes::default(),
    };
    let call = Call {
        kernel: number,
        arguments: vec![Address::Input(0, 0), Address::Output(0, 0)],
        bounds: vec![],
        division: Division::Whole,
        origin: Origin { operators: vec![(number as u32, "peak".into())], ..Origin::default() },
    };
    Method {
        name: format!("peak{number}"),
        inputs: vec![port("x", input)],
        outputs: vec![port("y", output)],
        steps: vec![Step::Call(call)],
        optimal: true,
        ..Method::default()
    }
}

/// Makes a kernel with chains of `step` on vectors of `ty`. Each chain starts from an element of `x`, and is stored at the end so that it is
/// needed.
fn chains(name: &str, ty: Type, factor: Type, step: impl Fn(&mut KernelBuilder, Value, Value) -> Value) -> Kernel {
    let mut b = KernelBuilder::new(name);
    let x = b.buffer("x", BufferKind::Input, factor.lane, 64 * 4 / u64::from(factor.lane.bytes()), 4);
    let y = b.buffer("y", BufferKind::Output, ty.lane, 64, 4);
    let (zero, end) = (b.index(0), b.index(ROUNDS));
    let factor = b.load(x, zero, 0, factor.lanes);
    let start: Vec<Value> = (0..CHAINS).map(|_| if ty.lane == Lane::F32 { b.float(ty, 0.5) } else { b.int(ty, 1) }).collect();
    let sums = b.for_carry(zero, end, 1, &start, |b, _, sums| sums.iter().map(|&sum| step(b, sum, factor)).collect());
    for sum in sums {
        let old = b.load(y, zero, 0, ty.lanes);
        let new = b.add(old, sum);
        b.store(y, zero, 0, new);
    }
    b.finish()
}

fn float_kernel(machine: &CpuMachine, lanes: u16) -> Kernel {
    let ty = Type::vector(Lane::F32, lanes);
    // The inputs are zeros, so numbers neither grow nor become subnormal. The running value is a factor, because the instruction overwrites a
    // factor.
    chains("peak_float", ty, ty, |b, sum, factor| {
        if machine.fma {
            return b.fma(sum, factor, factor);
        }
        let product = b.mul(sum, factor);
        b.add(product, factor)
    })
}

fn dot_kernel(operation: DotOp, lanes: u16) -> Kernel {
    let factor = operation.operand_type(lanes);
    chains("peak_dot", Type::vector(Lane::I32, lanes), factor, |b, sum, factor| b.dot(operation, sum, factor, factor))
}

fn copy_kernel(machine: &CpuMachine, elements: u64) -> Kernel {
    let lanes = machine.lanes(4);
    let mut b = KernelBuilder::new("peak_copy");
    let x = b.buffer("x", BufferKind::Input, Lane::I32, elements, 4);
    let y = b.buffer("y", BufferKind::Output, Lane::I32, elements, 4);
    const UNROLL: i64 = 4;
    b.for_range(0, elements as i64, UNROLL * i64::from(lanes), |b, i| {
        for part in 0..UNROLL {
            let value = b.load(x, i, part * i64::from(lanes), lanes);
            b.store(y, i, part * i64::from(lanes), value);
        }
    });
    b.finish()
}

fn read_kernel(machine: &CpuMachine, elements: u64) -> Kernel {
    let lanes = machine.lanes(4);
    let mut b = KernelBuilder::new("peak_read");
    let x = b.buffer("x", BufferKind::Input, Lane::I32, elements, 4);
    let y = b.buffer("y", BufferKind::Output, Lane::I32, 64, 4);
    const UNROLL: i64 = 8;
    let (zero, end, nothing) = (b.index(0), b.index(elements as i64), b.int(Type::vector(Lane::I32, lanes), 0));
    let sums = b.for_carry(zero, end, UNROLL * i64::from(lanes), &[nothing; UNROLL as usize], |b, i, sums| {
        let add = |(part, &sum): (usize, &Value)| {
            let value = b.load(x, i, part as i64 * i64::from(lanes), lanes);
            b.add(sum, value)
        };
        sums.iter().enumerate().map(add).collect()
    });
    let sum = sums.into_iter().reduce(|a, c| b.add(a, c)).unwrap_or(nothing);
    b.store(y, zero, 0, sum);
    b.finish()
}

impl Peaks {
    /// Returns the peak in multiply-accumulates per second for kernels of floats, or of integers.
    pub fn multiply_accumulates(&self, float: bool) -> f64 {
        if float { self.float } else { self.integer }
    }
}

/// Tests whether a kernel multiplies floats. A kernel with an integer dot product does not count, even if it has floats after it.
pub fn multiplies_floats(kernel: &Kernel) -> bool {
    let is_dot = |statement: &Statement| matches!(statement.inst, Inst::Dot { .. });
    let has_dot = kernel.statements().any(is_dot);
    kernel.types.iter().any(|ty| matches!(ty.lane, Lane::F32 | Lane::F64)) && !has_dot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::verify::verify;
    use crate::target;

    #[test]
    fn kernels_are_sound_for_every_machine_and_rates_are_numbers() {
        for machine in crate::machine::MACHINES {
            for kernel in [float_kernel(machine, machine.lanes(4)), copy_kernel(machine, 4096), read_kernel(machine, 4096)] {
                verify(&kernel).unwrap_or_else(|error| panic!("{}: {error}", machine.level));
            }
        }
        let peaks = measure(target::host_machine().unwrap()).unwrap();
        for rate in [peaks.float, peaks.integer, peaks.copy_bytes, peaks.read_bytes] {
            // A slow computer under load is faster than the lower limit, and no computer reaches the upper one.
            assert!(rate > 1e7 && rate < 1e14, "{peaks:?}");
        }
    }
}
