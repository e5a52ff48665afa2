; A register tile of pixels × channels of binary32: the weights are packed in panels, and a row of fewer pixels has its own tile.
;! kernels = x86-64-v3
;! kernels = aarch64
const0: f32[8, 3] = hex "0000803e000000bf0000003f000060bf000040bf000020bf0000c03e000060bf0000803f000080be000060bf000040bf0000203f0000203f000040bf000000be000040bf0000203f000060bf000020bf000000be000060bf0000003f000060bf"
func @main(v0: f32[3, 3]) {
  v1 = constant { data = const0 }
  v2 = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: products of floats in pairs, 3 pixels x 8 channels at a time, unrolled 2 times
kernel @matmul_f32(input: input f32[9] align 4, weights: input f32[32] align 64, output0: output f32[24] align 4) {
  %79: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    %12: i64 = add %9, 1
    %15: i64 = mul %9, 9
    %17: i64 = mul %9, 3
    %31: f32x8 = load weights[0]
    %32: f32x8 = load weights[8]
    %33: f32x8 = load_splat_group input[%15] group 2
    %34: f32x8 = mul %33, %31
    %35: f32x8 = add %34, 0.0
    %36: f32x8 = mul %33, %32
    %37: f32x8 = add %36, 0.0
    %38: f32x8 = load_splat_group input[%15 + 3] group 2
    %39: f32x8 = mul %38, %31
    %40: f32x8 = add %39, 0.0
    %41: f32x8 = mul %38, %32
    %42: f32x8 = add %41, 0.0
    %43: f32x8 = load_splat_group input[%15 + 6] group 2
    %44: f32x8 = mul %43, %31
    %45: f32x8 = add %44, 0.0
    %46: f32x8 = mul %43, %32
    %47: f32x8 = add %46, 0.0
    %48: f32x8 = load weights[16]
    %49: f32x8 = load weights[24]
    %50: f32x8 = load_splat input[%15 + 2]
    %51: f32x8 = mul %50, %48
    %52: f32x8 = add %51, %35
    %53: f32x8 = mul %50, %49
    %54: f32x8 = add %53, %37
    %55: f32x8 = load_splat input[%15 + 5]
    %56: f32x8 = mul %55, %48
    %57: f32x8 = add %56, %40
    %58: f32x8 = mul %55, %49
    %59: f32x8 = add %58, %42
    %60: f32x8 = load_splat input[%15 + 8]
    %61: f32x8 = mul %60, %48
    %62: f32x8 = add %61, %45
    %63: f32x8 = mul %60, %49
    %64: f32x8 = add %63, %47
    %66: i64 = mul %17, 8
    %67: f32x16 = join %52, %54
    %68: f32x16 = join %57, %59
    %69: f32x16 = join %62, %64
    %70: f32x8 = shuffle %67, %67 [0, 2, 4, 6, 8, 10, 12, 14]
    %71: f32x8 = shuffle %67, %67 [1, 3, 5, 7, 9, 11, 13, 15]
    %72: f32x8 = add %70, %71
    store output0[%66], %72
    %73: f32x8 = shuffle %68, %68 [0, 2, 4, 6, 8, 10, 12, 14]
    %74: f32x8 = shuffle %68, %68 [1, 3, 5, 7, 9, 11, 13, 15]
    %75: f32x8 = add %73, %74
    store output0[%66 + 8], %75
    %76: f32x8 = shuffle %69, %69 [0, 2, 4, 6, 8, 10, 12, 14]
    %77: f32x8 = shuffle %69, %69 [1, 3, 5, 7, 9, 11, 13, 15]
    %78: f32x8 = add %76, %77
    store output0[%66 + 16], %78
    yield %12
  }
}
; aarch64: products of floats, 3 pixels x 8 channels at a time, unrolled 3 times
kernel @matmul_f32(input: input f32[9] align 4, weights: input f32[24] align 64, output0: output f32[24] align 4) {
  %86: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    %12: i64 = add %9, 1
    %15: i64 = mul %9, 9
    %17: i64 = mul %9, 3
    %30: f32x4 = load_splat input[%15]
    %31: f32x4 = load_splat input[%15 + 3]
    %32: f32x4 = load_splat input[%15 + 6]
    %33: f32x4 = load weights[0]
    %34: f32x4 = mul %30, %33
    %35: f32x4 = add %34, 0.0
    %36: f32x4 = mul %31, %33
    %37: f32x4 = add %36, 0.0
    %38: f32x4 = mul %32, %33
    %39: f32x4 = add %38, 0.0
    %40: f32x4 = load weights[4]
    %41: f32x4 = mul %30, %40
    %42: f32x4 = add %41, 0.0
    %43: f32x4 = mul %31, %40
    %44: f32x4 = add %43, 0.0
    %45: f32x4 = mul %32, %40
    %46: f32x4 = add %45, 0.0
    %47: f32x4 = load_splat input[%15 + 1]
    %48: f32x4 = load_splat input[%15 + 4]
    %49: f32x4 = load_splat input[%15 + 7]
    %50: f32x4 = load weights[8]
    %51: f32x4 = mul %47, %50
    %52: f32x4 = add %51, %35
    %53: f32x4 = mul %48, %50
    %54: f32x4 = add %53, %37
    %55: f32x4 = mul %49, %50
    %56: f32x4 = add %55, %39
    %57: f32x4 = load weights[12]
    %58: f32x4 = mul %47, %57
    %59: f32x4 = add %58, %42
    %60: f32x4 = mul %48, %57
    %61: f32x4 = add %60, %44
    %62: f32x4 = mul %49, %57
    %63: f32x4 = add %62, %46
    %64: f32x4 = load_splat input[%15 + 2]
    %65: f32x4 = load_splat input[%15 + 5]
    %66: f32x4 = load_splat input[%15 + 8]
    %67: f32x4 = load weights[16]
    %68: f32x4 = mul %64, %67
    %69: f32x4 = add %68, %52
    %70: f32x4 = mul %65, %67
    %71: f32x4 = add %70, %54
    %72: f32x4 = mul %66, %67
    %73: f32x4 = add %72, %56
    %74: f32x4 = load weights[20]
    %75: f32x4 = mul %64, %74
    %76: f32x4 = add %75, %59
    %77: f32x4 = mul %65, %74
    %78: f32x4 = add %77, %61
    %79: f32x4 = mul %66, %74
    %80: f32x4 = add %79, %63
    %82: i64 = mul %17, 8
    %83: f32x8 = join %69, %76
    %84: f32x8 = join %71, %78
    %85: f32x8 = join %73, %80
    store output0[%82], %83
    store output0[%82 + 8], %84
    store output0[%82 + 16], %85
    yield %12
  }
}
