; Partial sums along a row.
;! kernels = x86-64-v3
func @main(v0: f32[3, 8]) {
  v1 = scan v0 { reduction = sum, axis = 1, exclusive = false, reverse = false }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: scan, 1 at a time
kernel @scan(input: input f32[24] align 4, output: output f32[24] align 4) {
  for %2 in 0..3 step 1 {
    %4: i64 = mul %2, 8
    %14: f32 = for %9 in 0..8 step 1 carry %10 = 0.0 {
      %11: i64 = add %4, %9
      %12: f32 = load input[%11]
      %13: f32 = add %10, %12
      store output[%11], %13
      yield %13
    }
  }
}
