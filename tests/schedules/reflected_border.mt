; A border that repeats the tensor in reverse.
;! kernels = x86-64-v3
func @main(v0: f32[4, 8]) {
  v1 = mirror_pad v0 { low = [1, 0], high = [1, 0], edge = false, padded = [] }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: mirror_pad
kernel @mirror_pad(input: input i32[32] align 4, output: output i32[48] align 4) {
  for each %5 in 0..6 step 1 {
    %7: i64 = add %5, -1
    %10: i64 = sub 0, %7
    %11: i64 = signed_max %7, %10
    %12: i64 = sub 6, %11
    %13: i64 = signed_min %11, %12
    %15: i64 = mul %13, 8
    %17: i64 = mul %5, 8
    %19: i32x8 = load input[%15]
    store output[%17], %19
  }
}
