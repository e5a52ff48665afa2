; Products of signed bytes in the form of each machine: pairs of 16 bits, fours of bytes, and pairs in one word.
;! kernels = x86-64-v2
;! kernels = x86-64-v4
;! kernels = aarch64+dotprod
;! kernels = cortex-m4f
const0: i8[8, 8] = hex "faee0ff4fe06f50ef310ff0ff7f2111014f803f20ff010ef13f90b0e070009110903fffbf7fbf110ff0d0b0108fe12f0f30c06f601f50b06eef00f1000010212"
func @main(v0: i8[2, 8]) {
  v1 = constant { data = const0 }
  v2 = matmul v0, v1 { left_zero_point = 3, right_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v2: products of 16-bit pairs, 2 pixels x 8 channels at a time, unrolled 4 times, staged rows
kernel @matmul_i8(input: input i8[16] align 1, weights: input i8[64] align 64, ring: scratch i16[32] align 64, output0: output i32[16] align 4) {
  for each %4 in 0..32 step 8 {
    store ring[%4], 0: i16x8
  }
  %89: i64 = for %14 in 0..1 step 1 carry %15 = 0 {
    %17: i64 = add %14, 1
    %18: i64 = signed_max %15, %14
    for %20 in %18..%17 step 1 {
      %23: i64 = mul %20, 16
      %25: i8x16 = load input[%23]
      %26: i16x16 = sign_extend %25
      %28: i16x16 = sub %26, 3
      store ring[0], %28
    }
    %31: i64 = mul %14, 2
    %45: i16x8 = load_splat_group ring[0] group 2
    %46: i16x8 = load_splat_group ring[8] group 2
    %47: i8x8 = load weights[0]
    %48: i16x8 = sign_extend %47
    %49: i32x4 = dot_signed16 0, %45, %48
    %50: i32x4 = dot_signed16 0, %46, %48
    %51: i8x8 = load weights[8]
    %52: i16x8 = sign_extend %51
    %53: i32x4 = dot_signed16 0, %45, %52
    %54: i32x4 = dot_signed16 0, %46, %52
    %55: i16x8 = load_splat_group ring[2] group 2
    %56: i16x8 = load_splat_group ring[10] group 2
    %57: i8x8 = load weights[16]
    %58: i16x8 = sign_extend %57
    %59: i32x4 = dot_signed16 %49, %55, %58
    %60: i32x4 = dot_signed16 %50, %56, %58
    %61: i8x8 = load weights[24]
    %62: i16x8 = sign_extend %61
    %63: i32x4 = dot_signed16 %53, %55, %62
    %64: i32x4 = dot_signed16 %54, %56, %62
    %65: i16x8 = load_splat_group ring[4] group 2
    %66: i16x8 = load_splat_group ring[12] group 2
    %67: i8x8 = load weights[32]
    %68: i16x8 = sign_extend %67
    %69: i32x4 = dot_signed16 %59, %65, %68
    %70: i32x4 = dot_signed16 %60, %66, %68
    %71: i8x8 = load weights[40]
    %72: i16x8 = sign_extend %71
    %73: i32x4 = dot_signed16 %63, %65, %72
    %74: i32x4 = dot_signed16 %64, %66, %72
    %75: i16x8 = load_splat_group ring[6] group 2
    %76: i16x8 = load_splat_group ring[14] group 2
    %77: i8x8 = load weights[48]
    %78: i16x8 = sign_extend %77
    %79: i32x4 = dot_signed16 %69, %75, %78
    %80: i32x4 = dot_signed16 %70, %76, %78
    %81: i8x8 = load weights[56]
    %82: i16x8 = sign_extend %81
    %83: i32x4 = dot_signed16 %73, %75, %82
    %84: i32x4 = dot_signed16 %74, %76, %82
    %86: i64 = mul %31, 8
    %87: i32x8 = join %79, %83
    %88: i32x8 = join %80, %84
    store output0[%86], %87
    store output0[%86 + 8], %88
    yield %17
  }
}
; x86-64-v4: products of unsigned bytes in fours, 2 pixels x 8 channels at a time, unrolled 2 times, staged rows
kernel @matmul_i8(input: input i8[16] align 1, weights: input i8[64] align 64, initial: input i32[8] align 64, ring: scratch i8[32] align 64, output0: output i32[16] align 4) {
  store ring[0], -125: i8x64 active 32
  %55: i64 = for %13 in 0..1 step 1 carry %14 = 0 {
    %16: i64 = add %13, 1
    %17: i64 = signed_max %14, %13
    for %19 in %17..%16 step 1 {
      %22: i64 = mul %19, 16
      %24: i8x16 = load input[%22]
      %26: i8x16 = xor %24, -128
      store ring[0], %26
    }
    %29: i64 = mul %13, 2
    %41: i32x8 = load initial[0]
    %42: i8x32 = load weights[0]
    %43: i8x32 = load_splat_group ring[0] group 4
    %44: i32x8 = dot_unsigned_signed8 %41, %43, %42
    %45: i8x32 = load_splat_group ring[8] group 4
    %46: i32x8 = dot_unsigned_signed8 %41, %45, %42
    %47: i8x32 = load weights[32]
    %48: i8x32 = load_splat_group ring[4] group 4
    %49: i32x8 = dot_unsigned_signed8 %44, %48, %47
    %50: i8x32 = load_splat_group ring[12] group 4
    %51: i32x8 = dot_unsigned_signed8 %46, %50, %47
    %53: i64 = mul %29, 8
    %54: i32x16 = join %49, %51
    store output0[%53], %54
    yield %16
  }
}
; aarch64+dotprod: products of signed bytes in fours, 2 pixels x 8 channels at a time, unrolled 2 times
kernel @matmul_i8(input: input i8[16] align 1, weights: input i8[64] align 64, initial: input i32[8] align 64, output0: output i32[16] align 4) {
  %51: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    %12: i64 = add %9, 1
    %15: i64 = mul %9, 16
    %17: i64 = mul %9, 2
    %29: i32x4 = load initial[0]
    %30: i32x4 = load initial[4]
    %31: i8x16 = load_splat_group input[%15] group 4
    %32: i8x16 = load_splat_group input[%15 + 8] group 4
    %33: i8x16 = load weights[0]
    %34: i32x4 = dot_signed8 %29, %31, %33
    %35: i32x4 = dot_signed8 %29, %32, %33
    %36: i8x16 = load weights[16]
    %37: i32x4 = dot_signed8 %30, %31, %36
    %38: i32x4 = dot_signed8 %30, %32, %36
    %39: i8x16 = load_splat_group input[%15 + 4] group 4
    %40: i8x16 = load_splat_group input[%15 + 12] group 4
    %41: i8x16 = load weights[32]
    %42: i32x4 = dot_signed8 %34, %39, %41
    %43: i32x4 = dot_signed8 %35, %40, %41
    %44: i8x16 = load weights[48]
    %45: i32x4 = dot_signed8 %37, %39, %44
    %46: i32x4 = dot_signed8 %38, %40, %44
    %48: i64 = mul %17, 8
    %49: i32x8 = join %42, %45
    %50: i32x8 = join %43, %46
    store output0[%48], %49
    store output0[%48 + 8], %50
    yield %12
  }
}
; cortex-m4f: products of bytes in even and odd pairs, 2 pixels x 2 channels at a time, unrolled 2 times, staged rows
kernel @matmul_i8(input: input i8[16] align 1, weights: input i8[64] align 16, initial: input i32[8] align 16, ring: scratch i16[16] align 16, output0: output i32[16] align 4) {
  %114: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    %12: i64 = add %9, 1
    %13: i64 = signed_max %10, %9
    for %15 in %13..%12 step 1 {
      %18: i64 = mul %15, 16
      for %21 in 0..16 step 4 {
        %22: i64 = add %18, %21
        %23: i8x4 = load input[%22]
        %24: i16x4 = sign_extend %23
        %25: i16x4 = shuffle %24, %24 [0, 2, 1, 3]
        store ring[%21], %25
      }
    }
    %28: i64 = mul %9, 2
    for each %32 in 0..8 step 2 {
      %38: i64 = mul %32, 8
      %43: i32 = load initial[%32]
      %44: i32 = load initial[%32 + 1]
      %45: i8x4 = load weights[%38]
      %46: i16x4 = sign_extend %45
      %47: i16x4 = shuffle %46, %46 [0, 2, 1, 3]
      %48: i8x4 = load weights[%38 + 4]
      %49: i16x4 = sign_extend %48
      %50: i16x4 = shuffle %49, %49 [0, 2, 1, 3]
      %51: i16x4 = load_splat_group ring[0] group 4
      %52: i16x2 = shuffle %51, %51 [0, 1]
      %53: i16x2 = shuffle %47, %47 [0, 1]
      %54: i32 = dot_signed16 %43, %52, %53
      %55: i16x2 = shuffle %51, %51 [2, 3]
      %56: i16x2 = shuffle %47, %47 [2, 3]
      %57: i32 = dot_signed16 %54, %55, %56
      %58: i16x2 = shuffle %51, %51 [0, 1]
      %59: i16x2 = shuffle %50, %50 [0, 1]
      %60: i32 = dot_signed16 %44, %58, %59
      %61: i16x2 = shuffle %51, %51 [2, 3]
      %62: i16x2 = shuffle %50, %50 [2, 3]
      %63: i32 = dot_signed16 %60, %61, %62
      %64: i16x4 = load_splat_group ring[8] group 4
      %65: i16x2 = shuffle %64, %64 [0, 1]
      %66: i16x2 = shuffle %47, %47 [0, 1]
      %67: i32 = dot_signed16 %43, %65, %66
      %68: i16x2 = shuffle %64, %64 [2, 3]
      %69: i16x2 = shuffle %47, %47 [2, 3]
      %70: i32 = dot_signed16 %67, %68, %69
      %71: i16x2 = shuffle %64, %64 [0, 1]
      %72: i16x2 = shuffle %50, %50 [0, 1]
      %73: i32 = dot_signed16 %44, %71, %72
      %74: i16x2 = shuffle %64, %64 [2, 3]
      %75: i16x2 = shuffle %50, %50 [2, 3]
      %76: i32 = dot_signed16 %73, %74, %75
      %77: i8x4 = load weights[%38 + 8]
      %78: i16x4 = sign_extend %77
      %79: i16x4 = shuffle %78, %78 [0, 2, 1, 3]
      %80: i8x4 = load weights[%38 + 12]
      %81: i16x4 = sign_extend %80
      %82: i16x4 = shuffle %81, %81 [0, 2, 1, 3]
      %83: i16x4 = load_splat_group ring[4] group 4
      %84: i16x2 = shuffle %83, %83 [0, 1]
      %85: i16x2 = shuffle %79, %79 [0, 1]
      %86: i32 = dot_signed16 %57, %84, %85
      %87: i16x2 = shuffle %83, %83 [2, 3]
      %88: i16x2 = shuffle %79, %79 [2, 3]
      %89: i32 = dot_signed16 %86, %87, %88
      %90: i16x2 = shuffle %83, %83 [0, 1]
      %91: i16x2 = shuffle %82, %82 [0, 1]
      %92: i32 = dot_signed16 %63, %90, %91
      %93: i16x2 = shuffle %83, %83 [2, 3]
      %94: i16x2 = shuffle %82, %82 [2, 3]
      %95: i32 = dot_signed16 %92, %93, %94
      %96: i16x4 = load_splat_group ring[12] group 4
      %97: i16x2 = shuffle %96, %96 [0, 1]
      %98: i16x2 = shuffle %79, %79 [0, 1]
      %99: i32 = dot_signed16 %70, %97, %98
      %100: i16x2 = shuffle %96, %96 [2, 3]
      %101: i16x2 = shuffle %79, %79 [2, 3]
      %102: i32 = dot_signed16 %99, %100, %101
      %103: i16x2 = shuffle %96, %96 [0, 1]
      %104: i16x2 = shuffle %82, %82 [0, 1]
      %105: i32 = dot_signed16 %76, %103, %104
      %106: i16x2 = shuffle %96, %96 [2, 3]
      %107: i16x2 = shuffle %82, %82 [2, 3]
      %108: i32 = dot_signed16 %105, %106, %107
      %110: i64 = mul %28, 8
      %111: i64 = add %110, %32
      %112: i32x2 = join %89, %95
      %113: i32x2 = join %102, %108
      store output0[%111], %112
      store output0[%111 + 8], %113
    }
    yield %12
  }
}
