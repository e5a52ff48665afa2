; Images whose number is known at run time: one kernel takes a block of them, another one takes the rest.
;! outline = x86-64-v3
;! schedule = products of 16-bit pairs
const0: i8[8, 1, 1, 4] = numbers 1
func @main(v0: i8[v1, 2, 2, 4]) {
  v1: index 1..=16 = extent_of v0 { axis = 0 }
  v2 = constant { data = const0 }
  v3 = conv v0, v2 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v3
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: products of 16-bit pairs, 8 pixels x 8 channels at a time, unrolled 2 times, staged sections
kernel @conv_1x1_i8(input: input i8[64] align 1, weights: input i8[32] align 64, ring: scratch i16[48] align 64, output0: output i32[128] align 4) {
  for each %4 in 0..48 step 16 {
    1 store
  }
  %140: i64 = for %14 in 0..2 step 1 carry %15 = 0 {
    2 mul i64, 1 add i64, 4 signed_max i64, 3 signed_min i64, 2 sub i64, 1 less mask
    if %33 {
      1 mul i64, 1 and i64
      for %39 in 0..%38 step 16 {
        1 add i64, 1 store
      }
      for %42 in %38..%35 step 1 {
        1 add i64, 1 store
      }
    }
    2 sub i64, 1 mul i64, 1 less mask
    if %49 {
      1 mul i64, 1 and i64
      for %55 in 0..%54 step 16 {
        1 add i64, 1 store
      }
      for %58 in %54..%51 step 1 {
        1 add i64, 1 store
      }
    }
    2 sub i64, 3 mul i64, 1 and i64
    for %72 in 0..%71 step 32 {
      2 add i64, 1 load i8x32, 1 sign_extend i16x32, 1 sub i16x32, 1 store
    }
    for %79 in %71..%63 step 1 {
      2 add i64, 1 load i8x32, 1 sign_extend i16x32, 1 sub i16x32, 1 store
    }
    2 mul i64, 2 load i8x16, 2 sign_extend i16x16, 16 load_splat_group i16x16, 16 dot_signed16 i32x8, 8 store, 1 yield
  }
}
; x86-64-v3: products of 16-bit pairs, 4 pixels x 8 channels at a time, unrolled 2 times, staged rows
kernel @conv_1x1_i8_2(input: input i8[16] align 1, weights: input i8[32] align 64, ring: scratch i16[32] align 64, output0: output i32[32] align 4) {
  for each %4 in 0..32 step 16 {
    1 store
  }
  %66: i64 = for %14 in 0..1 step 1 carry %15 = 0 {
    1 add i64, 1 signed_max i64
    for %20 in %18..%17 step 1 {
      1 mul i64, 1 load i8x16, 1 sign_extend i16x16, 1 sub i16x16, 1 store
    }
    2 mul i64, 2 load i8x16, 2 sign_extend i16x16, 8 load_splat_group i16x16, 8 dot_signed16 i32x8, 4 store, 1 yield
  }
}
