; Partial sums along a row.
;! kernels = x86-64-v3
;! technique = several-results
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
  %22: f32, %23: f32, %24: f32 = for %10 in 0..8 step 1 carry %11 = 0.0, %12 = 0.0, %13 = 0.0 {
    %14: f32 = load input[%10]
    %15: f32 = add %11, %14
    store output[%10], %15
    %16: i64 = add 8, %10
    %17: f32 = load input[%16]
    %18: f32 = add %12, %17
    store output[%16], %18
    %19: i64 = add 16, %10
    %20: f32 = load input[%19]
    %21: f32 = add %13, %20
    store output[%19], %21
    yield %15, %18, %21
  }
}
