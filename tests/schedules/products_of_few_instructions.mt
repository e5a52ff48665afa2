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
; rv32imc: products of bytes of two pixels in a word, 4 pixels x 4 channels at a time, unrolled 2 times
kernel @conv_1x1_i8(input: input i8[48] align 1, weights: input i8[32] align 16, initial: input i32[4] align 16, columns: scratch i32[16] align 16, output0: output i32[24] align 4) {
  %664: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    4 add i64, 2 mul i64
    %129: i32, %130: i32, %131: i32, %132: i32 = for %30 in 0..8 step 4 carry %31 = 0, %32 = 0, %33 = 0, %34 = 0 {
      4 add i64, 1 mul i64, 16 load i8, 16 zero_extend i32, 8 shift_left i32, 24 add i32, 8 xor i32, 8 store, 8 shift_right_unsigned i32, 1 yield
    }
    2 shift_left i32, 2 sub i32, 4 mul i32
    %350: i32, %351: i32, %352: i32, %353: i32, %354: i32, %355: i32, %356: i32, %357: i32, %358: i32, %359: i32, %360: i32, %361: i32, %362: i32, %363: i32, %364: i32, %365: i32 = for %155 in 0..8 step 4 carry %156 = 0, %157 = 0, %158 = 0, %159 = 0, %160 = 0, %161 = 0, %162 = 0, %163 = 0, %164 = 0, %165 = 0, %166 = 0, %167 = 0, %168 = 0, %169 = 0, %170 = 0, %171 = 0 {
      5 mul i64, 8 load i32, 16 load i8, 16 zero_extend i32, 32 mul i32, 64 add i32, 32 shift_right_unsigned i32, 1 yield
    }
    8 shift_left i32, 24 sub i32, 4 load i32, 16 add i32, 1 mul i64, 8 join i32x2, 4 join i32x4, 4 store, 2 add i64
    %490: i32, %491: i32 = for %441 in 0..8 step 4 carry %442 = 0, %443 = 0 {
      2 add i64, 8 load i8, 8 zero_extend i32, 4 shift_left i32, 12 add i32, 4 xor i32, 4 store, 4 shift_right_unsigned i32, 1 yield
    }
    1 shift_left i32, 1 sub i32, 2 mul i32, 1 add i64
    %620: i32, %621: i32, %622: i32, %623: i32, %624: i32, %625: i32, %626: i32, %627: i32 = for %509 in 0..8 step 4 carry %510 = 0, %511 = 0, %512 = 0, %513 = 0, %514 = 0, %515 = 0, %516 = 0, %517 = 0 {
      1 mul i64, 4 load i32, 16 load i8, 16 zero_extend i32, 16 mul i32, 32 add i32, 16 shift_right_unsigned i32, 1 yield
    }
    4 shift_left i32, 12 sub i32, 4 load i32, 8 add i32, 1 mul i64, 4 join i32x2, 2 join i32x4, 2 store, 1 yield
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
