; The last output channels of a group are one panel.
;! outline = x86-64-v4
;! schedule = products of unsigned bytes in fours
;! technique = joined-rests
const0: i8[10, 3, 3, 4] = numbers 1
func @main(v0: i8[1, 3, 9, 4]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: products of unsigned bytes in fours, 9 pixels x 16 channels at a time, unrolled 3 times, staged rows
kernel @conv_3x3_i8(input: input i8[108] align 1, weights: input i8[360] align 64, initial: input i32[10] align 64, ring: scratch i8[148] align 64, output0: output i32[270] align 4) {
  for each %4 in 0..128 step 64 {
    1 store
  }
  1 store
  %199: i64 = for %16 in 0..3 step 1 carry %17 = 0 {
    1 add i64, 1 signed_max i64
    for %22 in %20..%19 step 1 {
      1 signed_rem i64, 1 mul i64, 2 add i64, 1 unsigned_less mask
      if %32 {
        1 mul i64, 1 load i8x64, 1 xor i8x64, 1 store
      } else {
        1 store
      }
    }
    3 signed_rem i64, 5 mul i64, 2 add i64, 1 load i32x16, 9 load i8x64, 33 load_splat_group i8x64, 81 dot_unsigned_signed8 i32x16, 9 store, 1 yield
  }
}
