; Panels of fours that several levels read: those without products of bytes take neighbours, or even and odd bytes, as pairs.
;! outline = x86-64-v2, x86-64-v3, x86-64-v4
;! schedule = x86-64-v2: products of bytes in neighbouring pairs
;! schedule = x86-64-v3: products of bytes in even and odd pairs
;! schedule = x86-64-v4: products of unsigned bytes in fours
;! technique = even-and-odd
const0: i8[8, 1, 1, 32] = numbers 1
func @main(v0: i8[1, 2, 3, 32]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v2: products of bytes in neighbouring pairs, 2 pixels x 8 channels at a time, unrolled 8 times, staged rows
kernel @conv_1x1_i8(input: input i8[192] align 1, weights: input i8[256] align 64, initial: input i32[8] align 64, ring: scratch i16[208] align 64, output0: output i32[48] align 4) {
  for each %4 in 0..208 step 8 {
    1 store
  }
  %216: i64 = for %14 in 0..1 step 1 carry %15 = 0 {
    1 add i64, 1 signed_max i64
    for %20 in %18..%17 step 1 {
      1 mul i64
      for %26 in 0..192 step 16 {
        1 add i64, 1 load i8x16, 1 xor i8x16, 1 zero_extend i16x16, 1 store
      }
    }
    1 mul i64
    for each %46 in 0..6 step 2 {
      2 mul i64, 1 add i64, 16 load_splat_group i16x8, 32 load i8x8, 32 sign_extend i16x8, 64 dot_signed16 i32x4, 4 join i32x8, 2 join i32x16, 4 shuffle i32x8, 4 add i32x8, 2 load i32x8, 2 store
    }
    1 yield
  }
}
; x86-64-v3: products of bytes in even and odd pairs, 6 pixels x 8 channels at a time, unrolled 2 times, staged rows
kernel @conv_1x1_i8(input: input i8[192] align 1, weights: input i16[128] align 64, initial: input i32[8] align 64, ring: scratch i16[208] align 64, output0: output i32[48] align 4) {
  for each %4 in 0..208 step 16 {
    1 store
  }
  %125: i64 = for %14 in 0..1 step 1 carry %15 = 0 {
    1 add i64, 1 signed_max i64
    for %20 in %18..%17 step 1 {
      1 mul i64
      for %26 in 0..192 step 16 {
        1 add i64, 1 load i8x16, 1 shuffle i8x16, 1 xor i8x16, 1 zero_extend i16x16, 1 store
      }
    }
    1 mul i64, 1 load i32x8
    %117: i32x8, %118: i32x8, %119: i32x8, %120: i32x8, %121: i32x8, %122: i32x8 = for %50 in 0..32 step 8 carry %51 = %47, %52 = %47, %53 = %47, %54 = %47, %55 = %47, %56 = %47 {
      1 mul i64, 4 load i16x16, 2 shift_left i16x16, 4 shift_right_signed i16x16, 24 load_splat_group i16x16, 24 dot_signed16 i32x8, 1 yield
    }
    1 mul i64, 6 store, 1 yield
  }
}
; x86-64-v4: products of unsigned bytes in fours, 6 pixels x 8 channels at a time, unrolled 8 times, staged rows
kernel @conv_1x1_i8(input: input i8[192] align 1, weights: input i8[256] align 64, initial: input i32[8] align 64, ring: scratch i8[208] align 64, output0: output i32[48] align 4) {
  for each %5 in 0..192 step 64 {
    1 store
  }
  1 store
  %158: i64 = for %17 in 0..1 step 1 carry %18 = 0 {
    1 add i64, 1 signed_max i64
    for %23 in %21..%20 step 1 {
      1 mul i64
      for %29 in 0..192 step 64 {
        1 add i64, 1 load i8x64, 1 xor i8x64, 1 store
      }
    }
    2 mul i64, 1 load i32x8, 8 load i8x32, 48 load_splat_group i8x32, 48 dot_unsigned_signed8 i32x8, 3 join i32x16, 3 store, 1 yield
  }
}
