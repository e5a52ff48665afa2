; Sums that are scaled and narrowed where they are stored: a fused product where the machine has it, and one product of integers on words.
;! kernels = x86-64-v4
;! technique = fitted
;! kernels = aarch64
;! kernels = cortex-m4f
const0: i8[4, 4] = hex "04060df904fd01ef0bfd1003f40c0d14"
const1: i32[4] = hex "80c5005a80e40a548003154e80221f48"
const2: i32[4] = hex "fbfffffffbfffffffafffffffbffffff"
func @main(v0: i8[1, 4]) {
  v1 = constant { data = const0 }
  v2 = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = i32 }
  v3 = constant { data = const1 }
  v4 = constant { data = const2 }
  v5 = map v2, v3, v4 {
    expression = (i32, i32, i32) {
      n0: i32 = input 0
      n1: i32 = input 1
      n2: i32 = input 2
      n3: i32 = requant.tflite_double n0, n1, n2
      n4: i32 = constant -128
      n5: i32 = constant 127
      n6: i32 = max.first n3, n4
      n7: i32 = min.first n6, n5
      n8: i8 = convert n7
      return n8
    }
  }
  return v5
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: products of unsigned bytes in fours, 1 pixels x 4 channels at a time, unrolled 1 times, staged rows
kernel @matmul_i8(input: input i8[4] align 1, weights: input i8[16] align 64, initial: input i32[4] align 64, ring: scratch i8[20] align 64, operand3: input i32[4] align 4, operand4: input i32[4] align 4, output0: output i8[4] align 1) {
  store ring[0], -128: i8x64 active 20
  %54: i64 = for %11 in 0..1 step 1 carry %12 = 0 {
    %14: i64 = add %11, 1
    %15: i64 = signed_max %12, %11
    for %17 in %15..%14 step 1 {
      %20: i64 = mul %17, 4
      %22: i8x4 = load input[%20]
      %24: i8x4 = xor %22, -128
      store ring[0], %24
    }
    %37: i32x4 = load initial[0]
    %38: i8x16 = load weights[0]
    %39: i8x16 = load_splat_group ring[0] group 4
    %40: i32x4 = dot_unsigned_signed8 %37, %39, %38
    %42: i64 = mul %11, 4
    %43: i32x4 = load operand3[0]
    %44: i32x4 = load operand4[0]
    %46: i32x4 = and %40, -2147483648
    %47: i32x4 = or %46, %44
    %48: f32x4 = bitcast %47
    %49: f32x4 = signed_to_float %40
    %50: f32x4 = bitcast %43
    %51: f32x4 = fma %49, %50, %48
    %52: i32x4 = float_to_signed_in_range %51
    %53: i8x4 = narrow_signed %52
    store output0[%42], %53
    yield %14
  }
}
; aarch64: products of bytes added in 16 bits, 1 pixels x 4 channels at a time, unrolled 1 times
kernel @matmul_i8(input: input i8[4] align 1, weights: input i8[16] align 64, initial: input i32[4] align 64, operand3: input i32[4] align 4, operand4: input i32[4] align 4, output0: output i8[4] align 1) {
  %48: i64 = for %8 in 0..1 step 1 carry %9 = 0 {
    %11: i64 = add %8, 1
    %14: i64 = mul %8, 4
    %27: i8x16 = load_splat_group input[%14] group 4
    %28: i16x16 = sign_extend %27
    %29: i8x16 = load weights[0]
    %30: i16x16 = sign_extend %29
    %31: i16x16 = mul %28, %30
    %33: i32x8 = dot_signed16 0, %31, 1
    %35: i64 = mul %8, 4
    %36: i32x4 = shuffle %33, %33 [0, 2, 4, 6]
    %37: i32x4 = shuffle %33, %33 [1, 3, 5, 7]
    %38: i32x4 = add %36, %37
    %39: i32x4 = load initial[0]
    %40: i32x4 = add %38, %39
    %41: i32x4 = load operand3[0]
    %42: i32x4 = load operand4[0]
    %43: i32x4 = saturating_rounding_doubling_high_mul %40, %41
    %44: i32x4 = shift_right_signed %43, 31
    %45: i32x4 = add %43, %44
    %46: i32x4 = shift_nearest %45, %42
    %47: i8x4 = narrow_signed %46
    store output0[%35], %47
    yield %11
  }
}
; cortex-m4f: products of signed bytes in fours, 1 pixels x 4 channels at a time, unrolled 1 times
kernel @matmul_i8(input: input i8[4] align 1, weights: input i8[16] align 16, initial: input i32[4] align 16, operand3: input i32[4] align 4, operand4: input i8[4] align 1, output0: output i8[4] align 1) {
  %57: i64 = for %8 in 0..1 step 1 carry %9 = 0 {
    %11: i64 = add %8, 1
    %14: i64 = mul %8, 4
    %26: i32 = load initial[0]
    %27: i32 = load initial[1]
    %28: i32 = load initial[2]
    %29: i32 = load initial[3]
    %30: i8x4 = load_splat_group input[%14] group 4
    %31: i8x4 = load weights[0]
    %32: i32 = dot_signed8 %26, %30, %31
    %33: i8x4 = load weights[4]
    %34: i32 = dot_signed8 %27, %30, %33
    %35: i8x4 = load weights[8]
    %36: i32 = dot_signed8 %28, %30, %35
    %37: i8x4 = load weights[12]
    %38: i32 = dot_signed8 %29, %30, %37
    %40: i64 = mul %8, 4
    %41: i32x2 = join %32, %34
    %42: i32x2 = join %36, %38
    %43: i32x4 = join %41, %42
    %44: i32x4 = load operand3[0]
    %45: i8x4 = load operand4[0]
    %46: i32x4 = sign_extend %45
    %47: i32x4 = rounding_doubling_high_mul %43, %44
    %49: i32x4 = shift_right_signed %47, 31
    %50: i32x4 = add %47, %49
    %51: i32x4 = mul %50, %46
    %53: i32x4 = add %51, 32
    %55: i32x4 = shift_right_signed %53, 6
    %56: i8x4 = narrow_signed %55
    store output0[%40], %56
    yield %11
  }
}
