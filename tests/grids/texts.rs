//! Kernels with loops, branches, memory and failures.

use super::{Case, Random};
use modelc::kernel::text::parse_kernels;

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    let random = &mut Random(11);
    let kernels = parse_kernels(TEXTS).unwrap_or_else(|error| panic!("{error}"));
    kernels.iter().map(|kernel| Case::new(kernel, random)).collect()
}

const TEXTS: &str = "
kernel @loops_carry(x: input f32[256] align 4, y: output f32[16] align 4, %0: i64) grid 16 workgroup 8 {
  %1: i64 = mul %0, 16
  %2: f32, %3: f32 = for %4 in 0..16 step 1 carry %5 = 0.0, %6 = 1.0 {
    %7: i64 = add %1, %4
    %8: f32 = load x[%7]
    %9: f32 = float_max_first %8, 0.0
    %10: f32 = float_min_first %9, 2.0
    %11: f32 = add %5, %10
    yield %6, %11
  }
  %12: f32 = mul %2, 0.5
  %13: f32 = add %12, %3
  store y[%0], %13
}

kernel @loops_in_loops(y: output i32[64] align 4, %0: i64) grid 64 workgroup 64 {
  %1: i64 = unsigned_rem %0, 5
  %2: i32 = for %3 in 0..4 step 1 carry %4 = 0 {
    %5: i32 = for %6 in 0..7 step 3 carry %7 = %4 {
      %8: i64 = mul %6, %1
      %9: i32 = wrap %8
      %10: i32 = add %7, %9
      %11: mask = greater %10, 20
      %12: i32 = if %11 {
        %13: i32 = sub %10, 9
        yield %13
      } else {
        %14: i32x4 = splat %10
        %15: i32 = horizontal_add %14
        yield %15
      }
      yield %12
    }
    yield %5
  }
  store y[%0], %2
}

kernel @repeated(x: input i32[32] align 4, y: output i32[32] align 4, %0: i64) grid 32 workgroup 16 {
  %1: i32 = load x[%0]
  %2: i32 = and %1, 1023
  %3: i32, %4: i32 = loop carry %5 = %2, %6 = 0 {
    %7: i32 = and %5, 1
    %8: mask = equal %7, 0
    %9: i32 = if %8 {
      %10: i32 = shift_right_unsigned %5, 1
      yield %10
    } else {
      %11: i32 = mul %5, 3
      %12: i32 = add %11, 1
      yield %12
    }
    %13: i32 = add %6, 1
    %14: mask = greater %9, 1
    %15: mask = less %13, 50
    %16: mask = and %14, %15
    yield %16, %9, %13
  }
  %17: i32 = add %3, %4
  store y[%0], %17
}

kernel @empty_loop(y: output i32[4] align 4, %0: i64) grid 4 workgroup 4 {
  %1: i32 = for %2 in 0..%0 step 1 carry %3 = 7 {
    %4: i32 = add %3, 1
    yield %4
  }
  store y[%0], %1
}

kernel @fails(x: input i32[40] align 4, y: output i32[40] align 4, status: output i32[1] align 4, %0: i64) grid 40 workgroup 16 {
  for %1 in 0..2 step 1 {
    %2: i32 = load x[%0]
    %3: i32 = and %2, 3
    %4: mask = equal %3, 3
    %5: mask = greater %1, 0
    %6: mask = and %4, %5
    if %5 {
      fail_if %6, -12
    }
    store y[%0], 5
  }
  store y[%0], 9
}

kernel @local_arrays(x: input i8[64] align 1, y: output i8[64] align 1, %0: i64) grid 8 workgroup 8 {
  bytes: local i8[8] align 8
  words: local i32[4] align 16
  floats: local f32[4] align 16
  %1: i64 = mul %0, 8
  for %2 in 0..8 step 1 {
    %3: i64 = add %1, %2
    %4: i8 = load x[%3]
    store bytes[%2], %4
  }
  %5: i8x8 = load bytes[0]
  %6: i32x8 = sign_extend %5
  %7: i32x4 = part %6, 4
  store words[0], %7
  %8: f32x4 = signed_to_float %7
  store floats[0], %8
  %9: f32x2 = load floats[1]
  %10: f32 = horizontal_add %9
  %11: i8 = float_to_signed %10
  store bytes[0], %11
  %12: i32 = load words[3]
  %13: i8 = wrap %12
  store bytes[7], %13
  %14: i8x8 = load bytes[0]
  store y[%1], %14
}

kernel @gathers_bytes(x: input i8[100] align 1, i: input i32[64] align 4, y: output i8[64] align 1, %0: i64) grid 16 workgroup 8 {
  %1: i64 = mul %0, 4
  %2: i32x4 = load i[%1]
  %3: i8x4 = gather x[%2 + 3] clamp
  store y[%1], %3
}

kernel @gathers(f: input f32[33] align 4, i: input i32[64] align 4, z: output f32[128] align 4, %0: i64) grid 16 workgroup 8 {
  %1: i64 = mul %0, 4
  %2: i32x4 = load i[%1]
  %4: f32x4 = gather f[%2] clamp
  %6: i64 = mul %0, 8
  store z[%6], %4
  %7: i32x4 = and %2, 31
  %8: f32x4 = gather f[%7 + 1] proven
  store z[%6 + 4], %8
}

kernel @halves_of_words(x: input i16[70] align 2, y: output i16[70] align 2, %0: i64) grid 10 workgroup 16 {
  %1: i64 = mul %0, 7
  %2: i16x4 = load x[%1] active 3
  %3: i16x4 = add %2, 100
  store y[%1], %3 active 3
  %4: i16 = load x[%1 + 3]
  store y[%1 + 3], %4
  %5: i16x2 = load x[%1 + 4]
  store y[%1 + 4], %5
  store y[%1 + 6], 77
}

kernel @bytes_of_words(x: input i8[90] align 1, y: output i8[90] align 1, t: scratch i8[90] align 1, %0: i64) grid 10 workgroup 16 {
  %1: i64 = mul %0, 9
  %2: i8x8 = load x[%1 + 1] active 7
  store t[%1], %2
  %3: i8 = load x[%1]
  store t[%1 + 8], %3
  %4: i8x16 = load t[%1] active 9
  store y[%1], %4 active 9
}

kernel @splats(x: input i8[40] align 1, f: input f32[12] align 16, y: output i8[160] align 4, z: output f32[48] align 16, %0: i64) grid 10 workgroup 16 {
  %1: i64 = mul %0, 4
  %2: i8x4 = load_splat x[%1 + 1]
  %3: i8x8 = load_splat_group x[%1] group 2
  %4: i8x4 = part %3, 4
  %5: i8x4 = add %2, %4
  %6: i64 = mul %0, 16
  store y[%6], %5
  %7: i8x4 = load_splat_group x[%1] group 4
  store y[%6 + 4], %7
  %8: i8x8 = load_splat_group x[%1 + 3] group 1
  store y[%6 + 8], %8
  %9: f32x4 = load_splat_group f[4] group 4
  store z[%1], %9
}

kernel @words_of_four(x: input f32[64] align 16, y: output f32[64] align 16, %0: i64) grid 8 workgroup 8 {
  %1: i64 = mul %0, 8
  %2: f32x8 = load x[%1]
  %3: f32x8 = load x[%1 + 4] active 4
  %4: f32x8 = float_max_first %2, %3
  store y[%1], %4
  %5: f32x4 = load y[%1 + 4]
  %6: f32x4 = load x[3]
  %7: f32x4 = add %5, %6
  store y[%1 + 4], %7
}

kernel @shared_sums(x: input f32[96] align 4, y: output f32[6] align 4, z: scratch f32[96] align 4, %0: i64) grid 96 workgroup 16 {
  t: shared f32[16] align 16
  bytes: shared i8[16] align 16
  %1: i64 = unsigned_rem %0, 16
  %2: f32 = load x[%0]
  %3: f32 = float_max_first %2, -2.0
  %4: f32 = float_min_first %3, 2.0
  store t[%1], %4
  %20: i8 = float_to_signed %4
  store bytes[%1], %20
  barrier
  for %5 in 0..4 step 1 {
    %6: i64 = add %5, 1
    %7: i64 = mul %6, %6
    %8: i64 = xor %1, %7
    %9: i64 = and %8, 15
    %10: f32 = load t[%9]
    %21: i8 = load bytes[%9]
    %22: f32 = signed_to_float %21
    %11: f32 = load t[%1]
    %12: f32 = add %10, %11
    %23: f32 = add %12, %22
    barrier
    store t[%1], %23
    barrier
  }
  %13: f32 = load t[%1]
  store z[%0], %13
  barrier
  %14: mask = equal %1, 0
  if %14 {
    %15: i64 = unsigned_div %0, 16
    %16: f32x16 = load z[%0]
    %17: f32 = horizontal_add %16
    store y[%15], %17
  }
}

kernel @divided_positions(x: input f32[360] align 4, y: output f32[360] align 4, %0: i64) grid 90 workgroup 32 {
  %1: i64 = unsigned_div %0, 15
  %2: i64 = unsigned_rem %0, 15
  %3: i64 = mul %1, 15
  %4: i64 = mul %2, 24
  %5: i64 = add %4, %1
  for %6 in 0..24 step 6 {
    %7: i64 = add %5, %6
    %8: f32 = load x[%7]
    store y[%7], %8
  }
}

kernel @words_of_a_workgroup(x: input i8[512] align 4, y: output i32[128] align 4, %0: i64) grid 128 workgroup 64 {
  t: shared i8[256] align 16
  %1: i64 = unsigned_div %0, 64
  %2: i64 = unsigned_rem %0, 64
  %3: mask = less %1, 1
  if %3 {
    %4: i64 = mul %2, 4
    %5: i64 = mul %0, 4
    %6: i8x4 = load x[%5]
    store t[%4], %6
    barrier
    %7: i64 = xor %2, 1
    %8: i64 = mul %7, 4
    %9: i8x16 = load_splat_group t[%8] group 4
    %10: i8x16 = load_splat_group x[%4 + 256] group 4
    %11: i32x4 = dot_signed8 9, %9, %10
    store y[%0], %11 active 1
  } else {
    %12: i32 = wrap %2
    store y[%0], %12
  }
}

kernel @bytes_of_a_workgroup(x: input i8[256] align 4, y: output i32[64] align 4, %0: i64) grid 64 workgroup 64 {
  t: shared i8[256] align 16
  %4: i64 = mul %0, 4
  %6: i8x4 = load x[%4]
  store t[%4], %6
  barrier
  %7: i64 = xor %0, 3
  %8: i8 = load t[%7]
  %9: i32 = sign_extend %8
  %10: i8x16 = load_splat_group t[%4] group 4
  %11: i8x16 = load_splat_group x[%4] group 4
  %12: i32x4 = splat %9
  %13: i32x4 = dot_signed8 %12, %10, %11
  store y[%0], %13 active 1
}

kernel @many(y: output i8[70000] align 1, %0: i64) grid 70000 workgroup 1 {
  %1: i8 = wrap %0
  store y[%0], %1
}
";
