//! Values of a kernel that vector registers hold.

use crate::own::words::{lanes, vectors};
use cranelift_entity::EntitySet;
use modelc_kernel::{Inst, Kernel, Lane, Value};
use modelc_machine::{CpuMachine, Extension};

/// Values that vector registers hold.
pub(super) struct InVectors {
    /// Loaded bytes.
    pub bytes: EntitySet<Value>,
    /// Values whose lanes have 32 bits in registers.
    pub lanes: EntitySet<Value>,
}

impl InVectors {
    /// Finds the values of a kernel on a machine. There are none in a kernel that rounds a product and a sum of binary64 once. No function of the
    /// object computes that, and a kernel with vectors has no registers of binary64.
    pub fn of(kernel: &Kernel, machine: &CpuMachine) -> Self {
        if !machine.has(Extension::Mve) || fuses_doubles(kernel) {
            return Self { bytes: EntitySet::new(), lanes: EntitySet::new() };
        }
        let bytes = vectors(kernel);
        Self { lanes: lanes(kernel, &bytes), bytes }
    }

    /// Tests whether there are none.
    pub fn is_empty(&self) -> bool {
        [&self.bytes, &self.lanes].into_iter().all(|values| values.iter().next().is_none())
    }
}

/// Tests whether a kernel adds a product of binary64 to a sum, rounded once.
fn fuses_doubles(kernel: &Kernel) -> bool {
    kernel.statements().any(|statement| matches!(statement.inst, Inst::Fma { a, .. } if kernel.ty(a).lane == Lane::F64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thumb::KERNELS;
    use modelc_kernel::intervals::Assumed;
    use modelc_kernel::passes::narrow;
    use modelc_kernel::text::parse_kernel;
    use modelc_machine::machine;

    /// A constant mask takes all lanes of one operand.
    #[test]
    fn constants_choose_lanes() {
        let machine = machine("cortex-m55").expect("a level");
        for mask in [false, true] {
            let kernel = parse_kernel(&format!(
                "kernel @k(x: input i32[4] align 4, y: output i32[4] align 4) {{
                  %1: i32x4 = load x[0]
                  %2: i32x4 = add %1, %1
                  %3: i32x4 = select {mask}, %1, %2
                  store y[0], %3
                }}"
            ))
            .expect("a kernel");
            assert!(!InVectors::of(&kernel, machine).is_empty(), "{kernel}");
            KERNELS.code(&narrow(&kernel, &Assumed::default()), machine).unwrap_or_else(|error| panic!("{error}\n{kernel}"));
        }
    }

    /// Functions of the object compute a product and a sum of binary64 in kernels with vectors, but none rounds once.
    #[test]
    fn kernels_that_fuse_doubles_hold_no_vectors() {
        let machine = machine("cortex-m55").expect("a level");
        for (last, is_empty) in [("%7: f64 = mul %5, %6", false), ("%7: f64 = fma %5, %6, %6", true)] {
            let kernel = parse_kernel(&format!(
                "kernel @k(x: input i8[32] align 4, y: output i8[16] align 4, a: input f64[2] align 8, z: output f64[1] align 8) {{
                  %1: i8x16 = load x[0]
                  %2: i8x16 = load x[16]
                  %3: i8x16 = signed_min %1, %2
                  store y[0], %3
                  %5: f64 = load a[0]
                  %6: f64 = load a[1]
                  {last}
                  store z[0], %7
                }}"
            ))
            .expect("a kernel");
            assert_eq!(InVectors::of(&kernel, machine).is_empty(), is_empty, "{kernel}");
            KERNELS.code(&narrow(&kernel, &Assumed::default()), machine).unwrap_or_else(|error| panic!("{error}\n{kernel}"));
        }
    }
}
