//! The number of workgroups of a dispatch.

use modelc_kernel::Grid;

/// Returns the workgroups that run all positions of a grid: per row, rows, and 1.
pub fn groups(grid: &Grid) -> [u32; 3] {
    let all = grid.groups();
    let rows = all.div_ceil(Grid::MOST_GROUPS.into());
    [if rows > 1 { Grid::MOST_GROUPS } else { all as u32 }, rows as u32, 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_are_several() {
        let of = |positions, workgroup| groups(&Grid { positions, workgroup });
        assert_eq!(of(1, 64), [1, 1, 1]);
        assert_eq!(of(65_535 * 64, 64), [65_535, 1, 1]);
        assert_eq!(of(65_535 * 64 + 1, 64), [65_535, 2, 1]);
        assert_eq!(of(i32::MAX as u64, 64), [65_535, 513, 1]);
    }
}
