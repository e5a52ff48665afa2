//! Ranges of a kernel with a `divide`: the body of the `divide`, for the range that is passed.

use super::in_ranges::InRanges;
use crate::*;

/// Returns the kernel that computes a range. `None` if the kernel has no `divide`, or one of a number of rounds that is not constant.
pub fn of_divide(kernel: &Kernel) -> Option<InRanges> {
    let divides = |statement: &Statement| matches!(statement.inst, Inst::Divide { .. });
    let number = kernel.body.statements.iter().position(divides)?;
    let Inst::Divide { extent, .. } = kernel.body.statements[number].inst else { return None };
    let rounds = u64::try_from(constant(&kernel.body, extent)?).ok()?;
    let mut kernel = kernel.clone();
    let Inst::Divide { body, .. } = kernel.body.statements.remove(number).inst else { return None };
    kernel.integers = body.params.len();
    kernel.body.params = body.params;
    kernel.body.statements.splice(number..number, body.statements);
    if !kernel.statements().any(|statement| statement.inst.operands().contains(&extent)) {
        kernel.body.statements.retain(|statement| !statement.results.contains(&extent));
    }
    Some(InRanges { kernel, rounds })
}

/// Returns the number that a value is in a region. `None` if it is computed or loaded.
fn constant(region: &Region, value: Value) -> Option<i64> {
    region.statements.iter().find_map(|statement| match statement.inst {
        Inst::Constant { bits } if statement.results.contains(&value) => Some(bits.cast_signed()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::interpret;
    use crate::text::parse_kernel;
    use crate::verify::verify;

    /// Returns a kernel with a ring that each range fills. It divides rounds up to `extent`.
    fn kernel(extent: &str) -> Kernel {
        let text = format!(
            "kernel @k(x: input i32[9] align 4, n: input i64[1] align 8, y: output i32[8] align 4, ring: scratch i32[1] align 4) {{
              %8: i64 = load n[0]
              divide 0..{extent} as (%1, %2) private ring {{
                %3: i32 = load x[%1]
                store ring[0], %3
                for %4 in %1..%2 step 1 {{
                  %5: i32 = load ring[0]
                  %6: i32 = load x[%4 + 1]
                  %7: i32 = add %5, %6
                  store y[%4], %7
                  store ring[0], %6
                }}
              }}
            }}"
        );
        parse_kernel(&text).expect("a kernel")
    }

    fn bytes(numbers: impl Iterator<Item = i32>) -> Vec<u8> {
        numbers.flat_map(i32::to_le_bytes).collect()
    }

    #[test]
    fn ranges_together_compute_all_rounds() {
        let InRanges { kernel, rounds } = of_divide(&kernel("8")).expect("a kernel that divides");
        assert_eq!((rounds, verify(&kernel)), (8, Ok(())));
        let mut buffers = [bytes(0..9), vec![0; 8], vec![0; 32], vec![0xa5; 4]];
        for range in [[5, 8], [0, 3], [3, 5], [8, 8]] {
            assert_eq!(interpret(&kernel, &mut buffers, &range), Ok(0));
        }
        assert_eq!(buffers[2], bytes((0..8).map(|i| 2 * i + 1)));
    }

    #[test]
    fn rounds_of_a_loaded_number_stay_whole() {
        assert!(of_divide(&kernel("%8")).is_none());
        let plain = "kernel @k(y: output i32[8] align 4) { for each %1 in 0..8 step 1 { store y[%1], 1 } }";
        assert!(of_divide(&parse_kernel(plain).expect("a kernel")).is_none());
    }
}
