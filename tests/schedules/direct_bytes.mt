; Signed bytes of pixels that are read in their place.
;! outline = aarch64+dotprod
;! schedule = products of signed bytes in fours
;! technique = direct
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
; aarch64+dotprod: products of signed bytes in fours, 6 pixels x 8 channels at a time, unrolled 8 times
kernel @conv_1x1_i8(input: input i8[192] align 1, weights: input i8[256] align 64, initial: input i32[8] align 64, output0: output i32[48] align 4) {
  %199: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    1 add i64, 3 mul i64, 2 load i32x4, 48 load_splat_group i8x16, 16 load i8x16, 96 dot_signed8 i32x4, 6 join i32x8, 6 store, 1 yield
  }
}
