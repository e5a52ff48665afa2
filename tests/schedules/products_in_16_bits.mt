; Products of signed bytes that are added in 16 bits first.
;! outline = aarch64
;! schedule = products of bytes added in 16 bits
;! technique = in-16-bits
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
; aarch64: products of bytes added in 16 bits, 3 pixels x 8 channels at a time, unrolled 8 times
kernel @conv_1x1_i8(input: input i8[192] align 1, weights: input i8[256] align 64, initial: input i32[8] align 64, output0: output i32[48] align 4) {
  %280: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    1 add i64, 2 mul i64
    for each %29 in 0..6 step 3 {
      2 mul i64, 2 add i64, 16 load i8x16, 40 sign_extend i16x16, 24 load_splat_group i8x16, 48 mul i16x16, 48 dot_signed16 i32x8, 3 join i32x16, 6 shuffle i32x8, 6 add i32x8, 3 load i32x8, 3 store
    }
    1 yield
  }
}
