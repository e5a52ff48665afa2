; Bytes of words that are taken apart to halves, two products each.
;! outline = cortex-m4f
;! schedule = products of bytes in even and odd pairs
;! technique = halves
const0: i8[8, 1, 1, 16] = numbers 1
func @main(v0: i8[1, 2, 3, 16]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; cortex-m4f: products of bytes in even and odd pairs, 3 pixels x 2 channels at a time, unrolled 2 times, staged rows
kernel @conv_1x1_i8(input: input i8[96] align 1, weights: input i8[128] align 16, initial: input i32[8] align 16, ring: scratch i16[96] align 16, output0: output i32[48] align 4) {
  %164: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    1 add i64, 1 signed_max i64
    for %15 in %13..%12 step 1 {
      1 mul i64
      for %21 in 0..96 step 4 {
        1 add i64, 1 load i8x4, 1 sign_extend i16x4, 1 shuffle i16x4, 1 store
      }
    }
    1 mul i64
    for each %32 in 0..8 step 2 {
      1 mul i64
      for each %43 in 0..6 step 3 {
        1 mul i64, 1 add i64, 2 load i32
        %152: i32, %153: i32, %154: i32, %155: i32, %156: i32, %157: i32 = for %51 in 0..16 step 8 carry %52 = %47, %53 = %48, %54 = %47, %55 = %48, %56 = %47, %57 = %48 {
          1 mul i64, 2 add i64, 4 load i8x4, 4 sign_extend i16x4, 4 shuffle i16x4, 6 load_splat_group i16x4, 48 shuffle i16x2, 24 dot_signed16 i32, 1 yield
        }
        1 mul i64, 1 add i64, 3 join i32x2, 3 store
      }
    }
    1 yield
  }
}
