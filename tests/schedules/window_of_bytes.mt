; A 3×3 convolution of bytes: rows are staged once, with their padding, in a ring of three.
;! kernels = x86-64-v3
const0: i8[4, 3, 3, 2] = hex "0b1109f0f1fd0af0efff1008fe0402ed0902f613f30beff9fef4fb05050bf1f608050ffdf4070ffd060204faf5f1f7f5fafaec0b11f7fcfeecf5060e03131000f40c13ef090f0505"
func @main(v0: i8[1, 4, 4, 2]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: products of 16-bit pairs, 4 pixels x 4 channels at a time, unrolled 3 times, staged rows
kernel @conv_3x3_i8(input: input i8[32] align 1, weights: input i8[72] align 64, ring: scratch i16[52] align 64, output0: output i32[64] align 4) {
  for each %5 in 0..48 step 16 {
    store ring[%5], 0: i16x16
  }
  store ring[48], 0: i16x16 active 4
  %170: i64 = for %17 in 0..4 step 1 carry %18 = 0 {
    %20: i64 = add %17, 3
    %21: i64 = signed_max %18, %17
    for %23 in %21..%20 step 1 {
      %25: i64 = signed_rem %23, 3
      %27: i64 = mul %25, 12
      %29: i64 = add %27, 2
      %31: i64 = add %23, -1
      %33: mask = unsigned_less %31, 4
      if %33 {
        %35: i64 = mul %31, 8
        %37: i8x8 = load input[%35]
        %38: i16x8 = sign_extend %37
        %40: i16x8 = sub %38, -3
        store ring[%29], %40
      } else {
        store ring[%29], 0: i16x16 active 8
      }
    }
    %44: i64 = signed_rem %17, 3
    %46: i64 = mul %44, 12
    %48: i64 = add %17, 1
    %50: i64 = signed_rem %48, 3
    %52: i64 = mul %50, 12
    %54: i64 = add %17, 2
    %56: i64 = signed_rem %54, 3
    %58: i64 = mul %56, 12
    %61: i64 = mul %17, 4
    %74: i8x8 = load weights[0]
    %75: i16x8 = sign_extend %74
    %76: i16x8 = load_splat_group ring[%46] group 2
    %77: i32x4 = dot_signed16 0, %76, %75
    %78: i16x8 = load_splat_group ring[%46 + 2] group 2
    %79: i32x4 = dot_signed16 0, %78, %75
    %80: i16x8 = load_splat_group ring[%46 + 4] group 2
    %81: i32x4 = dot_signed16 0, %80, %75
    %82: i16x8 = load_splat_group ring[%46 + 6] group 2
    %83: i32x4 = dot_signed16 0, %82, %75
    %84: i8x8 = load weights[8]
    %85: i16x8 = sign_extend %84
    %86: i16x8 = load_splat_group ring[%46 + 2] group 2
    %87: i32x4 = dot_signed16 %77, %86, %85
    %88: i16x8 = load_splat_group ring[%46 + 4] group 2
    %89: i32x4 = dot_signed16 %79, %88, %85
    %90: i16x8 = load_splat_group ring[%46 + 6] group 2
    %91: i32x4 = dot_signed16 %81, %90, %85
    %92: i16x8 = load_splat_group ring[%46 + 8] group 2
    %93: i32x4 = dot_signed16 %83, %92, %85
    %94: i8x8 = load weights[16]
    %95: i16x8 = sign_extend %94
    %96: i16x8 = load_splat_group ring[%46 + 4] group 2
    %97: i32x4 = dot_signed16 %87, %96, %95
    %98: i16x8 = load_splat_group ring[%46 + 6] group 2
    %99: i32x4 = dot_signed16 %89, %98, %95
    %100: i16x8 = load_splat_group ring[%46 + 8] group 2
    %101: i32x4 = dot_signed16 %91, %100, %95
    %102: i16x8 = load_splat_group ring[%46 + 10] group 2
    %103: i32x4 = dot_signed16 %93, %102, %95
    %105: i8x8 = load weights[24]
    %106: i16x8 = sign_extend %105
    %107: i16x8 = load_splat_group ring[%52] group 2
    %108: i32x4 = dot_signed16 %97, %107, %106
    %109: i16x8 = load_splat_group ring[%52 + 2] group 2
    %110: i32x4 = dot_signed16 %99, %109, %106
    %111: i16x8 = load_splat_group ring[%52 + 4] group 2
    %112: i32x4 = dot_signed16 %101, %111, %106
    %113: i16x8 = load_splat_group ring[%52 + 6] group 2
    %114: i32x4 = dot_signed16 %103, %113, %106
    %115: i8x8 = load weights[32]
    %116: i16x8 = sign_extend %115
    %117: i16x8 = load_splat_group ring[%52 + 2] group 2
    %118: i32x4 = dot_signed16 %108, %117, %116
    %119: i16x8 = load_splat_group ring[%52 + 4] group 2
    %120: i32x4 = dot_signed16 %110, %119, %116
    %121: i16x8 = load_splat_group ring[%52 + 6] group 2
    %122: i32x4 = dot_signed16 %112, %121, %116
    %123: i16x8 = load_splat_group ring[%52 + 8] group 2
    %124: i32x4 = dot_signed16 %114, %123, %116
    %125: i8x8 = load weights[40]
    %126: i16x8 = sign_extend %125
    %127: i16x8 = load_splat_group ring[%52 + 4] group 2
    %128: i32x4 = dot_signed16 %118, %127, %126
    %129: i16x8 = load_splat_group ring[%52 + 6] group 2
    %130: i32x4 = dot_signed16 %120, %129, %126
    %131: i16x8 = load_splat_group ring[%52 + 8] group 2
    %132: i32x4 = dot_signed16 %122, %131, %126
    %133: i16x8 = load_splat_group ring[%52 + 10] group 2
    %134: i32x4 = dot_signed16 %124, %133, %126
    %136: i8x8 = load weights[48]
    %137: i16x8 = sign_extend %136
    %138: i16x8 = load_splat_group ring[%58] group 2
    %139: i32x4 = dot_signed16 %128, %138, %137
    %140: i16x8 = load_splat_group ring[%58 + 2] group 2
    %141: i32x4 = dot_signed16 %130, %140, %137
    %142: i16x8 = load_splat_group ring[%58 + 4] group 2
    %143: i32x4 = dot_signed16 %132, %142, %137
    %144: i16x8 = load_splat_group ring[%58 + 6] group 2
    %145: i32x4 = dot_signed16 %134, %144, %137
    %146: i8x8 = load weights[56]
    %147: i16x8 = sign_extend %146
    %148: i16x8 = load_splat_group ring[%58 + 2] group 2
    %149: i32x4 = dot_signed16 %139, %148, %147
    %150: i16x8 = load_splat_group ring[%58 + 4] group 2
    %151: i32x4 = dot_signed16 %141, %150, %147
    %152: i16x8 = load_splat_group ring[%58 + 6] group 2
    %153: i32x4 = dot_signed16 %143, %152, %147
    %154: i16x8 = load_splat_group ring[%58 + 8] group 2
    %155: i32x4 = dot_signed16 %145, %154, %147
    %156: i8x8 = load weights[64]
    %157: i16x8 = sign_extend %156
    %158: i16x8 = load_splat_group ring[%58 + 4] group 2
    %159: i32x4 = dot_signed16 %149, %158, %157
    %160: i16x8 = load_splat_group ring[%58 + 6] group 2
    %161: i32x4 = dot_signed16 %151, %160, %157
    %162: i16x8 = load_splat_group ring[%58 + 8] group 2
    %163: i32x4 = dot_signed16 %153, %162, %157
    %164: i16x8 = load_splat_group ring[%58 + 10] group 2
    %165: i32x4 = dot_signed16 %155, %164, %157
    %167: i64 = mul %61, 4
    %168: i32x8 = join %159, %161
    store output0[%167], %168
    %169: i32x8 = join %163, %165
    store output0[%167 + 8], %169
    yield %20
  }
}
