//! Interpreter of kernels with a grid: one position after the other, or workgroup by workgroup if positions share memory or barriers.

use super::group::Groups;
use super::memory::Memory;
use super::order::shuffled;
use super::{ArgumentFault, InterpretError, Machine, Stop};
use crate::*;

/// Runs a kernel for all positions of its grid, in an order drawn from a seed. If the kernel may fail, the last buffer is the status.
///
/// `buffers` are the buffers of [`super::interpret`].
///
/// # Errors
/// The errors of [`super::interpret`], and an error if one position writes an element that another one accesses.
pub fn interpret_grid(kernel: &Kernel, buffers: &mut [Vec<u8>], seed: u64) -> Result<(), InterpretError> {
    let (Some(grid), &[position]) = (kernel.grid, &kernel.body.params[..]) else {
        return Err(InterpretError::Arguments { kernel: kernel.name.clone(), fault: ArgumentFault::NoGrid });
    };
    let mut machine = Machine::new(kernel, Memory::new(kernel, buffers)?);
    let is_shared = |data: &BufferData| data.kind == BufferKind::Shared;
    if kernel.has_barrier() || kernel.buffers.iter().any(is_shared) {
        return Groups::new(machine, grid, seed).run();
    }
    for number in shuffled(grid.positions, seed) {
        machine.memory.begin(1);
        machine.memory.go_on(number, 0);
        machine.set(position, vec![number.into()]);
        match machine.region(&kernel.body) {
            Ok(()) => {}
            Err(Stop::Status(status)) => machine.memory.fail(status),
            Err(Stop::Error(error)) => return Err(*error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_kernel;
    use crate::verify::verify;

    /// Runs a kernel on buffers of zeros, and returns the buffers.
    fn run(text: &str, seed: u64) -> Result<Vec<Vec<u8>>, InterpretError> {
        let kernel = parse_kernel(text).unwrap();
        verify(&kernel).unwrap();
        let bytes = |(_, data): (Buffer, &BufferData)| vec![0; data.bytes() as usize];
        let mut buffers: Vec<Vec<u8>> = kernel.pointer_params().map(bytes).collect();
        interpret_grid(&kernel, &mut buffers, seed)?;
        Ok(buffers)
    }

    #[test]
    fn every_position_runs_once_in_an_order_of_the_seed() {
        let mut all = shuffled(1000, 7);
        assert_ne!(all, shuffled(1000, 8));
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..1000));
        assert_eq!(shuffled(1, 3), [0]);
    }

    #[test]
    fn positions_do_their_own() {
        let text = "kernel @k(y: output i8[6] align 1, %0: i64) grid 3 workgroup 2 {
            table: local i8[1] align 1
            %1: i8 = load table[0]
            %2: i64 = mul %0, 2
            store table[0], 7
            %3: i8 = wrap %2
            store y[%2], %3
            store y[%2 + 1], %1
        }";
        assert_eq!(run(text, 5), Ok(vec![vec![0, 255, 2, 255, 4, 255]]));
    }

    #[test]
    fn positions_that_meet_are_an_error() {
        let kernel =
            |body: &str| format!("kernel @k(x: input i8[8] align 1, y: output i8[8] align 1, %0: i64) grid 4 workgroup 4 {{ {body} }}");
        let meet = |body: &str| run(&kernel(body), 1).map(|_| ()).map_err(|error| error.to_string().contains("meet in element"));
        assert_eq!(meet("%1: i8 = load x[0] store y[%0], %1"), Ok(()));
        assert_eq!(meet("%1: i8 = load y[%0] store y[%0], %1"), Ok(()));
        assert_eq!(meet("%1: i8 = load y[0]"), Ok(()));
        assert_eq!(meet("store y[0], 1"), Err(true));
        assert_eq!(meet("%1: i8x2 = load x[0] store y[%0], %1"), Err(true));
        assert_eq!(meet("%1: i8 = load y[%0 + 1] store y[%0], %1"), Err(true));
        let two = run(&kernel("store y[3], 1"), 1).unwrap_err().to_string();
        assert!(two.starts_with("kernel k: positions ") && two.ends_with(" meet in element 3 of buffer y"), "{two}");
    }

    #[test]
    fn a_position_that_fails_leaves_its_status_and_the_others_go_on() {
        let text = "kernel @k(y: output i8[4] align 1, status: output i32[1] align 4, %0: i64) grid 4 workgroup 4 {
            %1: mask = greater %0, 2
            fail_if %1, -12
            store y[%0], 1
        }";
        assert_eq!(run(text, 9), Ok(vec![vec![1, 1, 1, 0], (-12i32).to_le_bytes().to_vec()]));
    }

    /// A kernel that sums four numbers in each workgroup, one from each position.
    const SUMS: &str = "kernel @k(x: input i32[12] align 4, y: output i32[3] align 4, %0: i64) grid 12 workgroup 4 {
        t: shared i32[4] align 16
        own: local i32[1] align 4
        %1: i64 = unsigned_rem %0, 4
        %2: i32 = load x[%0]
        store own[0], %2
        store t[%1], %2
        barrier
        for %3 in 0..2 step 1 {
            %4: i64 = xor %1, 1
            %5: i64 = xor %1, 2
            %6: mask = equal %3, 0
            %7: i64 = select %6, %4, %5
            %8: i32 = load t[%7]
            %9: i32 = load own[0]
            %10: i32 = add %8, %9
            store own[0], %10
            barrier
            store t[%1], %10
            barrier
        }
        %11: mask = equal %1, 0
        if %11 {
            %12: i64 = unsigned_div %0, 4
            %13: i32 = load t[0]
            store y[%12], %13
        }
    }";

    fn numbers(bytes: &[u8]) -> Vec<i32> {
        bytes.chunks_exact(4).map(|chunk| i32::from_le_bytes(chunk.try_into().unwrap())).collect()
    }

    #[test]
    fn positions_of_a_workgroup_share_what_is_written_before_a_barrier() {
        let kernel = parse_kernel(SUMS).unwrap();
        assert_eq!(verify(&kernel), Ok(()));
        for seed in 0..20 {
            let mut buffers = [(1..=12i32).flat_map(i32::to_le_bytes).collect(), vec![0; 12]];
            assert_eq!(interpret_grid(&kernel, &mut buffers, seed), Ok(()));
            assert_eq!(numbers(&buffers[1]), [10, 26, 42]);
        }
    }

    /// Tests that each workgroup takes its own side of a branch with a barrier.
    #[test]
    fn a_workgroup_takes_one_side_of_a_branch_with_a_barrier() {
        let text = "kernel @k(y: output i32[8] align 4, %0: i64) grid 8 workgroup 4 {
            t: shared i32[4] align 16
            %1: i64 = unsigned_div %0, 4
            %2: i64 = unsigned_rem %0, 4
            %3: mask = less %1, 1
            %4: i32 = if %3 {
                %5: i32 = wrap %0
                store t[%2], %5
                barrier
                %6: i64 = xor %2, 3
                %7: i32 = load t[%6]
                yield %7
            } else {
                %8: i32 = wrap %2
                yield %8
            }
            store y[%0], %4
        }";
        for seed in 0..5 {
            assert_eq!(run(text, seed).map(|buffers| numbers(&buffers[0])), Ok(vec![3, 2, 1, 0, 0, 1, 2, 3]));
        }
    }

    #[test]
    fn a_barrier_that_is_missing_is_a_race() {
        for (number, _) in SUMS.match_indices("barrier") {
            let text = format!("{}{}", &SUMS[..number], &SUMS[number + 7..]);
            let error = run(&text, 3).unwrap_err();
            assert!(error.to_string().contains(" meet in element "), "{error}");
        }
    }
}
