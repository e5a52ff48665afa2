; Every second row, and rows in reverse.
;! kernels = x86-64-v3
func @main(v0: f32[6, 8]) {
  v1 = slice v0 { start = [5, 0], size = [3, 8], stride = [-2, 1] }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: slice, 8 at a time
kernel @slice(input0: input i32[48] align 4, output: output i32[24] align 4) {
  for each %5 in 0..3 step 1 {
    %7: i64 = mul %5, -16
    %8: i64 = add 40, %7
    %10: i64 = mul %5, 8
    %12: i32x8 = load input0[%8]
    store output[%10], %12
  }
}
