use super::*;
use crate::kernel::interpret::interpret;
use crate::kernel::text::parse_kernel;

/// The positions of each stage of a kernel. Run in any order, they leave what the kernel leaves.
fn positions(text: &str) -> Vec<u64> {
    let kernel = parse_kernel(text).expect("a kernel");
    let stages = stages(&kernel, &[], &Assumed::default()).expect("few positions");
    let new = || -> Vec<Vec<u8>> {
        let of = |data: &BufferData| (0..data.elements * u64::from(data.lane.bytes())).map(|i| (i * 7) as u8).collect();
        kernel.pointer_params().map(|(_, data)| of(data)).collect()
    };
    let (mut whole, mut parts) = (new(), new());
    assert_eq!(interpret(&kernel, &mut whole, &[]), Ok(0));
    for Stage { kernel, pointers } in &stages {
        let count = kernel.grid.expect("a grid").positions;
        let mut one = kernel.clone();
        one.grid = None;
        // 7 has no common factor with the counts below: all positions, in another order.
        for position in (0..count).map(|i| (i * 7 + 3) % count) {
            let mut memory: Vec<Vec<u8>> =
                pointers.iter().map(|pointer| pointer.map_or(vec![0; 4], |pointer| parts[pointer].clone())).collect();
            assert_eq!(interpret(&one, &mut memory, &[position as i64]), Ok(0), "{kernel}");
            for (bytes, pointer) in memory.into_iter().zip(pointers) {
                pointer.iter().for_each(|&pointer| parts[pointer].clone_from(&bytes));
            }
        }
    }
    assert_eq!(whole, parts, "{}", stages.iter().map(|stage| stage.kernel.to_string()).collect::<String>());
    stages.iter().map(|stage| stage.kernel.grid.map_or(0, |grid| grid.positions)).collect()
}

#[test]
fn nested_loops_multiply_and_the_rest_of_a_row_is_one_more() {
    let text = "kernel @k(x: input f32[55] align 4, y: output f32[55] align 4) {
      for %1 in 0..5 step 1 {
        %2: i64 = mul %1, 11
        for %3 in 0..8 step 4 {
          %4: i64 = add %2, %3
          %5: f32x4 = load x[%4]
          %6: f32x4 = add %5, %5
          store y[%4], %6
        }
        for %7 in 8..11 step 1 {
          %8: i64 = add %2, %7
          %9: f32 = load x[%8]
          %10: f32 = add %9, %9
          store y[%8], %10
        }
      }
    }";
    assert_eq!(positions(text), [5 * (2 + 3)]);
}

/// Panels outside and rows inside: the outer loop moves stores less than the inner one does.
#[test]
fn a_tile_of_several_rows_is_one_position() {
    let text = "kernel @k(x: input f32[96] align 4, y: output f32[96] align 4) {
      for %1 in 0..12 step 4 {
        for %2 in 0..8 step 2 {
          %3: i64 = mul %2, 12
          %4: i64 = add %1, %3
          %5: f32x4 = load x[%4]
          %6: f32x4 = load x[%4 + 12]
          store y[%4], %6
          store y[%4 + 12], %5
        }
      }
    }";
    assert_eq!(positions(text), [3 * 4]);
}

#[test]
fn what_meets_is_a_stage_of_its_own_or_one_position() {
    let second = |offset: u64| {
        positions(&format!(
            "kernel @k(x: input i32[32] align 4, y: output i32[32] align 4, z: output i32[32] align 4) {{
              for %1 in 0..32 step 4 {{
                %2: i32x4 = load x[%1]
                store y[%1], %2
              }}
              for %3 in 0..20 step 2 {{
                %4: i32x2 = load y[%3 + {offset}]
                store z[%3], %4
              }}
            }}"
        ))
    };
    assert_eq!(second(3), [8, 10]);
    let sum = "kernel @k(x: input i32[60] align 4, y: output i32[5] align 4) {
      for %1 in 0..12 step 1 {
        %2: i64 = mul %1, 5
        for %3 in 0..5 step 1 {
          %4: i64 = add %2, %3
          %5: i32 = load x[%4]
          %6: i32 = load y[%3]
          %7: i32 = add %5, %6
          store y[%3], %7
        }
      }
    }";
    // All rows are summed by each position, for its column.
    assert_eq!(positions(sum), [5]);
    let backwards = "kernel @k(y: output i32[64] align 4) {
      for %1 in 0..60 step 1 {
        %2: i32 = load y[%1 + 1]
        store y[%1], %2
      }
    }";
    assert_eq!(positions(backwards), [1]);
}

#[test]
fn what_is_computed_once_is_computed_by_all() {
    let text = "kernel @k(x: input i32[32] align 4, y: output i32[32] align 4) {
      %1: i32 = for %2 in 0..32 step 1 carry %3 = 0 {
        %4: i32 = load x[%2]
        %5: i32 = add %3, %4
        yield %5
      }
      for %6 in 0..32 step 1 {
        %7: i32 = load x[%6]
        %8: i32 = add %7, %1
        store y[%6], %8
      }
    }";
    assert_eq!(positions(text), [32]);
}
