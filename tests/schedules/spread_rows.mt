; A depthwise window of bytes in blocks of whole vectors: rows are staged in the order in which instructions interleave them.
;! outline = x86-64-v4
;! schedule = paired rows
;! technique = spread
const0: i8[32, 3, 3, 1] = numbers 1
func @main(v0: i8[1, 4, 4, 32]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 32, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: depthwise, products of bytes in fours, 2x4 pixels x 32 channels at a time, paired rows
kernel @depthwise_3x3_i8(input: input i8[512] align 1, weights: input i8[768] align 64, initial: input i32[32] align 64, ring: scratch i8[832] align 64, output0: output i32[512] align 4) {
  for each %3 in 0..832 step 64 {
    1 store
  }
  %256: i64 = for %10 in 0..2 step 1 carry %11 = 0 {
    1 add i64, 1 signed_max i64
    for %15 in %14..%13 step 1 {
      1 signed_rem i64, 2 mul i64, 2 add i64, 1 unsigned_less mask
      if %27 {
        1 add i64, 2 mul i64
        for %36 in 0..128 step 64 {
          3 add i64, 2 load i8x64, 2 xor i8x64, 1 shuffle i8x128, 1 mul i64, 1 store
        }
      } else {
        2 unsigned_less mask, 2 signed_max i64, 2 signed_min i64, 1 add i64, 2 mul i64, 2 mask_to_integer i8, 4 sub i8, 2 and i8, 4 splat i8x64
        for %87 in 0..128 step 64 {
          3 add i64, 2 load i8x64, 2 xor i8x64, 2 and i8x64, 2 or i8x64, 1 shuffle i8x128, 1 mul i64, 1 store
        }
      }
    }
    2 signed_rem i64, 6 mul i64, 2 add i64, 8 load i32x16, 36 load i8x64, 12 shuffle i8x128, 12 part i8x64, 48 dot_unsigned_signed8 i32x16, 8 join i32x32, 8 store, 1 yield
  }
}
