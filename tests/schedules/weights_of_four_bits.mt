; Weights of four bits with a scale for each block: they stay packed in memory and become bytes in registers.
;! kernels = x86-64-v4
const0: i4[8, 16] = hex "86baa8a57d119e6fb65d00abc32af38e667f022e872d49cc15c90b999b772b4fc7a6fd4c914a16db4708752b0f1544b835c0e719097dfa8701e9232f21f28126"
const1: f32[8, 2] = hex "00000000000000be000080be000000be0000403f0000603f0000003f000040bf0000603f0000003e000060bf000080be000040bf000000bf0000803e00000000"
func @main(v0: i8[1, 16]) {
  v1 = constant { data = const0 }
  v2 = constant { data = const1 }
  v3 = block_matmul v0, v1, v2 { excess = false }
  return v3
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: products of bytes in fours, weights in blocks of 8, 1 rows x 8 columns at a time
kernel @matmul_i4(input: input i8[16] align 1, weights: input i8[64] align 64, scales: input i16[16] align 64, first: scratch i32[2] align 64, output0: output f32[8] align 4) {
  for each %5 in 0..2 step 1 {
    %7: i64 = mul %5, 8
    %16: i32x2 = for %11 in 0..8 step 8 carry %12 = 0 {
      %13: i64 = add %7, %11
      %14: i8x8 = load input[%13]
      %15: i32x2 = dot_unsigned_signed8 %12, 1, %14
      yield %15
    }
    %17: i32 = horizontal_add %16
    %18: i32 = mul %17, -8
    store first[%5], %18
  }
  %57: f32x8 = for %25 in 0..2 step 1 carry %26 = 0.0 {
    %28: i32x8 = load_splat first[%25]
    %30: i64 = mul %25, 8
    %37: i64 = mul %30, 4
    %38: i8x32 = load weights[%37]
    %40: i8x32 = and %38, 15
    %41: i8x32 = shift_right_unsigned %38, 4
    %42: i8x32 = load_splat_group input[%30] group 4
    %43: i32x8 = dot_unsigned_signed8 %28, %40, %42
    %44: i8x32 = load_splat_group input[%30 + 4] group 4
    %45: i32x8 = dot_unsigned_signed8 0, %41, %44
    %46: i32x8 = add %43, %45
    %49: i64 = mul %25, 8
    %50: i16x8 = load scales[%49]
    %51: i32x8 = zero_extend %50
    %52: i32x8 = shift_left %51, 16
    %53: f32x8 = bitcast %52
    %54: f32x8 = signed_to_float %46
    %55: f32x8 = mul %54, %53
    %56: f32x8 = add %26, %55
    yield %56
  }
  store output0[0], %57
}
