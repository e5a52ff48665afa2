; Products of bytes on machines of words without products of pairs.
;! outline = rv32imc
;! outline = riscv64
;! schedule = riscv64: products of 16-bit pairs
const0: i8[4, 1, 1, 8] = numbers 1
func @main(v0: i8[1, 2, 3, 8]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; rv32imc: products of 16-bit pairs, 3 pixels x 4 channels at a time, unrolled 2 times, staged rows
kernel @conv_1x1_i8(input: input i8[48] align 1, weights: input i8[32] align 16, ring: scratch i16[64] align 16, output0: output i32[24] align 4) {
  for each %4 in 0..64 step 2 {
    1 store
  }
  %141: i64 = for %14 in 0..1 step 1 carry %15 = 0 {
    1 add i64, 1 signed_max i64
    for %20 in %18..%17 step 1 {
      1 mul i64
      for %26 in 0..48 step 4 {
        1 add i64, 1 load i8x4, 1 sign_extend i16x4, 1 sub i16x4, 1 store
      }
    }
    1 mul i64
    for each %46 in 0..6 step 3 {
      1 mul i64, 1 add i64
      %118: i32, %119: i32, %120: i32, %121: i32, %122: i32, %123: i32, %124: i32, %125: i32, %126: i32, %127: i32, %128: i32, %129: i32 = for %56 in 0..8 step 4 carry %57 = 0, %58 = 0, %59 = 0, %60 = 0, %61 = 0, %62 = 0, %63 = 0, %64 = 0, %65 = 0, %66 = 0, %67 = 0, %68 = 0 {
        1 mul i64, 1 add i64, 6 load_splat_group i16x2, 8 load i8x2, 8 sign_extend i16x2, 24 dot_signed16 i32, 1 yield
      }
      1 mul i64, 6 join i32x2, 3 join i32x4, 3 store
    }
    1 yield
  }
}
; riscv64: products of 16-bit pairs, 2 pixels x 2 channels at a time, unrolled 1 times, staged rows
kernel @conv_1x1_i8(input: input i8[48] align 1, weights: input i8[32] align 64, ring: scratch i16[64] align 64, output0: output i32[24] align 4) {
  for each %4 in 0..64 step 2 {
    1 store
  }
  %85: i64 = for %14 in 0..1 step 1 carry %15 = 0 {
    1 add i64, 1 signed_max i64
    for %20 in %18..%17 step 1 {
      1 mul i64
      for %26 in 0..48 step 4 {
        1 add i64, 1 load i8x4, 1 sign_extend i16x4, 1 sub i16x4, 1 store
      }
    }
    1 mul i64
    for each %38 in 0..4 step 2 {
      1 mul i64
      for each %49 in 0..6 step 2 {
        1 mul i64, 1 add i64
        %76: i32, %77: i32, %78: i32, %79: i32 = for %57 in 0..8 step 2 carry %58 = 0, %59 = 0, %60 = 0, %61 = 0 {
          1 mul i64, 2 add i64, 2 load_splat_group i16x2, 2 load i8x2, 2 sign_extend i16x2, 4 dot_signed16 i32, 1 yield
        }
        1 mul i64, 1 add i64, 2 join i32x2, 2 store
      }
    }
    1 yield
  }
}
