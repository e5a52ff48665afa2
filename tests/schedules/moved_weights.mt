; Unsigned weights that are moved to signed bytes: what the sums lack is computed once for each pixel.
;! outline = x86-64-v4
;! schedule = products of unsigned bytes in fours
;! technique = moved
const0: u8[16, 3, 3, 8] = numbers 1
func @main(v0: u8[1, 5, 6, 8]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 77, filter_zero_point = 130, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: products of unsigned bytes in fours, 6 pixels x 16 channels at a time, unrolled 6 times, staged rows
kernel @conv_3x3_u8(input: input i8[240] align 1, weights: input i8[1152] align 64, initial: input i32[16] align 64, ring: scratch i8[208] align 64, output0: output i32[480] align 4) {
  1 lacking:
  for each %4 in 0..192 step 64 {
    1 store
  }
  1 store
  %279: i64 = for %16 in 0..5 step 1 carry %17 = 0 {
    1 add i64, 1 signed_max i64
    for %22 in %20..%19 step 1 {
      1 signed_rem i64, 1 mul i64, 2 add i64, 1 unsigned_less mask
      if %32 {
        1 mul i64, 1 load i8x64, 1 store
      } else {
        1 store
      }
    }
    3 signed_rem i64, 4 mul i64, 2 add i64
    for %60 in 0..6 step 1 {
      1 mul i64, 3 add i64, 3 load i8x32, 3 dot_unsigned_signed8 i32x8, 1 horizontal_add i32, 1 store
    }
    1 load i32x16, 6 load_splat i32x16, 6 add i32x16, 18 load i8x64, 48 load_splat_group i8x64, 108 dot_unsigned_signed8 i32x16, 1 mul i64, 6 store, 1 yield
  }
}
