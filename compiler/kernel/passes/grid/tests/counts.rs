//! Tests of the number of workgroups that a run-time extent needs.

use super::*;

/// Maximum of the extent in the kernels below.
const MOST: i64 = 300;

/// Returns the launches of a kernel whose first operand is an extent.
fn open_launches(kernel: &Kernel) -> Vec<Launch> {
    let elements = [(0, crate::intervals::Interval { low: 0, high: MOST })].into();
    let assumed = Assumed { elements, ..Assumed::default() };
    let places = apart(kernel.pointer_params().count());
    launches(&marked(kernel, &[], &assumed, &places), &[], &assumed, &places).expect("few positions")
}

/// Returns the number of workgroups that a launch's count gives for an extent.
fn counted(counts: &Counts, grid: &Grid, extent: i64) -> [u32; 3] {
    let (kernel, pointers) = counts.kernel(grid);
    assert_eq!(pointers, [0], "{kernel}");
    let mut buffers = vec![extent.to_le_bytes().to_vec(), vec![0; 12]];
    assert_eq!(interpret_grid(&kernel, &mut buffers, 1), Ok(()), "{kernel}");
    [0, 4, 8].map(|at| u32::from_le_bytes(buffers[1][at..][..4].try_into().expect("a word")))
}

/// Returns the buffers after the first workgroups of a kernel with a grid.
fn left_by(kernel: &Kernel, groups: u64, mut buffers: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut kernel = kernel.clone();
    if let Some(grid) = &mut kernel.grid {
        grid.positions = grid.positions.min(groups * u64::from(grid.workgroup));
    }
    if groups > 0 {
        assert_eq!(interpret_grid(&kernel, &mut buffers, 5), Ok(()), "{kernel}");
    }
    buffers
}

/// Returns the workgroups that a kernel's only launch needs for each extent. Checks that one workgroup less leaves the result incomplete.
fn needed_for(text: &str, extents: &[i64]) -> Vec<u64> {
    let kernel = parse_kernel(text).unwrap_or_else(|error| panic!("{error}"));
    let [Launch { kernel: of_launch, counts, .. }] = &open_launches(&kernel)[..] else { panic!("one launch") };
    let counts = counts.as_ref().unwrap_or_else(|| panic!("no count of {of_launch}"));
    let grid = of_launch.grid.expect("a grid");
    let of_extent = |&extent: &i64| {
        let of = |data: &BufferData| match data.lane {
            Lane::I64 => extent.to_le_bytes().to_vec(),
            _ => (0..data.elements * u64::from(data.lane.bytes())).map(|i| (i * 7) as u8 | 1).collect(),
        };
        let mut whole = memory(&kernel, of);
        assert_eq!(interpret(&kernel, &mut whole, &[]), Ok(0));
        let [x, y, z] = counted(counts, &grid, extent);
        assert_eq!((y, z), (1, 1), "one row");
        let groups = u64::from(x);
        assert_eq!(left_by(of_launch, groups, memory(&kernel, of)), whole, "{groups} workgroups for {extent} of {of_launch}");
        assert!(groups == 0 || left_by(of_launch, groups - 1, memory(&kernel, of)) != whole, "{groups} are too many for {extent}");
        groups
    };
    extents.iter().map(of_extent).collect()
}

#[test]
fn a_loop_that_ends_at_an_extent_needs_its_workgroups() {
    let to = |end: &str, elements: u64| {
        format!(
            "kernel @k(n: input i64[1] align 8, y: output i32[{elements}] align 4) {{
              %0: i64 = load n[0]
              {end}
              for %9 in 0..%1 step 1 {{
                store y[%9], 5
              }}
            }}"
        )
    };
    let extents = [0, 1, 63, 64, 65, 299, 300];
    assert_eq!(needed_for(&to("%1: i64 = add %0, 0", 300), &extents), [0, 1, 1, 1, 2, 5, 5]);
    assert_eq!(needed_for(&to("%2: i64 = add %0, 3 %1: i64 = unsigned_div %2, 4", 76), &extents), [0, 1, 1, 1, 1, 2, 2]);
    assert_eq!(needed_for(&to("%1: i64 = mul %0, 3", 900), &extents), [0, 1, 3, 3, 4, 15, 15]);
}

#[test]
fn positions_of_other_loops_come_before() {
    // The row has whole vectors and a rest. The longer loop has the last positions.
    let text = "kernel @k(n: input i64[1] align 8, y: output i32[300] align 4) {
      %0: i64 = load n[0]
      %1: i64 = and %0, -4
      for %2 in 0..%1 step 4 {
        %3: i32x4 = splat 7
        store y[%2], %3
      }
      for %4 in %1..%0 step 1 {
        store y[%4], 9
      }
    }";
    let kernel = parse_kernel(text).expect("a kernel");
    let [Launch { kernel, counts: Some(counts), .. }] = &open_launches(&kernel)[..] else { panic!("one launch with a count") };
    let grid = kernel.grid.expect("a grid");
    assert_eq!(grid.positions, 75 + 3);
    assert_eq!([0, 4, 244, 248, 300].map(|extent| counted(counts, &grid, extent)[0]), [1, 1, 1, 2, 2]);
}

/// Rows of a matrix product in tiles of four, with panels inside: a workgroup has rows of one panel.
#[test]
fn workgroups_of_one_panel_are_counted_by_rows() {
    let text = |panels: u64, rows: u64| {
        format!(
            "kernel @k(n: input i64[1] align 8, w: input f32[{}] align 4, x: input f32[{}] align 4, y: output f32[{}] align 4) {{
              %0: i64 = load n[0]
              for %1 in 0..%0 step 1 {{
                %2: i64 = mul %1, {panels}
                for %3 in 0..{panels} step 1 {{
                  %4: i64 = mul %3, 8
                  %5: f32x4 = load w[%4]
                  %6: f32x4 = load w[%4 + 4]
                  %7: f32 = load x[%1]
                  %8: f32x4 = splat %7
                  %9: f32x4 = mul %5, %8
                  %10: f32x4 = add %9, %6
                  %11: f32 = horizontal_add %10
                  %12: i64 = add %2, %3
                  store y[%12], %11
                }}
              }}
            }}",
            8 * panels,
            rows,
            panels * rows
        )
    };
    // Each of the 20 panels has 300 rows, which are five workgroups. The extent determines how many of the first ones run.
    let panels = 20;
    assert_eq!(needed_for(&text(panels, 300), &[0, 1, 64, 65, 300]), [0, panels, panels, 2 * panels, 5 * panels]);
}

/// The inner loop ends at the extent. Its rounds are the slowest digit of a position's number, whatever loop is around it.
#[test]
fn a_loop_inside_others_is_counted() {
    let text = "kernel @k(n: input i64[1] align 8, y: output i32[1200] align 4) {
      %0: i64 = load n[0]
      for %1 in 0..4 step 1 {
        %2: i64 = mul %1, %0
        for %3 in 0..%0 step 1 {
          %4: i64 = add %2, %3
          store y[%4], 5
        }
      }
    }";
    assert_eq!(needed_for(text, &[0, 1, 16, 17, 299, 300]), [0, 1, 1, 2, 19, 19]);
}

#[test]
fn more_workgroups_than_a_row_are_several_rows() {
    let rounds = 70_000 * 64;
    let text = format!(
        "kernel @k(n: input i64[1] align 8, y: output i8[{rounds}] align 4) {{
          %0: i64 = load n[0]
          %1: i64 = mul %0, 14934
          for %2 in 0..%1 step 1 {{ store y[%2], 5 }}
        }}"
    );
    let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}"));
    let [Launch { kernel, counts: Some(counts), .. }] = &open_launches(&kernel)[..] else { panic!("one launch with a count") };
    let grid = kernel.grid.expect("a grid");
    assert_eq!([0, 1, 280, 281, 300].map(|extent| counted(counts, &grid, extent)), [0, 1, 1, 2, 2].map(|y| [65_535, y, 1]));
}

#[test]
fn what_is_not_read_from_memory_by_arithmetic_alone_is_not_counted() {
    let has_count = |end: &str| {
        let text = format!(
            "kernel @k(n: input i64[1] align 8, m: output i64[1] align 8, y: output i32[300] align 4) {{
              %0: i64 = load n[0]
              {end}
              for %9 in 0..%1 step 1 {{ store y[%9], 5 }}
            }}"
        );
        let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}"));
        open_launches(&kernel).iter().any(|launch| launch.counts.is_some())
    };
    assert!(has_count("%1: i64 = signed_min %0, 7"));
    assert!(!has_count("%2: i64 = load m[0] %1: i64 = signed_min %2, 7"), "another position may write it");
    assert!(!has_count("%1: i64 = for %2 in 0..%0 step 1 carry %3 = 0 { %4: i64 = and %2, 7 yield %4 }"), "a loop");
    assert!(!has_count("%1: i64 = and 7, 7"), "a number that is known");
}

#[test]
fn what_is_checked_is_checked_whatever_the_extent() {
    let text = "kernel @k(n: input i64[1] align 8, y: output i32[300] align 4) {
      %0: i64 = load n[0]
      %1: mask = less %0, 1
      fail_if %1, -12
      for %2 in 0..%0 step 1 { store y[%2], 5 }
    }";
    let kernel = parse_kernel(text).unwrap_or_else(|error| panic!("{error}"));
    let [Launch { kernel, counts: Some(counts), .. }] = &open_launches(&kernel)[..] else { panic!("one launch with a count") };
    assert_eq!(counted(counts, &kernel.grid.expect("a grid"), 0), [1, 1, 1]);
}
