; Squares of elements are turned in registers.
;! kernels = x86-64-v3
;! technique = turns
;! kernels = cortex-m4f
func @main(v0: f32[8, 16]) {
  v1 = transpose v0 { permutation = [1, 0] }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: transpose, 8 at a time
kernel @transpose(input0: input i32[128] align 4, output: output i32[128] align 4) {
  for each %5 in 0..16 step 4 {
    %7: i64 = mul %5, 8
    for each %10 in 0..8 step 4 {
      %12: i64 = mul %10, 16
      %13: i64 = add %5, %12
      %15: i32x4 = load input0[%13]
      %17: i64 = add %13, 16
      %18: i32x4 = load input0[%17]
      %20: i64 = add %13, 32
      %21: i32x4 = load input0[%20]
      %23: i64 = add %13, 48
      %24: i32x4 = load input0[%23]
      %25: i32x4 = shuffle %15, %21 [0, 4, 1, 5]
      %26: i32x4 = shuffle %15, %21 [2, 6, 3, 7]
      %27: i32x4 = shuffle %18, %24 [0, 4, 1, 5]
      %28: i32x4 = shuffle %18, %24 [2, 6, 3, 7]
      %29: i32x4 = shuffle %25, %27 [0, 4, 1, 5]
      %30: i32x4 = shuffle %25, %27 [2, 6, 3, 7]
      %31: i32x4 = shuffle %26, %28 [0, 4, 1, 5]
      %32: i32x4 = shuffle %26, %28 [2, 6, 3, 7]
      %33: i64 = add %7, %10
      store output[%33], %29
      %36: i64 = add %33, 8
      store output[%36], %30
      %38: i64 = add %33, 16
      store output[%38], %31
      %40: i64 = add %33, 24
      store output[%40], %32
    }
  }
}
; cortex-m4f: transpose, 1 at a time
kernel @transpose(input0: input i32[128] align 4, output: output i32[128] align 4) {
  for each %5 in 0..16 step 4 {
    %7: i64 = mul %5, 8
    for each %10 in 0..8 step 4 {
      %12: i64 = mul %10, 16
      %13: i64 = add %5, %12
      %15: i32x4 = load input0[%13]
      %17: i64 = add %13, 16
      %18: i32x4 = load input0[%17]
      %20: i64 = add %13, 32
      %21: i32x4 = load input0[%20]
      %23: i64 = add %13, 48
      %24: i32x4 = load input0[%23]
      %25: i32x4 = shuffle %15, %21 [0, 4, 1, 5]
      %26: i32x4 = shuffle %15, %21 [2, 6, 3, 7]
      %27: i32x4 = shuffle %18, %24 [0, 4, 1, 5]
      %28: i32x4 = shuffle %18, %24 [2, 6, 3, 7]
      %29: i32x4 = shuffle %25, %27 [0, 4, 1, 5]
      %30: i32x4 = shuffle %25, %27 [2, 6, 3, 7]
      %31: i32x4 = shuffle %26, %28 [0, 4, 1, 5]
      %32: i32x4 = shuffle %26, %28 [2, 6, 3, 7]
      %33: i64 = add %7, %10
      store output[%33], %29
      %36: i64 = add %33, 8
      store output[%36], %30
      %38: i64 = add %33, 16
      store output[%38], %31
      %40: i64 = add %33, 24
      store output[%40], %32
    }
  }
}
