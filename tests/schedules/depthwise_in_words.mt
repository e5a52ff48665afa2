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
kernel @depthwise_3x3_i8(input: input i8[24] align 1, weights: input i8[18] align 16, initial: input i32[2] align 16, plane: scratch i16[30] align 16, output0: output i32[24] align 4) {
  for each %3 in 0..24 step 8 {
    store plane[%3], 0: i16x8
  }
  store plane[24], 0: i16x8 active 6
  for %9 in 0..2 step 1 {
    %11: i64 = mul %9, 9
    %12: i8 = load weights[%11]
    %13: i16 = sign_extend %12
    %14: i8 = load weights[%11 + 1]
    %15: i16 = sign_extend %14
    %16: i8 = load weights[%11 + 2]
    %17: i16 = sign_extend %16
    %18: i8 = load weights[%11 + 3]
    %19: i16 = sign_extend %18
    %20: i8 = load weights[%11 + 4]
    %21: i16 = sign_extend %20
    %22: i8 = load weights[%11 + 5]
    %23: i16 = sign_extend %22
    %24: i8 = load weights[%11 + 6]
    %25: i16 = sign_extend %24
    %26: i8 = load weights[%11 + 7]
    %27: i16 = sign_extend %26
    %28: i8 = load weights[%11 + 8]
    %29: i16 = sign_extend %28
    %31: i16x2 = join %13, %15
    %32: i16x2 = join %15, %17
    %33: i16x2 = join %19, %21
    %34: i16x2 = join %21, %23
    %35: i16x2 = join %25, %27
    %36: i16x2 = join %27, %29
    %37: i32 = load initial[%9]
    for each %42 in 0..3 step 1 {
      %44: i64 = mul %42, 8
      %45: i64 = add %44, %9
      %47: i64 = mul %42, 6
      %49: i64 = add %47, 7
      %52: i8 = load input[%45]
      %53: i8 = load input[%45 + 2]
      %54: i8 = load input[%45 + 4]
      %55: i8 = load input[%45 + 6]
      %56: i16 = sign_extend %52
      store plane[%49], %56
      %57: i16 = sign_extend %53
      store plane[%49 + 1], %57
      %58: i16 = sign_extend %54
      store plane[%49 + 2], %58
      %59: i16 = sign_extend %55
      store plane[%49 + 3], %59
    }
    for each %62 in 0..3 step 1 {
      %64: i64 = mul %62, 6
      %67: i64 = mul %62, 4
      %69: i16x2 = load plane[%64]
      %70: i16x2 = load plane[%64 + 2]
      %71: i32 = dot_signed16 %37, %69, %31
      %73: i16x2 = shuffle %70, %70 [0, 0]
      %74: i16x2 = shuffle %32, 0 [1, 2]
      %75: i32 = dot_signed16 %71, %73, %74
      %77: i16x2 = shuffle %69, %69 [1, 1]
      %78: i16x2 = shuffle %31, 0 [0, 2]
      %79: i32 = dot_signed16 %37, %77, %78
      %80: i32 = dot_signed16 %79, %70, %32
      %81: i16x2 = load plane[%64 + 6]
      %82: i16x2 = load plane[%64 + 8]
      %83: i32 = dot_signed16 %75, %81, %33
      %85: i16x2 = shuffle %82, %82 [0, 0]
      %86: i16x2 = shuffle %34, 0 [1, 2]
      %87: i32 = dot_signed16 %83, %85, %86
      %89: i16x2 = shuffle %81, %81 [1, 1]
      %90: i16x2 = shuffle %33, 0 [0, 2]
      %91: i32 = dot_signed16 %80, %89, %90
      %92: i32 = dot_signed16 %91, %82, %34
      %93: i16x2 = load plane[%64 + 12]
      %94: i16x2 = load plane[%64 + 14]
      %95: i32 = dot_signed16 %87, %93, %35
      %97: i16x2 = shuffle %94, %94 [0, 0]
      %98: i16x2 = shuffle %36, 0 [1, 2]
      %99: i32 = dot_signed16 %95, %97, %98
      %101: i16x2 = shuffle %93, %93 [1, 1]
      %102: i16x2 = shuffle %35, 0 [0, 2]
      %103: i32 = dot_signed16 %92, %101, %102
      %104: i32 = dot_signed16 %103, %94, %36
      %106: i64 = mul %67, 2
      %107: i64 = add %106, %9
      store output0[%107], %99
      store output0[%107 + 2], %104
      %109: i64 = add %64, 2
      %110: i16x2 = load plane[%109]
      %111: i16x2 = load plane[%109 + 2]
      %112: i32 = dot_signed16 %37, %110, %31
      %114: i16x2 = shuffle %111, %111 [0, 0]
      %115: i16x2 = shuffle %32, 0 [1, 2]
      %116: i32 = dot_signed16 %112, %114, %115
      %118: i16x2 = shuffle %110, %110 [1, 1]
      %119: i16x2 = shuffle %31, 0 [0, 2]
      %120: i32 = dot_signed16 %37, %118, %119
      %121: i32 = dot_signed16 %120, %111, %32
      %122: i16x2 = load plane[%109 + 6]
      %123: i16x2 = load plane[%109 + 8]
      %124: i32 = dot_signed16 %116, %122, %33
      %126: i16x2 = shuffle %123, %123 [0, 0]
      %127: i16x2 = shuffle %34, 0 [1, 2]
      %128: i32 = dot_signed16 %124, %126, %127
      %130: i16x2 = shuffle %122, %122 [1, 1]
      %131: i16x2 = shuffle %33, 0 [0, 2]
      %132: i32 = dot_signed16 %121, %130, %131
      %133: i32 = dot_signed16 %132, %123, %34
      %134: i16x2 = load plane[%109 + 12]
      %135: i16x2 = load plane[%109 + 14]
      %136: i32 = dot_signed16 %128, %134, %35
      %138: i16x2 = shuffle %135, %135 [0, 0]
      %139: i16x2 = shuffle %36, 0 [1, 2]
      %140: i32 = dot_signed16 %136, %138, %139
      %142: i16x2 = shuffle %134, %134 [1, 1]
      %143: i16x2 = shuffle %35, 0 [0, 2]
      %144: i32 = dot_signed16 %133, %142, %143
      %145: i32 = dot_signed16 %144, %135, %36
      %146: i64 = add %67, 2
      %148: i64 = mul %146, 2
      %149: i64 = add %148, %9
      store output0[%149], %140
      store output0[%149 + 2], %145
    }
  }
}
