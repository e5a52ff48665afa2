; A convolution of a dilated input: each phase of the output is a convolution with a part of the filter.
;! kernels = x86-64-v3
const0: f32[8, 2, 2, 2] = hex "000080bf0000803f0000003e000040bf000000000000803f0000c03e0000c0be0000c03e000000be0000803f0000803e000000be000080be000000be0000003f000000be000080be0000803f0000603f0000c03e000080bf000080bf000000000000603f00000000000080be0000c03e0000403f0000c03e0000c03e000040bf000000be000020bf000000be0000603f000080be0000803e000080be0000603f000080bf0000603f0000c03e000040bf000020bf0000003f000080be0000603f0000c0be0000203f0000803e000040bf0000003f0000403f0000003f000040bf0000c0be0000c0be000000bf000080bf000000bf0000403f000000bf0000603f"
func @main(v0: f32[1, 2, 2, 2]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [2, 2], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: products of floats in pairs, 2 pixels x 8 channels at a time, unrolled 1 times
kernel @conv_2x2_f32(input: input f32[8] align 4, weights: input f32[64] align 64, output0: output f32[128] align 4) {
  %197: i64 = for %9 in 0..2 step 1 carry %10 = 0 {
    %12: i64 = add %9, 1
    %15: i64 = mul %9, 4
    %18: i64 = mul %9, 2
    %20: i64 = mul %18, 4
    %35: f32x8 = load weights[0]
    %36: f32x8 = load weights[8]
    %37: f32x8 = load_splat_group input[%15] group 2
    %38: f32x8 = mul %37, %35
    %39: f32x8 = add %38, 0.0
    %40: f32x8 = mul %37, %36
    %41: f32x8 = add %40, 0.0
    %42: f32x8 = load_splat_group input[%15 + 2] group 2
    %43: f32x8 = mul %42, %35
    %44: f32x8 = add %43, 0.0
    %45: f32x8 = mul %42, %36
    %46: f32x8 = add %45, 0.0
    %48: i64 = mul %20, 8
    %49: f32x16 = join %39, %41
    %50: f32x16 = join %44, %46
    %51: f32x8 = shuffle %49, %49 [0, 2, 4, 6, 8, 10, 12, 14]
    %52: f32x8 = shuffle %49, %49 [1, 3, 5, 7, 9, 11, 13, 15]
    %53: f32x8 = add %51, %52
    store output0[%48], %53
    %54: f32x8 = shuffle %50, %50 [0, 2, 4, 6, 8, 10, 12, 14]
    %55: f32x8 = shuffle %50, %50 [1, 3, 5, 7, 9, 11, 13, 15]
    %56: f32x8 = add %54, %55
    store output0[%48 + 16], %56
    %59: i64 = mul %9, 4
    %62: i64 = mul %9, 2
    %64: i64 = mul %62, 4
    %66: i64 = add %64, 1
    %81: f32x8 = load weights[16]
    %82: f32x8 = load weights[24]
    %83: f32x8 = load_splat_group input[%59] group 2
    %84: f32x8 = mul %83, %81
    %85: f32x8 = add %84, 0.0
    %86: f32x8 = mul %83, %82
    %87: f32x8 = add %86, 0.0
    %88: f32x8 = load_splat_group input[%59 + 2] group 2
    %89: f32x8 = mul %88, %81
    %90: f32x8 = add %89, 0.0
    %91: f32x8 = mul %88, %82
    %92: f32x8 = add %91, 0.0
    %94: i64 = mul %66, 8
    %95: f32x16 = join %85, %87
    %96: f32x16 = join %90, %92
    %97: f32x8 = shuffle %95, %95 [0, 2, 4, 6, 8, 10, 12, 14]
    %98: f32x8 = shuffle %95, %95 [1, 3, 5, 7, 9, 11, 13, 15]
    %99: f32x8 = add %97, %98
    store output0[%94], %99
    %100: f32x8 = shuffle %96, %96 [0, 2, 4, 6, 8, 10, 12, 14]
    %101: f32x8 = shuffle %96, %96 [1, 3, 5, 7, 9, 11, 13, 15]
    %102: f32x8 = add %100, %101
    store output0[%94 + 16], %102
    %105: i64 = mul %9, 4
    %109: i64 = mul %9, 2
    %110: i64 = add 1, %109
    %112: i64 = mul %110, 4
    %127: f32x8 = load weights[32]
    %128: f32x8 = load weights[40]
    %129: f32x8 = load_splat_group input[%105] group 2
    %130: f32x8 = mul %129, %127
    %131: f32x8 = add %130, 0.0
    %132: f32x8 = mul %129, %128
    %133: f32x8 = add %132, 0.0
    %134: f32x8 = load_splat_group input[%105 + 2] group 2
    %135: f32x8 = mul %134, %127
    %136: f32x8 = add %135, 0.0
    %137: f32x8 = mul %134, %128
    %138: f32x8 = add %137, 0.0
    %140: i64 = mul %112, 8
    %141: f32x16 = join %131, %133
    %142: f32x16 = join %136, %138
    %143: f32x8 = shuffle %141, %141 [0, 2, 4, 6, 8, 10, 12, 14]
    %144: f32x8 = shuffle %141, %141 [1, 3, 5, 7, 9, 11, 13, 15]
    %145: f32x8 = add %143, %144
    store output0[%140], %145
    %146: f32x8 = shuffle %142, %142 [0, 2, 4, 6, 8, 10, 12, 14]
    %147: f32x8 = shuffle %142, %142 [1, 3, 5, 7, 9, 11, 13, 15]
    %148: f32x8 = add %146, %147
    store output0[%140 + 16], %148
    %151: i64 = mul %9, 4
    %155: i64 = mul %9, 2
    %156: i64 = add 1, %155
    %158: i64 = mul %156, 4
    %160: i64 = add %158, 1
    %175: f32x8 = load weights[48]
    %176: f32x8 = load weights[56]
    %177: f32x8 = load_splat_group input[%151] group 2
    %178: f32x8 = mul %177, %175
    %179: f32x8 = add %178, 0.0
    %180: f32x8 = mul %177, %176
    %181: f32x8 = add %180, 0.0
    %182: f32x8 = load_splat_group input[%151 + 2] group 2
    %183: f32x8 = mul %182, %175
    %184: f32x8 = add %183, 0.0
    %185: f32x8 = mul %182, %176
    %186: f32x8 = add %185, 0.0
    %188: i64 = mul %160, 8
    %189: f32x16 = join %179, %181
    %190: f32x16 = join %184, %186
    %191: f32x8 = shuffle %189, %189 [0, 2, 4, 6, 8, 10, 12, 14]
    %192: f32x8 = shuffle %189, %189 [1, 3, 5, 7, 9, 11, 13, 15]
    %193: f32x8 = add %191, %192
    store output0[%188], %193
    %194: f32x8 = shuffle %190, %190 [0, 2, 4, 6, 8, 10, 12, 14]
    %195: f32x8 = shuffle %190, %190 [1, 3, 5, 7, 9, 11, 13, 15]
    %196: f32x8 = add %194, %195
    store output0[%188 + 16], %196
    yield %12
  }
}
