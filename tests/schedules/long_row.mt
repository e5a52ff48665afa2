; An image of one row: it is computed in sections, and what two sections read is moved.
;! kernels = x86-64-v3
;! technique = sections
const0: i8[8, 1, 5, 4] = hex "ff1310f4ec0aef0bfdf2f90bfe0dfe090909f30ff8fff10aedfe09f00c08fd04f9f9f011f1f50dfc03f412140cfdf303fa0b0b05edf6ec0b0805fff506020400f301ec000105f3f8ecfefc03f0050411f00307fdeffdf2effe14f5fbfd070c00f80307ed14050f0ff9f1ef060813f4fe0bef0ff4f60a0601fefffcfc05fbff0a0f05f3f6f6f0f90c0b0ffa08010807f40ff8fbf1f7010ff100fb03fc10f8ed06"
func @main(v0: i8[1, 1, 600, 4]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 2], padding_high = [0, 2], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: products of 16-bit pairs, 4 pixels x 8 channels at a time, unrolled 5 times, staged sections
kernel @conv_1x5_i8(input: input i8[2400] align 1, weights: input i8[160] align 64, ring: scratch i16[48] align 64, output0: output i32[4800] align 4) {
  for each %4 in 0..48 step 16 {
    store ring[%4], 0: i16x16
  }
  %168: i64 = for %14 in 0..150 step 1 carry %15 = 0 {
    %17: i64 = mul %14, 4
    %19: i64 = add %17, 8
    %20: mask = less %17, %15
    if %20 {
      %22: i16x16 = load ring[16]
      store ring[0], %22
    }
    %23: i64 = signed_max %15, %17
    %26: i64 = signed_max %23, 2
    %27: i64 = signed_min %26, 602
    %28: i64 = signed_max %19, 2
    %29: i64 = signed_min %28, 602
    %30: i64 = signed_min %27, %19
    %31: i64 = signed_max %29, %23
    %32: i64 = sub %23, %17
    %34: i64 = mul %32, 4
    %35: i64 = sub %30, %23
    %36: mask = less %23, %30
    if %36 {
      %38: i64 = mul %35, 4
      %41: i64 = and %38, -16
      for %42 in 0..%41 step 16 {
        %43: i64 = add %34, %42
        store ring[%43], 0: i16x16
      }
      for %45 in %41..%38 step 1 {
        %46: i64 = add %34, %45
        store ring[%46], 0: i16x16 active 1
      }
    }
    %48: i64 = sub %31, %17
    %50: i64 = mul %48, 4
    %51: i64 = sub %19, %31
    %52: mask = less %31, %19
    if %52 {
      %54: i64 = mul %51, 4
      %57: i64 = and %54, -16
      for %58 in 0..%57 step 16 {
        %59: i64 = add %50, %58
        store ring[%59], 0: i16x16
      }
      for %61 in %57..%54 step 1 {
        %62: i64 = add %50, %61
        store ring[%62], 0: i16x16 active 1
      }
    }
    %64: i64 = sub %29, %27
    %66: i64 = mul %64, 4
    %68: i64 = mul %27, 4
    %70: i64 = add %68, -8
    %71: i64 = sub %27, %17
    %73: i64 = mul %71, 4
    %76: i64 = and %66, -16
    for %77 in 0..%76 step 16 {
      %78: i64 = add %70, %77
      %79: i8x16 = load input[%78]
      %80: i16x16 = sign_extend %79
      %81: i64 = add %73, %77
      store ring[%81], %80
    }
    for %82 in %76..%66 step 1 {
      %83: i64 = add %70, %82
      %84: i8x16 = load input[%83] active 1
      %85: i16x16 = sign_extend %84
      %86: i64 = add %73, %82
      store ring[%86], %85 active 1
    }
    %90: i64 = mul %14, 4
    %162: i32x8, %163: i32x8, %164: i32x8, %165: i32x8 = for %105 in 0..20 step 10 carry %106 = 0, %107 = 0, %108 = 0, %109 = 0 {
      %111: i64 = mul %105, 8
      %112: i8x16 = load weights[%111]
      %113: i16x16 = sign_extend %112
      %114: i16x16 = load_splat_group ring[%105] group 2
      %115: i32x8 = dot_signed16 %106, %114, %113
      %116: i16x16 = load_splat_group ring[%105 + 4] group 2
      %117: i32x8 = dot_signed16 %107, %116, %113
      %118: i16x16 = load_splat_group ring[%105 + 8] group 2
      %119: i32x8 = dot_signed16 %108, %118, %113
      %120: i16x16 = load_splat_group ring[%105 + 12] group 2
      %121: i32x8 = dot_signed16 %109, %120, %113
      %122: i8x16 = load weights[%111 + 16]
      %123: i16x16 = sign_extend %122
      %124: i16x16 = load_splat_group ring[%105 + 2] group 2
      %125: i32x8 = dot_signed16 %115, %124, %123
      %126: i16x16 = load_splat_group ring[%105 + 6] group 2
      %127: i32x8 = dot_signed16 %117, %126, %123
      %128: i16x16 = load_splat_group ring[%105 + 10] group 2
      %129: i32x8 = dot_signed16 %119, %128, %123
      %130: i16x16 = load_splat_group ring[%105 + 14] group 2
      %131: i32x8 = dot_signed16 %121, %130, %123
      %132: i8x16 = load weights[%111 + 32]
      %133: i16x16 = sign_extend %132
      %134: i16x16 = load_splat_group ring[%105 + 4] group 2
      %135: i32x8 = dot_signed16 %125, %134, %133
      %136: i16x16 = load_splat_group ring[%105 + 8] group 2
      %137: i32x8 = dot_signed16 %127, %136, %133
      %138: i16x16 = load_splat_group ring[%105 + 12] group 2
      %139: i32x8 = dot_signed16 %129, %138, %133
      %140: i16x16 = load_splat_group ring[%105 + 16] group 2
      %141: i32x8 = dot_signed16 %131, %140, %133
      %142: i8x16 = load weights[%111 + 48]
      %143: i16x16 = sign_extend %142
      %144: i16x16 = load_splat_group ring[%105 + 6] group 2
      %145: i32x8 = dot_signed16 %135, %144, %143
      %146: i16x16 = load_splat_group ring[%105 + 10] group 2
      %147: i32x8 = dot_signed16 %137, %146, %143
      %148: i16x16 = load_splat_group ring[%105 + 14] group 2
      %149: i32x8 = dot_signed16 %139, %148, %143
      %150: i16x16 = load_splat_group ring[%105 + 18] group 2
      %151: i32x8 = dot_signed16 %141, %150, %143
      %152: i8x16 = load weights[%111 + 64]
      %153: i16x16 = sign_extend %152
      %154: i16x16 = load_splat_group ring[%105 + 8] group 2
      %155: i32x8 = dot_signed16 %145, %154, %153
      %156: i16x16 = load_splat_group ring[%105 + 12] group 2
      %157: i32x8 = dot_signed16 %147, %156, %153
      %158: i16x16 = load_splat_group ring[%105 + 16] group 2
      %159: i32x8 = dot_signed16 %149, %158, %153
      %160: i16x16 = load_splat_group ring[%105 + 20] group 2
      %161: i32x8 = dot_signed16 %151, %160, %153
      yield %155, %157, %159, %161
    }
    %167: i64 = mul %90, 8
    store output0[%167], %162
    store output0[%167 + 8], %163
    store output0[%167 + 16], %164
    store output0[%167 + 24], %165
    yield %19
  }
}
