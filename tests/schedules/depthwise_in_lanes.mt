; A depthwise window of bytes on a machine of words with vector registers: four channels at a time, each in a lane.
;! outline = cortex-m55
;! schedule = depthwise, products of bytes as words
;! technique = lanes
const0: i8[8, 3, 3, 1] = numbers 1
func @main(v0: i8[1, 3, 4, 8]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 8, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; cortex-m55: depthwise, products of bytes as words, 4 channels at a time, staged rows
kernel @depthwise_3x3_i8(input: input i8[96] align 1, weights: input i8[72] align 16, initial: input i32[8] align 16, ring: scratch i8[160] align 16, output0: output i32[96] align 4) {
  for each %4 in 0..160 step 4 {
    1 store
  }
  %171: i64 = for %10 in 0..3 step 1 carry %11 = 0 {
    1 add i64, 1 signed_max i64
    for %16 in %14..%13 step 1 {
      1 signed_rem i64, 1 mul i64, 2 add i64, 1 unsigned_less mask
      if %26 {
        1 mul i64
        for %31 in 0..32 step 16 {
          2 add i64, 1 load i8x16, 1 store
        }
      } else {
        for %37 in 0..32 step 4 {
          1 add i64, 1 store
        }
      }
    }
    3 signed_rem i64, 4 mul i64, 2 add i64
    for each %61 in 0..8 step 4 {
      1 mul i64, 3 add i64, 1 load i32x4
      for each %71 in 0..4 step 2 {
        2 mul i64, 5 add i64, 27 load i8x4, 27 sign_extend i32x4, 18 mul i32x4, 18 add i32x4, 2 store
      }
    }
    1 yield
  }
}
