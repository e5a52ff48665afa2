//! Cost estimate of a kernel: the number of instructions, for vectors of a given size. It is not a time, but it is comparable across machines: about
//! the same number runs in a nanosecond.

use super::indices::Indices;
use super::intervals::{Assumed, Interval};
use super::*;

/// Assumed rounds of a loop that repeats while a mask is true.
const UNKNOWN_ROUNDS: u64 = 8;

/// Instructions of the loop itself per round.
const PER_ROUND: u64 = 2;

/// Instructions of a table lookup with a register of byte indices.
const OF_BYTES: u64 = 24;

/// Returns the instruction estimate of a kernel with these integer parameters.
pub fn instructions(kernel: &Kernel, parameters: &[i64], vector_bytes: u64) -> u64 {
    of_parameters(kernel, parameters.iter().map(|&number| Interval::number(number)).collect(), vector_bytes)
}

/// Returns the instruction estimate of a position of a kernel's grid: the largest, if positions differ. A kernel without a grid has one position.
pub fn instructions_of_position(kernel: &Kernel, vector_bytes: u64) -> u64 {
    let last = kernel.grid.map_or(0, |grid| grid.positions.saturating_sub(1));
    of_parameters(kernel, vec![Interval { low: 0, high: last.cast_signed() }], vector_bytes)
}

/// Returns the instruction estimate of a kernel whose integer parameters are within these intervals.
fn of_parameters(kernel: &Kernel, parameters: Vec<Interval>, vector_bytes: u64) -> u64 {
    let assumed = Assumed { parameters, ..Assumed::default() };
    let count = Count { kernel, indices: Indices::assuming(kernel, &assumed, 16), vector_bytes };
    count.region(&kernel.body)
}

struct Count<'k> {
    kernel: &'k Kernel,
    indices: Indices,
    vector_bytes: u64,
}

impl Count<'_> {
    fn region(&self, region: &Region) -> u64 {
        region.statements.iter().map(|statement| self.statement(statement)).fold(0, u64::saturating_add)
    }

    fn statement(&self, Statement { results, inst }: &Statement) -> u64 {
        match inst {
            Inst::Constant { .. } | Inst::FailIf { .. } | Inst::Barrier => 0,
            Inst::For { start, end, step, body, .. } => {
                let (first, end) = (self.indices.interval(*start).low, self.indices.interval(*end).high);
                let span = u64::try_from(end.saturating_sub(first)).unwrap_or(0);
                span.div_ceil((*step).max(1).cast_unsigned()).saturating_mul(self.region(body).saturating_add(PER_ROUND))
            }
            Inst::Divide { body, .. } => self.region(body),
            Inst::Loop { body, .. } => UNKNOWN_ROUNDS.saturating_mul(self.region(body)),
            Inst::If { then, otherwise, .. } => self.region(then).max(self.region(otherwise)).saturating_add(1),
            Inst::Gather { indices, .. } if self.kernel.ty(*indices).lane == Lane::I8 => self.registers(results, inst) * OF_BYTES,
            _ => self.registers(results, inst) * weight(inst),
        }
    }

    /// Returns the number of registers of the instruction's widest value.
    fn registers(&self, results: &[Value], inst: &Inst) -> u64 {
        let bytes = |value: &Value| {
            let ty = self.kernel.ty(*value);
            u64::from(ty.lane.bytes()) * u64::from(ty.lanes)
        };
        let widest = results.iter().chain(&inst.operands()).map(bytes).max().unwrap_or(0);
        widest.div_ceil(self.vector_bytes.max(1)).max(1)
    }
}

/// Returns the cost of an instruction relative to an addition.
fn weight(inst: &Inst) -> u64 {
    match inst {
        Inst::Binary { op: BinaryOp::FloatDiv, .. } => 4,
        Inst::Binary { op, .. } if op.is_division() => 8,
        Inst::Unary { op: UnaryOp::Sqrt, .. } | Inst::Gather { .. } => 8,
        Inst::SaturatingRoundingDoublingHighMul { .. } | Inst::RoundingDivideByPowerOfTwo { .. } | Inst::Horizontal { .. } => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_kernel;

    #[test]
    fn loops_count_as_often_as_they_run_and_vectors_by_registers() {
        let kernel = parse_kernel(
            "kernel @k(x: input i32[80] align 4, y: output i32[80] align 4, %0: i64, %1: i64) {
              for %2 in %0..%1 step 8 {
                %3: i32x8 = load x[%2]
                store y[%2], %3
              }
            }",
        )
        .expect("a kernel");
        assert_eq!(instructions(&kernel, &[0, 80], 32), 10 * (2 + PER_ROUND));
        assert_eq!(instructions(&kernel, &[0, 80], 16), 10 * (4 + PER_ROUND));
        assert_eq!(instructions(&kernel, &[40, 80], 32), 5 * (2 + PER_ROUND));
    }

    #[test]
    fn a_position_of_a_grid_counts_alone() {
        let kernel = parse_kernel(
            "kernel @k(x: input i32[80] align 4, y: output i32[80] align 4, %0: i64) grid 20 workgroup 64 {
              %1: i64 = mul %0, 4
              %2: i32x4 = load x[%1]
              store y[%1], %2
            }",
        )
        .expect("a kernel");
        assert_eq!(instructions_of_position(&kernel, 4), 2 + 4 + 4);
    }
}
