//! Tests of rows that workgroups share.

use super::*;

/// Returns the kernel of workgroups for a launch, if there is one.
fn team_of(Launch { kernel, .. }: &Launch) -> Option<Kernel> {
    team(kernel, &apart(kernel.pointer_params().count()))
}

/// Returns the kernel of workgroups, and the largest difference from the results of single positions. The outputs are floats.
fn by_workgroups(text: &str) -> (Kernel, f32) {
    let kernel = parse_kernel(text).expect("a kernel");
    let [launch] = &launches_of(&kernel)[..] else { panic!("one launch") };
    let team = team_of(launch).expect("rows are long and few");
    let number = |i: u64| ((i * 37 % 101) as f32 - 50.0) * 0.125;
    let of = |data: &BufferData| (0..data.elements).flat_map(|i| number(i).to_le_bytes()).collect();
    let (mut alone, mut together) = (memory(&kernel, of), vec![]);
    interpret_grid(&launch.kernel, &mut alone, 1).unwrap();
    for seed in 0..3 {
        together = memory(&kernel, of);
        interpret_grid(&team, &mut together, seed).unwrap_or_else(|error| panic!("{error}\n{team}"));
    }
    let floats = |bytes: &[u8]| -> Vec<f32> { bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect() };
    let pairs = alone.iter().zip(&together).flat_map(|(a, b)| floats(a).into_iter().zip(floats(b)));
    let worst = pairs.map(|(a, b)| (a - b).abs() / a.abs().max(1.0)).fold(0.0, f32::max);
    (team, worst)
}

/// The maximum of a row, differences from it, their sum, and quotients by the sum: three loops that pass on memory and sums.
const ROWS: &str = "kernel @k(x: input f32[600] align 4, y: output f32[600] align 4, z: output f32[6] align 4) {
  for %1 in 0..6 step 1 {
    %2: i64 = mul %1, 100
    %3: f32x4 = for %4 in 0..100 step 4 carry %5 = -inf {
      %6: i64 = add %2, %4
      %7: f32x4 = load x[%6]
      %8: f32x4 = add %7, %7
      store y[%6], %8
      %9: f32x4 = float_max_first %5, %8
      yield %9
    }
    %10: f32 = horizontal_max %3
    %11: f32x4 = splat %10
    %12: f32x4, %13: f32x4 = for %14 in 0..100 step 4 carry %15 = 1.0, %16 = 0.0 {
      %17: i64 = add %2, %14
      %18: f32x4 = load y[%17]
      %19: f32x4 = sub %18, %11
      %20: f32x4 = add %15, %19
      %21: f32x4 = mul %19, %19
      %22: f32x4 = add %16, %21
      yield %20, %22
    }
    %23: f32 = horizontal_add %12
    %24: f32 = horizontal_add %13
    %25: f32 = add %23, %24
    store z[%1], %25
    %26: f32 = load z[%1]
    for %27 in 0..100 step 1 {
      %28: i64 = add %2, %27
      %29: f32 = load y[%28]
      %30: f32 = float_div %29, %26
      store y[%28], %30
    }
  }
}";

#[test]
fn workgroups_take_rows_where_these_are_few_and_long() {
    let (team, worst) = by_workgroups(ROWS);
    assert_eq!(team.grid, Some(Grid { positions: 6 * 64, workgroup: 64 }), "as many lanes as the longest loop keeps busy");
    assert!(team.has_barrier() && team.buffers.iter().any(|data| data.kind == BufferKind::Shared));
    // The order of sums differs, by a few units in the last place of numbers of this size.
    assert!(worst < 1e-5, "{worst}");
}

#[test]
fn short_rows_and_many_are_one_position_each() {
    let of = |rows: u64, length: u64| {
        let text = format!(
            "kernel @k(x: input f32[{0}] align 4, y: output f32[{rows}] align 4) {{
              for %1 in 0..{rows} step 1 {{
                %2: i64 = mul %1, {length}
                %3: f32 = for %4 in 0..{length} step 1 carry %5 = 0.0 {{
                  %6: i64 = add %2, %4
                  %7: f32 = load x[%6]
                  %8: f32 = add %5, %7
                  yield %8
                }}
                store y[%1], %3
              }}
            }}",
            rows * length
        );
        let kernel = parse_kernel(&text).expect("a kernel");
        team_of(&launches_of(&kernel)[0]).map(|team| team.grid.map_or(0, |grid| grid.workgroup))
    };
    assert_eq!([of(4, 8), of(4, 16), of(4, 50), of(4, 500), of(2000, 500)], [None, Some(16), Some(32), Some(64), None]);
}

#[test]
fn what_depends_on_the_round_before_is_not_shared_out() {
    let of = |next: &str| {
        let text = format!(
            "kernel @k(x: input f32[200] align 4, y: output f32[2] align 4) {{
              for %1 in 0..2 step 1 {{
                %2: i64 = mul %1, 100
                %3: f32 = for %4 in 0..100 step 1 carry %5 = 0.0 {{
                  %6: i64 = add %2, %4
                  %7: f32 = load x[%6]
                  {next}
                  yield %9
                }}
                store y[%1], %3
              }}
            }}"
        );
        let kernel = parse_kernel(&text).expect("a kernel");
        team_of(&launches_of(&kernel)[0]).is_some()
    };
    assert!(of("%9: f32 = add %7, %5"));
    assert!(of("%8: f32 = sub %5, %7 %9: f32 = add %8, %7"));
    assert!(!of("%9: f32 = sub %7, %5"), "the sign changes");
    assert!(!of("%8: f32 = add %5, %7 %9: f32 = mul %8, %7"), "two operations");
    assert!(!of("%8: f32 = add %5, %7 %9: f32 = add %8, %5"), "twice the sum before");
    assert!(!of("%9: f32 = float_max_first %7, %5"), "the first is kept");
    let shifts = "kernel @k(y: output f32[101] align 4) {
      for %1 in 0..100 step 1 {
        %2: f32 = load y[%1 + 1]
        store y[%1], %2
      }
    }";
    let kernel = parse_kernel(shifts).expect("a kernel");
    assert!(team_of(&launches_of(&kernel)[0]).is_none());
}
