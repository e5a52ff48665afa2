//! Kernels with grids, with every instruction, and their buffers.

mod made;
mod operations;
mod texts;

use modelc::kernel::intervals::Assumed;
use modelc::kernel::passes::narrow;
use modelc::kernel::verify::verify;
use modelc::kernel::{BinaryOp, BufferData, BufferKind, Grid, Inst, Kernel, Lane, Region, Type, Value};

pub use made::as_grid;

/// A kernel with its buffers before it runs.
pub struct Case {
    pub kernel: Kernel,
    pub buffers: Vec<Vec<u8>>,
}

impl Case {
    /// Makes a case with narrowed indices and random numbers. Multiply-adds have small integers as operands, because devices may round twice.
    /// Products with 0 have such operands, too, because devices may replace them by 0, and infinity times 0 is NaN.
    pub fn new(kernel: &Kernel, random: &mut Random) -> Self {
        let kernel = narrow(kernel, &Assumed::default());
        assert_eq!(verify(&kernel), Ok(()), "{kernel}");
        let zeros = zeros(&kernel.body);
        let is_zero = |value: &Value| zeros.contains(value);
        let has_product_with_zero = |inst: &Inst| matches!(inst, Inst::Binary { op: BinaryOp::Mul, a, b } if is_zero(a) || is_zero(b));
        let is_whole = has(&kernel.body, &|inst| matches!(inst, Inst::Fma { .. }) || has_product_with_zero(inst));
        let buffers = kernel.pointer_params().map(|(_, data)| contents(data, is_whole, random)).collect();
        Self { kernel, buffers }
    }
}

/// Returns the constants of a region whose bits are 0.
fn zeros(region: &Region) -> Vec<Value> {
    let own = region.statements.iter().filter(|statement| matches!(statement.inst, Inst::Constant { bits: 0 }));
    let inner = region.statements.iter().flat_map(|statement| statement.inst.regions()).flat_map(zeros);
    own.flat_map(|statement| statement.results.iter().copied()).chain(inner).collect()
}

/// Tests whether some instruction of a region satisfies a condition.
pub fn has(region: &Region, is: &dyn Fn(&Inst) -> bool) -> bool {
    region.statements.iter().any(|statement| is(&statement.inst) || statement.inst.regions().into_iter().any(|inner| has(inner, is)))
}

fn contents(data: &BufferData, is_whole: bool, random: &mut Random) -> Vec<u8> {
    let elements = (0..data.elements).map(|_| match data.lane {
        Lane::F32 if is_whole => u64::from((random.below(17) as f32 - 8.0).to_bits()),
        lane => random.lane(lane),
    });
    elements.flat_map(|bits| bits.to_le_bytes()[..data.lane.bytes() as usize].to_vec()).collect()
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    [operations::cases(), texts::cases()].into_iter().flatten().collect()
}

/// A small generator of random numbers (xorshift), the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    /// Returns the bits of a lane; every fourth is an extreme number. No float is subnormal, because devices may replace these by 0.
    pub fn lane(&mut self, lane: Lane) -> u64 {
        const F32: [f32; 15] = [
            0.0,
            -0.0,
            1.0,
            -1.5,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            f32::MIN_POSITIVE,
            f32::MAX,
            -2147483648.0,
            2147483648.0,
            4294967296.0,
            0.5,
            2.5,
            -128.5,
        ];
        let edge = self.below(4) == 0;
        let pick = self.below(15) as usize;
        let bits = self.next();
        match lane {
            Lane::F32 if edge => u64::from(F32[pick].to_bits()),
            // Numbers near the limits of integers.
            Lane::F32 => u64::from(((bits as i32 >> (bits >> 40 & 31)) as f32 / 4.0).to_bits()),
            Lane::F64 => f64::from(bits as i32).to_bits(),
            _ => {
                let width = 8 * lane.bytes();
                let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
                let edges = [0, 1, mask, mask >> 1, (mask >> 1) + 1, 2, mask - 1, 1 << (width / 2)];
                let small = bits >> (bits >> 3 & 63);
                mask & if edge { edges[pick % 8] } else { small }
            }
        }
    }
}
