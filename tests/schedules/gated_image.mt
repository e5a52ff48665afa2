; An image times a gate of each channel: channels are the outermost loop, and products are scaled in binary32.
;! outline = x86-64-v3
;! schedule = channels outermost
;! technique = channels-outermost, float-products
func @main(v0: i8[1, 6, 32], v1: i8[1, 1, 32]) {
  v2 = map v0, v1 {
    expression = (i8, i8) {
      n0: i8 = input 0
      n1: i8 = input 1
      n2: i32 = convert n0
      n3: i32 = convert n1
      n4: i32 = constant 5
      n5: i32 = sub n2, n4
      n6: i32 = constant -128
      n7: i32 = sub n3, n6
      n8: i32 = mul n5, n7
      n9: i32 = constant 1098017566
      n10: i32 = constant -7
      n11: i32 = requant.tflite_double n8, n9, n10
      n12: i32 = add n11, n4
      n13: i32 = max.first n12, n6
      n14: i32 = constant 127
      n15: i32 = min.first n13, n14
      n16: i8 = convert n15
      return n16
    }
  }
  return v2
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; x86-64-v3: element-wise over 6x32, 32 at a time, channels outermost
kernel @map(operand0: input i8[192] align 1, operand1: input i8[32] align 1, output0: output i8[192] align 1) {
  1 load i8x32, 1 sign_extend i32x32, 1 sub i32x32, 1 signed_to_float f32x32, 1 fma f32x32
  for each %7 in 0..6 step 1 {
    1 mul i64, 1 load i8x32, 1 sign_extend i32x32, 1 signed_to_float f32x32, 2 fma f32x32, 1 bitcast i32x32, 1 and i32x32, 1 or i32x32, 2 bitcast f32x32, 1 float_to_signed_in_range i32x32, 1 signed_add_in_range i32x32, 1 narrow_signed i8x32, 1 store
  }
}
