; A product for a device, before its loops become positions of a grid.
;! kernels = vulkan1.1
func @main(v0: f32[4, 8], v1: f32[16, 8]) {
  v2 = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v2
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; vulkan1.1: products of floats, 1 pixels x 4 channels at a time, unrolled 8 times, filled panels
kernel @matmul_f32(input: input f32[32] align 4, weights: input f32[128] align 4, panel: scratch f32[128] align 64, output0: output f32[64] align 4) {
  for each %6 in 0..16 step 4 {
    %11: i64 = mul %6, 8
    %14: i64 = mul %6, 8
    for each %22 in 0..8 step 4 {
      %24: i64 = mul %22, 4
      %25: i64 = add %14, %22
      %26: i64 = add %11, %24
      %27: f32x4 = load weights[%25]
      %28: f32x4 = load weights[%25 + 8]
      %29: f32x4 = load weights[%25 + 16]
      %30: f32x4 = load weights[%25 + 24]
      %31: f32x4 = shuffle %27, %29 [0, 4, 1, 5]
      %32: f32x4 = shuffle %27, %29 [2, 6, 3, 7]
      %33: f32x4 = shuffle %28, %30 [0, 4, 1, 5]
      %34: f32x4 = shuffle %28, %30 [2, 6, 3, 7]
      %35: f32x4 = shuffle %31, %33 [0, 4, 1, 5]
      %36: f32x4 = shuffle %31, %33 [2, 6, 3, 7]
      %37: f32x4 = shuffle %32, %34 [0, 4, 1, 5]
      %38: f32x4 = shuffle %32, %34 [2, 6, 3, 7]
      store panel[%26], %35
      store panel[%26 + 4], %36
      store panel[%26 + 8], %37
      store panel[%26 + 12], %38
    }
  }
  for each %46 in 0..1 step 1 {
    %49: i64 = mul %46, 32
    %51: i64 = mul %46, 4
    for each %55 in 0..16 step 4 {
      %63: i64 = mul %55, 8
      for each %68 in 0..4 step 1 {
        %70: i64 = mul %68, 8
        %71: i64 = add %51, %68
        %73: i64 = add %49, %70
        %74: f32x4 = load_splat input[%73]
        %75: f32x4 = load panel[%63]
        %76: f32x4 = mul %74, %75
        %77: f32x4 = add %76, 0.0
        %78: f32x4 = load_splat input[%73 + 1]
        %79: f32x4 = load panel[%63 + 4]
        %80: f32x4 = mul %78, %79
        %81: f32x4 = add %80, %77
        %82: f32x4 = load_splat input[%73 + 2]
        %83: f32x4 = load panel[%63 + 8]
        %84: f32x4 = mul %82, %83
        %85: f32x4 = add %84, %81
        %86: f32x4 = load_splat input[%73 + 3]
        %87: f32x4 = load panel[%63 + 12]
        %88: f32x4 = mul %86, %87
        %89: f32x4 = add %88, %85
        %90: f32x4 = load_splat input[%73 + 4]
        %91: f32x4 = load panel[%63 + 16]
        %92: f32x4 = mul %90, %91
        %93: f32x4 = add %92, %89
        %94: f32x4 = load_splat input[%73 + 5]
        %95: f32x4 = load panel[%63 + 20]
        %96: f32x4 = mul %94, %95
        %97: f32x4 = add %96, %93
        %98: f32x4 = load_splat input[%73 + 6]
        %99: f32x4 = load panel[%63 + 24]
        %100: f32x4 = mul %98, %99
        %101: f32x4 = add %100, %97
        %102: f32x4 = load_splat input[%73 + 7]
        %103: f32x4 = load panel[%63 + 28]
        %104: f32x4 = mul %102, %103
        %105: f32x4 = add %104, %101
        %107: i64 = mul %71, 16
        %108: i64 = add %107, %55
        store output0[%108], %105
      }
    }
  }
}
