; A border of a value, and the copied rows.
;! kernels = x86-64-v3
func @main(v0: f32[3, 8]) {
  v1 = pad v0 { low = [1, 2], high = [0, 1], value = f32 0.5, padded = [] }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: pad, 8 at a time
kernel @pad(input0: input i32[24] align 4, output: output i32[44] align 4) {
  for each %3 in 0..40 step 8 {
    store output[%3], 1056964608: i32x8
  }
  store output[40], 1056964608: i32x8 active 4
  for each %14 in 0..3 step 1 {
    %16: i64 = mul %14, 8
    %18: i64 = mul %14, 11
    %19: i64 = add 13, %18
    %21: i32x8 = load input0[%16]
    store output[%19], %21
  }
}
