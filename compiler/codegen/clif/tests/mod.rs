//! Tests of every instruction of the kernel language on every machine, against plain Rust.

mod engines;
mod instructions;
mod mathematics;
mod memory;
mod permutations;
mod random;
mod reference;
mod squares;
mod structure;
mod tiles;

use modelc_kernel::{BinaryOp, Inst, Kernel, Lane, Rounding, UnaryOp};
use modelc_machine::{CpuMachine, Extension};

/// Lanes of integers.
const INTEGERS: [Lane; 4] = [Lane::I8, Lane::I16, Lane::I32, Lane::I64];
/// Lanes of floats.
const FLOATS: [Lane; 2] = [Lane::F32, Lane::F64];

/// Operations on lanes of all kinds.
const SUMS_AND_PRODUCTS: [BinaryOp; 3] = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul];
/// Operations on integers of all sizes, without shifts.
const OF_INTEGERS: [BinaryOp; 11] = [
    BinaryOp::SignedDiv,
    BinaryOp::UnsignedDiv,
    BinaryOp::SignedRem,
    BinaryOp::UnsignedRem,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::SignedMin,
    BinaryOp::SignedMax,
    BinaryOp::UnsignedMin,
    BinaryOp::UnsignedMax,
];
/// Operations on integers of one or two bytes.
const OF_SHORT_INTEGERS: [BinaryOp; 2] = [BinaryOp::SignedAddSaturating, BinaryOp::SignedSubSaturating];
/// Shifts.
const SHIFTS: [BinaryOp; 3] = [BinaryOp::ShiftLeft, BinaryOp::ShiftRightSigned, BinaryOp::ShiftRightUnsigned];
/// Operations on floats.
const OF_FLOATS: [BinaryOp; 7] = [
    BinaryOp::FloatDiv,
    BinaryOp::FloatMinFirst,
    BinaryOp::FloatMaxFirst,
    BinaryOp::FloatMinPropagate,
    BinaryOp::FloatMaxPropagate,
    BinaryOp::FloatMinIgnore,
    BinaryOp::FloatMaxIgnore,
];
/// Operations on one integer.
const OF_AN_INTEGER: [UnaryOp; 4] = [UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Not, UnaryOp::CountLeadingZeros];
/// Operations on one float.
const OF_A_FLOAT: [UnaryOp; 7] =
    [UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Sqrt, UnaryOp::Floor, UnaryOp::Ceil, UnaryOp::Trunc, UnaryOp::Nearest];

/// A kernel with its inputs and its expected outputs.
struct Case {
    kernel: Kernel,
    /// Contents of the pointer parameters before the call.
    before: Vec<Vec<u8>>,
    /// Contents after the call; `None` if any contents are allowed.
    after: Vec<Option<Vec<u8>>>,
    /// Integer parameters.
    integers: Vec<i64>,
    /// Expected status.
    status: i32,
    /// `true` if the case needs an instruction for fused products.
    fma: bool,
    /// `true` if only the back end for long vectors supports its instructions.
    long_vectors: bool,
    /// `true` if the kernel is random, so that machines may refuse it.
    is_random: bool,
}

impl Case {
    /// Makes a case with input buffers and one output, the kernel's last buffer.
    fn new(kernel: Kernel, inputs: Vec<Vec<u8>>, output: Vec<u8>) -> Self {
        let mut after: Vec<_> = inputs.iter().cloned().map(Some).collect();
        let mut before = inputs;
        before.push(vec![0xA5; output.len()]);
        after.push(Some(output));
        Self { kernel, before, after, integers: vec![], status: 0, fma: false, long_vectors: false, is_random: false }
    }

    /// Tests whether the kernel has run-time lane counts, which not all machines support.
    fn counts_lanes(&self) -> bool {
        self.kernel.statements().any(|statement| matches!(statement.inst, Inst::FirstLanes { .. }))
    }

    /// Tests whether the kernel multiplies by powers of two, or shifts to the nearest integer, which not all machines support.
    fn scales(&self, by: BinaryOp) -> bool {
        self.kernel.statements().any(|statement| matches!(statement.inst, Inst::Binary { op, .. } if op == by))
    }

    /// Tests whether the kernel has products in squares or sixteens, which not all machines support.
    fn multiplies_squares(&self) -> bool {
        self.kernel.statements().any(|statement| matches!(statement.inst, Inst::Dot { op, .. } if op.is_of_few_machines()))
    }

    /// Tests whether the kernel has offsets that do not fit 32 bits.
    fn reaches_far(&self) -> bool {
        let is_far =
            |inst: &Inst| matches!(inst, Inst::Load { offset, .. } | Inst::Store { offset, .. } if i32::try_from(*offset).is_err());
        self.kernel.statements().any(|statement| is_far(&statement.inst))
    }

    /// Tests whether machines of 32-bit words lack an instruction of the kernel: fused products.
    fn is_missing(&self, machine: &CpuMachine) -> bool {
        let lacks = |lane: Lane| lane == Lane::F64 && !machine.has(Extension::Doubles) || lane == Lane::F32 && !machine.fma;
        let is_missing = |inst: &Inst| match inst {
            Inst::Fma { a, rounding, .. } => *rounding == Rounding::TowardZero || lacks(self.kernel.ty(*a).lane),
            _ => false,
        };
        self.kernel.statements().any(|statement| is_missing(&statement.inst))
    }

    /// Tests whether only some machines with vectors have the kernel's vectors and instructions.
    fn is_of_some(&self) -> bool {
        let scales = [BinaryOp::FloatScale, BinaryOp::ShiftNearest].into_iter().any(|op| self.scales(op));
        self.long_vectors || self.counts_lanes() || scales || self.multiplies_squares()
    }

    /// Tests whether a back end of our own supports the case on a machine.
    fn is_for(&self, machine: &CpuMachine) -> bool {
        (machine.byte_squares || !self.multiplies_squares())
            && (machine.masked_lanes > 0 || !self.counts_lanes())
            && (machine.scales_floats || !self.scales(BinaryOp::FloatScale))
            && (machine.doubling_products || !self.scales(BinaryOp::ShiftNearest))
    }

    /// Compares the status and the buffers after the call with the expected ones; all NaNs are equal.
    fn compare(&self, machine: &str, status: i32, got: &[Vec<u8>]) -> Result<(), String> {
        let name = &self.kernel.name;
        if status != self.status {
            return Err(format!("{name} on {machine}: status {status}, not {}", self.status));
        }
        for ((buffer, data), (got, wanted)) in self.kernel.pointer_params().zip(got.iter().zip(&self.after)) {
            let Some(wanted) = wanted else { continue };
            let lane_bytes = self.kernel.buffer(buffer).lane.bytes() as usize;
            for (i, (g, w)) in got.chunks(lane_bytes).zip(wanted.chunks(lane_bytes)).enumerate() {
                let nan = |bytes: &[u8]| match data.lane {
                    Lane::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
                    Lane::F64 => f64::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
                    _ => false,
                };
                if g != w && !(nan(g) && nan(w)) {
                    return Err(format!("{name} on {machine}: {}[{i}] is {g:x?}, not {w:x?}", data.name));
                }
            }
        }
        Ok(())
    }
}

/// A small generator of random numbers (xorshift), the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    /// Returns the bits of a lane; every fourth is a special value.
    fn lane(&mut self, lane: Lane) -> u64 {
        const F32: [f32; 16] = [
            0.0,
            -0.0,
            1.0,
            -1.5,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            f32::MIN_POSITIVE,
            1e-42,
            f32::MAX,
            -2147483648.0,
            2147483647.0,
            4294967296.0,
            0.5,
            2.5,
            -128.5,
        ];
        let edge = self.below(4) == 0;
        let pick = self.below(16) as usize;
        let bits = self.next();
        match lane {
            Lane::F32 if edge => u64::from(F32[pick].to_bits()),
            Lane::F64 if edge => f64::from(F32[pick]).to_bits(),
            // Numbers near those that convert to integers.
            Lane::F32 if bits & 1 == 0 => u64::from(((bits as i32 >> (bits >> 40 & 31)) as f32 / 4.0).to_bits()),
            Lane::F64 if bits & 1 == 0 => (((bits as i64) >> (bits >> 40 & 63)) as f64 / 4.0).to_bits(),
            Lane::F32 => bits >> 32,
            Lane::F64 => bits,
            _ => {
                let width = 8 * lane.bytes();
                let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
                let edges = [0, 1, mask, mask >> 1, (mask >> 1) + 1, 2, mask - 1, 1 << (width / 2)];
                let small = bits >> (bits >> 3 & 63);
                mask & if edge { edges[pick % 8] } else { small }
            }
        }
    }

    /// Returns random elements of a lane type.
    fn elements(&mut self, lane: Lane, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.lane(lane)).collect()
    }
}

/// Converts elements to bytes in memory.
fn bytes(lane: Lane, elements: &[u64]) -> Vec<u8> {
    elements.iter().flat_map(|e| e.to_le_bytes()[..lane.bytes() as usize].to_vec()).collect()
}
