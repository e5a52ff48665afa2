; An exponential: a polynomial, and a product with a power of two.
;! kernels = x86-64-v3
;! kernels = x86-64-v4
func @main(v0: f32[16]) {
  v1 = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = exp n0
      return n1
    }
  }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: element-wise over 1x16, 16 at a time
kernel @map(operand0: input f32[16] align 4, output0: output f32[16] align 4) {
  %5: f32x16 = load operand0[0]
  %8: f32x16 = float_min_first %5, 89.0
  %9: f32x16 = float_max_first %8, -104.0
  %12: f32x16 = fma %9, 1.442695, 12582912.0
  %14: f32x16 = add %12, -12582912.0
  %16: f32x16 = fma %14, -0.6933594, %9
  %18: f32x16 = fma %14, 0.00021219444, %16
  %21: f32x16 = fma 0.0013838235, %18, 0.008369297
  %23: f32x16 = fma %21, %18, 0.041668087
  %25: f32x16 = fma %23, %18, 0.16666515
  %27: f32x16 = fma %25, %18, 0.49999994
  %29: f32x16 = fma %27, %18, 1.0
  %31: f32x16 = fma %29, %18, 1.0
  %32: i32x16 = bitcast %12
  %33: i32x16 = shift_right_signed %32, 1
  %34: i32x16 = sub %32, %33
  %35: i32x16 = shift_left %33, 23
  %37: i32x16 = add %35, 1065353216
  %38: f32x16 = bitcast %37
  %39: i32x16 = shift_left %34, 23
  %41: i32x16 = add %39, 1065353216
  %42: f32x16 = bitcast %41
  %43: f32x16 = mul %31, %38
  %44: f32x16 = mul %43, %42
  store output0[0], %44
}
; x86-64-v4: element-wise over 1x16, 16 at a time
kernel @map(operand0: input f32[16] align 4, output0: output f32[16] align 4) {
  %5: f32x16 = load operand0[0]
  %8: f32x16 = float_min_first %5, 89.0
  %9: f32x16 = float_max_first %8, -104.0
  %12: f32x16 = fma %9, 1.442695, 12582912.0
  %14: f32x16 = add %12, -12582912.0
  %16: f32x16 = fma %14, -0.6933594, %9
  %18: f32x16 = fma %14, 0.00021219444, %16
  %21: f32x16 = fma 0.0013838235, %18, 0.008369297
  %23: f32x16 = fma %21, %18, 0.041668087
  %25: f32x16 = fma %23, %18, 0.16666515
  %27: f32x16 = fma %25, %18, 0.49999994
  %29: f32x16 = fma %27, %18, 1.0
  %31: f32x16 = fma %29, %18, 1.0
  %32: f32x16 = float_scale %31, %14
  store output0[0], %32
}
