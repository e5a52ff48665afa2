; Numbers in a row.
;! kernels = x86-64-v3
func @main(v0: f32[1]) {
  v1 = iota { shape = [3, 16], axis = 1, element = i32 }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: numbers in a row, 8 at a time
kernel @iota(lane_numbers: input i32[8] align 4, output: output i32[48] align 4) {
  %1: i32x8 = load lane_numbers[0]
  for each %4 in 0..3 step 1 {
    %6: i64 = mul %4, 16
    for each %9 in 0..16 step 8 {
      %10: i32 = wrap %9
      %11: i32x8 = splat %10
      %12: i32x8 = add %11, %1
      %13: i64 = add %6, %9
      store output[%13], %12
    }
  }
}
