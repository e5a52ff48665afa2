; A depthwise window on a machine whose registers are words.
;! kernels = cortex-m4f
;! technique = planes
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
; cortex-m4f: depthwise, products of 16-bit pairs, a channel at a time as a plane
kernel @depthwise_3x3_i8(input: input i8[24] align 1, weights: input i8[24] align 16, initial: input i32[2] align 16, plane: scratch i16[30] align 16, output0: output i32[24] align 4) {
  for each %3 in 0..24 step 8 {
    store plane[%3], 0: i16x8
  }
  store plane[24], 0: i16x8 active 6
  for %9 in 0..2 step 1 {
    %11: i64 = mul %9, 12
    %12: i8x4 = load weights[%11]
    %13: i16x4 = sign_extend %12
    %14: i16x2 = shuffle %13, %13 [0, 2]
    %15: i16x2 = shuffle %13, %13 [1, 3]
    %16: i8x4 = load weights[%11 + 4]
    %17: i16x4 = sign_extend %16
    %18: i16x2 = shuffle %17, %17 [0, 2]
    %19: i16x2 = shuffle %17, %17 [1, 3]
    %20: i8x4 = load weights[%11 + 8]
    %21: i16x4 = sign_extend %20
    %22: i16x2 = shuffle %21, %21 [0, 2]
    %23: i16x2 = shuffle %21, %21 [1, 3]
    %24: i32 = load initial[%9]
    for each %29 in 0..3 step 1 {
      %31: i64 = mul %29, 8
      %32: i64 = add %31, %9
      %34: i64 = mul %29, 6
      %36: i64 = add %34, 7
      %39: i8 = load input[%32]
      %40: i8 = load input[%32 + 2]
      %41: i8 = load input[%32 + 4]
      %42: i8 = load input[%32 + 6]
      %43: i16 = sign_extend %39
      store plane[%36], %43
      %44: i16 = sign_extend %40
      store plane[%36 + 1], %44
      %45: i16 = sign_extend %41
      store plane[%36 + 2], %45
      %46: i16 = sign_extend %42
      store plane[%36 + 3], %46
    }
    for each %49 in 0..3 step 1 {
      %51: i64 = mul %49, 6
      %54: i64 = mul %49, 4
      %56: i16x2 = load plane[%51]
      %57: i16x2 = load plane[%51 + 2]
      %58: i32 = dot_signed16 %24, %56, %14
      %60: i16x2 = shuffle %57, %57 [0, 0]
      %61: i16x2 = shuffle %15, 0 [1, 2]
      %62: i32 = dot_signed16 %58, %60, %61
      %64: i16x2 = shuffle %56, %56 [1, 1]
      %65: i16x2 = shuffle %14, 0 [0, 2]
      %66: i32 = dot_signed16 %24, %64, %65
      %67: i32 = dot_signed16 %66, %57, %15
      %68: i16x2 = load plane[%51 + 6]
      %69: i16x2 = load plane[%51 + 8]
      %70: i32 = dot_signed16 %62, %68, %18
      %72: i16x2 = shuffle %69, %69 [0, 0]
      %73: i16x2 = shuffle %19, 0 [1, 2]
      %74: i32 = dot_signed16 %70, %72, %73
      %76: i16x2 = shuffle %68, %68 [1, 1]
      %77: i16x2 = shuffle %18, 0 [0, 2]
      %78: i32 = dot_signed16 %67, %76, %77
      %79: i32 = dot_signed16 %78, %69, %19
      %80: i16x2 = load plane[%51 + 12]
      %81: i16x2 = load plane[%51 + 14]
      %82: i32 = dot_signed16 %74, %80, %22
      %84: i16x2 = shuffle %81, %81 [0, 0]
      %85: i16x2 = shuffle %23, 0 [1, 2]
      %86: i32 = dot_signed16 %82, %84, %85
      %88: i16x2 = shuffle %80, %80 [1, 1]
      %89: i16x2 = shuffle %22, 0 [0, 2]
      %90: i32 = dot_signed16 %79, %88, %89
      %91: i32 = dot_signed16 %90, %81, %23
      %93: i64 = mul %54, 2
      %94: i64 = add %93, %9
      store output0[%94], %86
      store output0[%94 + 2], %91
      %96: i64 = add %51, 2
      %97: i16x2 = load plane[%96]
      %98: i16x2 = load plane[%96 + 2]
      %99: i32 = dot_signed16 %24, %97, %14
      %101: i16x2 = shuffle %98, %98 [0, 0]
      %102: i16x2 = shuffle %15, 0 [1, 2]
      %103: i32 = dot_signed16 %99, %101, %102
      %105: i16x2 = shuffle %97, %97 [1, 1]
      %106: i16x2 = shuffle %14, 0 [0, 2]
      %107: i32 = dot_signed16 %24, %105, %106
      %108: i32 = dot_signed16 %107, %98, %15
      %109: i16x2 = load plane[%96 + 6]
      %110: i16x2 = load plane[%96 + 8]
      %111: i32 = dot_signed16 %103, %109, %18
      %113: i16x2 = shuffle %110, %110 [0, 0]
      %114: i16x2 = shuffle %19, 0 [1, 2]
      %115: i32 = dot_signed16 %111, %113, %114
      %117: i16x2 = shuffle %109, %109 [1, 1]
      %118: i16x2 = shuffle %18, 0 [0, 2]
      %119: i32 = dot_signed16 %108, %117, %118
      %120: i32 = dot_signed16 %119, %110, %19
      %121: i16x2 = load plane[%96 + 12]
      %122: i16x2 = load plane[%96 + 14]
      %123: i32 = dot_signed16 %115, %121, %22
      %125: i16x2 = shuffle %122, %122 [0, 0]
      %126: i16x2 = shuffle %23, 0 [1, 2]
      %127: i32 = dot_signed16 %123, %125, %126
      %129: i16x2 = shuffle %121, %121 [1, 1]
      %130: i16x2 = shuffle %22, 0 [0, 2]
      %131: i32 = dot_signed16 %120, %129, %130
      %132: i32 = dot_signed16 %131, %122, %23
      %133: i64 = add %54, 2
      %135: i64 = mul %133, 2
      %136: i64 = add %135, %9
      store output0[%136], %127
      store output0[%136 + 2], %132
    }
  }
}
