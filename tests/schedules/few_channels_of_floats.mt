; A first layer of floats with few output channels: neighbours of k are multiplied side by side.
;! kernels = x86-64-v4
;! technique = neighbours, narrowed-together
const0: f32[4, 2, 2, 3] = hex "0000003f0000003f000020bf0000603f0000003f000060bf000080be000040bf000080be0000403f0000c0be000020bf0000803e000060bf000020bf000080bf000000bf000020bf0000c03e000080bf000040bf000080be0000003f000000bf000000000000c03e0000c03e0000603f000020bf000020bf0000603f0000403f0000603f0000603f0000003e000040bf000000bf000020bf0000803e000000000000603f0000c0be0000803f000080bf000080be0000803f0000c03e000000bf"
func @main(v0: f32[1, 3, 4, 3]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: products of floats in pairs, 3 pixels x 4 channels at a time, unrolled 3 times
kernel @conv_2x2_f32(input: input f32[36] align 4, weights: input f32[48] align 64, output0: output f32[24] align 4) {
  %107: i64 = for %10 in 0..2 step 1 carry %11 = 0 {
    %13: i64 = add %10, 2
    %16: i64 = mul %10, 12
    %18: i64 = add %10, 1
    %21: i64 = mul %18, 12
    %24: i64 = mul %10, 3
    %37: f32x8 = load weights[0]
    %38: f32x8 = load_splat_group input[%16] group 2
    %39: f32x8 = mul %38, %37
    %40: f32x8 = add %39, 0.0
    %41: f32x8 = load_splat_group input[%16 + 3] group 2
    %42: f32x8 = mul %41, %37
    %43: f32x8 = add %42, 0.0
    %44: f32x8 = load_splat_group input[%16 + 6] group 2
    %45: f32x8 = mul %44, %37
    %46: f32x8 = add %45, 0.0
    %47: f32x8 = load weights[8]
    %48: f32x8 = load_splat_group input[%16 + 2] group 2
    %49: f32x8 = mul %48, %47
    %50: f32x8 = add %49, %40
    %51: f32x8 = load_splat_group input[%16 + 5] group 2
    %52: f32x8 = mul %51, %47
    %53: f32x8 = add %52, %43
    %54: f32x8 = load_splat_group input[%16 + 8] group 2
    %55: f32x8 = mul %54, %47
    %56: f32x8 = add %55, %46
    %57: f32x8 = load weights[16]
    %58: f32x8 = load_splat_group input[%16 + 4] group 2
    %59: f32x8 = mul %58, %57
    %60: f32x8 = add %59, %50
    %61: f32x8 = load_splat_group input[%16 + 7] group 2
    %62: f32x8 = mul %61, %57
    %63: f32x8 = add %62, %53
    %64: f32x8 = load_splat_group input[%16 + 10] group 2
    %65: f32x8 = mul %64, %57
    %66: f32x8 = add %65, %56
    %68: f32x8 = load weights[24]
    %69: f32x8 = load_splat_group input[%21] group 2
    %70: f32x8 = mul %69, %68
    %71: f32x8 = add %70, %60
    %72: f32x8 = load_splat_group input[%21 + 3] group 2
    %73: f32x8 = mul %72, %68
    %74: f32x8 = add %73, %63
    %75: f32x8 = load_splat_group input[%21 + 6] group 2
    %76: f32x8 = mul %75, %68
    %77: f32x8 = add %76, %66
    %78: f32x8 = load weights[32]
    %79: f32x8 = load_splat_group input[%21 + 2] group 2
    %80: f32x8 = mul %79, %78
    %81: f32x8 = add %80, %71
    %82: f32x8 = load_splat_group input[%21 + 5] group 2
    %83: f32x8 = mul %82, %78
    %84: f32x8 = add %83, %74
    %85: f32x8 = load_splat_group input[%21 + 8] group 2
    %86: f32x8 = mul %85, %78
    %87: f32x8 = add %86, %77
    %88: f32x8 = load weights[40]
    %89: f32x8 = load_splat_group input[%21 + 4] group 2
    %90: f32x8 = mul %89, %88
    %91: f32x8 = add %90, %81
    %92: f32x8 = load_splat_group input[%21 + 7] group 2
    %93: f32x8 = mul %92, %88
    %94: f32x8 = add %93, %84
    %95: f32x8 = load_splat_group input[%21 + 10] group 2
    %96: f32x8 = mul %95, %88
    %97: f32x8 = add %96, %87
    %99: i64 = mul %24, 4
    %100: f32x16 = join %91, %94
    %101: f32x8 = shuffle %100, %100 [0, 2, 4, 6, 8, 10, 12, 14]
    %102: f32x8 = shuffle %100, %100 [1, 3, 5, 7, 9, 11, 13, 15]
    %103: f32x8 = add %101, %102
    store output0[%99], %103
    %104: f32x4 = shuffle %97, %97 [0, 2, 4, 6]
    %105: f32x4 = shuffle %97, %97 [1, 3, 5, 7]
    %106: f32x4 = add %104, %105
    store output0[%99 + 8], %106
    yield %13
  }
}
