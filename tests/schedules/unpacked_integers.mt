; Integers of four bits, one a byte.
;! kernels = x86-64-v3
;! kernels = cortex-m4f
func @main(v0: u8[2, 16]) {
  v1 = unpack v0 { element = i4 }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: unpack i4 of 1x32 bytes, 16 at a time
kernel @unpack_i4(source: input i8[32] align 1, output0: output i8[64] align 1) {
  for each %6 in 0..32 step 16 {
    %7: i8x16 = load source[%6]
    %10: i8x16 = and %7, 15
    %11: i8x16 = shift_right_unsigned %7, 4
    %12: i8x16 = xor %10, 8
    %13: i8x16 = sub %12, 8
    %14: i8x16 = xor %11, 8
    %15: i8x16 = sub %14, 8
    %16: i8x16 = shuffle %13, %15 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23]
    %17: i8x16 = shuffle %13, %15 [8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %18: i8x32 = join %16, %17
    %19: i32x32 = sign_extend %18
    %21: i64 = mul %6, 2
    %23: i64 = mul %6, 2
    %24: i8x32 = narrow_signed %19
    store output0[%23], %24
  }
}
; cortex-m4f: unpack i4 of 1x32 bytes, 4 at a time
kernel @unpack_i4(source: input i8[32] align 1, output0: output i8[64] align 1) {
  for each %6 in 0..32 step 4 {
    %7: i8x4 = load source[%6]
    %10: i8x4 = and %7, 15
    %11: i8x4 = shift_right_unsigned %7, 4
    %12: i8x4 = xor %10, 8
    %13: i8x4 = sub %12, 8
    %14: i8x4 = xor %11, 8
    %15: i8x4 = sub %14, 8
    %16: i8x4 = shuffle %13, %15 [0, 4, 1, 5]
    %17: i8x4 = shuffle %13, %15 [2, 6, 3, 7]
    %18: i8x8 = join %16, %17
    %19: i32x8 = sign_extend %18
    %21: i64 = mul %6, 2
    %23: i64 = mul %6, 2
    %24: i8x8 = narrow_signed %19
    store output0[%23], %24
  }
}
