; Sixteen products of bytes that are added to a word.
;! outline = cortex-m55
;! schedule = products of signed bytes in sixteens
;! technique = sixteens
const0: i8[8, 1, 1, 32] = numbers 1
func @main(v0: i8[1, 2, 3, 32]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; cortex-m55: products of signed bytes in sixteens, 2 pixels x 4 channels at a time, unrolled 2 times
kernel @conv_1x1_i8(input: input i8[192] align 1, weights: input i8[256] align 16, initial: input i32[8] align 16, output0: output i32[48] align 4) {
  %78: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    1 add i64, 2 mul i64
    for each %21 in 0..8 step 4 {
      1 mul i64
      for each %32 in 0..6 step 2 {
        2 mul i64, 3 add i64, 4 load i32, 4 load_splat_group i8x16, 8 load i8x16, 16 dot_signed_sixteens i32, 4 join i32x2, 2 join i32x4, 2 store
      }
    }
    1 yield
  }
}
