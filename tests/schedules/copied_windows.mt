; Short rows of a window are copied to one place, and fill sixteen products together.
;! outline = cortex-m55
;! schedule = products of signed bytes in sixteens
;! technique = windows
const0: i8[32, 3, 3, 3] = numbers 1
func @main(v0: i8[1, 5, 6, 3]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; cortex-m55: products of signed bytes in sixteens, 2 pixels x 4 channels at a time, unrolled 2 times, staged rows
kernel @conv_3x3_i8(input: input i8[90] align 1, weights: input i8[1024] align 16, initial: input i32[32] align 16, ring: scratch i8[88] align 16, windows: scratch i8[178] align 16, output0: output i32[960] align 4) {
  1 starts:
  for each %4 in 0..88 step 4 {
    1 store
  }
  %149: i64 = for %14 in 0..5 step 1 carry %15 = 0 {
    1 add i64, 1 signed_max i64
    for %20 in %18..%17 step 1 {
      1 signed_rem i64, 1 mul i64, 2 add i64, 1 unsigned_less mask
      if %30 {
        1 mul i64, 2 load i8x16, 2 store, 2 add i64
      } else {
        for %41 in 0..16 step 4 {
          1 add i64, 1 store
        }
        1 add i64, 1 store
      }
    }
    3 signed_rem i64, 4 mul i64, 2 add i64, 3 store
    for %74 in 0..3 step 1 {
      1 load i64, 1 mul i64
      for %80 in 0..6 step 1 {
        2 mul i64, 2 add i64, 1 load i8x16, 1 store
      }
    }
    for each %93 in 0..32 step 4 {
      1 mul i64
      for each %104 in 0..6 step 2 {
        2 mul i64, 2 add i64, 4 load i32, 4 load_splat_group i8x16, 8 load i8x16, 16 dot_signed_sixteens i32, 4 join i32x2, 2 join i32x4, 2 store
      }
    }
    1 yield
  }
}
