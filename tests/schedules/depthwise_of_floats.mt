; A depthwise window of floats: vectors along channels, unrolled taps, four pixels at a time.
;! kernels = x86-64-v3
const0: f32[8, 3, 3, 1] = hex "0000c03e000000bf000000bf000080bf000080bf000020bf0000803f000000bf0000203f000080be000080be000080bf00000000000080be0000003e0000803f000000be0000803e000000000000203f000000bf000060bf0000c03e0000403f0000803f0000203f0000803f000000bf000000bf0000803f0000803f000080bf0000403f0000c0be000080bf000000bf0000c0be000000bf0000603f000020bf000060bf0000803e0000803f0000803f0000603f000020bf000060bf000000be000080be00000000000060bf000020bf0000803f0000403f000080bf000040bf0000403f0000803e0000803f0000803f000080be000000000000403f0000803f0000603f0000803f000000be0000803f00000000000080be0000403f000000bf"
func @main(v0: f32[1, 3, 4, 8]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 8, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: depthwise, products of floats, 8 channels at a time, staged rows
kernel @depthwise_3x3_f32(input: input f32[96] align 4, weights: input f32[72] align 64, ring: scratch f32[160] align 64, output0: output f32[96] align 4) {
  for each %4 in 0..160 step 8 {
    store ring[%4], 0.0: f32x8
  }
  %166: i64 = for %10 in 0..3 step 1 carry %11 = 0 {
    %13: i64 = add %10, 3
    %14: i64 = signed_max %11, %10
    for %16 in %14..%13 step 1 {
      %18: i64 = signed_rem %16, 3
      %20: i64 = mul %18, 48
      %22: i64 = add %20, 8
      %24: i64 = add %16, -1
      %26: mask = unsigned_less %24, 3
      if %26 {
        %28: i64 = mul %24, 32
        for %31 in 0..32 step 16 {
          %32: i64 = add %28, %31
          %33: f32x16 = load input[%32]
          %34: i64 = add %22, %31
          store ring[%34], %33
        }
      } else {
        for %37 in 0..32 step 8 {
          %38: i64 = add %22, %37
          store ring[%38], 0.0: f32x8
        }
      }
    }
    %41: i64 = signed_rem %10, 3
    %43: i64 = mul %41, 48
    %45: i64 = add %10, 1
    %47: i64 = signed_rem %45, 3
    %49: i64 = mul %47, 48
    %51: i64 = add %10, 2
    %53: i64 = signed_rem %51, 3
    %55: i64 = mul %53, 48
    %58: i64 = mul %10, 4
    %65: f32x8 = load weights[0]
    %66: f32x8 = load ring[%43]
    %67: f32x8 = mul %66, %65
    %68: f32x8 = add %67, 0.0
    %69: f32x8 = load ring[%43 + 8]
    %70: f32x8 = mul %69, %65
    %71: f32x8 = add %70, 0.0
    %72: f32x8 = load ring[%43 + 16]
    %73: f32x8 = mul %72, %65
    %74: f32x8 = add %73, 0.0
    %75: f32x8 = load ring[%43 + 24]
    %76: f32x8 = mul %75, %65
    %77: f32x8 = add %76, 0.0
    %78: f32x8 = load weights[8]
    %79: f32x8 = mul %69, %78
    %80: f32x8 = add %79, %68
    %81: f32x8 = mul %72, %78
    %82: f32x8 = add %81, %71
    %83: f32x8 = mul %75, %78
    %84: f32x8 = add %83, %74
    %85: f32x8 = load ring[%43 + 32]
    %86: f32x8 = mul %85, %78
    %87: f32x8 = add %86, %77
    %88: f32x8 = load weights[16]
    %89: f32x8 = mul %72, %88
    %90: f32x8 = add %89, %80
    %91: f32x8 = mul %75, %88
    %92: f32x8 = add %91, %82
    %93: f32x8 = mul %85, %88
    %94: f32x8 = add %93, %84
    %95: f32x8 = load ring[%43 + 40]
    %96: f32x8 = mul %95, %88
    %97: f32x8 = add %96, %87
    %98: f32x8 = load weights[24]
    %99: f32x8 = load ring[%49]
    %100: f32x8 = mul %99, %98
    %101: f32x8 = add %100, %90
    %102: f32x8 = load ring[%49 + 8]
    %103: f32x8 = mul %102, %98
    %104: f32x8 = add %103, %92
    %105: f32x8 = load ring[%49 + 16]
    %106: f32x8 = mul %105, %98
    %107: f32x8 = add %106, %94
    %108: f32x8 = load ring[%49 + 24]
    %109: f32x8 = mul %108, %98
    %110: f32x8 = add %109, %97
    %111: f32x8 = load weights[32]
    %112: f32x8 = mul %102, %111
    %113: f32x8 = add %112, %101
    %114: f32x8 = mul %105, %111
    %115: f32x8 = add %114, %104
    %116: f32x8 = mul %108, %111
    %117: f32x8 = add %116, %107
    %118: f32x8 = load ring[%49 + 32]
    %119: f32x8 = mul %118, %111
    %120: f32x8 = add %119, %110
    %121: f32x8 = load weights[40]
    %122: f32x8 = mul %105, %121
    %123: f32x8 = add %122, %113
    %124: f32x8 = mul %108, %121
    %125: f32x8 = add %124, %115
    %126: f32x8 = mul %118, %121
    %127: f32x8 = add %126, %117
    %128: f32x8 = load ring[%49 + 40]
    %129: f32x8 = mul %128, %121
    %130: f32x8 = add %129, %120
    %131: f32x8 = load weights[48]
    %132: f32x8 = load ring[%55]
    %133: f32x8 = mul %132, %131
    %134: f32x8 = add %133, %123
    %135: f32x8 = load ring[%55 + 8]
    %136: f32x8 = mul %135, %131
    %137: f32x8 = add %136, %125
    %138: f32x8 = load ring[%55 + 16]
    %139: f32x8 = mul %138, %131
    %140: f32x8 = add %139, %127
    %141: f32x8 = load ring[%55 + 24]
    %142: f32x8 = mul %141, %131
    %143: f32x8 = add %142, %130
    %144: f32x8 = load weights[56]
    %145: f32x8 = mul %135, %144
    %146: f32x8 = add %145, %134
    %147: f32x8 = mul %138, %144
    %148: f32x8 = add %147, %137
    %149: f32x8 = mul %141, %144
    %150: f32x8 = add %149, %140
    %151: f32x8 = load ring[%55 + 32]
    %152: f32x8 = mul %151, %144
    %153: f32x8 = add %152, %143
    %154: f32x8 = load weights[64]
    %155: f32x8 = mul %138, %154
    %156: f32x8 = add %155, %146
    %157: f32x8 = mul %141, %154
    %158: f32x8 = add %157, %148
    %159: f32x8 = mul %151, %154
    %160: f32x8 = add %159, %150
    %161: f32x8 = load ring[%55 + 40]
    %162: f32x8 = mul %161, %154
    %163: f32x8 = add %162, %153
    %165: i64 = mul %58, 8
    store output0[%165], %156
    store output0[%165 + 8], %158
    store output0[%165 + 16], %160
    store output0[%165 + 24], %163
    yield %13
  }
}
