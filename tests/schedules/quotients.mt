; Quotients by a number: quotients of binary32 on vectors, products of integers on words.
;! outline = x86-64-v3
;! technique = quotients
;! outline = cortex-m4f
;! technique = quotients
func @main(v0: u8[64]) {
  v1 = map v0 {
    expression = (u8) {
      n0: u8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant 7
      n3: i32 = div n1, n2
      n4: u8 = convert n3
      return n4
    }
  }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: element-wise over 1x64, 32 at a time
kernel @map(operand0: input i8[64] align 1, output0: output i8[64] align 1) {
  for each %6 in 0..64 step 32 {
    1 load i8x32, 1 zero_extend i32x32, 2 signed_to_float f32x32, 1 float_div f32x32, 1 float_to_signed_in_range i32x32, 1 narrow_unsigned i8x32, 1 store
  }
}
; cortex-m4f: element-wise over 1x64, 4 at a time
kernel @map(operand0: input i8[64] align 1, output0: output i8[64] align 1) {
  for each %6 in 0..64 step 4 {
    1 load i8x4, 1 zero_extend i32x4, 1 mul i32x4, 1 shift_right_signed i32x4, 1 shift_right_unsigned i32x4, 1 add i32x4, 1 narrow_unsigned i8x4, 1 store
  }
}
