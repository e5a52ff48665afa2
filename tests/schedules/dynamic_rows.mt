; Rows whose number is known at run time: the kernel reads it from a cell.
;! kernels = x86-64-v3
func @main(v0: f32[8], v1: i32[]) {
  v2 = index_load v1 { interval = 1..=16 }
  v3 = iota { shape = [v2], axis = 0, element = i32 }
  return v3
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; x86-64-v3: index_load
kernel @index_load(operand0: input i32[1] align 4, result: output i64[1] align 8) {
  %1: i32 = load operand0[0]
  %2: i64 = sign_extend %1
  %4: mask = less %2, 1
  fail_if %4, -12
  %6: mask = greater %2, 16
  fail_if %6, -12
  store result[0], %2
}
; x86-64-v3: numbers in a row, 8 at a time
kernel @iota(lane_numbers: input i32[8] align 4, output: output i32[16] align 4, extent0: input i64[1] align 8) {
  %1: i64 = load extent0[0]
  %3: i32x8 = load lane_numbers[0]
  %5: i64 = mul 0, %1
  %8: i64 = and %1, -8
  for each %9 in 0..%8 step 8 {
    %10: i32 = wrap %9
    %11: i32x8 = splat %10
    %12: i32x8 = add %11, %3
    %13: i64 = add %5, %9
    store output[%13], %12
  }
  for each %14 in %8..%1 step 1 {
    %15: i32 = wrap %14
    %16: i32x8 = splat %15
    %17: i32x8 = add %16, %3
    %18: i64 = add %5, %14
    store output[%18], %17 active 1
  }
}
