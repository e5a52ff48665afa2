; A depthwise window of bytes on two machines without products of four bytes: products of two columns, and products of pairs.
;! outline = aarch64
;! schedule = depthwise, products of bytes added in 16 bits
;! outline = x86-64-v3
;! schedule = depthwise, products of 16-bit pairs
const0: i8[16, 3, 3, 1] = numbers 1
func @main(v0: i8[1, 3, 4, 16]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 16, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; aarch64: depthwise, products of bytes added in 16 bits, 2x2 pixels x 8 channels at a time, paired rows
kernel @depthwise_3x3_i8(input: input i8[192] align 1, weights: input i8[384] align 64, initial: input i32[16] align 64, ring: scratch i8[400] align 64, output0: output i32[192] align 4) {
  for each %3 in 0..400 step 16 {
    1 store
  }
  %363: i64 = for %10 in 0..2 step 1 carry %11 = 0 {
    1 add i64, 1 signed_max i64
    for %15 in %14..%13 step 1 {
      1 signed_rem i64, 2 mul i64, 2 add i64, 1 unsigned_less mask
      if %27 {
        1 add i64, 2 mul i64
        for %36 in 0..64 step 16 {
          3 add i64, 2 load i8x16, 1 shuffle i8x32, 1 mul i64, 1 store
        }
      } else {
        2 unsigned_less mask, 2 signed_max i64, 2 signed_min i64, 1 add i64, 2 mul i64, 2 mask_to_integer i8, 4 sub i8, 2 and i8, 4 splat i8x16
        for %83 in 0..64 step 16 {
          3 add i64, 2 load i8x16, 2 and i8x16, 2 or i8x16, 1 shuffle i8x32, 1 mul i64, 1 store
        }
      }
    }
    2 signed_rem i64, 3 mul i64, 2 add i64, 1 equal mask
    if %110 {
      1 mul i64
      for each %116 in 0..16 step 8 {
        2 mul i64, 2 add i64
        for each %127 in 0..4 step 2 {
          2 mul i64, 4 add i64, 1 load i32x8, 8 load i8x16, 14 sign_extend i16x16, 6 load i8x32, 6 shuffle i8x16, 12 mul i16x16, 12 dot_signed16 i32x8, 2 store
        }
      }
    } else {
      1 mul i64
      for each %212 in 0..16 step 8 {
        2 mul i64, 2 add i64
        for each %223 in 0..4 step 2 {
          3 mul i64, 6 add i64, 2 load i32x8, 8 load i8x16, 20 sign_extend i16x16, 12 load i8x32, 12 shuffle i8x16, 24 mul i16x16, 24 dot_signed16 i32x8, 4 store
        }
      }
    }
    1 yield
  }
}
; x86-64-v3: depthwise, products of 16-bit pairs, 2x2 pixels x 16 channels at a time, paired rows
kernel @depthwise_3x3_i8(input: input i8[192] align 1, weights: input i16[192] align 64, initial: input i32[16] align 64, ring: scratch i8[416] align 64, output0: output i32[192] align 4) {
  1 panel:
  for each %3 in 0..416 step 32 {
    1 store
  }
  %401: i64 = for %10 in 0..2 step 1 carry %11 = 0 {
    1 add i64, 1 signed_max i64
    for %15 in %14..%13 step 1 {
      1 signed_rem i64, 2 mul i64, 2 add i64, 1 unsigned_less mask
      if %27 {
        1 add i64, 2 mul i64
        for %36 in 0..64 step 32 {
          3 add i64, 2 load i8x32, 2 xor i8x32, 1 shuffle i8x64, 1 mul i64, 1 store
        }
      } else {
        2 unsigned_less mask, 2 signed_max i64, 2 signed_min i64, 1 add i64, 2 mul i64, 2 mask_to_integer i8, 4 sub i8, 2 and i8, 4 splat i8x32
        for %87 in 0..64 step 32 {
          3 add i64, 2 load i8x32, 2 xor i8x32, 2 and i8x32, 2 or i8x32, 1 shuffle i8x64, 1 mul i64, 1 store
        }
      }
    }
    2 signed_rem i64, 3 mul i64, 2 add i64, 1 equal mask
    if %118 {
      1 mul i64
      for %129 in 0..3 step 1 {
        2 mul i64, 2 load i16x32, 1 shift_left i16x32, 2 shift_right_signed i16x32, 2 store
      }
      for each %141 in 0..4 step 2 {
        2 mul i64, 3 add i64, 2 load i32x8, 16 load i8x16, 16 zero_extend i16x16, 12 load i16x16, 24 dot_signed16 i32x8, 2 join i32x16, 2 store
      }
    } else {
      1 mul i64
      for %243 in 0..6 step 1 {
        2 mul i64, 2 load i16x32, 1 shift_left i16x32, 2 shift_right_signed i16x32, 2 store
      }
      for each %255 in 0..4 step 2 {
        3 mul i64, 4 add i64, 2 load i32x8, 16 load i8x16, 16 zero_extend i16x16, 24 load i16x16, 48 dot_signed16 i32x8, 4 join i32x16, 4 store
      }
    }
    1 yield
  }
}
