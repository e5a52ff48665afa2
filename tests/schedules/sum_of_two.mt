; The sum of two scaled bytes, scaled to a byte: two fused multiply-adds.
;! kernels = x86-64-v3
;! schedule = element-wise
;! technique = sum-of-two
func @main(v0: i8[64], v1: i8[64]) {
  v2 = map v0, v1 {
    expression = (i8, i8) {
      n0: i8 = input 0
      n1: i8 = input 1
      n2: i32 = convert n0
      n3: i32 = convert n1
      n4: i32 = constant -128
      n5: i32 = sub n2, n4
      n6: i32 = constant 4
      n7: i32 = sub n3, n6
      n8: i32 = constant 20
      n9: i32 = shl n5, n8
      n10: i32 = shl n7, n8
      n11: i32 = constant 1623821475
      n12: i32 = constant -2
      n13: i32 = requant.tflite_double n9, n11, n12
      n14: i32 = constant 1073741824
      n15: i32 = constant 0
      n16: i32 = requant.tflite_double n10, n14, n15
      n17: i32 = add n13, n16
      n18: i32 = constant 1098017566
      n19: i32 = constant -17
      n20: i32 = requant.tflite_double n17, n18, n19
      n21: i32 = add n20, n4
      n22: i32 = max.first n21, n4
      n23: i32 = constant 127
      n24: i32 = min.first n22, n23
      n25: i8 = convert n24
      return n25
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
; x86-64-v3: element-wise over 1x64, 32 at a time
kernel @map(operand0: input i8[64] align 1, operand1: input i8[64] align 1, output0: output i8[64] align 1) {
  for each %6 in 0..64 step 32 {
    %7: i8x32 = load operand0[%6]
    %8: i32x32 = sign_extend %7
    %9: i8x32 = load operand1[%6]
    %10: i32x32 = sign_extend %9
    %15: f32x32 = signed_to_float %8
    %16: f32x32 = signed_to_float %10
    %17: f32x32 = bitcast 1061548920: i32x32
    %18: f32x32 = bitcast 1073931478: i32x32
    %19: f32x32 = bitcast 1119262432: i32x32
    %20: f32x32 = fma %16, %18, %19
    %21: f32x32 = fma %15, %17, %20
    %22: i32x32 = float_to_signed_in_range %21
    %23: i32x32 = signed_add_in_range %22, -128
    %24: i8x32 = narrow_signed %23
    store output0[%6], %24
  }
}
