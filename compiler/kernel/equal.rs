//! Uniformity analysis: values that are equal at all positions of a workgroup. They are constants, the number of the workgroup, and results computed
//! only from these.

use super::*;
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

/// Values of a kernel with a grid that are equal at all positions of a workgroup that compute them.
pub struct Equal<'k> {
    kernel: &'k Kernel,
    /// Number of positions in a workgroup, and the value that is the position.
    position: Option<(u64, Value)>,
    numbers: FxHashMap<Value, u64>,
    values: EntitySet<Value>,
}

impl<'k> Equal<'k> {
    /// Analyses a kernel.
    pub fn of(kernel: &'k Kernel) -> Self {
        let position = kernel.grid.map(|grid| u64::from(grid.workgroup)).zip(kernel.body.params.first().copied());
        let mut equal = Self { kernel, position, numbers: FxHashMap::default(), values: EntitySet::new() };
        equal.region(&kernel.body);
        equal
    }

    /// Tests whether a value is uniform.
    pub fn contains(&self, value: Value) -> bool {
        self.values.contains(value)
    }

    fn region(&mut self, region: &Region) {
        for Statement { results, inst } in &region.statements {
            if let (&Inst::Constant { bits }, &[result]) = (inst, &results[..]) {
                self.numbers.insert(result, bits);
            }
            match inst {
                Inst::For { start, end, body, .. } => {
                    if self.contains(*start) && self.contains(*end) {
                        self.values.extend(body.params.first().copied());
                    }
                    self.region(body);
                }
                Inst::Loop { .. } | Inst::If { .. } => inst.regions().into_iter().for_each(|inner| self.region(inner)),
                inst if self.gives_equals(inst) => self.values.extend(results.iter().copied()),
                _ => {}
            }
        }
    }

    /// Tests whether an instruction gives the same result at all positions.
    fn gives_equals(&self, inst: &Inst) -> bool {
        let is_only_read = inst.buffer().is_none_or(|buffer| self.kernel.buffer(buffer).kind == BufferKind::Input);
        is_only_read && inst.operands().into_iter().all(|value| self.contains(value)) || self.is_number_of_group(inst)
    }

    /// Tests whether an instruction computes the number of the workgroup, or of a run of several workgroups.
    fn is_number_of_group(&self, inst: &Inst) -> bool {
        let (&Inst::Binary { op: BinaryOp::UnsignedDiv, a, b }, Some((workgroup, position))) = (inst, self.position) else { return false };
        a == position && self.numbers.get(&b).is_some_and(|by| *by > 0 && by.is_multiple_of(workgroup))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_kernel;
    use cranelift_entity::EntityRef;

    #[test]
    fn the_number_of_a_workgroup_is_the_same_at_all_its_positions() {
        let kernel = parse_kernel(
            "kernel @k(x: input i32[4] align 4, y: output i32[256] align 4, %0: i64) grid 256 workgroup 64 {
              %1: i64 = unsigned_div %0, 64
              %2: i64 = unsigned_div %0, 128
              %3: i64 = unsigned_div %0, 32
              %4: i64 = unsigned_rem %0, 64
              %5: i64 = add %1, 1
              %6: i64 = add %1, %4
              %7: i32 = load x[%2]
              %8: i32 = load y[%1]
              for %9 in 0..%5 step 1 { store y[%0], %7 }
              for %10 in %6..4 step 1 { store y[%0], %8 }
            }",
        )
        .unwrap_or_else(|error| panic!("{error}"));
        let equal = Equal::of(&kernel);
        let named: Vec<usize> = (0..11).filter(|&number| equal.contains(Value::new(number))).collect();
        assert_eq!(named, [1, 2, 5, 7, 9]);
    }
}
