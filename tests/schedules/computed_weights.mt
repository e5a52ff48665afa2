; A right operand that the program computes: one panel at a time is filled in scratch memory.
;! kernels = x86-64-v3
func @main(v0: f32[3, 4], v1: f32[8, 4]) {
  v2 = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v2
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; x86-64-v3: products of floats, 3 pixels x 8 channels at a time, unrolled 4 times, filled panels
kernel @matmul_f32(input: input f32[12] align 4, weights: input f32[32] align 4, panel: scratch f32[32] align 64, output0: output f32[24] align 4) {
  %11: f32x8 = load weights[0] active 4
  %12: f32x8 = load weights[4] active 4
  %13: f32x8 = load weights[8] active 4
  %14: f32x8 = load weights[12] active 4
  %15: f32x8 = load weights[16] active 4
  %16: f32x8 = load weights[20] active 4
  %17: f32x8 = load weights[24] active 4
  %18: f32x8 = load weights[28] active 4
  %19: f32x8 = shuffle %11, %15 [0, 8, 1, 9, 2, 10, 3, 11]
  %20: f32x8 = shuffle %11, %15 [4, 12, 5, 13, 6, 14, 7, 15]
  %21: f32x8 = shuffle %12, %16 [0, 8, 1, 9, 2, 10, 3, 11]
  %22: f32x8 = shuffle %12, %16 [4, 12, 5, 13, 6, 14, 7, 15]
  %23: f32x8 = shuffle %13, %17 [0, 8, 1, 9, 2, 10, 3, 11]
  %24: f32x8 = shuffle %13, %17 [4, 12, 5, 13, 6, 14, 7, 15]
  %25: f32x8 = shuffle %14, %18 [0, 8, 1, 9, 2, 10, 3, 11]
  %26: f32x8 = shuffle %14, %18 [4, 12, 5, 13, 6, 14, 7, 15]
  %27: f32x8 = shuffle %19, %23 [0, 8, 1, 9, 2, 10, 3, 11]
  %28: f32x8 = shuffle %19, %23 [4, 12, 5, 13, 6, 14, 7, 15]
  %29: f32x8 = shuffle %20, %24 [0, 8, 1, 9, 2, 10, 3, 11]
  %30: f32x8 = shuffle %20, %24 [4, 12, 5, 13, 6, 14, 7, 15]
  %31: f32x8 = shuffle %21, %25 [0, 8, 1, 9, 2, 10, 3, 11]
  %32: f32x8 = shuffle %21, %25 [4, 12, 5, 13, 6, 14, 7, 15]
  %33: f32x8 = shuffle %22, %26 [0, 8, 1, 9, 2, 10, 3, 11]
  %34: f32x8 = shuffle %22, %26 [4, 12, 5, 13, 6, 14, 7, 15]
  %35: f32x8 = shuffle %27, %31 [0, 8, 1, 9, 2, 10, 3, 11]
  %36: f32x8 = shuffle %27, %31 [4, 12, 5, 13, 6, 14, 7, 15]
  %37: f32x8 = shuffle %28, %32 [0, 8, 1, 9, 2, 10, 3, 11]
  %38: f32x8 = shuffle %28, %32 [4, 12, 5, 13, 6, 14, 7, 15]
  %39: f32x8 = shuffle %29, %33 [0, 8, 1, 9, 2, 10, 3, 11]
  %40: f32x8 = shuffle %29, %33 [4, 12, 5, 13, 6, 14, 7, 15]
  %41: f32x8 = shuffle %30, %34 [0, 8, 1, 9, 2, 10, 3, 11]
  %42: f32x8 = shuffle %30, %34 [4, 12, 5, 13, 6, 14, 7, 15]
  store panel[0], %35
  store panel[8], %36
  store panel[16], %37
  store panel[24], %38
  %109: i64 = for %50 in 0..1 step 1 carry %51 = 0 {
    %53: i64 = add %50, 1
    %56: i64 = mul %50, 12
    %58: i64 = mul %50, 3
    %67: f32x8 = load panel[0]
    %68: f32x8 = load_splat input[%56]
    %69: f32x8 = mul %68, %67
    %70: f32x8 = add %69, 0.0
    %71: f32x8 = load_splat input[%56 + 4]
    %72: f32x8 = mul %71, %67
    %73: f32x8 = add %72, 0.0
    %74: f32x8 = load_splat input[%56 + 8]
    %75: f32x8 = mul %74, %67
    %76: f32x8 = add %75, 0.0
    %77: f32x8 = load panel[8]
    %78: f32x8 = load_splat input[%56 + 1]
    %79: f32x8 = mul %78, %77
    %80: f32x8 = add %79, %70
    %81: f32x8 = load_splat input[%56 + 5]
    %82: f32x8 = mul %81, %77
    %83: f32x8 = add %82, %73
    %84: f32x8 = load_splat input[%56 + 9]
    %85: f32x8 = mul %84, %77
    %86: f32x8 = add %85, %76
    %87: f32x8 = load panel[16]
    %88: f32x8 = load_splat input[%56 + 2]
    %89: f32x8 = mul %88, %87
    %90: f32x8 = add %89, %80
    %91: f32x8 = load_splat input[%56 + 6]
    %92: f32x8 = mul %91, %87
    %93: f32x8 = add %92, %83
    %94: f32x8 = load_splat input[%56 + 10]
    %95: f32x8 = mul %94, %87
    %96: f32x8 = add %95, %86
    %97: f32x8 = load panel[24]
    %98: f32x8 = load_splat input[%56 + 3]
    %99: f32x8 = mul %98, %97
    %100: f32x8 = add %99, %90
    %101: f32x8 = load_splat input[%56 + 7]
    %102: f32x8 = mul %101, %97
    %103: f32x8 = add %102, %93
    %104: f32x8 = load_splat input[%56 + 11]
    %105: f32x8 = mul %104, %97
    %106: f32x8 = add %105, %96
    %108: i64 = mul %58, 8
    store output0[%108], %100
    store output0[%108 + 8], %103
    store output0[%108 + 16], %106
    yield %53
  }
}
