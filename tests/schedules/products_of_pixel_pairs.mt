; Bytes of two pixels share a word where products have 32 bits and overwrite a factor.
;! outline = cortex-m0plus
;! schedule = products of bytes of two pixels in a word
;! technique = pixel-pairs
const0: i8[4, 1, 1, 8] = numbers 1
func @main(v0: i8[1, 2, 3, 8]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; cortex-m0plus: products of bytes of two pixels in a word, 2 pixels x 4 channels at a time, unrolled 2 times
kernel @conv_1x1_i8(input: input i8[48] align 1, weights: input i8[32] align 8, initial: input i32[4] align 8, columns: scratch i32[8] align 8, output0: output i32[24] align 4) {
  %253: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    1 add i64, 2 mul i64
    for %20 in 0..6 step 2 {
      1 mul i64, 2 add i64
      %79: i32, %80: i32 = for %30 in 0..8 step 4 carry %31 = 0, %32 = 0 {
        2 add i64, 8 load i8, 8 zero_extend i32, 4 shift_left i32, 12 add i32, 4 xor i32, 4 store, 4 shift_right_unsigned i32, 1 yield
      }
      1 shift_left i32, 1 sub i32, 2 mul i32, 1 add i64
      %209: i32, %210: i32, %211: i32, %212: i32, %213: i32, %214: i32, %215: i32, %216: i32 = for %98 in 0..8 step 4 carry %99 = 0, %100 = 0, %101 = 0, %102 = 0, %103 = 0, %104 = 0, %105 = 0, %106 = 0 {
        1 mul i64, 4 load i32, 16 load i8, 16 zero_extend i32, 16 mul i32, 32 add i32, 16 shift_right_unsigned i32, 1 yield
      }
      4 shift_left i32, 12 sub i32, 4 load i32, 8 add i32, 1 mul i64, 4 join i32x2, 2 join i32x4, 2 store
    }
    1 yield
  }
}
