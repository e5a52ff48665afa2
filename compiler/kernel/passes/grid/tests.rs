//! Tests with kernels written as text, which run their positions in any order.

mod counts;
mod shared_rows;
mod teams;

use super::*;
use crate::dependence::apart;
use crate::interpret::{interpret, interpret_grid};
use crate::text::parse_kernel;

/// Marks the loops of a kernel whose rounds are independent by the places of their accesses.
fn marked(kernel: &Kernel, integers: &[i64], assumed: &Assumed, places: &Places) -> Kernel {
    let found = unmarked(kernel, integers, assumed, places);
    let mut kernel = kernel.clone();
    kernel.body.for_each_statement_mut(&mut |statement| {
        if let Inst::For { each, body, .. } = &mut statement.inst {
            *each |= found.contains(&body.params[0]);
        }
    });
    assert_eq!(verify(&kernel), Ok(()), "{kernel}");
    kernel
}

/// Returns the launches of a kernel whose operands do not overlap. Its independent loops are marked first.
fn launches_of(kernel: &Kernel) -> Vec<Launch> {
    let (assumed, places) = (Assumed::default(), apart(kernel.pointer_params().count()));
    launches(&marked(kernel, &[], &assumed, &places), &[], &assumed, &places).expect("few positions")
}

/// Makes the contents of a kernel's pointer parameters; `of` gives the bytes of one.
fn memory(kernel: &Kernel, of: impl Fn(&BufferData) -> Vec<u8>) -> Vec<Vec<u8>> {
    kernel.pointer_params().map(|(_, data)| of(data)).collect()
}

/// Returns the number of positions of each launch. Checks that they leave the kernel's results in any order.
fn positions(text: &str) -> Vec<u64> {
    let kernel = parse_kernel(text).expect("a kernel");
    let launches = launches_of(&kernel);
    let of = |data: &BufferData| (0..data.bytes()).map(|i| (i * 7) as u8).collect();
    let (mut whole, mut parts) = (memory(&kernel, of), memory(&kernel, of));
    assert_eq!(interpret(&kernel, &mut whole, &[]), Ok(0));
    for Launch { kernel, pointers, .. } in &launches {
        let mut own: Vec<Vec<u8>> = pointers.iter().map(|pointer| pointer.map_or(vec![0; 4], |pointer| parts[pointer].clone())).collect();
        assert_eq!(interpret_grid(kernel, &mut own, 3), Ok(()), "{kernel}");
        for (bytes, pointer) in own.into_iter().zip(pointers) {
            pointer.iter().for_each(|&pointer| parts[pointer].clone_from(&bytes));
        }
    }
    assert_eq!(whole, parts, "{}", launches.iter().map(|launch| launch.kernel.to_string()).collect::<String>());
    launches.iter().map(|launch| launch.kernel.grid.map_or(0, |grid| grid.positions)).collect()
}

/// Rows at loaded places. Only a mark says that they are different rows.
#[test]
fn marked_loops_are_positions_and_others_are_not() {
    let of = |kind: &str, column: &str| {
        let text = format!(
            "kernel @k(at: input i8[4] align 1, x: input i32[32] align 4, y: output i32[32] align 4) {{
              {kind} %1 in 0..4 step 1 {{
                %2: i8 = load at[%1]
                %3: i64 = sign_extend %2
                %4: i64 = and %3, 3
                %5: i64 = mul %4, 8
                {column} %6 in 0..8 step 1 {{
                  %7: i64 = add %5, %6
                  %8: i32 = load x[%7]
                  store y[%7], %8
                }}
              }}
            }}"
        );
        let kernel = parse_kernel(&text).expect("a kernel");
        let launches = launches(&kernel, &[], &Assumed::default(), &apart(3)).expect("few positions");
        let [Launch { kernel, .. }] = &launches[..] else { panic!("one launch of {kernel}") };
        assert_eq!(verify(kernel), Ok(()), "{kernel}");
        kernel.grid.map_or(0, |grid| grid.positions)
    };
    assert_eq!(of("for each", "for each"), 4 * 8);
    assert_eq!(of("for each", "for"), 4);
    assert_eq!(of("for", "for"), 1);
    // All positions run the rows in order. The places of different columns differ in any two rows.
    assert_eq!(of("for", "for each"), 8);
}

/// A mark holds for one round of the loop around. Here column 0 of a row is column 1 of the row before.
#[test]
fn a_mark_inside_of_a_loop_in_order_is_not_enough() {
    let text = "kernel @k(x: input i32[12] align 4, y: output i32[12] align 4) {
      for %1 in 0..5 step 1 {
        for each %2 in 0..8 step 1 {
          %3: i64 = add %1, %2
          %4: i32 = load x[%3]
          %5: i32 = load y[%3]
          %6: i32 = add %4, %5
          store y[%3], %6
        }
      }
    }";
    assert_eq!(positions(text), [1]);
    assert_eq!(positions(&text.replace("add %1, %2", "add 0, %2")), [8]);
}

/// Each position would compute the sum of a row that others have overwritten.
#[test]
fn a_mark_does_not_hold_for_values_that_positions_compute_again() {
    let text = "kernel @k(y: output i32[8] align 4) {
      %1: i32 = load y[3]
      for each %2 in 0..8 step 1 {
        %3: i32 = load y[%2]
        %4: i32 = add %3, %1
        store y[%2], %4
      }
    }";
    assert_eq!(positions(text), [1]);
    assert_eq!(positions(&text.replace("load y[3]", "add 3, 0")), [8]);
}

/// The value is computed before two loops: positions of the inner one would compute it again, too.
#[test]
fn values_before_a_loop_hold_back_the_loops_inside_it() {
    let text = "kernel @k(y: output i32[64] align 4) {
      %1: i32 = load y[3]
      for each %2 in 0..8 step 1 {
        %3: i64 = mul %2, 8
        for each %4 in 0..8 step 1 {
          %5: i64 = add %3, %4
          %6: i32 = load y[%5]
          %7: i32 = add %6, %1
          store y[%5], %7
        }
      }
    }";
    assert_eq!(positions(text), [1]);
    assert_eq!(positions(&text.replace("load y[3]", "add 3, 0")), [64]);
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

/// Rows of an image with a border. Rows inside are copied; the branch that does not copy must not load.
#[test]
fn loops_in_branches_are_positions_with_the_loops_around() {
    let text = "kernel @k(x: input f32[24] align 4, y: output f32[80] align 4) {
      for %1 in 0..5 step 1 {
        %2: i64 = mul %1, 16
        %3: i64 = sub %1, 1
        %4: mask = unsigned_less %3, 3
        if %4 {
          %5: i64 = mul %3, 8
          for %6 in 0..8 step 4 {
            %7: i64 = add %5, %6
            %8: f32x4 = load x[%7]
            %9: i64 = add %2, %6
            store y[%9], %8
          }
        } else {
          for %10 in 0..8 step 1 {
            %11: i64 = add %2, %10
            store y[%11 + 8], 0.5
          }
        }
      }
    }";
    assert_eq!(positions(text), [5 * (2 + 8)]);
    let with_more = text.replace("} else {", "} else { store y[%2], 1.5");
    assert_eq!(positions(&with_more), [5], "a branch that does more than its loop stays as it is");
}

#[test]
fn counters_of_panels_have_no_rest() {
    let text = "kernel @k(x: input f32[96] align 4, y: output f32[96] align 4) {
      for %1 in 0..12 step 4 {
        %2: i64 = and %1, 3
        %3: i64 = sub %1, %2
        %4: i64 = mul %3, 8
        for %5 in 0..32 step 4 {
          %6: i64 = add %4, %5
          %7: f32x4 = load x[%6]
          store y[%6], %7
        }
      }
    }";
    assert_eq!(positions(text), [3 * 8]);
    assert_eq!(positions(&text.replace("and %1, 3", "and %1, 7").replace("mul %3, 8", "mul %3, 0")), [8], "half of the panels have a rest");
}

/// Panels outside and rows inside: the outer loop moves stores less than the inner loop does.
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
    // Each position sums all rows of its column.
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

/// Values computed before the loops move all rounds by the same distance. Accesses that move by different distances may meet.
#[test]
fn values_from_before_loops_move_all_rounds_alike() {
    let of = |from: &str| {
        positions(&format!(
            "kernel @k(n: input i64[1] align 8, y: output i32[64] align 4) {{
              %0: i64 = load n[0]
              %1: i64 = and %0, 15
              for %3 in 0..8 step 1 {{
                %4: i64 = add %3, %1
                %5: i64 = add %3, {from}
                %6: i32 = load y[%5 + 8]
                store y[%4], %6
              }}
            }}"
        ))
    };
    assert_eq!(of("%1"), [8]);
    assert_eq!(of("8"), [1]);
}

/// The rest of a row begins at the end of the whole vectors, and has fewer rounds than a vector has lanes.
#[test]
fn the_rest_of_a_run_time_extent_is_positions() {
    let of = |whole: &str| {
        positions(&format!(
            "kernel @k(n: input i64[1] align 8, x: input i32[16] align 4, y: output i32[16] align 4) {{
              %0: i64 = load n[0]
              %1: i64 = and %0, 15
              {whole}
              for %9 in 0..%2 step 4 {{
                %10: i32x4 = load x[%9]
                store y[%9], %10
              }}
              for %11 in %2..%1 step 1 {{
                %12: i32 = load x[%11]
                store y[%11], %12
              }}
            }}"
        ))
    };
    assert_eq!(of("%2: i64 = and %1, -4"), [3 + 3]);
    assert_eq!(of("%3: i64 = unsigned_div %1, 4 %2: i64 = mul %3, 4"), [3 + 3]);
    assert_eq!(of("%3: i64 = unsigned_rem %1, 4 %2: i64 = sub %1, %3"), [4 + 3]);
    // This end is not computed as a multiple. So the length of the rest is unknown, and the last vector may reach into it.
    assert_eq!(of("%3: i64 = and %1, 7 %2: i64 = unsigned_min %3, %1"), [2, 15]);
}

/// Rows at loaded places. The row is unknown, but different elements of a row never meet.
#[test]
fn elements_of_scattered_rows_are_positions() {
    let of = |row: u64| {
        positions(&format!(
            "kernel @k(n: input i8[4] align 1, x: input i32[32] align 4, y: output i32[64] align 4) {{
              for %0 in 0..4 step 1 {{
                %1: i8 = load n[%0]
                %2: i64 = sign_extend %1
                %3: i64 = and %2, 3
                %4: i64 = mul %3, {row}
                %5: i64 = mul %0, 8
                for %6 in 0..8 step 4 {{
                  %7: i64 = add %4, %6
                  %8: i64 = add %5, %6
                  %9: i32x4 = load x[%8]
                  store y[%7], %9
                }}
              }}
            }}"
        ))
    };
    assert_eq!(of(8), [2]);
    // Rows that overlap have common elements.
    assert_eq!(of(4), [1]);
}

/// A transpose with two extents, one known only at run time. It is the row length of the result.
#[test]
fn rows_of_run_time_extents_are_positions() {
    let of = |stride: &str, row: u64| {
        positions(&format!(
            "kernel @k(n: input i64[1] align 8, x: input i32[64] align 4, y: output i32[64] align 4) {{
              %0: i64 = load n[0]
              %20: i64 = unsigned_div %0, 256
              %21: i64 = and %20, 15
              %1: i64 = signed_max %21, 1
              %2: i64 = mul %1, 2
              for %3 in 0..4 step 1 {{
                %4: i64 = mul %3, {stride}
                for %5 in 0..%1 step 1 {{
                  %6: i64 = mul %5, {row}
                  %7: i64 = add %4, %6
                  %8: i64 = mul %5, 8
                  %9: i64 = add %8, %3
                  %10: i32x2 = load x[%9]
                  store y[%7], %10
                }}
              }}
            }}"
        ))
    };
    // The loop to the extent becomes the outer one, in whole workgroups, so that those beyond its end can be left out.
    assert_eq!(of("%2", 2), [(4 * 15u64).next_multiple_of(64)]);
    // Elements overlap within a row.
    assert_eq!(of("%2", 1), [4]);
    // Rows overlap.
    assert_eq!(of("%1", 2), [1]);
}

/// Pairs of rows of each head, and the remaining row. The end of the pairs is computed in each head's round, with the same result.
#[test]
fn rows_in_pairs_are_positions_of_each_head() {
    let text = "kernel @k(n: input i64[1] align 8, x: input i32[64] align 4, y: output i32[64] align 4) {
      %0: i64 = load n[0]
      %1: i64 = unsigned_div %0, 256
      %2: i64 = and %1, 15
      %3: i64 = signed_max %2, 1
      for %4 in 0..4 step 1 {
        %5: i64 = mul %4, %3
        %6: i64 = and %3, -2
        for %7 in 0..%6 step 2 {
          %8: i64 = add %5, %7
          %9: i32x2 = load x[%8]
          store y[%8], %9
        }
        for %10 in %6..%3 step 1 {
          %11: i64 = add %5, %10
          %12: i32 = load x[%11]
          store y[%11], %12
        }
      }
    }";
    // Both parts take whole workgroups, so that those beyond the extent can be left out.
    assert_eq!(positions(text), [(4 * 7u64).next_multiple_of(64) + 4u64.next_multiple_of(64)]);
}

/// Places in a tensor with two run-time extents; their product is a stride.
#[test]
fn two_run_time_extents_are_two_digits() {
    let text = "kernel @k(n: input i64[2] align 8, y: output i32[512] align 4) {
      %0: i64 = load n[0]
      %20: i64 = unsigned_div %0, 256
      %1: i64 = and %20, 7
      %2: i64 = load n[1]
      %21: i64 = unsigned_div %2, 256
      %3: i64 = and %21, 15
      %4: i64 = mul %1, %3
      %5: i64 = unsigned_div %1, 2
      %6: i64 = mul %5, 2
      for %7 in 0..4 step 1 {
        %8: i64 = mul %4, %7
        for %9 in 0..%6 step 2 {
          %10: i64 = mul %9, %3
          %11: i64 = add %9, 1
          %12: i64 = mul %11, %3
          for %13 in 0..%3 step 1 {
            %14: i64 = add %8, %10
            %15: i64 = add %14, %13
            %16: i64 = add %8, %12
            %17: i64 = add %16, %13
            store y[%15], 1
            store y[%17], 2
          }
        }
      }
    }";
    assert_eq!(positions(text), [(4 * 3 * 15u64).next_multiple_of(64)], "in whole workgroups");
}

/// Two results, one of which may overlap the operand. Other memory does not matter, and rows may be overwritten after their own position has read
/// them.
#[test]
fn tensors_in_one_memory_meet_where_they_overlap() {
    let kernel = parse_kernel(
        "kernel @k(x: output f32[64] align 4, y: output f32[64] align 4, z: output f32[8] align 4) {
          for %1 in 0..8 step 1 {
            %2: i64 = mul %1, 8
            %3: f32 = for %4 in 0..8 step 1 carry %5 = 0.0 {
              %6: i64 = add %2, %4
              %7: f32 = load x[%6]
              %8: f32 = add %5, %7
              yield %8
            }
            store y[%2], %3
            store z[%1], %3
          }
        }",
    )
    .expect("a kernel");
    let positions = |places: Places| -> Vec<u64> {
        let assumed = Assumed::default();
        let launches = launches(&marked(&kernel, &[], &assumed, &places), &[], &assumed, &places).expect("few positions");
        launches.iter().map(|launch| launch.kernel.grid.map_or(0, |grid| grid.positions)).collect()
    };
    assert_eq!(positions(vec![(0, 0), (1, 0), (2, 0)]), [8]);
    assert_eq!(positions(vec![(0, 0), (0, 0), (1, 0)]), [8]);
    // Each row is written while another position reads it: the position of the row before or after.
    assert_eq!(positions(vec![(0, 0), (0, 32), (1, 0)]), [1]);
    assert_eq!(positions(vec![(0, 0), (0, 0), (0, 0)]), [1]);
    assert_eq!(positions(vec![(0, 0), (1, 0), (0, 256)]), [8]);
}

/// Rows of x by panels of w. Each position multiplies a row by eight columns, and a workgroup has rows of one panel.
#[test]
fn lanes_of_a_workgroup_read_the_same_weights() {
    let of = |rows: u64, panels: u64, rest: &str| {
        format!(
            "kernel @k(x: input f32[{0}] align 4, w: input f32[{1}] align 4, y: output f32[{2}] align 4) {{
              for %1 in 0..{rows} step 1 {{
                %2: i64 = mul %1, 4
                %3: i64 = mul %1, {3}
                for %4 in 0..{panels} step 1 {{
                  %5: i64 = mul %4, 32
                  %6: i64 = mul %4, 8
                  %7: f32x8 = for %8 in 0..4 step 1 carry %9 = 0.0 {{
                    %10: i64 = add %2, %8
                    %11: f32x8 = load_splat x[%10]
                    %12: i64 = mul %8, 8
                    %13: i64 = add %5, %12
                    %14: f32x8 = load w[%13]
                    %15: f32x8 = mul %11, %14
                    %16: f32x8 = add %9, %15
                    yield %16
                  }}
                  %17: i64 = add %3, %6
                  store y[%17], %7
                }}
                {rest}
              }}
            }}",
            rows * 4,
            panels * 32,
            rows * (panels * 8 + 1),
            panels * 8 + 1
        )
    };
    let grid = |text: &str| {
        let kernel = parse_kernel(text).expect("a kernel");
        launches_of(&kernel)[0].kernel.to_string()
    };
    // 130 rows are three workgroups for each panel.
    assert_eq!(positions(&of(130, 9, "")), [9 * 192]);
    let text = grid(&of(130, 9, ""));
    let quotient = text.lines().find(|line| line.contains("unsigned_div")).expect("a quotient");
    assert!(quotient.ends_with("unsigned_div %0, 64"), "{text}");
    // Other workgroups do the work after the panels of a row.
    let rest = "%20: i64 = add %3, 72 %21: f32 = load x[%2] store y[%20], %21";
    assert_eq!(positions(&of(130, 9, rest)), [9 * 192 + 192]);
    // If rows fill workgroups badly, or positions are few, positions have the order of the loops.
    assert_eq!(positions(&of(9, 130, "")), [9 * 130]);
    assert_eq!(positions(&of(100, 9, "")), [900]);
}

/// Columns that do not fill whole tiles, as a schedule for ranges writes them. They are an outer loop of one round, whole tiles up to a limit, and a
/// conditional rest.
#[test]
fn whole_tiles_and_their_rest_are_positions() {
    let text = "kernel @k(x: input f32[72] align 4, y: output f32[72] align 4, %0: i64, %1: i64) {
      for %2 in 0..1 step 1 {
        %3: i64 = mul %2, 72
        %4: i64 = signed_min %1, 8
        %5: i64 = mul %0, 4
        %6: i64 = mul %4, 4
        for %7 in %5..%6 step 4 {
          for %8 in 0..2 step 1 {
            %9: i64 = mul %8, 36
            %10: i64 = add %3, %9
            %11: i64 = add %10, %7
            %12: f32x4 = load x[%11]
            store y[%11], %12
          }
        }
        %13: mask = less_equal %0, 8
        %14: i64 = add %1, 0
        %15: mask = greater %14, 8
        %16: mask = and %13, %15
        if %16 {
          for %17 in 0..2 step 1 {
            %18: i64 = mul %17, 36
            %19: i64 = add %3, %18
            %20: f32x4 = load x[%19 + 32]
            store y[%19 + 32], %20
          }
        }
      }
    }";
    let (assumed, places) = (Assumed::default(), apart(2));
    let kernel = marked(&parse_kernel(text).unwrap(), &[0, 9], &assumed, &places);
    let launches = launches(&kernel, &[0, 9], &assumed, &places).unwrap();
    let counts: Vec<u64> = launches.iter().map(|launch| launch.kernel.grid.unwrap().positions).collect();
    assert_eq!(counts, [8 * 2 + 2]);
}
