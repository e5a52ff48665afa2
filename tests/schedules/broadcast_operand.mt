; An operand that is repeated along rows stays in a register while its rows are computed.
;! kernels = x86-64-v3
func @main(v0: f32[4, 16], v1: f32[4, 1]) {
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
; x86-64-v3: element-wise over 4x16, 16 at a time
kernel @map(operand0: input f32[64] align 4, operand1: input f32[4] align 4, output0: output f32[64] align 4) {
  for each %5 in 0..4 step 1 {
    %6: f32x16 = load_splat operand1[%5]
    %8: i64 = mul %5, 16
    %10: f32x16 = load operand0[%8]
    %11: f32x16 = add %10, %6
    store output0[%8], %11
  }
}
