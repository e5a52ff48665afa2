; A sum along the first dimension: vectors of columns.
;! kernels = x86-64-v3
func @main(v0: f32[6, 16]) {
  v1 = reduce v0 { reduction = sum, axes = [0] }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: reduction, 16 at a time
kernel @reduce(operand0: input f32[96] align 4, output0: output f32[16] align 4) {
  %13: f32x16 = for %7 in 0..6 step 1 carry %8 = 0.0 {
    %10: i64 = mul %7, 16
    %11: f32x16 = load operand0[%10]
    %12: f32x16 = add %8, %11
    yield %12
  }
  store output0[0], %13
}
