; An expression of each element: whole vectors, then the rest with fewer lanes.
;! kernels = x86-64-v3
;! kernels = x86-64-v4
;! kernels = aarch64
;! kernels = cortex-m4f
;! kernels = vulkan1.1
func @main(v0: f32[37], v1: f32[37]) {
  v2 = map v0, v1 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = add n0, n1
      return n2
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
; x86-64-v3: element-wise over 1x37, 16 at a time
kernel @map(operand0: input f32[37] align 4, operand1: input f32[37] align 4, output0: output f32[37] align 4) {
  for each %6 in 0..32 step 16 {
    %7: f32x16 = load operand0[%6]
    %8: f32x16 = load operand1[%6]
    %9: f32x16 = add %7, %8
    store output0[%6], %9
  }
  %11: f32x16 = load operand0[32] active 5
  %12: f32x16 = load operand1[32] active 5
  %13: f32x16 = add %11, %12
  store output0[32], %13 active 5
}
; x86-64-v4: element-wise over 1x37, 32 at a time
kernel @map(operand0: input f32[37] align 4, operand1: input f32[37] align 4, output0: output f32[37] align 4) {
  %5: f32x32 = load operand0[0]
  %6: f32x32 = load operand1[0]
  %7: f32x32 = add %5, %6
  store output0[0], %7
  %9: f32x32 = load operand0[32] active 5
  %10: f32x32 = load operand1[32] active 5
  %11: f32x32 = add %9, %10
  store output0[32], %11 active 5
}
; aarch64: element-wise over 1x37, 8 at a time
kernel @map(operand0: input f32[37] align 4, operand1: input f32[37] align 4, output0: output f32[37] align 4) {
  for each %6 in 0..32 step 8 {
    %7: f32x8 = load operand0[%6]
    %8: f32x8 = load operand1[%6]
    %9: f32x8 = add %7, %8
    store output0[%6], %9
  }
  %11: f32x8 = load operand0[32] active 5
  %12: f32x8 = load operand1[32] active 5
  %13: f32x8 = add %11, %12
  store output0[32], %13 active 5
}
; cortex-m4f: element-wise over 1x37, 2 at a time
kernel @map(operand0: input f32[37] align 4, operand1: input f32[37] align 4, output0: output f32[37] align 4) {
  for each %6 in 0..36 step 2 {
    %7: f32x2 = load operand0[%6]
    %8: f32x2 = load operand1[%6]
    %9: f32x2 = add %7, %8
    store output0[%6], %9
  }
  %11: f32x2 = load operand0[36] active 1
  %12: f32x2 = load operand1[36] active 1
  %13: f32x2 = add %11, %12
  store output0[36], %13 active 1
}
; vulkan1.1: element-wise over 1x37, 8 at a time
kernel @map(operand0: input f32[37] align 4, operand1: input f32[37] align 4, output0: output f32[37] align 4) {
  for each %6 in 0..32 step 8 {
    %7: f32x8 = load operand0[%6]
    %8: f32x8 = load operand1[%6]
    %9: f32x8 = add %7, %8
    store output0[%6], %9
  }
  %11: f32x8 = load operand0[32] active 5
  %12: f32x8 = load operand1[32] active 5
  %13: f32x8 = add %11, %12
  store output0[32], %13 active 5
}
