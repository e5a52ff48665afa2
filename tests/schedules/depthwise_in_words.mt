; A depthwise window on a machine whose registers are words.
;! kernels = cortex-m4f
const0: i8[2, 3, 3, 1] = hex "fc07f6eff1040cfe12fbfeee09f7f6fd08ec"
func @main(v0: i8[1, 3, 4, 2]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 2, input_zero_point = 0, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; cortex-m4f: depthwise, products of 16-bit pairs, 2 channels at a time, staged rows
kernel @depthwise_3x3_i8(input: input i8[24] align 1, weights: input i8[20] align 64, ring: scratch i16[52] align 64, output0: output i32[24] align 4) {
  for each %4 in 0..52 step 2 {
    store ring[%4], 0: i16x2
  }
  %124: i64 = for %10 in 0..3 step 1 carry %11 = 0 {
    %13: i64 = add %10, 3
    %14: i64 = signed_max %11, %10
    for %16 in %14..%13 step 1 {
      %18: i64 = signed_rem %16, 3
      %20: i64 = mul %18, 12
      %22: i64 = add %20, 2
      %24: i64 = add %16, -1
      %26: mask = unsigned_less %24, 3
      if %26 {
        %28: i64 = mul %24, 8
        for %31 in 0..8 step 4 {
          %32: i64 = add %28, %31
          %33: i8x4 = load input[%32]
          %34: i16x4 = sign_extend %33
          %35: i64 = add %22, %31
          store ring[%35], %34
        }
      } else {
        for %38 in 0..8 step 2 {
          %39: i64 = add %22, %38
          store ring[%39], 0: i16x2
        }
      }
    }
    %42: i64 = signed_rem %10, 3
    %44: i64 = mul %42, 12
    %46: i64 = add %10, 1
    %48: i64 = signed_rem %46, 3
    %50: i64 = mul %48, 12
    %52: i64 = add %10, 2
    %54: i64 = signed_rem %52, 3
    %56: i64 = mul %54, 12
    %59: i64 = mul %10, 4
    for each %67 in 0..4 step 2 {
      %69: i64 = mul %67, 2
      %70: i64 = add %44, %69
      %71: i64 = add %50, %69
      %72: i64 = add %56, %69
      %73: i8x4 = load weights[0]
      %74: i16x4 = sign_extend %73
      %75: i16x2 = load ring[%70]
      %76: i16x2 = load ring[%70 + 2]
      %77: i16x4 = shuffle %75, %76 [0, 2, 1, 3]
      %78: i32x2 = dot_signed16 0, %77, %74
      %79: i16x2 = load ring[%70 + 2]
      %80: i16x2 = load ring[%70 + 4]
      %81: i16x4 = shuffle %79, %80 [0, 2, 1, 3]
      %82: i32x2 = dot_signed16 0, %81, %74
      %83: i8x4 = load weights[4]
      %84: i16x4 = sign_extend %83
      %85: i16x2 = load ring[%70 + 4]
      %86: i16x2 = load ring[%71]
      %87: i16x4 = shuffle %85, %86 [0, 2, 1, 3]
      %88: i32x2 = dot_signed16 %78, %87, %84
      %89: i16x2 = load ring[%70 + 6]
      %90: i16x2 = load ring[%71 + 2]
      %91: i16x4 = shuffle %89, %90 [0, 2, 1, 3]
      %92: i32x2 = dot_signed16 %82, %91, %84
      %93: i8x4 = load weights[8]
      %94: i16x4 = sign_extend %93
      %95: i16x2 = load ring[%71 + 2]
      %96: i16x2 = load ring[%71 + 4]
      %97: i16x4 = shuffle %95, %96 [0, 2, 1, 3]
      %98: i32x2 = dot_signed16 %88, %97, %94
      %99: i16x2 = load ring[%71 + 4]
      %100: i16x2 = load ring[%71 + 6]
      %101: i16x4 = shuffle %99, %100 [0, 2, 1, 3]
      %102: i32x2 = dot_signed16 %92, %101, %94
      %103: i8x4 = load weights[12]
      %104: i16x4 = sign_extend %103
      %105: i16x2 = load ring[%72]
      %106: i16x2 = load ring[%72 + 2]
      %107: i16x4 = shuffle %105, %106 [0, 2, 1, 3]
      %108: i32x2 = dot_signed16 %98, %107, %104
      %109: i16x2 = load ring[%72 + 2]
      %110: i16x2 = load ring[%72 + 4]
      %111: i16x4 = shuffle %109, %110 [0, 2, 1, 3]
      %112: i32x2 = dot_signed16 %102, %111, %104
      %113: i8x4 = load weights[16]
      %114: i16x4 = sign_extend %113
      %115: i16x2 = load ring[%72 + 4]
      %116: i16x4 = shuffle %115, %115 [0, 2, 1, 3]
      %117: i32x2 = dot_signed16 %108, %116, %114
      %118: i16x2 = load ring[%72 + 6]
      %119: i16x4 = shuffle %118, %118 [0, 2, 1, 3]
      %120: i32x2 = dot_signed16 %112, %119, %114
      %121: i64 = add %59, %67
      %123: i64 = mul %121, 2
      store output0[%123], %117
      store output0[%123 + 2], %120
    }
    yield %13
  }
}
